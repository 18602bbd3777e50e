"""From measurements to a model: a 10 s exciting motion of the Panda, from nothing to the motion."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from forearm.benchmarks.timing import BenchmarkRow, median_time
from forearm.files.load import load
from forearm.identification.excitation.excite import excite

EXCITED = 30.0  # s: what an exciting motion should stay under, everything compiled first
SECONDS = 10.0  # of the motion
STARTS = 3  # fresh processes whose median is taken
EXCITATION = "exciting motion, panda, 10 s"
FIRST_EXCITED = """\
import time
import forearm as fa
start = time.perf_counter()
fa.excite(fa.load("panda"), 10.0)
print(time.perf_counter() - start)
"""


def rows(peers: bool) -> Iterator[BenchmarkRow]:
    """The figures of docs/excitation.md."""
    del peers  # none has torque limits and friction in one
    yield from excitation_rows()


def excitation_rows() -> Iterator[BenchmarkRow]:
    """On one core: the first of a fresh process, and those after it by criterion and basis."""
    with TemporaryDirectory() as folder:
        cold = [_first_excited(Path(folder, str(k))) for k in range(STARTS)]
        first = statistics.median(cold)
        yield BenchmarkRow("first motion, nothing cached", first, EXCITED, group=EXCITATION)
        warm = [_first_excited(Path(folder, "0")) for _ in range(STARTS)]
        yield BenchmarkRow("first motion, cached on disk", statistics.median(warm), group=EXCITATION)
    arm = load("panda")
    seconds = median_time(lambda: excite(arm, SECONDS), STARTS)
    yield BenchmarkRow("fourier, d", seconds, group=EXCITATION)
    seconds = median_time(lambda: excite(arm, SECONDS, criterion="condition"), STARTS)
    yield BenchmarkRow("fourier, condition", seconds, group=EXCITATION)
    seconds = median_time(lambda: excite(arm, SECONDS, basis="spline"), STARTS)
    yield BenchmarkRow("spline, d", seconds, group=EXCITATION)


def _first_excited(cache: Path) -> float:
    run = subprocess.run(
        [sys.executable, "-c", FIRST_EXCITED],
        env=os.environ | {"FOREARM_CACHE": str(cache), "OPENBLAS_NUM_THREADS": "1"},
        check=True,
        capture_output=True,
        text=True,
    )
    return float(run.stdout)
