"""Time-optimal motions under limits of jerk, by differences of sampled accelerations."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from numpy.typing import NDArray
from one_joint import beam, block
from timed_paths import check_kept

import forearm as fa
from forearm.trajectories.paths import spline
from forearm.trajectories.shortest_time.path_motion import PathMotion

Array = NDArray[np.float64]
ARM = random_arm(3, 2, prismatic=False, fixed=False)
WAY = [[0.0, 0.0], [1.0, 0.5], [0.3, 1.0]]
LIMITS: dict[str, Any] = {"torque": [80.0, 50.0], "velocity": [3.0, 4.0], "acceleration": [10.0, 15.0]}
KEPT = 1.0 + 1e-3
pytestmark = pytest.mark.slow


@cache
def free() -> fa.Plan:
    """Without limits of jerk."""
    return planned()


def planned(path: Any = WAY, arm: fa.Arm = ARM, points: int = 100, **given: Any) -> fa.Plan:
    """A plan whose limits but those of jerk are looked at."""
    plan = fa.time_optimal(arm, path, points=points, **(LIMITS | given))
    check_kept(plan, **LIMITS)
    return plan


def rates(plan: fa.Plan) -> tuple[Array, Array, Array]:
    """s (m,), and between samples the rates of change of qdd (m, n) and of d2s/dt2 (m,)."""
    assert isinstance(plan.motion, PathMotion)
    t = np.linspace(0.0, plan.duration, 20_001)
    s, _, second = plan.motion.along(t)
    jerk, along = (np.diff(x, axis=0) / t[1] for x in (plan.at(t)[2], second))
    return s[:-1], np.abs(jerk), np.abs(along)


def test_jerks_of_joints_are_kept() -> None:
    limit = np.array([150.0, 300.0])
    plan = planned(jerk=limit)
    _, jerk, _ = rates(plan)
    assert (jerk.max(axis=0) <= KEPT * limit).all()
    assert (jerk > 0.99 * limit).any()
    assert (rates(free())[1].max(axis=0) > 10.0 * limit).all()
    assert free().duration < plan.duration < 1.3 * free().duration
    assert planned(jerk=1e5).duration == pytest.approx(free().duration, rel=3e-3)  # no limit
    assert plan.at([0.0, plan.duration])[2] == pytest.approx(0.0, abs=1e-9)
    assert plan.limit is not None
    assert "joint1 jerk" in set(plan.limit.tolist())


def test_no_jerk_but_that_of_the_path_and_seven_phases() -> None:
    plan = planned(path_jerk=80.0)
    _, _, along = rates(plan)
    assert 0.99 * 80.0 < along.max() <= KEPT * 80.0
    assert plan.duration > free().duration
    # The block's seven phases, with top speed and acceleration reached: x / v + v / a + a / j.
    way, v, a, j = 1.9, 1.1, 2.3, 9.0
    limits: dict[str, Any] = {"velocity": v, "acceleration": a, "torque": np.inf, "jerk": j}
    plan = fa.time_optimal(block(), [[-0.4], [-0.4 + way]], points=200, **limits)
    assert plan.duration == pytest.approx(way / v + v / a + a / j, rel=2e-3)


def test_it_stops_at_corners() -> None:
    plan = planned(continuity=0, jerk=200.0)
    assert rates(plan)[1].max() <= KEPT * 200.0
    t = np.linspace(0.0, plan.duration, 4001)
    q, qd, qdd = plan.at(t)
    corner = np.linalg.norm(q - WAY[1], axis=1).argmin()
    assert np.abs(q[corner] - WAY[1]).max() < 1e-6
    assert np.abs(qd[corner]).max() < 1e-2
    assert np.abs(qdd[corner]).max() < 0.2


def test_a_path_whose_acceleration_jumps_is_refused() -> None:
    with pytest.raises(
        fa.InputError,
        match=r"time_optimal, jerk: along 'waypoints': q'' of joint 1 jumps by .* at s = 1\.118.*smoother",
    ):
        planned(continuity=1, jerk=200.0)


def test_jerk_that_changes_along_the_path() -> None:
    plan = planned(jerk=lambda s: 100.0 + 200.0 * s)
    s, jerk, _ = rates(plan)
    assert (jerk / (100.0 + 200.0 * s)[:, None]).max() <= 1.002  # differences reach into the next interval
    assert planned(jerk=500.0).duration < plan.duration < planned(jerk=100.0).duration


def test_a_duration_with_jerk() -> None:
    shortest = planned(jerk=200.0)
    plan = planned(jerk=200.0, duration=1.5 * shortest.duration)
    assert plan.duration == pytest.approx(1.5 * shortest.duration, rel=1e-9)
    assert rates(plan)[1].max() == pytest.approx(rates(shortest)[1].max() / 1.5**3, rel=1e-3)
    with pytest.raises(fa.InputError, match=rf"is too short: .* limits is {shortest.duration:.6g} s"):
        planned(jerk=200.0, duration=0.9 * shortest.duration)


def test_speeds_at_the_ends_with_jerk() -> None:
    plan = planned(spline(WAY), jerk=200.0, start_speed=0.5, end_speed=0.3)
    assert isinstance(plan.motion, PathMotion)
    assert plan.motion.along(np.array([0.0, plan.duration]))[1] == pytest.approx([0.5, 0.3], rel=1e-9)
    assert rates(plan)[1].max() <= KEPT * 200.0
    slower = planned(spline(WAY), jerk=200.0, start_speed=0.5, duration=3.0)
    assert "start_speed: the requested duration lowers it from 0.5 to 0." in slower.notes[0]


def test_what_cannot_be_held_cannot_be_passed_slowly() -> None:
    """A beam with less torque than gravity's, which swings over the level."""
    weak: dict[str, Any] = {
        "torque": 0.7 * 1.7 * 9.81 * 0.3,
        "velocity": np.inf,
        "jerk": 3000.0,
        "start_speed": 5.0,
    }
    path = spline([[-1.2], [1.2]])
    plan = fa.time_optimal(beam(), path, points=100, **weak)
    check_kept(plan, torque=weak["torque"])
    with pytest.raises(
        fa.InputError, match="duration: 9 s is too long: 'spline' has configurations that the arm"
    ):
        fa.time_optimal(beam(), path, points=100, duration=9.0, **weak)
