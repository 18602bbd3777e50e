"""`forearm kinematics` as a user meets it: the hand in tables and JSON, branches, mistakes."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import forearm as fa
from forearm.cli.main import main
from forearm.kinematics import (
    condition_number,
    forward,
    hand_motion,
    hand_pose,
    jacobian,
    manipulability,
    orientation_forms,
)

Capture = pytest.CaptureFixture[str]
Q, QD, QDD = (
    (0.1, -0.2, 0.3, 0.4, 0.5, -0.6),
    (1.0, 0.5, -0.4, 0.3, -0.2, 0.1),
    (-0.3, 0.2, 0.1, 0.4, 0.5, 0.6),
)
PRINTED = 1e-5  # six digits of numbers below 1


def run(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    code = main(["kinematics", *arguments])
    out, err = capsys.readouterr()
    return code, out, err.replace("\n", " ")


def document(capsys: Capture, *arguments: str) -> dict[str, Any]:
    code, out, _ = run(capsys, *arguments, "--json")
    found: dict[str, Any] = json.loads(out)
    assert code == (0 if found.get("reachable", True) else 1)
    return found


def words(values: tuple[float, ...]) -> str:
    return ",".join(map(str, values))


def numbers_of(out: str, row: str, count: int = 3) -> list[float]:
    line = next(line for line in out.splitlines() if line.startswith(row + "  "))
    return [float(word) for word in line.removeprefix(row).split()[:count]]


def test_hand_in_tables(capsys: Capture) -> None:
    arm = fa.load("puma560")
    code, out, _ = run(
        capsys,
        "puma560",
        "--q",
        words(Q),
        "--qd",
        words(QD),
        "--qdd",
        words(QDD),
        "--jacobian",
        "--form",
        "zyz",
    )
    motion = hand_motion(arm, Q, QD, QDD)
    assert code == 0
    for name in ("position", "velocity", "angular_velocity", "acceleration", "angular_acceleration"):
        shown = numbers_of(out, name.replace("_", " "))
        assert shown == pytest.approx(getattr(motion, name), abs=PRINTED), name
    a, b, c = motion.orientation("zyz")
    assert f"orientation, zyz: a {a:.6g}, b {b:.6g}, c {c:.6g} rad" in out
    assert f"manipulability: {float(manipulability(arm, Q)):.6g}" in out
    assert f"condition number: {float(condition_number(arm, Q)):.6g}" in out
    for name, row in zip(("vx", "vy", "vz", "wx", "wy", "wz"), jacobian(arm, Q), strict=True):
        assert numbers_of(out, name, 6) == pytest.approx(row, abs=PRINTED)


def test_rest_shows_only_where_it_is(capsys: Capture) -> None:
    _, out, _ = run(capsys, "puma560")
    assert "velocity" not in out
    assert numbers_of(out, "position") == pytest.approx(
        forward(fa.load("puma560"), np.zeros(6))[:3, 3], abs=PRINTED
    )


def test_json_holds_everything(capsys: Capture) -> None:
    arm = fa.load("stanford")
    found = document(
        capsys,
        "stanford",
        "--q",
        words(Q),
        "--qd",
        words(QD),
        "--qdd",
        words(QDD),
        "--form",
        "quaternion_xyzw",
    )
    motion = hand_motion(arm, Q, QD, QDD)
    assert (found["q"], found["qd"], found["qdd"], found["link"]) == (list(Q), list(QD), list(QDD), None)
    for name in ("pose", "position", "velocity", "angular_velocity", "acceleration", "angular_acceleration"):
        assert np.array_equal(found[name], getattr(motion, name)), name
    assert np.array_equal(found["orientation"], motion.orientation("quaternion_xyzw"))
    assert np.array_equal(found["jacobian"], jacobian(arm, Q))


def test_a_link_and_degrees(capsys: Capture) -> None:
    arm = fa.load("puma560")
    found = document(capsys, "puma560", "--q", "10,20,30,40,50,60", "--degrees", "--link", "link3")
    q = np.radians([10.0, 20.0, 30.0, 40.0, 50.0, 60.0])
    assert np.array_equal(found["pose"], forward(arm, q, "link3"))
    assert found["manipulability"] == float(manipulability(arm, q, link="link3"))


def test_a_straight_wrist_is_singular(capsys: Capture) -> None:
    found = document(capsys, "puma560", "--q", "0.1,-0.2,0.3,0.4,0,-0.6")
    assert abs(found["manipulability"]) < 1e-15
    assert found["condition_number"] is None or found["condition_number"] > 1e12


@pytest.mark.parametrize("form", orientation_forms())
def test_every_branch_brings_the_hand_there(form: str, capsys: Capture) -> None:
    arm = fa.load("puma560-akb")
    motion = hand_motion(arm, Q)
    pose = words((*motion.position, *motion.orientation(form).ravel()))
    found = document(capsys, "puma560-akb", f"--pose={pose}", "--form", form)
    q = np.array(found["q"])
    assert found["reachable"] is True
    assert len(q) == 8
    assert np.abs(forward(arm, q) - motion.pose).max() < 1e-11
    assert min(np.abs(np.remainder(q - Q + math.pi, 2.0 * math.pi) - math.pi).max(axis=1)) < 1e-10


def test_branches_in_a_table_sorted_by_a_posture(capsys: Capture) -> None:
    """Mata 5.2: the start of his path, by its printed position and Z-Y-Z angles."""
    arm = fa.load("puma560-akb")
    pose = ("--pose", "0.5,0,0.05,0,90,180", "--form", "zyz", "--degrees")
    code, out, _ = run(capsys, "puma560-akb", *pose, "--q", "-17,51,-20,20,61,170")
    assert code == 0
    rows = [[float(word) for word in line.split()[1:]] for line in out.splitlines()[3:-1]]
    T = hand_pose([0.5, 0.0, 0.05], np.radians([0.0, 90.0, 180.0]), "zyz")
    assert len(rows) == 8
    assert np.abs(forward(arm, np.array(rows)) - T).max() < 1e-4  # six digits of angles
    assert np.abs(np.array(rows[0]) - np.radians([-17.0, 51.0, -20.0, 20.0, 61.0, 170.0])).max() < 0.02
    assert "8 branches" in out


@pytest.mark.slow
def test_what_cannot_be_reached_is_an_answer(capsys: Capture) -> None:
    code, out, _ = run(capsys, "puma560-akb", "--pose", "5,0,0,0,0,0")
    assert code == 1
    assert "out of reach" in out
    found = document(capsys, "puma560-akb", "--pose", "5,0,0,0,0,0")
    assert (found["reachable"], found["q"]) == (False, [])


def test_limits_are_kept_unless_told(capsys: Capture) -> None:
    arm = fa.load("puma560")
    q = (0.2, -0.7, 0.4, 0.3, 0.6, 0.1)
    motion = hand_motion(arm, q)
    pose = words((*motion.position, *motion.orientation("rpy")))
    within, every = (
        np.array(document(capsys, "puma560", f"--pose={pose}", *more)["q"]) for more in ((), ("--no-limits",))
    )
    limits = np.array([joint.limits for joint in arm.joints])
    assert len(within) < len(every) == 8
    assert ((within >= limits[:, 0]) & (within <= limits[:, 1])).all()


@pytest.mark.slow
def test_numeric_for_any_arm(capsys: Capture) -> None:
    arm, q = fa.load("panda"), (0.2, -0.4, 0.3, -1.7, 0.5, 1.4, 0.1)
    motion = hand_motion(arm, q)
    pose = words((*motion.position, *motion.orientation("rpy")))
    found = document(capsys, "panda", f"--pose={pose}", "--numeric", "--q", words(q))
    assert found["reachable"] is True
    assert np.abs(forward(arm, np.array(found["q"])[0]) - motion.pose).max() < 1e-8
    code, _, err = run(capsys, "panda", f"--pose={pose}")
    assert code == 2
    assert "there is no closed form" in err


@pytest.mark.slow
def test_the_nearest_posture_of_what_is_out_of_reach(capsys: Capture) -> None:
    arm = fa.load("puma560-akb")
    code, out, _ = run(capsys, "puma560-akb", "--pose", "5,0,0,0,0,0", "--nearest")
    assert code == 1
    assert "nearest" in out
    assert "m and" in out
    found = document(capsys, "puma560-akb", "--pose", "5,0,0,0,0,0", "--nearest")
    nearest = found["nearest"]
    place = forward(arm, np.array(nearest["q"]))[:3, 3]
    assert np.linalg.norm(place - [5.0, 0.0, 0.0]) == pytest.approx(nearest["distance"], abs=1e-9)
    assert document(capsys, "puma560-akb", "--pose", "5,0,0,0,0,0")["nearest"] is None


def test_undetermined_joints_are_in_the_json(capsys: Capture) -> None:
    arm = fa.load("puma560-akb")
    motion = hand_motion(arm, (0.1, -0.6, 0.4, 0.3, 0.0, 0.2))  # a straight wrist
    pose = words((*motion.position, *motion.orientation("rpy")))
    found = document(capsys, "puma560-akb", f"--pose={pose}")
    assert found["singular"] is True
    assert {"joint4", "joint6"} <= set(found["undetermined"])


@pytest.mark.slow
def test_numeric_that_is_not_solved_shows_what_is_nearest(capsys: Capture) -> None:
    arm = fa.load("panda")
    code, out, _ = run(capsys, "panda", "--pose", "5,0,0,0,0,0", "--numeric")
    assert code == 1
    assert "not solved" in out
    assert "the hand is then" in out
    found = document(capsys, "panda", "--pose", "5,0,0,0,0,0", "--numeric")
    assert (found["reachable"], found["q"]) == (False, [])
    place = forward(arm, np.array(found["nearest"]["q"]))[:3, 3]
    assert np.linalg.norm(place - [5.0, 0.0, 0.0]) == pytest.approx(found["nearest"]["distance"], rel=1e-9)
