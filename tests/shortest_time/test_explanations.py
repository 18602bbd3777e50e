"""What a time-optimal plan says of itself: which limit binds, what more of it saves, why there is none."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from one_joint import beam
from timed_paths import moments, shares, timed

import forearm as fa
from forearm.trajectories.paths import spline
from forearm.trajectories.shortest_time.path_motion import PathMotion

Array = NDArray[np.float64]
ARM = fa.load("puma560")
TORQUE = np.array([joint.max_effort for joint in ARM.joints], dtype=np.float64)
WAY = np.array(
    [[0.0, 0.5, -0.5, 0.0, 0.3, 0.0], [1.0, 0.2, 0.3, 0.5, -0.4, 0.5], [0.5, 1.0, -0.2, 1.0, 0.2, -0.3]]
)
LIMITS: dict[str, Any] = {"velocity": [2.5, 3.0, 3.0, 4.0, 4.0, 4.0], "torque": TORQUE, "points": 200}
NUMBER = r"(\d[\d.e+-]*\d|\d)"
pytestmark = pytest.mark.slow


@cache
def plan_of_way() -> fa.Plan:
    return timed(ARM, WAY, **LIMITS)


def refusal(*arguments: Any, **given: Any) -> str:
    with pytest.raises(fa.InputError) as caught:
        fa.time_optimal(*arguments, **given)
    return str(caught.value)


def test_a_duration_is_met_more_slowly_everywhere() -> None:
    shortest = plan_of_way()
    message = refusal(ARM, WAY, duration=0.9 * shortest.duration, **LIMITS)
    stated = re.search(rf"is too short: .* the limits is {NUMBER} s; use a longer one", message)
    assert stated is not None
    assert float(stated[1]) == pytest.approx(shortest.duration, rel=1e-5)
    for factor in (1.0001, 2.0):
        slower = timed(ARM, WAY, duration=factor * shortest.duration, **LIMITS)
        assert slower.duration == pytest.approx(factor * shortest.duration, rel=1e-9)
        assert isinstance(slower.motion, PathMotion)
        assert shortest.timing is not None
        _, s = moments(slower.motion)
        fastest = np.interp(s, shortest.timing.s, shortest.timing.speed**2)
        speed = slower.motion.along(moments(slower.motion)[0])[1]
        assert (speed**2 <= fastest * (1.0 + 1e-6) + 1e-9).all()


def swung(q: Array, begin: float, torque: float) -> Array:
    """qd^2 of the beam, less what it began with at `begin`, under a constant torque: the work done."""
    arm = beam()
    height = 1.7 * 9.81 * 0.3 * (np.sin(q) - np.sin(begin))
    inertia = fa.compile(arm).inertia_matrix(np.zeros(1))[0, 0]
    return np.asarray(2.0 * (torque * (q - begin) - height) / inertia)


def test_speeds_that_a_weak_beam_needs_by_energy() -> None:
    """With less torque than holds it level it gets up only with a run, and not in any time."""
    path = spline([[-1.2], [1.2]])
    weak: dict[str, Any] = {"torque": 0.7 * 1.7 * 9.81 * 0.3, "velocity": np.inf, "points": 200}
    q = np.linspace(-1.2, 1.2, 4001)
    least = np.sqrt(-swung(q, -1.2, weak["torque"]).min())
    message = refusal(beam(), path, **weak)
    stated = re.search(rf"start_speed: at most {NUMBER}, and at least {NUMBER} is feasible", message)
    assert stated is not None
    assert float(stated[2]) == pytest.approx(least, rel=6e-3)  # with a part of every limit left
    most = np.sqrt(swung(np.array([-1.2]), 1.2, -weak["torque"])[0])  # to rest at the end
    assert float(stated[1]) == pytest.approx(most, rel=3e-3)
    run = fa.time_optimal(beam(), path, start_speed=1.2 * least, **weak)
    slower = timed(beam(), path, start_speed=1.2 * least, duration=1.02 * run.duration, **weak)
    assert slower.duration == pytest.approx(1.02 * run.duration, rel=1e-9)
    message = refusal(beam(), path, start_speed=1.2 * least, duration=9.0, **weak)
    assert (
        "duration: 9 s is too long: 'spline' has configurations that the arm can only pass at speed"
        in message
    )


def test_speeds_at_the_ends_that_are_too_high() -> None:
    strong: dict[str, Any] = {"torque": 1.4 * 1.7 * 9.81 * 0.3, "velocity": np.inf, "points": 200}
    path = spline([[-0.4], [0.9]])
    ends = {"start_speed": (0.9, -1.0, -0.4), "end_speed": (-0.4, 1.0, 0.9)}
    for name, (begin, sign, end) in ends.items():
        stated = re.search(
            rf"{name}: at most {NUMBER} is feasible", refusal(beam(), path, **strong, **{name: 99.0})
        )
        assert stated is not None
        most = float(stated[1])
        known = np.sqrt(swung(np.array([end]), begin, sign * strong["torque"])[0])
        assert most == pytest.approx(known, rel=3e-3)
        timed(beam(), path, **strong, **{name: most})
        assert f"{name}: at most" in refusal(beam(), path, **strong, **{name: 1.02 * most})


def test_a_limit_below_gravity() -> None:
    """Without friction what is needed at the place stated is gravity's torque there."""
    arm, weak = ARM.rigid(), TORQUE * [1.0, 0.12, 1.0, 1.0, 1.0, 1.0]
    message = refusal(arm, WAY, **(LIMITS | {"torque": weak}))
    found = re.search(
        rf"'waypoints' cannot be passed at s = {NUMBER} of {NUMBER}, q = (\[.*\]): at rest joint2 "
        rf"needs a torque of {NUMBER} N m \(N\), {NUMBER} times the {NUMBER} allowed",
        message,
    )
    assert found is not None
    s, length, posture, needed, share, allowed = found.groups()
    path = spline(WAY)
    q = np.array([float(x) for x in posture.strip("[]").split(",")])
    assert np.abs(path.at(np.array([float(s)]))[0][0] - q).max() < 1e-4
    assert float(length) == pytest.approx(path.length, rel=1e-5)
    assert float(needed) == pytest.approx(abs(fa.compile(arm).gravity(q)[1]), rel=1e-3)
    assert float(allowed) == pytest.approx(weak[1], rel=1e-3)
    assert float(share) == pytest.approx(float(needed) / weak[1], rel=1e-2)
    assert float(share) > 1.0


