"""Write an Arm as URDF: link frames at the joints, numbers in full, a warning for what is lost."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from xml.sax.saxutils import quoteattr

import numpy as np

from forearm.arm.arm import STANDARD_GRAVITY, Arm, Hand
from forearm.arm.joint import Frame, Joint, Limits
from forearm.arm.link import Link
from forearm.arm.named_values import values_of
from forearm.arm.tree import default_hand
from forearm.errors import LossWarning
from forearm.portable import matmul
from forearm.reading.textfile import write_text
from forearm.spatial import TENSOR, Floats, move_body
from forearm.values import LARGEST


def save_urdf(arm: Arm, path: str | os.PathLike[str]) -> None:
    """Write the URDF atomically, and warn of what it cannot represent."""
    save_model(arm, path, urdf_text(arm), "URDF", _losses(arm))


def save_model(
    arm: Arm, path: str | os.PathLike[str], text: str, language: str, losses: Iterable[str]
) -> None:
    """Write the text of an arm atomically, and warn of what its language cannot represent."""
    if lost := "; ".join(losses):
        warnings.warn(f"{arm.name}: not representable in {language}, left out: {lost}.", LossWarning, 4)
    write_text(path, text)


def urdf_text(arm: Arm) -> str:
    """The arm as URDF text."""
    framed = in_joint_frames(arm)
    # The hand link comes first behind the base, so that a reader finds it among
    # leaves with as many joints.
    links = sorted(
        framed.links, key=lambda link: (link.name != framed.base_link, link.name != framed.hand.link)
    )
    blocks = [_link(link) for link in links] + [_joint(joint) for joint in framed.tree]
    extra = _hand_frame(framed)
    blocks = blocks if extra is None else [_link(extra[0]), *blocks, _joint(extra[1])]
    blocks += [_transmission(joint) for joint in framed.tree if joint.motor is not None]
    return f'<?xml version="1.0"?>\n<robot name={quoteattr(arm.name)}>\n' + "\n".join(blocks) + "\n</robot>\n"


def in_joint_frames(arm: Arm) -> Arm:
    """The same arm with every link frame at the joint that moves it, as URDF requires; the arm itself if
    already so.

    A standard DH joint ends with a constant transform (`after`): the link frame moves back over it, mass
    properties are expressed in the new frame, and joints on the link start with it.
    """
    after = {joint.child: joint.after for joint in arm.tree}
    links = tuple(_reframed(link, after.get(link.name, np.eye(4))) for link in arm.links)
    tree = []
    for joint in arm.tree:
        if isinstance(joint.placement, Frame) and np.array_equal(
            after.get(joint.parent, np.eye(4)), np.eye(4)
        ):
            tree.append(joint)
            continue
        before = matmul(after.get(joint.parent, np.eye(4)), joint.before)
        tree.append(dataclasses.replace(joint, placement=Frame.from_pose(before, joint.axis)))
    hand = Hand(link=arm.hand.link, pose=matmul(after.get(arm.hand.link, np.eye(4)), arm.hand.pose))
    return arm.replace(links=links, tree=tuple(tree), hand=hand)


def _reframed(link: Link, T: Floats) -> Link:
    mass, com, inertia = move_body(T, *link.properties)
    return Link(name=link.name, mass=mass, com=com, inertia=inertia)


def _losses(arm: Arm) -> Iterable[str]:
    if not np.array_equal(arm.gravity, STANDARD_GRAVITY):
        yield f"gravity {arm.gravity.tolist()}"
    if not np.array_equal(arm.base, np.eye(4)):
        yield "the pose of the base in the world"
    extra = _hand_frame(in_joint_frames(arm))
    first = arm.link(arm.hand.link) if extra is None else extra[0]
    tree, hand = arm.tree if extra is None else (*arm.tree, extra[1]), first.name
    if default_hand((first, *arm.links), tree) != hand:
        yield f"that the hand is {hand!r} (read it back with hand={hand!r})"
    yield from lost_with_joints(arm, lost_of_drive)


def lost_with_joints(arm: Arm, of_joint: Callable[[Joint], Iterable[str]]) -> Iterator[str]:
    """What is lost of joints, each kind once with their names, and of the whole arm."""
    lost: dict[str, list[str]] = {}
    for joint in arm.tree:
        for what in of_joint(joint):
            lost.setdefault(what, []).append(joint.name)
    yield from (f"{what} ({', '.join(names)})" for what, names in lost.items())
    if arm.deviations:
        yield "deviations"


def lost_of_drive(joint: Joint) -> Iterator[str]:
    """Drive features that neither URDF nor MJCF can represent."""
    if values_of(joint.motor).keys() - {"gear_ratio", "rotor_inertia"}:
        yield "motor constants"
    if joint.friction is not None and sum(joint.friction.coulomb) != 0.0:
        yield "direction-dependent Coulomb friction"
    if joint.friction is not None and joint.friction.static is not None:
        yield "Stribeck friction"
    if joint.friction is not None and joint.friction.bristle_stiffness is not None:
        yield "friction bristles"
    if joint.bearings:
        yield "bearings"
    if joint.transmission is not None:
        yield "transmission losses"
    if joint.elasticity is not None:
        yield "elasticity"


def in_quotes(values: Iterable[float]) -> str:
    """Numbers in full, as the value of an attribute."""
    return '"' + " ".join(repr(float(v)) for v in values) + '"'


def _link(link: Link) -> str:
    if link.massless and not link.com.any():
        return f"  <link name={quoteattr(link.name)}/>"
    tensor = " ".join(f"i{key}={in_quotes([link.inertia[ik]])}" for key, ik in TENSOR.items())
    return (
        f"  <link name={quoteattr(link.name)}>\n    <inertial>\n"
        f"      <origin xyz={in_quotes(link.com)}/>\n"
        f"      <mass value={in_quotes([link.mass])}/>\n      <inertia {tensor}/>\n"
        "    </inertial>\n  </link>"
    )


def _joint(joint: Joint) -> str:
    place = joint.placement
    assert isinstance(place, Frame)
    kind = "continuous" if joint.kind == "revolute" and joint.limits == Limits() else joint.kind
    lines = [
        f"  <joint name={quoteattr(joint.name)} type={quoteattr(kind)}>",
        f"    <parent link={quoteattr(joint.parent)}/>",
        f"    <child link={quoteattr(joint.child)}/>",
        f"    <origin xyz={in_quotes(place.xyz)} rpy={in_quotes(place.rpy)}/>",
    ]
    if joint.kind != "fixed":
        lines += [f"    <axis xyz={in_quotes(place.axis)}/>", *_limit(joint, kind)]
    if joint.friction is not None:
        damping, dry = friction_at_joint(joint)
        lines.append(f"    <dynamics damping={in_quotes([damping])} friction={in_quotes([dry])}/>")
    if joint.mimic is not None:
        m = joint.mimic
        numbers = f"multiplier={in_quotes([m.multiplier])} offset={in_quotes([m.offset])}"
        lines.append(f"    <mimic joint={quoteattr(m.joint)} {numbers}/>")
    return "\n".join([*lines, "  </joint>"])


def _limit(joint: Joint, kind: str) -> list[str]:
    # URDF cannot express the absence of a limit, yet other readers refuse a <limit> without effort and
    # velocity: unknown limits are written as LARGEST, which the reader takes as unlimited.
    if kind == "continuous" and joint.max_effort is None and joint.max_speed is None:
        return []
    effort, speed = (LARGEST if v is None else v for v in (joint.max_effort, joint.max_speed))
    ends = {} if kind == "continuous" else joint.limits._asdict()
    said = (
        f"{key}={in_quotes([min(max(value, -LARGEST), LARGEST)])}"
        for key, value in {**ends, "effort": effort, "velocity": speed}.items()
    )
    return [f"    <limit {' '.join(said)}/>"]


def friction_at_joint(joint: Joint) -> tuple[float, float]:
    """Viscous and Coulomb friction on the joint side, the same in both directions."""
    if joint.friction is None:
        return 0.0, 0.0
    # On the motor side: tau_f = |N| (B |N| qd + Tc).
    ratio = abs(joint.motor.gear_ratio) if joint.motor is not None and joint.friction.side == "motor" else 1.0
    damping = ratio**2 * joint.friction.viscous
    dry = ratio * 0.5 * (joint.friction.coulomb[0] - joint.friction.coulomb[1])
    return damping, dry


def _hand_frame(arm: Arm) -> tuple[Link, Joint] | None:
    """A link for a hand that is not at a link frame, and the fixed joint that attaches it."""
    if np.array_equal(arm.hand.pose, np.eye(4)):
        return None
    place = Frame.from_pose(arm.hand.pose)
    taken = {link.name for link in arm.links} | {joint.name for joint in arm.tree}
    candidates = ("hand", *(f"hand{i}" for i in range(2, len(taken) + 3)))
    name = next(n for n in candidates if n not in taken and f"{n}_joint" not in taken)
    joint = Joint(name=f"{name}_joint", kind="fixed", parent=arm.hand.link, child=name, placement=place)
    return Link(name=name), joint


def _transmission(joint: Joint) -> str:
    motor = joint.motor
    assert motor is not None
    return (
        f"  <transmission name={quoteattr(joint.name + '_transmission')}>\n"
        "    <type>transmission_interface/SimpleTransmission</type>\n"
        f"    <joint name={quoteattr(joint.name)}/>\n    <actuator name={quoteattr(joint.name + '_motor')}>\n"
        f"      <mechanicalReduction>{motor.gear_ratio!r}</mechanicalReduction>\n"
        f"      <motorInertia>{motor.rotor_inertia!r}</motorInertia>\n    </actuator>\n  </transmission>"
    )
