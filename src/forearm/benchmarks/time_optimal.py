"""The shortest time along a path of the Panda, 1,000 intervals,
compared with toppra where it supports the problem.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.benchmarks.driven_panda import panda_with_gears, panda_with_motors
from forearm.benchmarks.peers import problem
from forearm.benchmarks.timing import BenchmarkRow, Work, beside
from forearm.files.load import load
from forearm.kinematics.limits import limits_of
from forearm.trajectories import time_optimal
from forearm.trajectories.drive_limits import DriveLimits
from forearm.trajectories.limits import fastest_of
from forearm.trajectories.paths import spline

INTERVALS = 1000
RIGID, DRIVEN, GEARED = 8e-3, 15e-3, 60e-3  # s: limit for a plan
AGREE = 1e-3  # of the duration: allowed difference of two planners
ACCELERATION = 10.0  # rad/s^2
STARTS = 3  # fresh processes, of which the median is reported
GROUP = "time-optimal motion, panda, 1,000 intervals"
FIRST_PLAN = """\
import time
import forearm as fa
from forearm.benchmarks.time_optimal import INTERVALS, waypoints
start = time.perf_counter()
arm = fa.load("panda")
fa.time_optimal(arm, waypoints(arm), points=INTERVALS)
print(time.perf_counter() - start)
"""

Floats = NDArray[np.float64]


def rows(peers: bool) -> Iterator[BenchmarkRow]:
    """The results of docs/time-optimal.md: a spline through six points, torque and velocity limits active."""
    arm, there = load("panda"), peers and problem("toppra") is None
    for name, acceleration in (("torque, velocity", None), ("torque, velocity, acceleration", ACCELERATION)):
        yield beside(
            name,
            ours(arm, acceleration),
            toppra(arm, acceleration) if there else None,
            9,
            group=GROUP,
            bar=RIGID if acceleration is None else None,
            tolerance=AGREE,
        )
    yield beside("friction and voltage too", ours(panda_with_motors()), None, 9, group=GROUP, bar=DRIVEN)
    yield beside("gears and bearings too", ours(panda_with_gears()), None, 5, group=GROUP, bar=GEARED)
    yield from first_plans()


def waypoints(arm: Arm) -> Floats:
    """Six points around the middle of the arm's range, (6, n)."""
    lower, upper = limits_of(arm)
    return lower + (upper - lower) * np.random.default_rng(2).uniform(0.35, 0.65, (6, arm.n))


def ours(arm: Arm, acceleration: float | None = None) -> Work:
    """A plan; the result is its duration."""
    points, kept = waypoints(arm), {"duration": 0.0}

    def run() -> None:
        plan = time_optimal(arm, points, acceleration=acceleration, points=INTERVALS)
        kept["duration"] = plan.duration

    return Work("ours", run, 1, lambda: np.array([kept["duration"]]))


def toppra(arm: Arm, acceleration: float | None) -> Work:
    """The same by toppra."""
    from forearm.benchmarks.peers.toppra import Toppra

    allowed = None if acceleration is None else np.full(arm.n, acceleration)
    peer = Toppra(arm, spline(waypoints(arm)), fastest_of(arm), DriveLimits.of(arm).effort, allowed)
    return peer.work(INTERVALS)


def first_plans() -> Iterator[BenchmarkRow]:
    """The first plan of a fresh process with the arm loaded; with the cache of compiled functions empty, and
    filled by the previous run.
    """
    with TemporaryDirectory() as folder:
        cold = [_first_plan(Path(folder, str(k))) for k in range(STARTS)]
        yield BenchmarkRow("first plan, nothing cached", statistics.median(cold), group=GROUP)
        warm = [_first_plan(Path(folder, "0")) for _ in range(STARTS)]
        yield BenchmarkRow("first plan, cached on disk", statistics.median(warm), group=GROUP)


def _first_plan(cache: Path) -> float:
    run = subprocess.run(
        [sys.executable, "-c", FIRST_PLAN],
        env=os.environ | {"FOREARM_CACHE": str(cache)},
        check=True,
        capture_output=True,
        text=True,
    )
    return float(run.stdout)
