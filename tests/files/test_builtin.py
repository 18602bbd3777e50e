"""The built-in arms against printed figures, the tables they come from, and each other."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from nearness import assert_near
from refusals import refused

import forearm as fa
from forearm.checking.balancing import gravity_torque
from forearm.checking.structure import carried_inertia

PROMISED = {
    "puma560", "puma560-akb", "puma560-dhanaraj3", "puma560-dhanaraj6", "stanford", "stanford-dhanaraj3",
    "stanford-dhanaraj6", "cmu-dd", "ascher2", "panda", "ur5", "ur10",
}  # fmt: skip
KINDS = {
    "puma560": "RRRRRR",
    "stanford": "RRPRRR",
    "stanford-dhanaraj3": "RRP",
    "panda": "R" * 7,
    "ur10": "R" * 6,
}

# Printed with four decimals by the unit tests of robotics-toolbox-matlab (SerialLinkTest.m) and -python.
HALF_DIGIT = 0.5e-4
GRAVITY_LOADS = [
    ([0, np.pi / 4, -np.pi, 1, np.pi / 4, 0], [0, 31.6334, 6.0286, -0.0119, 0.0218, 0]),
    ([0, np.pi / 2, -np.pi, 1, np.pi / 2, 0], [0, 7.7198, 8.7439, -0.0238, 0, 0]),
]
INERTIA_DIAGONALS = [
    ([0, np.pi / 4, np.pi, 0, np.pi / 4, 0], [3.6594, 4.4137, 0.9378, 0.1925, 0.1713, 0.1941]),
    ([0, np.pi / 2, -np.pi, 1, np.pi / 2, 0], [2.6621, 4.4114, 0.9359, 0.1926, 0.1713, 0.1941]),
]


def quiet(name: str) -> fa.Arm:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fa.ModelWarning)
        return fa.load(name)


@pytest.mark.parametrize("name", sorted(PROMISED))
def test_each_loads_says_its_source_and_is_named_after_its_file(name: str) -> None:
    arm = quiet(name)
    assert arm.name == name
    assert len(arm.source) > 20
    assert len(arm.notes) > 20
    kinds = "".join("R" if j.kind == "revolute" else "P" for j in arm.joints)
    assert kinds == KINDS.get(name, kinds)
    assert [j.name for j in arm.joints] == [f"joint{i + 1}" for i in range(arm.n)] or name.startswith("ur")


@pytest.mark.parametrize("case", range(2))
def test_puma_gravity_and_inertia_with_rotors_as_printed(case: int) -> None:
    for function, printed in ((gravity_torque, GRAVITY_LOADS), (carried_inertia, INERTIA_DIAGONALS)):
        q, expected = printed[case]
        assert_near(function(quiet("puma560"), np.array(q)), np.array(expected), 1.001 * HALF_DIGIT)


def test_puma_friction_and_gears_are_the_published_ones() -> None:
    arm = quiet("puma560")
    reflected = [j.motor.reflected_inertia for j in arm.joints if j.motor is not None]
    expected = [0.784029968642, 2.324814845, 0.576873331938, 0.19079062612368, 0.170706291657, 0.194064505668]
    assert np.allclose(reflected, expected, rtol=1e-14, atol=0)
    friction = arm.joints[0].friction
    assert friction is not None
    assert (friction.side, friction.viscous, friction.coulomb) == ("motor", 0.00148, (0.395, -0.435))


def test_the_two_pumas_are_one_arm_once_their_differences_are_made_equal() -> None:
    """With d3, d4, the centres of links 3 and 4 made equal and q2, q3 shifted by pi:
    same gravity, same inertia.
    """
    standard, modified = quiet("puma560").rigid(), quiet("puma560-akb")
    shared = {"joint3": 0.15005 - 0.2435, "joint4": 0.4318}
    tree = []
    for joint in modified.joints:
        place = joint.placement
        assert isinstance(place, fa.DH)
        tree.append(replace(joint, placement=replace(place, d=shared.get(joint.name, place.d))))
    link3, link4 = modified.link("link3"), modified.link("link4")
    same = modified.replace(tree=tree).with_link(replace(link4, com=-link4.com))
    same = same.with_link(replace(link3, com=np.array([0.0, -0.07, 0.0141])))
    rng = np.random.default_rng(5)
    for q in rng.uniform(-3, 3, (20, 6)):
        shifted = q + [0, np.pi, np.pi, 0, 0, 0]
        assert np.abs(gravity_torque(standard, q) - gravity_torque(same, shifted)).max() < 1e-12
        assert np.abs(carried_inertia(standard, q) - carried_inertia(same, shifted)).max() < 1e-12


def test_panda_reaches_where_its_urdf_puts_the_flange() -> None:
    """The pose of panda_link8 at one posture, multiplied out by hand from the joint origins of panda.urdf."""
    zero = fa.kinematics.forward(fa.load("panda"), np.zeros(7))
    expected = np.diag([1.0, -1.0, -1.0, 1.0])
    expected[:3, 3] = [0.088, 0.0, 0.333 + 0.316 + 0.384 - 0.107]
    assert np.abs(zero - expected).max() < 1e-15


def test_ascher_bars_are_of_one_density() -> None:
    arm = fa.load("ascher2")
    assert np.isclose(arm.link("link2").mass / arm.link("link1").mass, 2.0 / 0.02)
    assert np.allclose(arm.link("link2").inertia, 10.0 / 12 * np.diag([8e-4, 4.0004, 4.0004]), rtol=1e-14)


def test_cmu_arm_comes_from_its_parts_and_alternates() -> None:
    arm = fa.load("cmu-dd")
    directions = []
    for body, W in zip(arm.moving.bodies, fa.kinematics.body_poses(arm, np.zeros(6)), strict=True):
        directions.append((W @ np.linalg.inv(body.after))[:3, :3] @ body.axis)
    for before, after in pairwise(directions):
        assert abs(before @ after) < 1e-12, "rotational and pivotal axes alternate at right angles"


@pytest.mark.parametrize("name", ["chain0", "chain", "chain10000", "chainN", "pumas", "../puma560"])
def test_names_that_are_none(name: str) -> None:
    assert set(fa.arms()) == PROMISED
    with refused(".*(chain|built-in|must end in)"):
        fa.load(name)