def test_limits_that_bind_are_used_up() -> None:
    """By the compiled arm's torques and by velocities at the samples."""
    plan = plan_of_way()
    used = {
        "torque": np.abs(fa.compile(ARM).inverse_dynamics(plan.q, plan.qd, plan.qdd)) / TORQUE,
        "velocity": np.abs(plan.qd) / LIMITS["velocity"],
    }
    assert plan.limit is not None
    named = [tuple(str(name).split()) for name in plan.limit]
    assert {name for name in named if name} >= {("joint1", "torque"), ("joint1", "velocity")}
    joints = [joint.name for joint in ARM.joints]
    largest = np.max([block.max(axis=1) for block in used.values()], axis=0)
    # but for the ends, where dry friction is 0; in an interval a limit may bind at one end alone
    inside = list(enumerate(named))[1:-1]
    share = np.array([used[name[1]][k, joints.index(name[0])] for k, name in inside if name])
    assert share.min() > 0.9
    assert (share >= 0.97).mean() > 0.98
    assert all(largest[k] < 0.99 for k, name in inside if not name)
    assert np.mean([bool(name) for name in named]) > 0.95


def test_what_more_of_a_limit_saves() -> None:
    plan = plan_of_way()
    assert plan.timing is not None
    savings = plan.timing.savings
    joints = [joint.name for joint in ARM.joints]
    assert [x.seconds for x in savings] == sorted((x.seconds for x in savings), reverse=True)
    assert savings[0].seconds > 0.01 * plan.duration
    for saving in savings[:2]:
        raised = np.array(LIMITS[saving.quantity], dtype=np.float64)
        raised[joints.index(saving.joint)] *= 1.1
        anew = timed(ARM, WAY, **(LIMITS | {saving.quantity: raised}))
        assert anew.duration == pytest.approx(plan.duration - saving.seconds, rel=3e-3)
    used = shares(plan, velocity=LIMITS["velocity"], torque=LIMITS["torque"])
    # joints whose limits are far from used up are not listed, and more of them saves nothing
    idle = {kind: block.max(axis=0) < 0.9 for kind, block in used.items()}
    listed = {(x.quantity, x.joint) for x in savings}
    free = [(kind, joint) for kind in ("torque", "velocity") for joint in np.array(joints)[idle[kind]]]
    assert free
    assert not listed & set(free)
    kind, joint = free[0]
    raised = np.array(LIMITS[kind], dtype=np.float64)
    raised[joints.index(joint)] *= 1.1
    assert fa.time_optimal(ARM, WAY, **(LIMITS | {kind: raised})).duration == pytest.approx(
        plan.duration, rel=1e-4
    )
    binds = sum(x.binds for x in savings)
    assert 0.9 * plan.duration < binds <= plan.duration * (1.0 + 1e-9)
    assert f"{savings[0].seconds:.4g} s" in plan.timing.summary
    assert savings[0].limit in str(plan.report())
