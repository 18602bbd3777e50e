"""Arms from Pinocchio's models, by a stand-in with the same attributes; `make test-peers` has live ones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from nearness import assert_near
from numpy.typing import NDArray
from refusals import refused

import forearm as fa
from forearm import dynamics
from forearm.arm import Arm, Joint, Limits
from forearm.files.urdf_write import friction_at_joint, in_joint_frames
from forearm.kinematics import forward, link_poses

BODY, OTHER = 8, 4
Array = NDArray[np.float64]


def se3(T: Array) -> Any:
    return SimpleNamespace(homogeneous=T)


class StandInJoint:
    """A joint as Pinocchio's Python shows it: without bounds its coordinate is cosine and sine."""

    def __init__(self, joint: Joint, idx_q: int, idx_v: int) -> None:
        self.joint, self.idx_q, self.idx_v = joint, idx_q, idx_v
        self.is_free = joint.kind == "revolute" and joint.limits == Limits()
        self.nq, self.nv = (2 if self.is_free else 1), 1

    def shortname(self) -> str:
        if self.joint.kind == "prismatic":
            return "JointModelPrismaticUnaligned"
        return f"JointModelRevolute{'Unbounded' if self.is_free else ''}Unaligned"

    def createData(self) -> Any:
        return SimpleNamespace()

    def calc(self, data: Any, q: Array) -> None:
        if self.is_free:
            assert np.hypot(*q[self.idx_q : self.idx_q + 2]) == 1.0
        zero = np.zeros(3)
        parts = (self.joint.axis, zero) if self.joint.kind == "prismatic" else (zero, self.joint.axis)
        data.S = np.concatenate(parts)[:, None]


def stand_in(arm: Arm) -> Any:
    """The model that Pinocchio would have of an arm in joint frames without fixed joints."""
    names = [link.name for link in arm.links]
    joints: list[Any] = [None]
    nq = 0
    for i, joint in enumerate(arm.tree):
        joints.append(StandInJoint(joint, nq, i))
        nq += joints[-1].nq
    bounds = [
        (-1.01, 1.01) if j.nq == 2 else joint.limits for j, joint in zip(joints[1:], arm.tree, strict=True)
    ]
    spread = [b for b, j in zip(bounds, joints[1:], strict=True) for _ in range(j.nq)]
    tool = SimpleNamespace(
        name="tool", type=OTHER, parentJoint=names.index(arm.hand.link), placement=se3(arm.hand.pose)
    )
    flange = SimpleNamespace(name="flange", type=BODY, parentJoint=1, placement=se3(arm.hand.pose))
    frames = [
        SimpleNamespace(name=name, type=BODY, parentJoint=i, placement=se3(np.eye(4)))
        for i, name in enumerate(names)
    ]
    return SimpleNamespace(
        name=arm.name,
        njoints=len(names),
        nq=nq,
        joints=joints,
        names=["universe", *(joint.name for joint in arm.tree)],
        parents=[0, *(names.index(joint.parent) for joint in arm.tree)],
        jointPlacements=[se3(np.eye(4)), *(se3(joint.before) for joint in arm.tree)],
        inertias=[SimpleNamespace(mass=x.mass, lever=x.com, inertia=x.inertia) for x in arm.links],
        frames=[*frames, tool, flange],
        gravity=SimpleNamespace(linear=arm.gravity),
        lowerPositionLimit=np.array([lower for lower, _ in spread]),
        upperPositionLimit=np.array([upper for _, upper in spread]),
        armature=np.array([0.0 if j.motor is None else j.motor.reflected_inertia for j in arm.tree]),
        rotorGearRatio=np.array([1.0 if j.motor is None else j.motor.gear_ratio for j in arm.tree]),
        damping=np.array([friction_at_joint(j)[0] for j in arm.tree]),
        friction=np.array([friction_at_joint(j)[1] for j in arm.tree]),
        effortLimit=np.array([np.inf if j.max_effort is None else j.max_effort for j in arm.tree]),
        velocityLimit=np.array([np.inf if j.max_speed is None else j.max_speed for j in arm.tree]),
    )


ARMS = [in_joint_frames(random_arm(seed, 5, tree=bool(seed % 2), fixed=False)) for seed in range(2)]
ARMS.append(
    ARMS[0].with_joint(ARMS[0].tree[-1].name, limits=Limits(), max_effort=None, motor=None, friction=None)
)


@pytest.mark.parametrize("arm", ARMS, ids=range(len(ARMS)))
def test_arm_is_that_of_the_model(arm: Arm) -> None:
    found = fa.from_pinocchio(stand_in(arm), hand="tool")
    assert found.name == arm.name
    assert [link for link in found.links if link.name != "flange"] == list(arm.links)
    joints = [joint for joint in found.tree if joint.kind != "fixed"]
    for mine, truth in zip(joints, arm.tree, strict=True):
        for key in ("name", "kind", "parent", "child", "limits", "max_effort", "max_speed"):
            assert getattr(mine, key) == getattr(truth, key)
        assert friction_at_joint(mine) == friction_at_joint(truth)
    q, qd, qdd = np.random.default_rng(3).uniform(-1, 1, (3, arm.n))
    assert_near(forward(found, q), forward(arm, q), 1e-13)
    place = link_poses(arm, q)[arm.tree[0].child] @ arm.hand.pose
    assert_near(link_poses(found, q)["flange"], place, 1e-13)
    M = dynamics.inertia_matrix(arm, q)  # rotors included
    assert_near(dynamics.inertia_matrix(found, q), M, 1e-12 * np.abs(M).max())
    tau = dynamics.inverse(arm.rigid(), q, qd, qdd)
    assert_near(dynamics.inverse(found.rigid(), q, qd, qdd), tau, 1e-12 * np.abs(tau).max())


def test_other_joints_are_refused() -> None:
    model = stand_in(ARMS[0])
    model.joints[2].shortname = lambda: "JointModelSpherical"
    with refused(
        f"InputError: from_pinocchio: joint '{model.names[2]}' is a JointModelSpherical; expected revolute "
        "and prismatic joints. Lock it with pinocchio.buildReducedModel"
    ):
        fa.from_pinocchio(model)


def test_hand_is_a_frame() -> None:
    model = stand_in(ARMS[0])
    assert fa.from_pinocchio(model, hand="flange").hand.link == "flange"
    with refused(r"NameNotFound: from_pinocchio: there is no frame 'tol'; did you mean 'tool'"):
        fa.from_pinocchio(model, hand="tol")


@pytest.mark.parametrize("given", [None, 3, SimpleNamespace(njoints=2)])
def test_what_is_no_model(given: object) -> None:
    with refused(r"InputError: from_pinocchio: expected a pinocchio\.Model, got "):
        fa.from_pinocchio(given)
