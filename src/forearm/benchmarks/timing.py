"""Timing, and the rows of results."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

APART = 1e-6  # allowed difference of two results relative to the largest value


@dataclass(frozen=True)
class BenchmarkRow:
    """One measurement: what was timed, the median in s, its limit, and a peer's median in the same run.

    `at_least` is the target for the ratio peer / ours; `agreement` the largest difference of the two results
    over the largest value, at most `tolerance`; `operations` those of one state without sines and cosines;
    `peak_share` their share of the machine's peak.
    """

    name: str
    seconds: float
    bar: float | None = None
    peer: str | None = None
    peer_seconds: float | None = None
    group: str = ""
    at_least: float | None = None
    agreement: float | None = None
    operations: int | None = None
    peak_share: float | None = None
    tolerance: float = APART

    @property
    def ratio(self) -> float | None:
        """The peer's time over ours."""
        return None if self.peer_seconds is None else self.peer_seconds / self.seconds

    @property
    def met(self) -> bool | None:
        """Whether the time and the ratio meet their targets; None if there is no target, or no peer."""
        said = [] if self.bar is None else [self.seconds <= self.bar]
        said += [] if self.at_least is None or self.ratio is None else [self.ratio >= self.at_least]
        return all(said) if said else None

    @property
    def disagrees(self) -> bool:
        """Whether the two results differ, or one of them is NaN."""
        return self.agreement is not None and not self.agreement <= self.tolerance

    def document(self) -> dict[str, Any]:
        """Every field and derived values, for JSON."""
        return asdict(self) | {"ratio": self.ratio, "met": self.met, "disagrees": self.disagrees}


@dataclass(frozen=True)
class Work:
    """Something to time: who does it, how, for how many states, and the result after one run."""

    who: str
    run: Callable[[], object]
    states: int
    answer: Callable[[], NDArray[Any]]


def keeping(
    who: str, compute: Callable[[], Any], states: int = 1, take: Callable[[Any], Any] = np.asarray
) -> Work:
    """Work whose result is taken from what the last run gave."""
    last: list[Any] = [None]

    def run() -> None:
        last[0] = compute()

    return Work(who, run, states, lambda: np.asarray(take(last[0])))


def beside(name: str, ours: Work, theirs: Work | None = None, repeats: int = 7, **said: Any) -> BenchmarkRow:
    """Time both alternately, so that noise affects both, and compare their results;
    `said` are further fields of the row.
    """
    if theirs is None:
        (seconds,) = medians([ours.run], repeats)
        return BenchmarkRow(name, seconds / ours.states, **said)
    seconds, peer_seconds = medians([ours.run, theirs.run], repeats)
    apart = apart_by(ours.answer(), theirs.answer())
    return BenchmarkRow(
        name,
        seconds / ours.states,
        peer=theirs.who,
        peer_seconds=peer_seconds / theirs.states,
        agreement=apart,
        **said,
    )


def relative(
    name: str, ours: float, who: str, theirs: float, most: float | None, **said: Any
) -> BenchmarkRow:
    """A row whose peer is a simpler case of our own, and what ours may cost at most relative to it."""
    at_least = None if most is None else 1.0 / most
    return BenchmarkRow(name, ours, peer=who, peer_seconds=theirs, at_least=at_least, **said)


def apart_by(a: NDArray[Any], b: NDArray[Any]) -> float:
    """The largest difference over the largest value."""
    return float(np.max(np.abs(a - b)) / np.max(np.abs(b)))


def medians(works: Sequence[Callable[[], object]], repeats: int = 7) -> list[float]:
    """The median of several runs of each, alternating, after one of each to warm up, in s."""
    for work in works:
        work()
    times: list[list[float]] = [[] for _ in works]
    for _ in range(repeats):
        for work, taken in zip(works, times, strict=True):
            start = time.perf_counter()
            work()
            taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in times]


def median_time(work: Callable[[], object], repeats: int = 7) -> float:
    """The median of several runs after one to warm up, in s."""
    return medians([work], repeats)[0]


def fresh_medians(code: str, starts: int, **environment: str) -> tuple[float, float]:
    """Medians of the seconds that fresh processes print: with the cache of compiled functions empty, and
    filled by the first of them.
    """
    with TemporaryDirectory() as folder:
        cold, warm = (
            [
                _printed(code, environment | {"FOREARM_CACHE": str(Path(folder, name(k)))})
                for k in range(starts)
            ]
            for name in (str, lambda _: "0")
        )
    return statistics.median(cold), statistics.median(warm)


def _printed(code: str, environment: dict[str, str]) -> float:
    command, environment = [sys.executable, "-c", code], os.environ | environment
    return float(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


def median_process_time(arguments: Sequence[str], repeats: int = 7) -> float:
    """The median wall time of a fresh Python process with these arguments, in s."""
    return median_time(
        lambda: subprocess.run([sys.executable, *arguments], check=True, capture_output=True), repeats
    )
