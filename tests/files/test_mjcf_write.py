"""MJCF written: MuJoCo loads it and moves as the arm does, and reading it gives the arm back."""

from __future__ import annotations

import dataclasses
import math
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from arms import STYLES, Style, posture, random_arm, speed
from hypothesis import given, settings
from hypothesis import strategies as st
from mujoco_peer import MjcfPeer
from nearness import assert_near
from refusals import refused

import forearm as fa
from forearm import dynamics
from forearm.arm import Arm, Frame, Friction, Joint, Limits, Link, Mimic, Motor
from forearm.errors import LossWarning
from forearm.files.mjcf.read import arm_from_mjcf
from forearm.files.mjcf.write import DEEPEST, DUST, FLAT, mjcf_text
from forearm.files.urdf_write import friction_at_joint, in_joint_frames
from forearm.kinematics import forward

ROUNDING = 1e-12  # a dozen products of rotations and metres, each rounded to 1e-16
SEEDS = st.integers(0, 2**32 - 1)
STYLE = st.sampled_from(STYLES)


def read(text: str) -> Arm:
    return arm_from_mjcf(text.encode(), "made.xml")


def chain(*links: Link, **changes: Any) -> Arm:
    """Links in a row on hinges about x; `changes` are those of the last joint."""
    tree = [
        Joint(
            name=f"{b.name}_joint",
            kind="revolute",
            parent=a.name,
            child=b.name,
            placement=Frame(xyz=np.array([0.1, 0.2, 0.3]), axis=np.array([1.0, 0, 0])),
        )
        for a, b in pairwise(links)
    ]
    tree[-1] = dataclasses.replace(tree[-1], **changes)
    return Arm(name="chain", links=links, tree=tuple(tree))


SOLID = Link(name="solid", mass=2.0, com=np.array([0.1, 0.2, 0.3]), inertia=np.diag([0.02, 0.03, 0.04]))
BASE = Link(name="base")


@pytest.mark.slow
@given(SEEDS, st.integers(1, 4), STYLE, st.booleans(), st.booleans())
@settings(max_examples=12)
def test_reading_what_was_written_gives_the_arm(
    seed: int, n: int, style: Style, tree: bool, mimic: bool
) -> None:
    arm = in_joint_frames(random_arm(seed, n, style, tree=tree, mimic=mimic))
    again = read(mjcf_text(arm))
    assert (again.name, again.hand.link) == (arm.name, arm.hand.link)
    assert_near(again.base, arm.base, ROUNDING)
    assert_near(again.gravity, arm.gravity, 100 * ROUNDING)
    assert_near(again.hand.pose, arm.hand.pose, ROUNDING)
    assert again.links == arm.links  # to the last bit: their bodies can exist
    for mine, truth in zip(again.tree, arm.tree, strict=True):
        for key in ("kind", "parent", "child", "mimic", "limits"):
            assert getattr(mine, key) == getattr(truth, key)
        assert isinstance(mine.placement, Frame)
        assert isinstance(truth.placement, Frame)
        np.testing.assert_array_equal(mine.placement.xyz, truth.placement.xyz)
        np.testing.assert_array_equal(mine.placement.rpy, truth.placement.rpy)
        if truth.kind != "fixed":  # which have no names and no axes there
            assert mine.name == truth.name
            np.testing.assert_array_equal(mine.axis, truth.axis)
        assert (mine.max_effort is None) == (truth.max_effort is None)
        assert (mine.max_effort or 0.0) == pytest.approx(truth.max_effort or 0.0, rel=1e-15)
        assert friction_at_joint(mine) == friction_at_joint(truth)
        rotors = [0.0 if j.motor is None else j.motor.reflected_inertia for j in (mine, truth)]
        assert rotors[0] == pytest.approx(rotors[1], rel=1e-15)


@pytest.mark.parametrize(
    "arm",
    [
        *(random_arm(i, 4, style, tree=i == 1, mimic=True) for i, style in enumerate(STYLES)),
        fa.load("cmu-dd"),
    ],
    ids=[*STYLES, "cmu-dd"],
)
def test_mujoco_moves_as_the_arm_does(arm: Arm) -> None:
    peer = MjcfPeer(mjcf_text(arm), arm)
    q, qd = posture(arm, 1), speed(arm, 1)
    peer.move_to(q, qd)
    for found, truth in (
        (dynamics.inertia_matrix(arm, q), peer.inertia_matrix()),
        (dynamics.bias(arm.rigid(), q, qd), peer.bias()),
    ):
        assert_near(found, truth, 10 * ROUNDING * np.abs(truth).max())
    hand = peer.data.site("attachment_site")
    assert_near((arm.base @ forward(arm, q))[:3, 3], hand.xpos, ROUNDING)


