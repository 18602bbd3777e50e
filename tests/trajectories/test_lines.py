"""Straight hand lines: the hand stays on them, joints are consistent in all derivatives,
obstacles are known beforehand.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from arms import random_arm
from numpy.typing import NDArray

import forearm as fa
from forearm.arm import Joint, Limits, from_dh
from forearm.kinematics import condition_number, follow, forward, hand_motion, hand_pose, jacobian
from forearm.kinematics.nearby import solve_nearby
from forearm.trajectories.line_speed import speed_along
from forearm.trajectories.lines import HandLine, hand_line

Array = NDArray[np.float64]
ON_THE_LINE = 1e-12  # m and rad: what Newton's iteration leaves
RATES = 1e-11  # relative to joint rates, times a condition number of some ten
STEP = 1e-4
DIFFERENCE = 1e-6  # central differences over 1e-4 s: truncation 1e-8 times a third derivative of some ten
A, B = 0.5, 0.3  # m: the links of the planar arm


def planar() -> fa.Arm:
    """Two links with parallel axes, whose inverse is known on paper."""
    return from_dh("planar", [(A, 0.0, 0.0, 0.0), (B, 0.0, 0.0, 0.0)], convention="standard")


def elbow(x: float, y: float) -> Array:
    """The joint angles of the planar arm, elbow to the left of the way to the hand:
    bent to the positive side.
    """
    bend = math.acos((x * x + y * y - A * A - B * B) / (2.0 * A * B))
    return np.array([math.atan2(y, x) - math.atan2(B * math.sin(bend), A + B * math.cos(bend)), bend])


def limited(arm: fa.Arm, index: int, limits: Limits, max_speed: float) -> fa.Arm:
    """The arm with other limits of one joint."""

    def changed(joint: Joint) -> Joint:
        return dataclasses.replace(joint, limits=limits, max_speed=max_speed) if joint.name == name else joint

    name = arm.joints[index].name
    return arm.replace(tree=tuple(changed(j) for j in arm.tree))


def puma() -> tuple[fa.Arm, Array]:
    return fa.load("puma560-akb"), np.array([0.3, 0.7, -0.5, 0.5, 0.8, -0.2])


def assert_consistent(line: HandLine) -> None:
    """q on the line with its attitude, qd and qdd those that move the hand as it should,
    and the derivatives of q.
    """
    t = np.linspace(2.0 * STEP, line.duration - 2.0 * STEP, 37)
    q, qd, qdd = line.at(t)
    motion, (p, v, a) = hand_motion(line.task.arm, q, qd, qdd), line.hand(t)
    scale = np.abs(qd).max() + np.abs(qdd).max()
    assert np.abs(motion.position - p).max() < ON_THE_LINE
    assert np.abs(motion.velocity - v).max() < RATES * scale
    assert np.abs(motion.acceleration - a).max() < RATES * scale
    if line.task.attitude:
        assert np.abs(motion.pose[:, :3, :3] - line.task.pose[:3, :3]).max() < 2.0 * ON_THE_LINE
        assert np.abs(motion.angular_velocity).max() < RATES * scale
        assert np.abs(motion.angular_acceleration).max() < RATES * scale
    before, after = line.at(t - STEP), line.at(t + STEP)
    # differences mix both sides of a jump
    away = np.abs(t[:, None] - line.switches).min(axis=1, initial=np.inf) > 2.0 * STEP
    for k in (0, 1):
        differences = (after[k] - before[k]) / (2.0 * STEP)
        assert np.abs(differences - (qd, qdd)[k])[away].max() < DIFFERENCE * (1.0 + scale)


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["constant", "trapezoidal", "quintic"])
def test_joints_are_exactly_consistent_with_the_hand(profile: str) -> None:
    arm, q0 = puma()
    line = hand_line(arm, q0, forward(arm, q0)[:3, 3] + [0.1, 0.12, -0.15], 0.3, 1.5, profile)
    assert line.feasible, line.message
    assert_consistent(line)
    for t in (-1e-9, line.duration + 1e-9, np.nan, [0.0, 9.0]):
        with pytest.raises(fa.InputError, match="is outside the motion, which runs from 0 to"):
            line.at(t)
    one, many = line.at(0.1), line.at([0.0, 0.1])
    assert all(np.abs(a - b[1]).max() < 1e-12 for a, b in zip(one, many, strict=True))
    assert one[0].shape == (6,)


@pytest.mark.slow
def test_other_arms_sliding_redundant_and_without_a_closed_form() -> None:
    stanford, panda = fa.load("stanford"), fa.load("panda")
    generic = random_arm(3, n=6, convention="modified", prismatic=False)
    rng = np.random.default_rng(3)
    regular = next(q for q in rng.uniform(-1.0, 1.0, (200, 6)) if condition_number(generic, q) < 15.0)
    starts = {
        stanford: np.array([0.2, 0.9, 0.5, 0.4, 0.8, -0.3]),
        panda: np.array([0.2, -0.4, 0.3, -1.7, 0.5, 1.4, 0.1]),
        generic: regular,
    }
    for arm, q0 in starts.items():
        line = hand_line(arm, q0, forward(arm, q0)[:3, 3] + [0.02, -0.03, 0.025], 0.1, profile="quintic")
        assert not [p for p in line.problems if "limit" not in p.kind], line.message
        assert_consistent(line)
        if arm.n > 6:  # redundant joints hold what does not move the hand at the start
            null = np.linalg.svd(jacobian(arm, q0))[2][-1]
            q, qd, qdd = line.at(np.linspace(0.0, line.duration, 15))
            assert max(np.abs(block @ null).max() for block in (q - q0, qd, qdd)) < 1e-12


@pytest.mark.slow
def test_closed_form_follows_the_same_branch() -> None:
    arm, q0 = fa.load("stanford"), np.array([0.2, 0.9, 0.5, 0.4, 0.8, -0.3])
    line = hand_line(arm, q0, forward(arm, q0)[:3, 3] + [0.1, 0.12, -0.15], 0.3, 1.5)
    t = np.linspace(0.0, line.duration, 40)
    poses = np.repeat(forward(arm, q0)[None], len(t), axis=0)
    poses[:, :3, 3] = line.hand(t)[0]
    assert np.abs(line.at(t)[0] - follow(arm, poses, q0, limits=False).q).max() < 1e-10


@pytest.mark.slow
def test_two_links_on_paper() -> None:
    arm, start, end = planar(), np.array([0.55, -0.3, 0.0]), np.array([0.5, 0.35, 0.0])
    line = hand_line(arm, elbow(*start[:2]), end, 0.4, 2.0, attitude="free")
    assert line.feasible
    for t in np.linspace(0.0, line.duration, 41):
        x, y, _ = line.hand(t)[0]
        assert np.abs(line.at(t)[0] - elbow(x, y)).max() < 1e-11
    assert np.abs(line.hand(line.duration)[0] - end).max() < 1e-15
    assert not line.hand(0.0)[1].any()
    assert np.abs(line.hand(line.duration)[1]).max() < 1e-15
    assert_consistent(line)


@pytest.mark.slow
def test_path_of_mata() -> None:
    """Mata 5.2: from (0.50, 0.00, 0.05) with Z-Y-Z angles 0, 90, 180 degrees to (0.62,
    0.30, 0.11) at 0.1 m/s.

    The way is 0.3286 m, so it takes 3.29 s and not the printed 5.0 s. The tool is not given;
    without one the PUMA can do it.
    """
    arm = fa.load("puma560-akb")
    start = hand_pose([0.5, 0.0, 0.05], np.radians([0.0, 90.0, 180.0]), "zyz")
    found = solve_nearby(arm, start, [-0.3, 0.9, -0.35, 0.35, 1.0, 3.0])
    assert found.converged
    assert np.abs(start[:3, :3] - [[0.0, 0.0, 1.0], [0.0, -1.0, 0.0], [1.0, 0.0, 0.0]]).max() < 1e-15
    line = hand_line(arm, found.q, [0.62, 0.30, 0.11], 0.1, profile="constant")
    assert line.feasible, line.message
    assert line.duration == pytest.approx(math.sqrt(0.12**2 + 0.3**2 + 0.06**2) / 0.1, rel=1e-12)
    assert round(line.duration, 2) == 3.29
    angles = hand_motion(arm, line.at(np.linspace(0.0, line.duration, 20))[0]).orientation("zyz")
    # a half turn may be either sign
    assert np.abs(np.abs(angles) - np.radians([0.0, 90.0, 180.0])).max() < 1e-11
    assert (
        np.abs(np.linalg.norm(line.hand(np.linspace(0.0, line.duration, 9))[1], axis=1) - 0.1).max() < 1e-15
    )
    assert_consistent(line)


@pytest.mark.slow
def test_corners_are_passed_at_rest_and_the_last_is_where_asked() -> None:
    arm, q0 = puma()
    home = forward(arm, q0)[:3, 3]
    places = home + np.array([[0.08, 0.0, 0.0], [0.08, 0.1, 0.04], [0.0, 0.0, 0.0]])
    line = hand_line(arm, q0, places, 0.3, 2.0)
    assert len(line.times) == 4
    assert np.abs(line.hand(line.times)[0] - [home, *places]).max() < 1e-15
    assert np.abs(line.at(line.times)[1]).max() < 1e-13
    assert np.abs(line.at(line.duration)[0] - q0).max() < 1e-11  # round and back: the branch is the same
    assert_consistent(line)


@pytest.mark.slow
@pytest.mark.parametrize("sideways", [1e-4, 1e-2])
@pytest.mark.sweep(first=1)
def test_beside_a_straight_wrist_the_branch_is_kept_and_the_posture_named(sideways: float) -> None:
    """q5 would have to change sign; on its branch the wrist swings round by half a turn
    instead, q5 stays positive.
    """
    arm = fa.load("puma560").rigid()
    q0 = np.array([0.3, -0.7, 0.4, sideways, 0.3, 0.0])
    line = hand_line(
        arm, q0, forward(arm, q0)[:3, 3] - 0.3 * np.array([math.cos(0.3), math.sin(0.3), 0.0]), 0.2, 1.0
    )
    (singular,) = (p for p in line.problems if p.kind == "singular")
    assert singular.joint in ("joint4", "joint6")
    assert singular.time <= 0.8488 <= singular.until + 1e-3
    assert "singular configuration at 0.8488 s" in singular.text
    q = line.stretches[0].q
    assert (q[:, 4] > 0.0).all()
    assert abs(q[-1, 3]) == pytest.approx(math.pi, abs=0.1)
    assert np.abs(np.diff(q, axis=0)).max() <= 0.2
    between = 0.5 * (line.stretches[0].ways[1:] + line.stretches[0].ways[:-1])
    places = line.stretches[0].way.at(between)[0]
    exact, converged = line.task.solve(places, line.stretches[0].guess(between))
    assert converged.all()
    # knots are dense enough for Newton's iteration
    assert np.abs(exact - line.stretches[0].guess(between)).max() < 2e-3


@pytest.mark.slow
def test_what_is_out_of_reach_is_said_with_time_and_place() -> None:
    """Two links of 0.5 and 0.3 m going straight out along x reach 0.8 m."""
    arm = planar()
    line = hand_line(arm, elbow(0.6, 0.0), [1.0, 0.0, 0.0], 0.1, profile="constant", attitude="free")
    (problem,) = line.problems
    assert problem.kind == "unreachable"
    assert problem.time == pytest.approx(2.0, abs=1e-5)
    assert problem.until == line.duration == pytest.approx(4.0)
    assert problem.place == pytest.approx((0.8, 0.0, 0.0), abs=1e-6)
    assert "no configuration reaches farther along the line, to its end at 4 s" in line.message
    assert np.isfinite(line.at(1.99)[0]).all()
    assert np.isnan(np.concatenate(line.at([2.5, 4.0]))).all()
    assert np.isfinite(line.hand(2.5)[0]).all()


@pytest.mark.slow
def test_limits_are_found_with_time_and_joint() -> None:
    free = planar()
    start, end = np.array([0.55, -0.3]), np.array([0.5, 0.35, 0.0])
    plain = hand_line(free, elbow(*start), end, 0.4, 2.0, attitude="free")
    t = np.linspace(0.0, plain.duration, 10001)
    q, qd, _ = plain.at(t)
    for index in (0, 1):
        top, fastest = 0.9 * q[:, index].max() + 0.1 * q[0, index], 0.8 * np.abs(qd[:, index]).max()
        line = hand_line(
            limited(free, index, Limits(-9.0, top), fastest), q[0], end, 0.4, 2.0, attitude="free"
        )
        found = {p.kind: p for p in line.problems}
        assert not line.feasible
        if (q[:, index] > top + 1e-6).any():
            assert found["position limit"].joint == free.joints[index].name
            assert found["position limit"].time == pytest.approx(t[np.argmax(q[:, index] > top)], abs=2e-4)
        assert found["velocity limit"].time == pytest.approx(
            t[np.argmax(np.abs(qd[:, index]) > fastest)], abs=2e-4
        )
        assert found["velocity limit"].place == pytest.approx(
            line.hand(found["velocity limit"].time)[0], abs=1e-8
        )
        assert f"{fastest:.4g} rad/s" in line.message
        roomy = limited(
            free, index, Limits(q[:, index].min(), q[:, index].max()), np.abs(qd[:, index]).max() * 1.001
        )
        assert hand_line(roomy, q[0], end, 0.4, 2.0, attitude="free").feasible


@pytest.mark.parametrize("acceleration", [0.5, 8.0])
def test_profiles_keep_speed_and_acceleration_and_cover_the_way(acceleration: float) -> None:
    for profile in ("trapezoidal", "quintic"):
        speed = speed_along(0.7, 0.9, acceleration, profile)
        t = np.linspace(0.0, speed.duration, 4001)
        s, rate, second = speed.at(t)
        assert s[0] == 0.0
        assert s[-1] == pytest.approx(0.7, rel=1e-15)
        assert abs(rate[-1]) < 1e-14
        assert rate.max() <= 0.9 * (1.0 + 1e-12)
        assert np.abs(second).max() <= acceleration * (1.0 + 1e-12)
        assert rate.max() == pytest.approx(speed.peak, rel=1e-3)
        # As fast as allowed: one of the two limits is met.
        assert rate.max() > 0.9 * 0.999 or np.abs(second).max() > acceleration * 0.999
        slope = np.gradient(s, t)
        assert np.abs(slope - rate)[1:-1].max() < 1e-3
        assert np.abs(speed.when(s[5:-5]) - t[5:-5]).max() < 1e-7


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"profile": "trapezium"}, "got 'trapezium'; did you mean 'trapezoidal'"),
        ({"acceleration": None}, "acceleration: required for a trapezoidal profile"),
        ({"attitude": "fixed"}, "attitude: expected one of constant, free, got 'fixed'"),
        ({"q0": np.zeros((2, 6))}, r"q0: expected shape \(6,\), got \(2, 6\)"),
        ({"to": [0.1, 0.2]}, r"to: expected a position \(3,\) in m .* got shape \(1, 2\)"),
        ({"to": [[0.4, 0.2, 0.2], [0.4, 0.2, 0.2]]}, "to: position 2 equals the one before"),
        ({"to": [[0.4, 0.2, 0.2], [0.4, 0.2, 0.3]], "profile": "constant"}, "cannot turn a corner"),
    ],
)
def test_what_is_wrong_is_said(named: dict[str, object], message: str) -> None:
    arm, q0 = puma()
    arguments = {"q0": q0, "to": [0.4, 0.2, 0.3], "speed": 0.2, "acceleration": 1.0} | named
    with pytest.raises(fa.ForearmError, match=message):
        hand_line(arm, **arguments)  # type: ignore[arg-type]
