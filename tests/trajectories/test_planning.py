"""From a request to torques and voltages: against the reference's dynamics, limits that hold,
poses that are reached.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import Array

import forearm as fa
from forearm.drives import torque_of
from forearm.trajectories import HandLine, Switching, hand_line

CLOSE = 1e-10  # relative: the kernel's operations in another order


def arm_of(name: str) -> fa.Arm:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fa.load(name)


PANDA = arm_of("panda")
POINTS = np.array(
    [
        [0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7],
        [0.5, 0.2, 0.3, -1.5, 0.2, 1.8, 0.2],
        [-0.4, 0.3, -0.2, -1.2, 0.4, 2.0, 1.0],
    ]
)


def close(a: Array, b: Array) -> bool:
    return bool(np.abs(a - b).max() <= CLOSE * np.abs(b).max())


@pytest.mark.slow
def test_torques_are_those_of_the_reference() -> None:
    plan = fa.plan(PANDA, POINTS, step=0.05)
    assert close(plan.tau, fa.dynamics.inverse(PANDA, plan.q, plan.qd, plan.qdd))
    for t in (0.0, 0.3 * plan.duration, plan.duration):
        assert close(plan.torque(t), fa.dynamics.inverse(PANDA, *plan.motion.at(t)))
    assert plan.t[0] == 0.0
    assert plan.t[-1] == plan.duration
    assert np.array_equal(plan.q[0], POINTS[0])
    assert np.array_equal(plan.q[-1], POINTS[-1])
    assert not plan.qd[[0, -1]].any()


@pytest.mark.slow
def test_voltages_make_these_torques() -> None:
    arm = arm_of("cmu-dd")
    plan = fa.plan(arm, np.array([[0.1] * 6, [0.4, 0.5, 0.3, 0.2, 0.6, 0.1]]), step=0.01)
    assert plan.voltage is not None
    free = arm.replace(  # its limits would cut voltages
        tree=tuple(_without_limits(j) for j in arm.tree)
    )
    assert close(torque_of(free, plan.voltage, plan.qd), plan.tau)
    assert fa.plan(PANDA, POINTS).voltage is None


def _without_limits(joint: fa.Joint) -> fa.Joint:
    import dataclasses

    motor = (
        None if joint.motor is None else dataclasses.replace(joint.motor, max_voltage=None, max_current=None)
    )
    return dataclasses.replace(joint, motor=motor)


@pytest.mark.slow
def test_velocities_and_ranges_of_the_arm_hold() -> None:
    lower, upper = np.array([j.limits for j in PANDA.joints]).T
    way = np.random.default_rng(3).uniform(lower, upper, (4, 7))
    plan = fa.plan(PANDA, fa.Request(tuple(fa.Waypoint(q=q) for q in way), acceleration=3.0))
    assert isinstance(plan.motion, Switching)
    least, most, fastest = plan.motion.extremes()
    assert (least >= lower - 1e-12).all()
    assert (most <= upper + 1e-12).all()
    assert (fastest <= np.array([j.max_speed for j in PANDA.joints]) * (1.0 + 1e-12)).all()
    still = fa.plan(PANDA, np.tile(POINTS[0], (2, 1)))
    assert still.duration == 0.0
    assert still.limits is not None
    assert still.limits.acceleration.max() < 1e4


@pytest.mark.slow
def test_velocities_that_need_hard_braking_are_had_or_refused() -> None:
    """To the end of joint 1's range at speed: room for 0.02 rad to brake needs v^2 / 2d =
    4 rad/s^2 at 0.4 rad/s.
    """
    arm, start, end = arm_of("ur5"), np.zeros(6), np.zeros(6)
    effort = np.array([j.max_effort for j in arm.joints])
    end[0] = arm.joints[0].limits.upper - 0.02

    def way(q: Array, speed: float) -> fa.Plan:
        middle = fa.Waypoint(q=q, qd=[speed, 0, 0, 0, 0, 0])
        return fa.plan(arm, fa.Request((fa.Waypoint(q=start), middle, fa.Waypoint(q=start))), step=0.01)

    assert (np.abs(way(end, 0.4).tau) <= effort).all()
    with pytest.raises(fa.InputError, match="the velocities of the request need accelerations above"):
        way(end, 3.0)
    with pytest.raises(fa.InputError, match="outside the joint's range"):
        way(end + 9.0, 0.4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["puma560", "panda"])
def test_poses_of_the_hand_are_passed(name: str) -> None:
    """By the closed form where the arm has one, by iteration elsewhere;
    velocities of the hand come out as asked for.
    """
    arm = arm_of(name)
    q = np.array([[0.1, 0.6, -0.4, 0.3, 0.7, 0.2], [0.5, 0.3, -0.2, 0.1, 0.9, 0.4]])
    if name == "panda":
        q = POINTS[:2]
    poses = fa.kinematics.forward(arm, q)
    velocity = np.array([0.05, -0.1, 0.02, 0.1, 0.0, -0.1])
    request = fa.Request(
        (fa.Waypoint(q=q[0]), fa.Waypoint(pose=poses[1], hand_velocity=velocity), fa.Waypoint(pose=poses[0])),
        acceleration=4.0,
    )
    plan = fa.plan(arm, request)
    assert isinstance(plan.motion, Switching)
    places = fa.kinematics.forward(arm, plan.motion.points)
    np.testing.assert_allclose(places, poses[[0, 1, 0]], atol=1e-8)
    at, rate = plan.motion.points[1], plan.motion.velocities[1]
    np.testing.assert_allclose(fa.kinematics.jacobian(arm, at) @ rate, velocity, atol=1e-8)


def test_a_request_from_a_file(tmp_path: Path) -> None:
    text = 'schema = "forearm-request/1"\nname = "there"\n[limits]\nacceleration = 2.0\n'
    text += "".join(f"[[waypoint]]\nq = {q.tolist()}\n" for q in POINTS)
    path = tmp_path / "there.toml"
    path.write_text(text, encoding="utf-8")
    plan = fa.plan(PANDA, path)
    same = fa.plan(PANDA, fa.Request(tuple(fa.Waypoint(q=q) for q in POINTS), acceleration=2.0))
    assert np.array_equal(plan.tau, same.tau)
    plan.save(tmp_path / "plan.csv")
    rows = (tmp_path / "plan.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0].split(",")[-1] == "tau7"
    assert len(rows) == len(plan.t) + 1
    with pytest.raises(fa.InputError, match=r"plan\.txt: a plan ends in .*\.csv"):
        plan.save(tmp_path / "plan.txt")


@pytest.mark.slow
def test_a_line_of_the_hand() -> None:
    arm = arm_of("puma560-akb")
    q0 = np.array([0.1, -0.6, 0.4, 0.3, 0.7, 0.2])
    there = fa.kinematics.forward(arm, q0)[:3, 3] + [-0.1, 0.05, 0.1]
    line = hand_line(arm, q0, there, 0.1, profile="quintic")
    plan = fa.plan(arm, line, step=0.02)
    assert isinstance(plan.motion, HandLine)
    assert plan.limits is None
    assert plan.deviation is None
    assert close(plan.tau, fa.dynamics.inverse(arm, plan.q, plan.qd, plan.qdd))
    np.testing.assert_allclose(fa.kinematics.forward(arm, plan.q[-1])[:3, 3], there, atol=1e-9)


@pytest.mark.slow
def test_what_cannot_be_planned_is_said() -> None:
    puma, way = arm_of("puma560-akb"), tuple(fa.Waypoint(q=q) for q in np.zeros((2, 6)))
    with pytest.raises(
        fa.InputError,
        match=r"no acceleration, and there is no default because there is neither max_effort .* at joint1, ",
    ):
        fa.plan(puma, way[0].q + np.array([[0.0], [0.1]]))
    with pytest.raises(fa.InputError, match=r"configurations of shape \(k, 7\), got"):
        fa.plan(PANDA, np.zeros((2, 6)))
    with pytest.raises(fa.InputError, match=r"the motion has 7 joints, 'puma560-akb' has 6"):
        fa.plan(puma, fa.plan(PANDA, POINTS).motion)
    far = np.eye(4)
    far[:3, 3] = 9.0
    request = fa.Request((fa.Waypoint(q=np.zeros(6)), fa.Waypoint(pose=far)), acceleration=1.0)
    with pytest.raises(fa.InputError, match=r"waypoint\[2\]: the pose cannot be reached"):
        fa.plan(puma, request)
    with pytest.raises(fa.InputError, match="velocity: not allowed for a motion that is already"):
        fa.plan(PANDA, fa.plan(PANDA, POINTS).motion, velocity=1.0)
    with pytest.raises(fa.ModelError, match="voltages need torque_constant and resistance of every motor"):
        fa.plan(PANDA, POINTS, dac=fa.DAC(span=5.0))


@pytest.mark.slow
def test_limits_as_keywords_take_the_place_of_the_request_s() -> None:
    way = [fa.Waypoint(q=q) for q in POINTS]
    asked = fa.Request(way, acceleration=2.0, velocity=np.full(7, 0.8))
    same = fa.plan(PANDA, asked).duration
    given = fa.plan(PANDA, POINTS, acceleration=[2.0] * 7, velocity=np.float32(0.8))
    assert given.duration == pytest.approx(same, rel=1e-6)
    chosen = fa.plan(PANDA, POINTS, velocity=0.4)  # accelerations chosen, velocities given
    assert isinstance(chosen.motion, Switching)
    assert chosen.motion.extremes()[2].max() <= 0.4 * (1.0 + 1e-12)
    assert fa.plan(PANDA, way, acceleration=2.0, velocity=0.8).duration == same
    short = [fa.Waypoint(q=0), fa.Waypoint(q=0.3, qd=np.float64(0.1)), POINTS[0].tolist()]
    whole = [fa.Waypoint(q=np.zeros(7)), fa.Waypoint(q=[0.3] * 7, qd=[0.1] * 7), POINTS[0]]
    wide: dict[str, Any] = {"acceleration": 2.0, "lower": -9, "upper": np.full(7, 9.0)}
    made, other = (fa.plan(PANDA, fa.Request(x, **wide)) for x in (short, whole))
    assert np.array_equal(made.q, other.q)
    two = [fa.Waypoint(q=0.0), fa.Waypoint(q=0.1, qd=[0.1, 0.1])]
    with pytest.raises(fa.InputError, match=r"waypoint\[2\], qd: expected one number or 7 for 'panda'"):
        fa.plan(PANDA, two, acceleration=1.0)
    with pytest.raises(fa.InputError, match=r"request 'request', velocity: expected one number or 7.*got 3"):
        fa.plan(PANDA, POINTS, velocity=[1.0, 1.0, 1.0])


@pytest.mark.slow
def test_a_start_above_the_limit_brakes_and_a_waypoint_is_passed_at_it() -> None:
    fastest = np.array([j.max_speed for j in PANDA.joints])
    start = fa.Waypoint(q=POINTS[0], qd=np.append(1.2 * fastest[0], np.zeros(6)))
    middle = fa.Waypoint(q=POINTS[1], qd=[np.nan, np.nan, np.nan, 2.0 * fastest[3], np.nan, np.nan, np.nan])
    plan = fa.plan(PANDA, [start, middle, fa.Waypoint(q=POINTS[2])], acceleration=8.0)
    assert isinstance(plan.motion, Switching)
    assert plan.motion.velocities[0, 0] == 1.2 * fastest[0]
    assert plan.motion.velocities[1, 3] == fastest[3]
    t = np.linspace(0.2 * fastest[0] / 8.0, plan.duration, 500)  # braked at 8 rad/s^2
    assert (np.abs(plan.motion.at(t)[1]) <= fastest * (1.0 + 1e-12)).all()
    assert any(
        text.startswith(
            "waypoint[2]: joint4 passes at its limit of 2.175 rad/s instead of the requested 4.35"
        )
        for text in plan.warnings
    )
    assert any(
        text.startswith("joint1 moves at 2.61, above its limit of 2.175 rad/s") for text in plan.warnings
    )
    chosen = fa.plan(PANDA, [start, fa.Waypoint(q=POINTS[2])])  # braking as hard as torques allow
    effort = np.array([j.max_effort for j in PANDA.joints])
    assert (np.abs(chosen.torque(np.linspace(0.0, chosen.duration, 5000))) <= effort).all()