def test_drive_of_a_joint() -> None:
    arm = chain(
        BASE,
        SOLID,
        limits=Limits(-1.0, 2.0),
        max_effort=30.0,
        motor=Motor(gear_ratio=10.0, rotor_inertia=0.002),
        friction=Friction(side="motor", viscous=0.003, coulomb=(0.04, -0.04)),
    )
    model = mujoco.MjModel.from_xml_string(mjcf_text(arm))
    assert model.jnt_range[0].tolist() == [-1.0, 2.0]
    assert model.jnt_actfrcrange[0].tolist() == [-30.0, 30.0]
    assert (model.actuator_gear[0][0], model.actuator_ctrlrange[0].tolist()) == (10.0, [-3.0, 3.0])
    assert model.dof_armature[0] == pytest.approx(0.2, rel=1e-15)
    assert model.dof_damping[0] == pytest.approx(0.3, rel=1e-15)
    assert model.dof_frictionloss[0] == pytest.approx(0.4, rel=1e-15)


@pytest.mark.parametrize("limits", [Limits(), Limits(-math.inf, 1.0), Limits(-1.0, math.inf)])
def test_limits_may_be_on_one_side(limits: Limits) -> None:
    assert read(mjcf_text(chain(BASE, SOLID, limits=limits))).tree[0].limits == limits


@pytest.mark.parametrize(
    "link",
    [
        Link(name="none"),
        Link(name="point", mass=2.0, com=np.array([0.1, 0.2, 0.3])),
        Link(name="rod", mass=2.0, inertia=np.diag([0.0, 0.3, 0.3])),
        Link(name="plate", mass=2.0, inertia=np.array([[0.3, 0.1, 0.0], [0.1, 0.2, 0.0], [0.0, 0.0, 0.5]])),
    ],
    ids=lambda link: str(link.name),
)
def test_mujoco_takes_moving_bodies_that_it_would_refuse(link: Link) -> None:
    """Its compiler wants mass and inertia of what moves; what is added no motion shows."""
    arm = chain(BASE, link, SOLID)
    peer = MjcfPeer(mjcf_text(arm), arm)
    q, qd = np.array([0.4, -0.7]), np.array([1.1, 0.6])
    peer.move_to(q, qd)
    assert_near(dynamics.inertia_matrix(arm, q), peer.inertia_matrix(), 1e-12)
    again = read(mjcf_text(arm)).link(link.name)
    assert_near(again.inertia, link.inertia, DUST + FLAT)
    assert again.mass == pytest.approx(link.mass, abs=DUST)


def test_a_link_called_world_gets_another_name(tmp_path: Path) -> None:
    arm = chain(dataclasses.replace(SOLID, name="world"), SOLID)
    with pytest.warns(LossWarning, match=r"the link name 'world' \(written as 'base'\)"):
        arm.to_mjcf(tmp_path / "arm.xml")
    mujoco.MjModel.from_xml_path(str(tmp_path / "arm.xml"))
    assert [link.name for link in fa.load(tmp_path / "arm.xml").links] == ["base", "solid"]


def test_losses_are_named_once(tmp_path: Path) -> None:
    arm = chain(BASE, SOLID, max_speed=3.0, motor=Motor(torque_constant=0.1))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        arm.to_mjcf(tmp_path / "arm.xml")
    (warning,) = caught
    assert str(warning.message) == (
        "chain: not representable in MJCF, left out: motor constants (solid_joint); "
        "speed limits (solid_joint)."
    )
    assert warning.filename == __file__


def test_followers_are_couplings() -> None:
    arm = chain(
        BASE,
        SOLID,
        dataclasses.replace(SOLID, name="second"),
        mimic=Mimic(joint="solid_joint", multiplier=2.0),
    )
    model = mujoco.MjModel.from_xml_string(mjcf_text(arm))
    assert (model.neq, model.nu) == (1, 1)
    assert read(mjcf_text(arm)).tree == arm.tree


@pytest.mark.slow
def test_too_deep_for_readers() -> None:
    with refused(rf"ModelError: chain{DEEPEST + 1}: bodies nested more than {DEEPEST} deep"):
        mjcf_text(fa.load(f"chain{DEEPEST + 1}"))
    n = DEEPEST - 2
    assert read(mjcf_text(fa.load(f"chain{n}").rigid())).n == n
