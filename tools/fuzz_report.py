"""What the fuzzers of the planners report, and the seed of every fuzzer."""

from __future__ import annotations

import argparse
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def add_seed(parser: argparse.ArgumentParser) -> None:
    """The option `--seed`, by default a fresh one."""
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 32), help="(default: a fresh one)")


def mixed(
    rng: np.random.Generator, states: Sequence[Array], special: Sequence[tuple[Any, ...]]
) -> list[Array]:
    """The states, some of them special: a share each, and what is there in the place of these states."""
    for share, *other in special:
        mask = rng.random(states[0].shape) < share
        states = [np.where(mask, new, old) for new, old in zip(other, states, strict=True)]
    return list(states)


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
        summed = ("count", "planned", "refused", "seconds", "failures")
        sums = {name: getattr(self, name) + getattr(other, name) for name in summed}
        return replace(self, worst=max(self.worst, other.worst), **sums)

    def __str__(self) -> str:
        said = (
            f"trajectories: {self.count} requests, seed {self.seed}: {self.planned} planned, {self.refused} "
            f"refused, {len(self.failures)} failures; largest miss {self.worst:.1e} of the way, "
            f"{self.seconds:.1f} s in all"
        )
        return "\n  ".join((said, *self.failures[:20]))
