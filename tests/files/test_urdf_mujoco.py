"""The arm of a URDF against MuJoCo, which reads the same text by itself:
where links are and what they weigh.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest
from nearness import assert_near
from numpy.typing import NDArray
from urdf_making import Making, random_urdf

from forearm import dynamics
from forearm.arm import Arm
from forearm.files.urdf_read import arm_from_urdf
from forearm.files.urdf_write import urdf_text
from forearm.kinematics import link_poses

KINOVA = Path(__file__).parent.parent / "data" / "kinova_mico.urdf"
Array = NDArray[np.float64]

# fifteen products of rotations and metres, each rounded to 1e-16, and MuJoCo's way over quaternions
POSE = 1e-13
INERTIA = 1e-12  # relative: sums over fifteen bodies
STATES = 3

# MuJoCo refuses moving links without mass; every other thing that a random arm may have, it reads too.
CHAIN = Making(links=9, tree=False, massless=False)
TREE = Making(links=14, massless=False)
TURNING = replace(CHAIN, kinds=("revolute",), mimics=False)
SLIDING = replace(TREE, kinds=("prismatic",), mimics=False)
ONE = replace(CHAIN, links=2, kinds=("revolute", "prismatic"))
MAKINGS = {"chain": CHAIN, "tree": TREE, "turning": TURNING, "sliding": SLIDING, "one joint": ONE}
CASES = [
    pytest.param(random_urdf(seed, making), id=f"{name}-{seed}")
    for name, making in MAKINGS.items()
    for seed in range(2)
]
KEEP_EVERY_BODY = (
    '<mujoco><compiler fusestatic="false" balanceinertia="false" discardvisual="true"/></mujoco>'
)


class Peer:
    """MuJoCo's model of a URDF, asked in the coordinates of an Arm."""

    def __init__(self, text: str) -> None:
        self.model: Any = mujoco.MjModel.from_xml_string(
            text.replace("</robot>", f"{KEEP_EVERY_BODY}</robot>")
        )
        self.data: Any = mujoco.MjData(self.model)
        # Followers are joints of their own here; their law is read from the text, leaders first.
        root = ElementTree.fromstring(text)
        self.mimics = {
            joint.attrib["name"]: (
                m.attrib["joint"],
                float(m.attrib["multiplier"]),
                float(m.attrib["offset"]),
            )
            for joint in root.iter("joint")
            if (m := joint.find("mimic")) is not None
        }

    def move_to(self, arm: Arm, q: Array) -> None:
        for name in (self.model.joint(i).name for i in range(self.model.njnt)):
            factor, offset, index = self._law(arm, name)
            self.data.qpos[self.model.joint(name).qposadr[0]] = factor * q[index] + offset
        mujoco.mj_forward(self.model, self.data)

    def inertia_matrix(self, arm: Arm) -> Array:
        """G^T M G with qd of all joints = G qd of the freedoms."""
        nv = self.model.nv
        M = np.zeros((nv, nv))
        for i, unit in enumerate(np.eye(nv)):
            mujoco.mj_mulM(self.model, self.data, M[i], unit)
        G = np.zeros((nv, arm.n))
        for name in (self.model.joint(i).name for i in range(self.model.njnt)):
            factor, _, index = self._law(arm, name)
            G[self.model.joint(name).dofadr[0], index] = factor
        return np.asarray(G.T @ M @ G)

    def _law(self, arm: Arm, name: str) -> tuple[float, float, int]:
        """Multiplier, offset and index into q of a joint, following leaders one by one."""
        if name not in self.mimics:
            return 1.0, 0.0, [j.name for j in arm.joints].index(name)
        leader, multiplier, offset = self.mimics[name]
        factor, shift, index = self._law(arm, leader)
        return multiplier * factor, multiplier * shift + offset, index


def states(arm: Arm) -> Array:
    return np.random.default_rng(7).uniform(-math.pi, math.pi, (STATES, arm.n))


@pytest.mark.parametrize("text", CASES)
def test_links_and_inertias_are_those_of_mujoco(text: str) -> None:
    arm, peer = arm_from_urdf(text.encode(), "made.urdf"), Peer(text)
    for q in states(arm):
        peer.move_to(arm, q)
        poses = link_poses(arm, q)
        for link in arm.links:
            body = peer.data.body(link.name)
            assert_near(poses[link.name][:3, 3], body.xpos, POSE)
            assert_near(poses[link.name][:3, :3], body.xmat.reshape(3, 3), POSE)
        truth = peer.inertia_matrix(arm)
        found = dynamics.inertia_matrix(arm.rigid(), q)
        assert_near(found, truth, INERTIA * np.abs(truth).max())


@pytest.mark.parametrize("text", CASES[:4])
def test_mujoco_reads_what_is_written(text: str) -> None:
    """The written URDF, in which inertial frames are no longer turned, is the same arm to MuJoCo."""
    arm = arm_from_urdf(text.encode(), "made.urdf")
    before, after = Peer(text), Peer(urdf_text(arm))
    for q in states(arm):
        before.move_to(arm, q)
        after.move_to(arm, q)
        truth = before.inertia_matrix(arm)
        assert_near(after.inertia_matrix(arm), truth, INERTIA * np.abs(truth).max())


@pytest.mark.filterwarnings("ignore::forearm.errors.IgnoredWarning")
def test_kinova_is_that_of_mujoco() -> None:
    text = KINOVA.read_text(encoding="utf-8")
    arm = arm_from_urdf(text.encode(), KINOVA.name)
    # its meshes are not here; right angles to 1e-9 are exact in what we compute
    exact = re.sub("(?s)<(visual|collision)>.*?</\\1>", "", text)
    for rounded, halves in (("1.57079632679", 1), ("1.570796327", 1), ("3.14159265359", 2)):
        exact = exact.replace(rounded, repr(halves * math.pi / 2))
    peer = Peer(exact)
    for q in states(arm):
        peer.move_to(arm, q)
        hand = peer.data.body(arm.hand.link)
        assert_near(link_poses(arm, q)[arm.hand.link][:3, 3], hand.xpos, POSE)
        found, truth = dynamics.inertia_matrix(arm.rigid(), q), peer.inertia_matrix(arm)
        assert_near(found, truth, INERTIA * np.abs(truth).max())
