"""Write an Arm as MJCF: nested bodies, numbers in full, a warning for what is lost."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator
from xml.sax.saxutils import quoteattr

import numpy as np

from forearm.arm.arm import Arm, Hand
from forearm.arm.joint import Joint, Limits
from forearm.arm.link import Link
from forearm.errors import ModelError
from forearm.files.mjcf.gather import WrittenBody, gathered
from forearm.files.mjcf.tree import WORLD
from forearm.files.urdf_write import (
    friction_at_joint,
    in_joint_frames,
    in_quotes,
    lost_of_drive,
    lost_with_joints,
    save_model,
)
from forearm.portable import matmul
from forearm.reading.xml import MAX_DEPTH
from forearm.spatial import Floats, rpy_of
from forearm.values import LARGEST

HAND_SITE = "attachment_site"
# MuJoCo refuses moving bodies with mass or inertia below 1e-15, and moments that violate A + B >= C in
# the last bit. These amounts are added, in kg, kg m^2 and relative to C; they do not affect the motion.
DUST = 2e-15
FLAT = 1e-14
DEEPEST = MAX_DEPTH - 5  # nesting depth that readers support


def save_mjcf(arm: Arm, path: str | os.PathLike[str]) -> None:
    """Write the MJCF file atomically, and warn of what it cannot represent."""
    save_model(arm, path, mjcf_text(arm), "MJCF", _losses(arm))


def mjcf_text(arm: Arm) -> str:
    """The arm as MJCF text."""
    framed = _renamed(in_joint_frames(arm))
    joints = [joint for joint in framed.tree if joint.kind != "fixed"]
    gravity = framed.gravity
    if not np.array_equal(framed.base, np.eye(4)):
        gravity = matmul(framed.base[:3, :3], gravity)
    lines = [
        f"<mujoco model={quoteattr(arm.name)}>",
        '  <compiler angle="radian" eulerseq="XYZ" autolimits="true"/>',
        f"  <option gravity={in_quotes(gravity)}/>",
        "  <worldbody>",
        *_bodies(framed),
        "  </worldbody>",
        *_section("equality", (_coupling(joint) for joint in joints if joint.mimic is not None)),
        *_section("actuator", (_motor(joint) for joint in joints if joint.mimic is None or joint.motor)),
    ]
    return "\n".join([*lines, "</mujoco>\n"])


def _renamed(arm: Arm) -> Arm:
    """Rename a link whose name is reserved for MuJoCo's world, unless it is the world."""
    taken = {link.name for link in arm.links}
    if WORLD not in taken or _is_on_world(arm):
        return arm
    new = next(n for n in ("base", *(f"base{i}" for i in range(2, len(taken) + 3))) if n not in taken)

    def name(old: str) -> str:
        return new if old == WORLD else old

    return arm.replace(
        links=tuple(dataclasses.replace(link, name=name(link.name)) for link in arm.links),
        tree=tuple(dataclasses.replace(j, parent=name(j.parent), child=name(j.child)) for j in arm.tree),
        hand=Hand(link=name(arm.hand.link), pose=arm.hand.pose),
    )


def _is_on_world(arm: Arm) -> bool:
    """Whether the base is the world itself: massless, at the world frame, and carrying one moving body."""
    on_base = [joint for joint in arm.tree if joint.parent == arm.base_link]
    return (
        arm.base_link == WORLD
        and arm.links[0].massless
        and arm.hand.link != WORLD
        and np.array_equal(arm.base, np.eye(4))
        and [joint.kind == "fixed" for joint in on_base] == [False]
    )


def _bodies(arm: Arm) -> Iterator[str]:
    """The lines of all bodies, each nested in its parent."""
    heavy = _heavy(arm)
    inside: list[str] = []
    bodies = list(gathered(arm))
    if not _is_on_world(arm):
        rpy = rpy_of(arm.base[:3, :3]) + 0.0
        bodies.insert(0, WrittenBody(arm.links[0], "", arm.base[:3, 3], rpy, ()))
    for body in bodies:
        yield from _closed(inside, body.parent)
        margin = "    " + "  " * len(inside)
        inside.append(body.link.name)
        if len(inside) > DEEPEST:
            raise ModelError(
                f"bodies nested more than {DEEPEST} deep, more than MJCF readers support; "
                "write a URDF or an arm file.",
                arm.name,
            )
        yield f"{margin}<body name={quoteattr(body.link.name)}{_place(body)}>"
        lines = [*_inertial(body.link, bool(body.joints), heavy[body.link.name])]
        lines += [_joint(*placed) for placed in body.joints] + list(_hand(arm, body.link.name))
        yield from (f"{margin}  {line}" for line in lines)
    yield from _closed(inside, "")


def _closed(inside: list[str], name: str) -> Iterator[str]:
    """Close the bodies up to the one of that name, which stays open."""
    while inside and inside[-1] != name:
        inside.pop()
        yield "    " + "  " * len(inside) + "</body>"


