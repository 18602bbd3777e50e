"""`forearm kinematics` as a user meets it: the hand in tables and JSON, branches, postures nearby."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from cli.lines import Capture, called

import forearm as fa
from forearm.kinematics import (
    condition_number,
    forward,
    hand_motion,
    hand_pose,
    jacobian,
    manipulability,
    orientation_forms,
)

Q = (0.1, -0.2, 0.3, 0.4, 0.5, -0.6)
QD = (1.0, 0.5, -0.4, 0.3, -0.2, 0.1)
QDD = (-0.3, 0.2, 0.1, 0.4, 0.5, 0.6)
MOTION = ("position", "velocity", "angular_velocity", "acceleration", "angular_acceleration")
FAR = ("--pose", "5,0,0,0,0,0")
PRINTED = 1e-5  # six digits of numbers below 1


def document(capsys: Capture, *arguments: str) -> dict[str, Any]:
    code, out, _ = called(capsys, "kinematics", *arguments, "--json")
    found: dict[str, Any] = json.loads(out)
    assert code == (0 if found.get("reachable", True) else 1)
    return found


def words(values: Any) -> str:
    return ",".join(map(str, values))


STATE = ("--q", words(Q), "--qd", words(QD), "--qdd", words(QDD))


def pose_of(arm: fa.Arm, q: Any, form: str = "rpy") -> str:
    """The option that asks for the pose of the hand at q."""
    motion = hand_motion(arm, q)
    return f"--pose={words((*motion.position, *motion.orientation(form).ravel()))}"


def numbers_of(out: str, row: str, count: int = 3) -> list[float]:
    line = next(line for line in out.splitlines() if line.startswith(row + "  "))
    return [float(word) for word in line.removeprefix(row).split()[:count]]


def test_hand_in_tables(capsys: Capture) -> None:
    arm = fa.load("puma560")
    code, out, _ = called(capsys, "kinematics", "puma560", *STATE, "--jacobian", "--form", "zyz")
    motion = hand_motion(arm, Q, QD, QDD)
    assert code == 0
    for name in MOTION:
        shown = numbers_of(out, name.replace("_", " "))
        assert shown == pytest.approx(getattr(motion, name), abs=PRINTED), name
    a, b, c = motion.orientation("zyz")
    assert f"orientation, zyz: a {a:.6g}, b {b:.6g}, c {c:.6g} rad" in out
    assert f"manipulability: {float(manipulability(arm, Q)):.6g}" in out
    assert f"condition number: {float(condition_number(arm, Q)):.6g}" in out
    for name, row in zip(("vx", "vy", "vz", "wx", "wy", "wz"), jacobian(arm, Q), strict=True):
        assert numbers_of(out, name, 6) == pytest.approx(row, abs=PRINTED)
    _, out, _ = called(capsys, "kinematics", "puma560")
    assert "velocity" not in out
    assert numbers_of(out, "position") == pytest.approx(forward(arm, np.zeros(6))[:3, 3], abs=PRINTED)


def test_json_holds_everything(capsys: Capture) -> None:
    arm = fa.load("stanford")
    found = document(capsys, "stanford", *STATE, "--form", "quaternion_xyzw")
    motion = hand_motion(arm, Q, QD, QDD)
    assert (found["q"], found["qd"], found["qdd"], found["link"]) == (list(Q), list(QD), list(QDD), None)
    for name in ("pose", *MOTION):
        assert np.array_equal(found[name], getattr(motion, name)), name
    assert np.array_equal(found["orientation"], motion.orientation("quaternion_xyzw"))
    assert np.array_equal(found["jacobian"], jacobian(arm, Q))
    degrees = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]
    found = document(capsys, "stanford", "--q", words(degrees), "--degrees", "--link", "link4")
    q = np.where([joint.kind == "prismatic" for joint in arm.joints], degrees, np.radians(degrees))
    assert np.array_equal(found["pose"], forward(arm, q, "link4"))
    assert found["manipulability"] == float(manipulability(arm, q, link="link4"))


def test_a_straight_wrist_is_singular_and_leaves_joints_undetermined(capsys: Capture) -> None:
    found = document(capsys, "puma560", "--q", "0.1,-0.2,0.3,0.4,0,-0.6")
    assert abs(found["manipulability"]) < 1e-15
    assert found["condition_number"] is None or found["condition_number"] > 1e12
    straight = (0.1, -0.6, 0.4, 0.3, 0.0, 0.2)
    found = document(capsys, "puma560-akb", pose_of(fa.load("puma560-akb"), straight))
    assert found["singular"] is True
    assert {"joint4", "joint6"} <= set(found["undetermined"])


@pytest.mark.parametrize("form", orientation_forms())
def test_every_branch_brings_the_hand_there(form: str, capsys: Capture) -> None:
    arm = fa.load("puma560-akb")
    found = document(capsys, "puma560-akb", pose_of(arm, Q, form), "--form", form)
    q = np.array(found["q"])
    assert found["reachable"] is True
    assert len(q) == 8
    assert np.abs(forward(arm, q) - forward(arm, Q)).max() < 1e-11
    assert min(np.abs(np.remainder(q - Q + math.pi, 2.0 * math.pi) - math.pi).max(axis=1)) < 1e-10


def test_branches_in_a_table_sorted_by_a_posture(capsys: Capture) -> None:
    """Mata 5.2: the start of his path, by its printed position and Z-Y-Z angles."""
    arm = fa.load("puma560-akb")
    pose = ("--pose", "0.5,0,0.05,0,90,180", "--form", "zyz", "--degrees")
    code, out, _ = called(capsys, "kinematics", "puma560-akb", *pose, "--q", "-17,51,-20,20,61,170")
    assert code == 0
    rows = np.array([[float(word) for word in line.split()[1:]] for line in out.splitlines()[3:-1]])
    T = hand_pose([0.5, 0.0, 0.05], np.radians([0.0, 90.0, 180.0]), "zyz")
    assert len(rows) == 8
    assert np.abs(forward(arm, rows) - T).max() < 1e-4  # six digits of angles
    assert np.abs(rows[0] - np.radians([-17.0, 51.0, -20.0, 20.0, 61.0, 170.0])).max() < 0.02
    assert "8 branches" in out


def test_limits_are_kept_unless_told(capsys: Capture) -> None:
    arm = fa.load("puma560")
    pose = pose_of(arm, (0.2, -0.7, 0.4, 0.3, 0.6, 0.1))
    within, every = (
        np.array(document(capsys, "puma560", pose, *more)["q"]) for more in ((), ("--no-limits",))
    )
    low, high = np.transpose([joint.limits for joint in arm.joints])
    assert len(within) < len(every) == 8
    assert ((within >= low) & (within <= high)).all()


@pytest.mark.slow
def test_numeric_for_any_arm(capsys: Capture) -> None:
    arm, q = fa.load("panda"), (0.2, -0.4, 0.3, -1.7, 0.5, 1.4, 0.1)
    found = document(capsys, "panda", pose_of(arm, q), "--numeric", "--q", words(q))
    assert found["reachable"] is True
    assert np.abs(forward(arm, np.array(found["q"])[0]) - forward(arm, q)).max() < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("puma560-akb", (), ("out of reach",)),
        ("puma560-akb", ("--nearest",), ("nearest", "m and")),
        ("panda", ("--numeric",), ("not solved", "the hand is then")),
    ],
)
def test_what_cannot_be_reached_is_an_answer_with_what_is_nearest(
    name: str, options: tuple[str, ...], said: tuple[str, ...], capsys: Capture
) -> None:
    code, out, _ = called(capsys, "kinematics", name, *FAR, *options)
    assert code == 1
    assert all(piece in " ".join(out.split()) for piece in said)
    found = document(capsys, name, *FAR, *options)
    assert (found["reachable"], found["q"]) == (False, [])
    assert (found["nearest"] is None) == (options == ())
    if options:
        place = forward(fa.load(name), np.array(found["nearest"]["q"]))[:3, 3]
        assert np.linalg.norm(place - [5.0, 0.0, 0.0]) == pytest.approx(
            found["nearest"]["distance"], abs=1e-9
        )
