"""What a request may not ask for in silence: velocities and attitudes that an arm cannot have,
limits wider than its own.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from arms import Array

import forearm as fa
from forearm.kinematics import forward, jacobian
from forearm.trajectories import (
    MotionLimits,
    Switching,
    arm_limits,
    bang_bang,
    hand_line,
    load_motion,
    read_request,
)

LINK = (
    '<link name="{name}"><inertial><mass value="{mass}"/><origin xyz="0.1 0.02 '
    '0.03"/>{inertia}</inertial></link>'
)
INERTIA = '<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.001" ixz="0.002" iyz="0.003"/>'


def arm_of(name: str) -> fa.Arm:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fa.load(name)


def urdf(tmp_path: Path, second: str, mass: float = 1.0, effort: float = 50.0, mimic: str = "") -> fa.Arm:
    """Two joints about y; `second` are the attributes of the second's limits."""
    none = '<inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/>'
    links = [("base", 1.0), ("one", 1.0), ("two", mass)]
    text = "".join(LINK.format(name=name, mass=m, inertia=INERTIA if m else none) for name, m in links)
    for name, parent, child, limit, more in (
        ("j1", "base", "one", 'lower="-2" upper="2" velocity="3"', ""),
        ("j2", "one", "two", second, mimic),
    ):
        text += (
            f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child '
            f'link="{child}"/><axis xyz="0 1 0"/>'
        )
        text += f'<origin xyz="0.3 0 0.05"/><limit {limit} effort="{effort}"/>{more}</joint>'
    path = tmp_path / "made.urdf"
    path.write_text(f'<robot name="made">{text}</robot>', encoding="utf-8")
    return arm_of(str(path))


def passing(arm: fa.Arm, q: Array, velocity: list[float]) -> fa.Request:
    way = (
        fa.Waypoint(q=0.9 * q),
        fa.Waypoint(pose=forward(arm, q), hand_velocity=velocity),
        fa.Waypoint(q=q),
    )
    return fa.Request(way, acceleration=2.0)


@pytest.mark.slow
def test_a_velocity_of_the_hand_that_five_joints_cannot_give_is_refused() -> None:
    arm, q = arm_of("chain5"), np.array([0.3, 0.5, -0.4, 0.6, 0.2])
    with pytest.raises(
        fa.InputError,
        match=r"waypoint\[2\], hand_velocity: not feasible with the 5 joints of 'chain5'; .*Leave",
    ):
        fa.plan(arm, passing(arm, q, [0.1, 0.0, 0.0, 0.0, 0.0, 0.0]))
    can = jacobian(arm, q) @ np.array([0.1, -0.2, 0.1, 0.05, -0.1])  # this one it can
    plan = fa.plan(arm, passing(arm, q, can.tolist()))
    assert isinstance(plan.motion, Switching)
    np.testing.assert_allclose(
        jacobian(arm, plan.motion.points[1]) @ plan.motion.velocities[1], can, atol=1e-8
    )


def test_three_joints_give_a_linear_velocity_and_no_turn_besides() -> None:
    arm, q = arm_of("stanford-dhanaraj3"), np.array([0.3, 0.5, 0.4])
    plan = fa.plan(arm, passing(arm, q, [0.1, 0.0, 0.0, 0.0, 0.0, 0.0]))
    assert isinstance(plan.motion, Switching)
    rates = jacobian(arm, plan.motion.points[1]) @ plan.motion.velocities[1]
    np.testing.assert_allclose(rates[:3], [0.1, 0.0, 0.0], atol=1e-12)
    with pytest.raises(fa.InputError, match="not feasible with the 3 joints of 'stanford-dhanaraj3'"):
        fa.plan(arm, passing(arm, q, [0.1, 0.0, 0.0, 0.0, 0.0, 0.3]))


def test_an_attitude_that_three_joints_cannot_have_is_said() -> None:
    arm, q = arm_of("stanford-dhanaraj3"), np.array([0.3, 0.5, 0.4])
    pose = forward(arm, q)
    as_it_is = fa.plan(arm, fa.Request((fa.Waypoint(q=0.9 * q), fa.Waypoint(pose=pose)), acceleration=2.0))
    assert as_it_is.warnings == ()
    pose[:3, :3] = np.eye(3)
    turned = fa.plan(arm, fa.Request((fa.Waypoint(q=0.9 * q), fa.Waypoint(pose=pose)), acceleration=2.0))
    (text,) = turned.warnings
    assert text.startswith("waypoint[2]: with 3 joints the hand reaches the position but not the orientation")


def test_joints_that_follow_bound_the_one_they_follow(tmp_path: Path) -> None:
    """j2 = 2 j1 within +-1 at 4 rad/s: j1 may go to +-0.5 at 2 rad/s."""
    arm = urdf(tmp_path, 'lower="-1" upper="1" velocity="4"', mimic='<mimic joint="j1" multiplier="2"/>')
    limits = arm_limits(arm, 5.0)
    assert (limits.lower.tolist(), limits.upper.tolist(), limits.velocity.tolist()) == ([-0.5], [0.5], [2.0])
    said = r"^through, segment 1, joint 1 \(j1\): .* lies outside the joint's range"
    with pytest.raises(fa.InputError, match=said):
        fa.plan(arm, fa.Request((fa.Waypoint(q=[0.0]), fa.Waypoint(q=[1.5])), acceleration=5.0))
    wider = fa.Request(
        (fa.Waypoint(q=[0.0]), fa.Waypoint(q=[1.5])), acceleration=5.0, lower=-9.0, upper=9.0, velocity=9.0
    )
    found = fa.plan(arm, wider).warnings
    assert any(text.startswith("j2 goes from 0 to 3, beyond its range -1 to 1 rad") for text in found)
    assert any(text.startswith("j2 moves at") and "above its limit of 4 rad/s" in text for text in found)
    assert not any(text.startswith("j1 goes") for text in found)