def _place(body: WrittenBody) -> str:
    pos = f" pos={in_quotes(body.xyz)}" if body.xyz.any() else ""
    return pos + (f" euler={in_quotes(body.rpy)}" if body.rpy.any() else "")


def _heavy(arm: Arm) -> dict[str, bool]:
    """Whether MuJoCo accepts a link as a moving body: it or something fixed to it has mass and inertia."""
    heavy = {}
    for link in arm.links:
        heavy[link.name] = link.mass >= DUST and bool(np.linalg.eigvalsh(link.inertia)[0] >= DUST)
    for joint in reversed(arm.tree):  # depth first, so children come before
        heavy[joint.parent] |= joint.kind == "fixed" and heavy[joint.child]
    return heavy


def _inertial(link: Link, moves: bool, is_heavy: bool) -> Iterator[str]:
    mass, inertia = link.mass, link.inertia
    needs_dust = moves and not is_heavy
    if link.massless and not needs_dust:
        return
    is_diagonal = not (inertia - np.diag(np.diag(inertia))).any()
    a, b, c = sorted(np.diag(inertia)) if is_diagonal else np.linalg.eigvalsh(inertia)
    short = c - a - b  # deficit of A + B >= C; anything beyond rounding is not physical
    if needs_dust:
        mass, inertia = max(mass, DUST), inertia + DUST * np.eye(3)
    elif a < DUST and not is_diagonal:
        inertia = inertia + DUST * np.eye(3)
    if (0.0 if is_diagonal else -FLAT * c) < short <= FLAT * c:
        inertia = inertia + FLAT * c * np.eye(3)
    if is_diagonal:
        tensor = f"diaginertia={in_quotes(np.diag(inertia))}"
    else:
        tensor = f"fullinertia={in_quotes([*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]])}"
    yield f"<inertial pos={in_quotes(link.com)} mass={in_quotes([mass])} {tensor}/>"


def _joint(joint: Joint, axis: Floats, pos: Floats) -> str:
    damping, dry = friction_at_joint(joint)
    said = [f"name={quoteattr(joint.name)}", f'type="{"hinge" if joint.kind == "revolute" else "slide"}"']
    said.append(f"axis={in_quotes(axis)}")
    said += [f"pos={in_quotes(pos)}"] if pos.any() and joint.kind == "revolute" else []
    if joint.limits != Limits():
        said.append(f"range={in_quotes(np.clip(joint.limits, -LARGEST, LARGEST))}")
    if joint.motor is not None and joint.motor.rotor_inertia:
        said.append(f"armature={in_quotes([joint.motor.reflected_inertia])}")
    said += [f"damping={in_quotes([damping])}"] if damping else []
    said += [f"frictionloss={in_quotes([dry])}"] if dry else []
    if joint.max_effort:
        said.append(f"actuatorfrcrange={in_quotes([-joint.max_effort, joint.max_effort])}")
    return f"<joint {' '.join(said)}/>"


def _hand(arm: Arm, link: str) -> Iterator[str]:
    if link == arm.hand.link:
        xyz, rpy = arm.hand.pose[:3, 3], rpy_of(arm.hand.pose[:3, :3]) + 0.0
        yield f"<site name={quoteattr(HAND_SITE)} pos={in_quotes(xyz)} euler={in_quotes(rpy)}/>"


def _coupling(joint: Joint) -> str:
    assert joint.mimic is not None
    m = joint.mimic
    law = in_quotes([m.offset, m.multiplier, 0.0, 0.0, 0.0])
    return f"<joint joint1={quoteattr(joint.name)} joint2={quoteattr(m.joint)} polycoef={law}/>"


def _motor(joint: Joint) -> str:
    gear = 1.0 if joint.motor is None else joint.motor.gear_ratio
    said = [f"name={quoteattr(joint.name)} joint={quoteattr(joint.name)} gear={in_quotes([gear])}"]
    if joint.max_effort:
        force = joint.max_effort / abs(gear)
        said.append(f"ctrlrange={in_quotes([-force, force])}")
    return f"<motor {' '.join(said)}/>"


def _section(tag: str, lines: Iterable[str]) -> list[str]:
    inside = [f"    {line}" for line in lines]
    return [f"  <{tag}>", *inside, f"  </{tag}>"] if inside else []


def _losses(arm: Arm) -> Iterator[str]:
    if WORLD in {link.name for link in arm.links} and not _is_on_world(in_joint_frames(arm)):
        yield f"the link name {WORLD!r} (written as 'base')"
    for link in arm.links:
        a, b, c = np.linalg.eigvalsh(link.inertia)
        if c - a - b > 1e-9 * c:
            yield f"principal moments of link {link.name!r}, physically impossible (MuJoCo refuses them)"
    yield from lost_with_joints(arm, lambda joint: (*lost_of_drive(joint), *_lost_limits(joint)))


def _lost_limits(joint: Joint) -> Iterator[str]:
    if joint.max_speed is not None:
        yield "speed limits"
    if joint.kind != "fixed" and joint.limits.lower == joint.limits.upper:
        yield "limits with an empty range"
    if joint.max_effort == 0.0:
        yield "a max_effort of 0"
