"""Time from a fresh process, forearm imported, to its first torques: without a cache, and once again."""

from __future__ import annotations

from collections.abc import Iterator

from forearm.benchmarks.timing import BenchmarkRow, fresh_medians

FIRST_TORQUES = """\
import time, warnings
import numpy as np
import forearm as fa
warnings.simplefilter("ignore")
q = np.full(7, 0.3)
start = time.perf_counter()
fa.compile(fa.load("panda").rigid()).inverse_dynamics(q, q, q)
print(time.perf_counter() - start)
"""
REPEATS = 5
COLD, WARM = 0.5, 0.05  # s


def rows() -> Iterator[BenchmarkRow]:
    """The Panda loaded, compiled and evaluated once;
    with the cache of compiled functions empty, and filled by the previous run.
    """
    cold, warm = fresh_medians(FIRST_TORQUES, REPEATS)
    group = "a fresh process, panda"
    yield BenchmarkRow("first torques, nothing cached", cold, bar=COLD, group=group)
    yield BenchmarkRow("first torques, cached", warm, bar=WARM, group=group)