def test_a_motion_beyond_the_arm_is_said() -> None:
    arm = arm_of("panda")
    start = np.array([0.0, 0.0, 0.0, -1.5, 0.0, 1.5, 0.0])
    far = bang_bang(
        start, np.zeros(7), start + 50.0 * np.eye(7)[0], np.zeros(7), MotionLimits(np.full(7, 5.0))
    )
    found = fa.plan(arm, far, step=0.05).warnings
    assert any("joint1 goes from 0 to 50, beyond its range" in text for text in found)
    assert any("joint1 moves at" in text and "above its limit of" in text for text in found)
    assert not any("joint2 goes" in text for text in found)


@pytest.mark.slow
def test_a_line_of_another_arm_is_refused() -> None:
    akb, ur5 = arm_of("puma560-akb"), arm_of("ur5")
    q0 = np.array([0.1, -0.6, 0.4, 0.3, 0.7, 0.2])
    line = hand_line(akb, q0, forward(akb, q0)[:3, 3] + [0.05, 0.0, 0.0], 0.1, profile="quintic")
    with pytest.raises(fa.InputError, match=r"the line was made for 'puma560-akb'; .* 'ur5' would be .* off"):
        fa.plan(ur5, line)
    # the same hand: its torques are what is asked for
    heavier = akb.with_payload(mass=1.0, com=(0.0, 0.0, 0.05))
    assert fa.plan(heavier, line, step=0.1).duration == line.duration


def test_what_moves_no_mass_and_what_has_no_torque_is_named(tmp_path: Path) -> None:
    points = np.array([[0.0, 0.0], [0.3, 0.3]])
    idle = urdf(tmp_path, 'lower="-2" upper="2" velocity="3"', mass=0.0)
    with pytest.raises(fa.InputError, match=r"j2 of 'made' moves no mass.* give acceleration, set it under"):
        fa.plan(idle, points)
    weak = urdf(tmp_path, 'lower="-2" upper="2" velocity="3"', effort=0.0)
    with pytest.raises(fa.InputError, match="the max_effort of j1, j2 of 'made' is 0; give acceleration"):
        fa.plan(weak, points)


def test_the_velocity_of_one_joint_may_be_open(tmp_path: Path) -> None:
    arm = arm_of("panda")
    q = np.array(
        [
            [0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7],
            [0.2, -0.3, 0.1, -1.8, 0.1, 1.6, 0.5],
            [0.5, 0.2, 0.3, -1.5, 0.2, 1.8, 0.2],
        ]
    )
    given = [0.1, np.nan, np.nan, 0.2, np.nan, np.nan, np.nan]
    way = (fa.Waypoint(q=q[0]), fa.Waypoint(q=q[1], qd=given), fa.Waypoint(q=q[2]))
    plan = fa.plan(arm, fa.Request(way, acceleration=3.0))
    assert isinstance(plan.motion, Switching)
    assert plan.motion.velocities[1, [0, 3]].tolist() == [0.1, 0.2]
    assert plan.motion.velocities[1, 1] > 0.1
    assert way[1].is_open
    assert not fa.Waypoint(q=q[0], qd=np.zeros(7)).is_open
    text = 'schema = "forearm-request/1"\n[limits]\nacceleration = 3.0\n'
    words = "[0.1, 'open', 'open', 0.2, 'open', 'open', 'open']"
    text += f"[[waypoint]]\nq = {q[0].tolist()}\n[[waypoint]]\nq = {q[1].tolist()}\nqd = {words}\n"
    path = tmp_path / "open.toml"
    path.write_text(text + f"[[waypoint]]\nq = {q[2].tolist()}\n", encoding="utf-8")
    assert np.array_equal(read_request(path).waypoints[1].qd, given, equal_nan=True)
    assert fa.plan(arm, path).duration == plan.duration
    path.write_text(text.replace("'open'", "'opened'"), encoding="utf-8")
    with pytest.raises(fa.InputError, match=r"qd"):
        read_request(path)


@pytest.mark.slow
def test_motions_in_files_are_planned_again(tmp_path: Path) -> None:
    arm = arm_of("puma560-akb")
    q0 = np.array([0.1, -0.6, 0.4, 0.3, 0.7, 0.2])
    here = forward(arm, q0)[:3, 3]
    line = hand_line(arm, q0, here + [[0.05, 0.0, 0.0], [0.05, 0.05, 0.02]], 0.1, 0.5)
    plan = fa.plan(arm, line, step=0.01)
    plan.save(tmp_path / "line.json")
    again = fa.plan(arm, tmp_path / "line.json", step=0.01)
    for a, b in zip(plan.columns().values(), again.columns().values(), strict=True):
        assert np.array_equal(a, b)
    motion = bang_bang(q0, np.zeros(6), q0 + 0.1, np.zeros(6), arm_limits(arm, 2.0))
    motion.save(tmp_path / "points.json")
    assert fa.plan(arm, str(tmp_path / "points.json")).duration == motion.duration
    (tmp_path / "wrong.json").write_text(
        '{"format": "forearm-hand-line/1", "q0": [1], "to": [[0, 0, 0]], "speed": -1}', encoding="utf-8"
    )
    with pytest.raises(fa.InputError, match=r"wrong\.json"):
        load_motion(arm, tmp_path / "wrong.json")
    with pytest.raises(fa.InputError, match=r"a Cartesian line .* ends in \.json"):
        line.save(tmp_path / "line.csv")
