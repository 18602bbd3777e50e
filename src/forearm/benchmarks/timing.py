"""How a time is taken, and what a row of the result says."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One figure: what was timed, the median in s, what it should stay under, and a peer's median in the same run."""

    name: str
    seconds: float
    bar: float | None = None
    peer: str | None = None
    peer_seconds: float | None = None


def median_time(work: Callable[[], object], repeats: int = 7) -> float:
    """The median of several runs after one to warm up, in s."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def median_process_time(arguments: Sequence[str], repeats: int = 7) -> float:
    """The median wall time of a fresh Python process with these arguments, in s."""
    return median_time(lambda: subprocess.run([sys.executable, *arguments], check=True, capture_output=True), repeats)
