"""Angles that were rounded in a file: found, made exact on request, and right angles to 1e-9 exact anyway."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from nearness import assert_near
from sweeps import long

import forearm as fa
from forearm.arm.snap import RoundedAngle, rounded_angles
from forearm.cli.main import main
from forearm.files.urdf_write import in_joint_frames
from forearm.spatial import RIGHT_ANGLE, rotation_rpy, squared


def rounded(name: str, decimals: int) -> fa.Arm:
    """A built-in arm as a URDF has it, its angles rounded to so many decimals."""
    arm = in_joint_frames(fa.load(name).rigid())
    tree = []
    for joint in arm.tree:
        place = joint.placement
        assert isinstance(place, fa.Frame)
        frame = fa.Frame(xyz=place.xyz, rpy=np.round(place.rpy, decimals), axis=place.axis)
        tree.append(dataclasses.replace(joint, placement=frame))
    return arm.replace(tree=tuple(tree))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["stanford-dhanaraj3", *long(["panda"])])
def test_right_angles_to_nine_decimals_cost_no_operations(name: str) -> None:
    exact, nine, four = rounded(name, 17), rounded(name, 9), rounded(name, 4)
    arms = (exact, nine, four, four.snap_angles())
    same, also, more, again = (fa.generate(arm, "inverse_dynamics").counts.operations for arm in arms)
    assert same == also == again
    assert more > 1.3 * same


def test_what_was_written_is_kept_and_what_is_computed_is_near() -> None:
    exact, nine = rounded("puma560", 17), rounded("puma560", 9)
    assert [j.placement for j in nine.tree] != [j.placement for j in exact.tree]
    q, qd, qdd = np.random.default_rng(4).uniform(-1.0, 1.0, (3, 6))
    for q_i in (q, -2.0 * q):
        ours, theirs = (fa.dynamics.inverse(arm, q_i, qd, qdd) for arm in (nine, exact))
        assert_near(ours, theirs, 1e-12 * np.abs(theirs).max())


@pytest.mark.parametrize("error", [2e-15, 3e-12, 0.9 * RIGHT_ANGLE])
def test_squared_makes_right_angles_exact(error: float) -> None:
    R = squared(rotation_rpy((math.pi / 2 + error, -math.pi, math.pi / 2 - error)))
    assert set(np.abs(R).ravel()) == {0.0, 1.0}
    assert_near(R, rotation_rpy((math.pi / 2, -math.pi, math.pi / 2)), 4e-15)


def test_squared_leaves_a_turn_about_an_exact_axis_and_all_else() -> None:
    R = squared(rotation_rpy((math.pi / 2 + 3e-10, 0.3, 0.0)))
    assert_near(R, rotation_rpy((math.pi / 2, 0.3, 0.0)), 3.1e-10)
    assert np.count_nonzero(R) == 5
    assert_near(R @ R.T, np.eye(3), 4e-15)
    for rpy in ((0.3, -0.4, 0.5), (math.pi / 2 + 2e-9, 0.0, 0.0), (math.pi / 2, math.pi, 0.0)):
        R = rotation_rpy(rpy)
        assert squared(R) is R


def arm_with(rpy: tuple[float, float, float], axis: tuple[float, float, float]) -> fa.Arm:
    place = fa.Frame(xyz=np.array([0.1, 0.2, 0.3]), rpy=np.array(rpy), axis=np.array(axis))
    joint = fa.Joint(name="j", kind="revolute", parent="a", child="b", placement=place)
    links = (fa.Link(name="a"), fa.Link(name="b", mass=1.3, inertia=np.diag([0.1, 0.2, 0.25])))
    return fa.Arm(name="r", links=links, tree=(joint,))


def test_which_angles_are_rounded_and_what_they_become() -> None:
    arm = arm_with((1.5708, -0.78540, 0.3), (3e-5, 0.0, 1.0))
    found = rounded_angles(arm)
    assert [(a.what, a.exact) for a in found] == [
        ("roll", math.pi / 2),
        ("pitch", -math.pi / 4),
        ("axis x", 0.0),
    ]
    assert str(found[0]) == "j roll 1.5708"
    place = arm.snap_angles().joint("j").placement
    assert isinstance(place, fa.Frame)
    assert (*place.rpy, *place.axis) == (math.pi / 2, -math.pi / 4, 0.3, 0.0, 0.0, 1.0)
    assert rounded_angles(arm.snap_angles()) == ()


def test_tolerance_decides() -> None:
    arm = arm_with((1.57, 0.0, 0.0), (0.0, 0.0, 1.0))
    assert arm.snap_angles() == arm
    assert rounded_angles(arm, 1e-3) == (RoundedAngle("j", "roll", 1.57, math.pi / 2),)
    said = r"^snap_angles, tolerance \(rad\): must be at least 0 and at most 0\.01, got 0\.1\.$"
    with pytest.raises(fa.InputError, match=said):
        arm.snap_angles(0.1)


def test_denavit_hartenberg_angles_are_snapped_too() -> None:
    arm = fa.from_dh("r", [[0.3, 1.5708, 0.1, 0.0], [0.4, -1.5708, 0.2, 3.1416]], convention="standard")
    exact = [(a.joint, a.what, a.exact) for a in rounded_angles(arm)]
    first, second = (j.name for j in arm.joints)
    half = math.pi / 2
    assert exact == [(first, "alpha", half), (second, "alpha", -half), (second, "theta", math.pi)]
    assert rounded_angles(arm.snap_angles()) == ()


def test_check_finds_them_and_convert_makes_them_exact(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    source, target = str(tmp_path / "r.urdf"), str(tmp_path / "exact.urdf")
    arm_with((1.5708, 0.0, 0.3), (0.0, 0.0, 1.0)).to_urdf(source)
    for words, said in (
        (["check", source], "warning [rounded-angle] angles that look rounded: j roll 1.5708. Exact right"),
        (["convert", source, target, "--snap-angles"], "Angles made exact: j roll 1.5708 -> 1.57079633\n"),
        (["convert", target, source, "--snap-angles"], "Angles made exact: none\n"),
    ):
        assert main(words) == 0
        assert said in capsys.readouterr().out
    assert fa.load(target).joint("j").placement.rpy[0] == math.pi / 2  # type: ignore[union-attr]


def test_built_in_arms_have_no_rounded_angles() -> None:
    assert [name for name in fa.arms() if rounded_angles(fa.load(name))] == []
