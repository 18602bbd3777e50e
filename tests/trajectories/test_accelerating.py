"""Chosen accelerations: never more torque than there is, looked at more finely than the planner
does, and nearly all of it.
"""

from __future__ import annotations

import numpy as np
import pytest
from arms import Array

import forearm as fa

UR5 = fa.load("ur5")
EFFORT = np.array([j.max_effort for j in UR5.joints])
NEARLY = 0.99  # of a torque is used: the planner's 0.999, its search to 1e-3, and what a factor moves of it


def largest_share(plan: fa.Plan) -> float:
    """Of max_effort, at 40000 moments and on both sides of every switch."""
    assert isinstance(plan.motion, fa.trajectories.Switching)
    switches = plan.motion.switches
    t = np.concatenate(
        [np.linspace(0.0, plan.duration, 40_000), switches, np.maximum(switches - 1e-9 * plan.duration, 0.0)]
    )
    return float((np.abs(plan.torque(np.unique(t))) / EFFORT).max())


def one_joint_moves() -> Array:
    rng = np.random.default_rng(8)
    start = rng.uniform(-2.5, 2.5, 6)
    end = start.copy()
    end[1] = rng.uniform(-2.5, 2.5)
    return np.array([start, end])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [11, 20, 21, 25])
@pytest.mark.sweep(first=2)
def test_all_of_the_torque_and_no_more(seed: int) -> None:
    plan = fa.plan(UR5, np.random.default_rng(seed).uniform(-1.5, 1.5, (4, 6)), step=0.01)
    assert NEARLY < largest_share(plan) <= 1.0
    assert plan.warnings == ()


@pytest.mark.slow
def test_one_joint_alone_uses_its_torque_too() -> None:
    plan = fa.plan(UR5, one_joint_moves(), step=0.01)
    assert NEARLY < largest_share(plan) <= 1.0


def test_nothing_moves() -> None:
    plan = fa.plan(UR5, np.zeros((2, 6)))
    assert plan.duration == 0.0
    assert plan.limits is not None
    assert plan.limits.acceleration.max() < 1e4


@pytest.mark.slow
def test_velocities_that_need_hard_braking_are_had_or_refused() -> None:
    """To the end of joint 1's range at speed: room for 0.02 rad to brake needs v^2 / 2d =
    4 rad/s^2 at 0.4 rad/s.
    """
    start, end = np.zeros(6), np.zeros(6)
    upper = UR5.joints[0].limits.upper
    end[0] = upper - 0.02
    way = (fa.Waypoint(q=start), fa.Waypoint(q=end, qd=[0.4, 0, 0, 0, 0, 0]), fa.Waypoint(q=start))
    plan = fa.plan(UR5, fa.Request(way), step=0.01)
    assert largest_share(plan) <= 1.0
    fast = (fa.Waypoint(q=start), fa.Waypoint(q=end, qd=[3.0, 0, 0, 0, 0, 0]), fa.Waypoint(q=start))
    with pytest.raises(fa.InputError, match="the velocities of the request need accelerations above"):
        fa.plan(UR5, fa.Request(fast))
    outside = (fa.Waypoint(q=start), fa.Waypoint(q=end + 9.0, qd=[0.4, 0, 0, 0, 0, 0]), fa.Waypoint(q=start))
    with pytest.raises(fa.InputError, match="outside the joint's range"):
        fa.plan(UR5, fa.Request(outside))
