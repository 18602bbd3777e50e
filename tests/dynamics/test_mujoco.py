"""Dynamics against MuJoCo, alive, which reads the same URDF by itself:
inertia matrix, bias, inverse and forward dynamics.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest
from dynamics.cases import (
    FORWARD,
    INERTIA,
    INVERSE,
    LONGEST,
    SERIAL_ONLY,
    Array,
    assert_agree,
    random_state,
    random_wrench,
)
from urdf_making import Making, random_urdf

from forearm import Arm, Joint, dynamics
from forearm.files.urdf_read import arm_from_urdf
from forearm.kinematics import link_poses

MUJOCO = 1e-11  # relative: fifteen links and quaternions on the way, and principal axes of turned tensors
GRAVITY = np.array([1.7, -6.3, -7.9])

RIGID = Making(links=9, tree=False, massless=False, drives=False)
MAKINGS = {
    "chain": replace(RIGID, mimics=False),
    "chain, followers": RIGID,
    "tree": replace(RIGID, links=14, tree=True, mimics=False),
    "tree, followers": replace(RIGID, links=14, tree=True),
    "turning": replace(RIGID, kinds=("revolute", "continuous"), mimics=False),
    "sliding": replace(RIGID, kinds=("prismatic",), mimics=False),
    "one joint": replace(RIGID, links=2, kinds=("revolute", "prismatic"), mimics=False),
}
TEXTS = {
    f"{name}-{seed}": random_urdf(100 + seed, making) for name, making in MAKINGS.items() for seed in range(2)
}
DRIVEN = [random_urdf(200 + seed, replace(RIGID, links=10, tree=True, drives=True)) for seed in range(2)]
KEEP_EVERY_BODY = (
    '<mujoco><compiler fusestatic="false" balanceinertia="false" discardvisual="true"/></mujoco>'
)

each_text = pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())


class Peer:
    """MuJoCo's model of a URDF, asked in the coordinates of an Arm:
    its q = G q_arm + offset, forces by G^T.
    """

    def __init__(self, text: str, arm: Arm) -> None:
        self.model: Any = mujoco.MjModel.from_xml_string(
            text.replace("</robot>", f"{KEEP_EVERY_BODY}</robot>")
        )
        self.model.opt.gravity[:] = arm.gravity
        # Contacts, limits, dry friction and the equalities of followers are constraints:
        # the rigid arm has none.
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        self.data: Any = mujoco.MjData(self.model)
        followers = {}
        for joint in ElementTree.fromstring(text).iter("joint"):
            if (m := joint.find("mimic")) is not None:
                followers[joint.attrib["name"]] = (
                    m.attrib["joint"],
                    float(m.attrib["multiplier"]),
                    float(m.attrib["offset"]),
                )
        order = [j.name for j in arm.joints]
        self.G, self.offset = np.zeros((self.model.nv, arm.n)), np.zeros(self.model.nv)
        for i in range(self.model.njnt):
            name, factor, shift = self.model.joint(i).name, 1.0, 0.0
            while name in followers:
                name, multiplier, offset = followers[name]
                factor, shift = factor * multiplier, shift + factor * offset
            self.G[i, order.index(name)], self.offset[i] = factor, shift

    def move_to(self, q: Array, qd: Array, qdd: Array | None = None) -> None:
        self.data.qpos[:], self.data.qvel[:] = self.G @ q + self.offset, self.G @ qd
        mujoco.mj_forward(self.model, self.data)
        if qdd is not None:
            self.data.qacc[:] = self.G @ qdd
            mujoco.mj_inverse(self.model, self.data)

    def inertia_matrix(self) -> Array:
        M = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, M)
        return np.asarray(self.G.T @ M @ self.G)


def pair(text: str) -> tuple[Arm, Peer]:
    arm = arm_from_urdf(text.encode(), "made.urdf").replace(gravity=GRAVITY)
    return arm, Peer(text, arm)


def test_the_arms_are_varied() -> None:
    arms = [arm_from_urdf(text.encode(), "made.urdf") for text in TEXTS.values()]
    assert {True, False} == {arm.is_serial for arm in arms}
    assert {"revolute", "prismatic", "fixed"} == {j.kind for arm in arms for j in arm.tree}
    assert any(j.mimic for arm in arms for j in arm.tree)
    assert max(arm.n for arm in arms) >= 8
    assert min(arm.n for arm in arms) == 1


@each_text
def test_inertia_bias_gravity_and_inverse_dynamics(text: str) -> None:
    arm, peer = pair(text)
    state = random_state(arm, 1)
    peer.move_to(*state)
    for method in INERTIA:
        assert_agree(dynamics.inertia_matrix(arm, state.q, method), peer.inertia_matrix(), MUJOCO)
    truth = peer.G.T @ peer.data.qfrc_inverse
    for formulation in INVERSE:
        if (arm.is_serial or formulation not in SERIAL_ONLY) and arm.n <= LONGEST.get(formulation, arm.n):
            assert_agree(dynamics.inverse(arm, *state, formulation), truth, MUJOCO)
    assert_agree(dynamics.bias(arm, *state[:2]), peer.G.T @ peer.data.qfrc_bias, MUJOCO)
    peer.move_to(state.q, np.zeros(arm.n))
    assert_agree(dynamics.gravity(arm, state.q), peer.G.T @ peer.data.qfrc_bias, MUJOCO)


@pytest.mark.parametrize("name", [name for name in TEXTS if "foll" not in name])
def test_forward_dynamics_with_a_load_on_the_hand(name: str) -> None:
    """MuJoCo is given the torques, and the load at the body's centre of mass, in world axes."""
    arm, peer = pair(TEXTS[name])
    (q, qd, tau), (force, moment) = random_state(arm, 1), random_wrench(1)
    T = link_poses(arm, q)[arm.hand.link]
    body = peer.data.body(arm.hand.link)
    peer.move_to(q, qd)
    push, turn = T[:3, :3] @ force, T[:3, :3] @ moment
    body.xfrc_applied[:] = np.concatenate([push, turn + np.cross(T[:3, 3] - body.xipos, push)])
    peer.data.qfrc_applied[:] = tau
    peer.move_to(q, qd)
    condition = float(np.linalg.cond(peer.inertia_matrix()))
    for method in FORWARD:
        found = dynamics.forward(arm, q, qd, tau, method, force, moment)
        assert_agree(found, peer.data.qacc, MUJOCO * condition)


@pytest.mark.parametrize("text", DRIVEN)
def test_viscous_friction_and_rotors(text: str) -> None:
    """Damping is read by both; rotors reach MuJoCo as armature;
    dry friction is a constraint there, so it is left out.
    """

    def smooth(joint: Joint) -> Joint:
        return replace(joint, friction=joint.friction and replace(joint.friction, coulomb=(0.0, 0.0)))

    arm, peer = pair(text)
    arm = arm.replace(tree=tuple(smooth(j) for j in arm.tree))
    assert any(j.motor for j in arm.tree)
    assert any(j.friction for j in arm.tree)
    for i in range(peer.model.njnt):
        motor = arm.joint(peer.model.joint(i).name).motor
        peer.model.dof_armature[i] = motor.reflected_inertia if motor else 0.0
    state = random_state(arm, 1)
    peer.move_to(*state)
    assert_agree(dynamics.inertia_matrix(arm, state.q), peer.inertia_matrix(), MUJOCO)
    assert_agree(dynamics.inverse(arm, *state), peer.G.T @ peer.data.qfrc_inverse, MUJOCO)
