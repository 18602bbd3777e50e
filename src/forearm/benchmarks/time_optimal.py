"""The shortest time along a path of the Panda, 1,000 intervals,
compared with toppra where it supports the problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from forearm.arm.arm import Arm
from forearm.benchmarks.driven_panda import panda_with_gears, panda_with_motors
from forearm.benchmarks.peers import wanted
from forearm.benchmarks.timing import BenchmarkRow, Work, beside, fresh_medians, keeping
from forearm.files.load import load
from forearm.kinematics.limits import limits_of
from forearm.spatial import Floats
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


def rows(peers: bool) -> Iterator[BenchmarkRow]:
    """The results of docs/time-optimal.md: a spline through six points, torque and velocity limits active."""
    arm = load("panda")
    for name, acceleration, bar in (
        ("torque, velocity", None, RIGID),
        ("torque, velocity, acceleration", ACCELERATION, None),
    ):
        theirs = toppra(arm, acceleration) if wanted("toppra", peers) else None
        limits = {"group": GROUP, "bar": bar, "tolerance": AGREE}
        yield beside(name, ours(arm, acceleration), theirs, 9, **limits)
    yield beside("friction and voltage too", ours(panda_with_motors()), None, 9, group=GROUP, bar=DRIVEN)
    yield beside("gears and bearings too", ours(panda_with_gears()), None, 5, group=GROUP, bar=GEARED)
    cold, warm = fresh_medians(FIRST_PLAN, STARTS)
    yield BenchmarkRow("first plan, nothing cached", cold, group=GROUP)
    yield BenchmarkRow("first plan, cached on disk", warm, group=GROUP)


def waypoints(arm: Arm) -> Floats:
    """Six points around the middle of the arm's range, (6, n)."""
    lower, upper = limits_of(arm)
    return lower + (upper - lower) * np.random.default_rng(2).uniform(0.35, 0.65, (6, arm.n))


def ours(arm: Arm, acceleration: float | None = None) -> Work:
    """A plan; the result is its duration."""
    solve = partial(time_optimal, arm, waypoints(arm), acceleration=acceleration, points=INTERVALS)
    return keeping("ours", solve, 1, lambda plan: [plan.duration])


def toppra(arm: Arm, acceleration: float | None) -> Work:
    """The same by toppra."""
    from forearm.benchmarks.peers.toppra import Toppra

    allowed = None if acceleration is None else np.full(arm.n, acceleration)
    peer = Toppra(arm, spline(waypoints(arm)), fastest_of(arm), DriveLimits.of(arm).effort, allowed)
    return peer.work(INTERVALS)
