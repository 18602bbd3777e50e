"""What the fuzzers of the planners report, and the seed of every fuzzer."""

from __future__ import annotations

import argparse
import secrets
from dataclasses import dataclass


def add_seed(parser: argparse.ArgumentParser) -> None:
    """The option `--seed`, by default a fresh one."""
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 32), help="(default: a fresh one)")


@dataclass(frozen=True)
class Report:
    """How many were planned and refused, what was wrong in which blocks, and the largest miss."""

    seed: int
    count: int = 0
    planned: int = 0
    refused: int = 0
    worst: float = 0.0
    seconds: float = 0.0
    failures: tuple[str, ...] = ()

    def __add__(self, other: Report) -> Report:
        return Report(
            self.seed,
            self.count + other.count,
            self.planned + other.planned,
            self.refused + other.refused,
            max(self.worst, other.worst),
            self.seconds + other.seconds,
            self.failures + other.failures,
        )

    def __str__(self) -> str:
        said = (
            f"trajectories: {self.count} requests, seed {self.seed}: {self.planned} planned, {self.refused} "
            f"refused, {len(self.failures)} failures; largest miss {self.worst:.1e} of the way, "
            f"{self.seconds:.1f} s in all"
        )
        return "\n  ".join((said, *self.failures[:20]))
