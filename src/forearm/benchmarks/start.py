"""Time from a fresh process, forearm imported, to its first torques: without a cache, and once again."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from forearm.benchmarks.timing import BenchmarkRow

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
    with TemporaryDirectory() as folder:
        cold = [_first_torques(Path(folder, str(k))) for k in range(REPEATS)]
        yield BenchmarkRow(
            "first torques, nothing cached", statistics.median(cold), bar=COLD, group="a fresh process, panda"
        )
        warm = [_first_torques(Path(folder, "0")) for _ in range(REPEATS)]
        yield BenchmarkRow(
            "first torques, cached", statistics.median(warm), bar=WARM, group="a fresh process, panda"
        )


def _first_torques(cache: Path) -> float:
    run = subprocess.run(
        [sys.executable, "-c", FIRST_TORQUES],
        env=os.environ | {"FOREARM_CACHE": str(cache)},
        check=True,
        capture_output=True,
        text=True,
    )
    return float(run.stdout)
