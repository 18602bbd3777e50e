"""Record toppra's durations along splines into tests/trajectories/toppra.json, which test_toppra compares.

toppra (pip package toppra, MIT) is no dependency of forearm. To record anew, in an environment that has it:
python tools/record_toppra.py
It is given forearm's inverse dynamics of the rigid arm, the same natural cubic spline and an even grid;
limits are those of velocity, torque and, in half of the cases, acceleration. `limit` is its duration on a
fine grid. The table of docs/time-optimal.md is recorded too: durations and the largest share of a torque
limit that is exceeded at ten moments per interval, by number of intervals and scheme.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import recording

import forearm as fa
from forearm.benchmarks.peers.toppra import Toppra
from forearm.benchmarks.time_optimal import waypoints
from forearm.kinematics.limits import limits_of
from forearm.trajectories import spline
from forearm.trajectories.drive_limits import DriveLimits
from forearm.trajectories.limits import fastest_of

TARGET = Path(__file__).parent.parent / "tests" / "trajectories" / "toppra.json"
SEED, CASES = 11, 8
ARMS = ("panda", "ur5")
INTERVALS, FINE = 1000, 8000
GRIDS = (250, 500, 1000, 2000, 4000)
PER_INTERVAL = 10


def peer_of(arm: fa.Arm, points: Any, acceleration: float | None) -> Toppra:
    """toppra along the spline through points, with the arm's own velocities and torques."""
    allowed = None if acceleration is None else np.full(arm.n, acceleration)
    return Toppra(arm, spline(points), fastest_of(arm), DriveLimits.of(arm).effort, allowed)


def case(rng: np.random.Generator, k: int) -> dict[str, Any]:
    """A random request with toppra's durations."""
    arm = fa.load(ARMS[k % len(ARMS)])
    lower, upper = (np.clip(limit, -3.0, 3.0) for limit in limits_of(arm))
    width, count = rng.uniform(0.1, 0.3), int(rng.integers(3, 8))
    points = np.round(lower + (upper - lower) * rng.uniform(0.5 - width, 0.5 + width, (count, arm.n)), 4)
    acceleration = None if k % 4 < 2 else float(np.round(rng.uniform(4.0, 15.0), 3))
    peer = peer_of(arm, points, acceleration)
    return {
        "arm": arm.name,
        "points": points.tolist(),
        "acceleration": acceleration,
        "duration": peer.duration(INTERVALS, True),
        "limit": peer.duration(FINE, True),
    }


def on_grid(intervals: int, interpolation: bool) -> dict[str, Any]:
    """Duration and excess along the path of the benchmark."""
    arm = fa.load("panda")
    peer = peer_of(arm, waypoints(arm), None)
    made = peer.trajectory(intervals, interpolation)
    t = np.linspace(0.0, made.duration, PER_INTERVAL * intervals + 1)
    torque = fa.compile(arm).inverse_dynamics(made(t), made(t, 1), made(t, 2))
    excess = float(np.max(np.abs(torque) / peer.torque)) - 1.0
    return {
        "intervals": intervals,
        "scheme": "interpolation" if interpolation else "collocation",
        "duration": float(made.duration),
        "excess": max(round(excess, 6), 0.0),
    }


def main() -> None:
    """Write the file."""
    rng = np.random.default_rng(SEED)
    recorded = {
        "source": recording.source("toppra", "toppra", __file__),
        "intervals": INTERVALS,
        "cases": [case(rng, k) for k in range(CASES)],
        "grids": [on_grid(count, scheme) for scheme in (False, True) for count in GRIDS],
    }
    recording.write(recorded, TARGET, '{"arm"', '{"intervals"')


if __name__ == "__main__":
    main()
