"""Convert a model of Pinocchio to an Arm. Only attributes are read, so Pinocchio need not be installed."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from forearm.arm.arm import Arm, Hand
from forearm.arm.drive import Friction, Motor
from forearm.arm.joint import Frame, Joint, Kind, Limits
from forearm.arm.link import Link
from forearm.arm.tree import MAX_LINKS
from forearm.errors import InputError, NameNotFound, located, shorten, suggest
from forearm.spatial import Floats
from forearm.values import LARGEST

BODY = 8  # FrameType
NEEDED = ("njoints", "joints", "jointPlacements", "inertias", "names", "parents", "frames", "gravity")
SMALLEST_GEAR = 1e-6  # 0 means not given, and armature / N^2 must not overflow
ALIGNED = re.compile(r"JointModel(RUB|R|P)([XYZ])")
UNALIGNED: dict[str, Kind] = {
    "JointModelRevoluteUnaligned": "revolute",
    "JointModelRevoluteUnboundedUnaligned": "revolute",
    "JointModelPrismaticUnaligned": "prismatic",
}


def from_pinocchio(model: Any, hand: str | None = None) -> Arm:
    """The arm in a model of Pinocchio (`pinocchio.Model`): one link per joint, and one per further body
    frame.

    Args:
        model: the model.
        hand: name of a link or any frame; None: the leaf with the most degrees of freedom on its path.
    """
    for name in NEEDED:
        if not hasattr(model, name):
            raise InputError(f"expected a pinocchio.Model, got {shorten(model)}.", "from_pinocchio")
    if max(model.njoints, len(model.frames)) > MAX_LINKS:
        raise InputError(f"at most {MAX_LINKS} joints and frames.", "from_pinocchio")
    with located("from_pinocchio"):
        names, extra = _link_names(model)
        links = [_link(name, model.inertias[i]) for i, name in enumerate(names)]
        joints = [_joint(model, i, names) for i in range(1, model.njoints)]
        links += [Link(name=joint.child) for joint in extra]
        arm = Arm(
            name=getattr(model, "name", "") or "model",
            links=tuple(links),
            tree=(*joints, *extra),
            gravity=np.array(model.gravity.linear),
        )
        return arm if hand is None else arm.replace(hand=_hand(model, arm, names, hand))


def _link_names(model: Any) -> tuple[list[str], list[Joint]]:
    """A name for the link behind each joint, that of its first body; further bodies become fixed links."""
    names = [""] * model.njoints
    extra: list[Joint] = []
    for frame in model.frames:
        if int(frame.type) != BODY:
            continue
        carrier, T = int(frame.parentJoint), np.array(frame.placement.homogeneous)
        if not names[carrier] and np.array_equal(T, np.eye(4)):
            names[carrier] = frame.name
        else:
            name = f"{frame.name}_fixed"
            extra.append(_fixed(name, carrier, frame.name, T))
    names = [name or f"{model.names[i]}_link" for i, name in enumerate(names)]
    return names, [_fixed(j.name, names[int(j.parent)], j.child, j.before) for j in extra]


def _fixed(name: str, parent: int | str, child: str, T: Floats) -> Joint:
    return Joint(name=name, kind="fixed", parent=str(parent), child=child, placement=Frame.from_pose(T))


def _link(name: str, inertia: Any) -> Link:
    return Link(
        name=name, mass=float(inertia.mass), com=np.array(inertia.lever), inertia=np.array(inertia.inertia)
    )


def _joint(model: Any, i: int, names: list[str]) -> Joint:
    joint, name = model.joints[i], str(model.names[i])
    kind, axis = _kind_and_axis(model, joint, name)
    q, v = int(joint.idx_q), int(joint.idx_v)
    limits = Limits()
    if joint.nq == 1:  # an unbounded coordinate is stored as cosine and sine
        limits = Limits(_bound(model.lowerPositionLimit[q]), _bound(model.upperPositionLimit[q]))
    armature, ratio = float(model.armature[v]), float(model.rotorGearRatio[v])
    gear = ratio if abs(ratio) >= SMALLEST_GEAR else 1.0
    damping, dry = float(model.damping[v]), float(model.friction[v])
    return Joint(
        name=name,
        kind=kind,
        parent=names[int(model.parents[i])],
        child=names[i],
        placement=Frame.from_pose(np.array(model.jointPlacements[i].homogeneous), axis),
        limits=limits,
        max_effort=_positive(model.effortLimit[v]),
        max_speed=_positive(model.velocityLimit[v]),
        motor=Motor(gear_ratio=gear, rotor_inertia=armature / (gear * gear))
        if armature or gear != 1.0
        else None,
        friction=Friction(viscous=damping, coulomb=(dry, -dry)) if damping or dry else None,
    )


def _kind_and_axis(model: Any, joint: Any, name: str) -> tuple[Kind, Floats]:
    said = joint.shortname()
    if aligned := ALIGNED.fullmatch(said):
        return "prismatic" if aligned[1] == "P" else "revolute", np.eye(3)["XYZ".index(aligned[2])]
    if said in UNALIGNED:
        return UNALIGNED[said], _unaligned_axis(model, joint, UNALIGNED[said])
    raise InputError(
        f"joint {shorten(name)} is a {said:.60}; expected revolute and prismatic joints. Lock it with "
        "pinocchio.buildReducedModel."
    )


def _unaligned_axis(model: Any, joint: Any, kind: Kind) -> Floats:
    """The axis from the joint's motion subspace (6, 1), linear part first: not every joint type exposes its
    axis.
    """
    q = np.zeros(model.nq)
    q[joint.idx_q] = 1.0 if joint.nq == 2 else 0.0  # the zero angle as cosine and sine
    data = joint.createData()
    joint.calc(data, q)
    S = np.array(data.S, dtype=float).reshape(6)
    return S[:3] if kind == "prismatic" else S[3:]


def _bound(value: float) -> float:
    return float(value) if abs(value) < LARGEST else math.copysign(math.inf, value)


def _positive(value: float) -> float | None:
    """A limit; Pinocchio writes 0 or infinity for no limit."""
    return float(value) if 0.0 < value < LARGEST else None


def _hand(model: Any, arm: Arm, names: list[str], hand: str) -> Hand:
    links = [link.name for link in arm.links]
    if hand in links:
        return Hand(link=hand)
    for frame in model.frames:
        if frame.name == hand:
            return Hand(link=names[int(frame.parentJoint)], pose=np.array(frame.placement.homogeneous))
    raise NameNotFound(f"there is no frame {shorten(hand)}; {suggest(hand, (f.name for f in model.frames))}")
