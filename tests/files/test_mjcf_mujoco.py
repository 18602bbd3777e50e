"""The arm of an MJCF text against MuJoCo, which compiles the same text by itself."""

from __future__ import annotations

import math
from dataclasses import replace

import mujoco
import numpy as np
import pytest
from mjcf_making import MjcfMaking, random_mjcf
from mujoco_peer import Array, MjcfPeer
from nearness import assert_near

from forearm import dynamics
from forearm.arm import Arm
from forearm.files.mjcf.read import arm_from_mjcf
from forearm.files.mjcf.write import mjcf_text
from forearm.kinematics import forward, link_poses

# some thirty products of rotations and metres, each rounded to 1e-16, and MuJoCo's way over quaternions
ROUNDING = 1e-11
STATES = 3

CHAIN = MjcfMaking(bodies=6, tree=False)
TREE = MjcfMaking(bodies=9)
ONE_JOINT = replace(CHAIN, bodies=2, most_joints=1)
SLIDING = replace(TREE, kinds=("slide",))
SHAPES = replace(TREE, settings='inertiafromgeom="true" inertiagrouprange="0 2"')
BOUNDED = replace(TREE, settings='boundmass="2.5" boundinertia="0.03" balanceinertia="true"')
SCALED = replace(TREE, settings='settotalmass="12.5"')
MAKINGS = {
    "chain": CHAIN,
    "tree": TREE,
    "one joint": ONE_JOINT,
    "sliding": SLIDING,
    "shapes": SHAPES,
    "bounded": BOUNDED,
    "scaled": SCALED,
}
CASES = [
    pytest.param(random_mjcf(seed, making), id=f"{name}-{seed}")
    for name, making in MAKINGS.items()
    for seed in range(2)
]


def read(text: str) -> Arm:
    return arm_from_mjcf(text.encode(), "made.xml")


def states(arm: Arm) -> Array:
    return np.random.default_rng(7).uniform(-math.pi, math.pi, (STATES, 2, arm.n))


@pytest.mark.parametrize("text", CASES)
def test_bodies_and_torques_are_those_of_mujoco(text: str) -> None:
    arm = read(text)
    peer = MjcfPeer(text, arm)
    for q, qd in states(arm):
        peer.move_to(q, qd)
        poses = link_poses(arm, q)
        for i in range(1, peer.model.nbody):
            body = peer.data.body(i)
            pose = arm.base @ poses[body.name]
            assert_near(pose[:3, 3], body.xpos, ROUNDING)
            assert_near(pose[:3, :3], body.xmat.reshape(3, 3), ROUNDING)
        truth = peer.inertia_matrix()
        found = dynamics.inertia_matrix(arm, q)
        assert_near(found, truth, ROUNDING * np.abs(truth).max())
        for speed in (qd, 0.0 * qd):
            peer.move_to(q, speed)
            truth = peer.bias()
            assert_near(dynamics.bias(arm.rigid(), q, speed), truth, ROUNDING * max(1.0, np.abs(truth).max()))
        assert_near(dynamics.gravity(arm, q), truth, ROUNDING * max(1.0, np.abs(truth).max()))


@pytest.mark.parametrize("text", CASES)
def test_joint_data_and_effort_are_those_of_mujoco(text: str) -> None:
    """Effort: every control far beyond its range, in MuJoCo; the torque that arrives at the joint."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.ctrl[:] = 1e4
    mujoco.mj_forward(model, data)
    moving = [joint for joint in read(text).tree if joint.kind != "fixed"]
    assert [joint.name for joint in moving] == [model.joint(i).name for i in range(model.njnt)]
    for joint in moving:
        other = model.joint(joint.name)
        assert (other.type[0] == mujoco.mjtJoint.mjJNT_SLIDE) == (joint.kind == "prismatic")
        range_ = tuple(other.range) if other.limited[0] else (-math.inf, math.inf)
        assert joint.limits == pytest.approx(range_, rel=1e-15)
        friction, motor = joint.friction, joint.motor
        assert other.damping[0] == (0.0 if friction is None else friction.viscous)
        assert other.frictionloss[0] == (0.0 if friction is None else friction.coulomb[0])
        reflected = 0.0 if motor is None else motor.reflected_inertia
        assert other.armature[0] == pytest.approx(reflected, rel=1e-15)
        arrived = abs(float(data.qfrc_actuator[other.dofadr[0]]))
        if joint.max_effort is not None and arrived > 0.0:
            assert arrived == pytest.approx(joint.max_effort, rel=1e-12)


@pytest.mark.parametrize("text", CASES)
def test_mujoco_reads_what_is_written(text: str) -> None:
    """The written file is the same arm to MuJoCo, and to the reader."""
    arm = read(text)
    written = mjcf_text(arm)
    again = read(written)
    before, after = MjcfPeer(text, arm), MjcfPeer(written, again)
    assert after.model.nbody == before.model.nbody  # joints that shared a body share it again
    assert [link.name for link in again.links] == [link.name for link in arm.links]
    for q, qd in states(arm):
        before.move_to(q, qd)
        after.move_to(q, qd)
        for found, truth in (
            (after.inertia_matrix(), before.inertia_matrix()),
            (after.bias(), before.bias()),
            (forward(again, q), forward(arm, q)),
        ):
            assert_near(found, truth, ROUNDING * np.abs(truth).max())
