"""Modified copies of arms: other drives or none, locked joints, a payload in the hand."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.arm.joint import Frame, Joint
from forearm.arm.link import Link
from forearm.errors import InputError, ModelError, NameNotFound, located, shorten, suggest
from forearm.portable import matmul
from forearm.records import fields_of, quantity
from forearm.spatial import Floats, combine_bodies, move_body
from forearm.values import check_choice, check_number, frozen_array


def rigid(arm: Arm) -> Arm:
    """Return the arm without motors, rotor inertia, friction, bearings, transmissions and elasticity."""
    return arm.replace(
        tree=tuple(
            dataclasses.replace(j, motor=None, friction=None, bearings=(), transmission=None, elasticity=None)
            for j in arm.tree
        )
    )


DRIVE = ("motor", "friction", "bearings", "transmission", "elasticity")  # its parts, as fields of a joint


def with_drives(arm: Arm, drives: Mapping[str, Any] | None, every: Mapping[str, Any]) -> Arm:
    """Return the arm with other drives: first those for every joint, then those by joint name."""
    if drives is not None and not isinstance(drives, Mapping):
        raise InputError(
            "expected drives by joint, such as {'joint1': {'motor': Motor(gear_ratio=50)}}, "
            "or motor=, friction=, bearings=, transmission=, elasticity= for every joint; "
            f"got {shorten(drives)}.",
            "with_drives",
        )
    changed = {joint.name: _with_drive(joint, every) for joint in arm.joints}
    for name, parts in (drives or {}).items():
        joint = arm.joint(name)
        changed[joint.name] = _with_drive(changed.get(joint.name, joint), parts)
    return arm.replace(tree=tuple(changed.get(joint.name, joint) for joint in arm.tree))


def _with_drive(joint: Joint, parts: Mapping[str, Any]) -> Joint:
    where = f"with_drives, joint {joint.name!r}"
    if not isinstance(parts, Mapping):
        raise InputError(
            "expected parts of the drive, such as {'friction': Friction(coulomb=2.0)}, got "
            f"{shorten(parts)}.",
            where,
        )
    for part in parts:
        if part not in DRIVE:
            raise NameNotFound(f"a drive has no {shorten(part)}; {suggest(str(part), DRIVE)}", where)
    changes = dict(parts)
    for part, given in parts.items():
        if isinstance(given, Mapping) and part != "bearings":  # fields of the present part, or of a new one
            present = getattr(joint, part)
            fields = {**(fields_of(present) if present is not None else {}), **given}
            changes[part] = {name: x for name, x in fields.items() if x is not None and x != ()}
    with located(where):
        return dataclasses.replace(joint, **changes)


def scale_friction(arm: Arm, factor: float) -> Arm:
    """Return the arm with friction of every joint scaled by a factor >= 0, bearings and gears unchanged."""
    times = quantity(factor, "scale_friction, factor", minimum=0.0)

    def scaled(joint: Joint) -> Joint:
        return dataclasses.replace(joint, friction=joint.friction and joint.friction.scaled(times))

    return arm.replace(tree=tuple(map(scaled, arm.tree)))


def lock(arm: Arm, positions: Mapping[str, float]) -> Arm:
    """Return the arm with these joints locked: the two links at each become one. Waters IV, joint locking.

    The inner link takes over mass and inertia. The outer one stays as a massless frame fixed to it, so that
    its name, the hand and the joints behind it keep their meaning. A joint that mimics a locked one is locked
    at the position that follows.
    """
    held = _held_positions(arm, positions)
    links = {link.name: link for link in arm.links}
    tree: list[Joint] = []
    carrier: dict[str, tuple[str, Floats]] = {}
    for joint in arm.tree:
        if joint.name not in held:
            tree.append(joint)
            continue
        T = joint.transform(held[joint.name])
        tree.append(
            Joint(
                name=joint.name,
                kind="fixed",
                parent=joint.parent,
                child=joint.child,
                placement=Frame.from_pose(T),
            )
        )
        # The link that takes over the mass: past other joints locked in the same call.
        onto, T_onto = carrier.get(joint.parent, (joint.parent, np.eye(4)))
        T_onto = matmul(T_onto, T)
        carrier[joint.child] = (onto, T_onto)
        links[onto] = merged(links[onto], links[joint.child], T_onto)
        links[joint.child] = Link(name=joint.child)
    return arm.replace(links=tuple(links.values()), tree=tuple(tree))


def with_payload(
    arm: Arm,
    mass: float,
    com: ArrayLike = (0.0, 0.0, 0.0),
    inertia: ArrayLike | None = None,
    longest: float | None = None,
) -> Arm:
    """Return the arm with a payload in its hand. Waters IV: fully known, or by mass and longest dimension
    only.

    `com` (m) is in the hand frame, `inertia` (kg m^2) about it in hand axes; without inertia the payload is a
    point mass. With `longest` = L (m) it is a uniform slender rod of length L and unknown direction, so that
    on average J = m L^2 / 18 about every axis through its centre; the true value for a rod lies between 0 and
    m L^2 / 12. The assumption is recorded in the arm's notes. A payload without mass and inertia changes
    nothing.
    """
    mass = quantity(mass, "payload, mass", minimum=0.0)
    centre = frozen_array(com, (3,), "payload, com")
    if inertia is not None and longest is not None:
        raise InputError("give the inertia or the longest dimension, not both.", "payload")
    note = ""
    if longest is not None:
        longest = quantity(longest, "payload, longest", minimum=0.0)
        inertia = np.eye(3) * (mass * (longest * longest) / 18.0)
        if longest > 0.0:
            note = (
                f"Payload of {mass:g} kg, longest dimension {longest:g} m, modelled as a uniform slender "
                f"rod of unknown direction: {mass * longest**2 / 18.0:.6g} kg m^2 about "
                "every axis through its centre."
            )
    tensor = np.zeros((3, 3)) if inertia is None else frozen_array(inertia, (3, 3), "payload, inertia")
    held = Link(name="payload", mass=mass, com=centre, inertia=tensor)
    if held.massless:
        return arm
    if mass == 0.0:
        raise ModelError("inertia without mass; give the mass too.", "payload")
    changed = arm.with_link(merged(arm.link(arm.hand.link), held, arm.hand.pose))
    return changed.replace(notes="\n".join(filter(None, (arm.notes, note)))) if note else changed


def _held_positions(arm: Arm, positions: Mapping[str, float]) -> dict[str, float]:
    freedoms = [j.name for j in arm.joints]
    held: dict[str, float] = {}
    if not isinstance(positions, Mapping):
        raise InputError(
            f"expected positions by joint, such as {{'joint4': 0.3}}, got {shorten(positions)}.", "lock"
        )
    for name, position in positions.items():
        check_choice(name, freedoms, f"lock, movable joint of arm {arm.name!r}")
        held[name] = number = check_number(position, f"lock, {name}")
        lower, upper = arm.joint(name).limits
        nearest = min(max(number, lower), upper)
        if not math.isclose(number, nearest, rel_tol=1e-12, abs_tol=1e-12):
            raise InputError(
                f"joint {name!r}: position {number:g} is outside its limits {lower:g} to {upper:g}.", "lock"
            )
    for body in arm.moving.bodies:
        leader = freedoms[body.freedom]
        if body.joint.mimic is not None and leader in positions:
            held[body.joint.name] = body.multiplier * held[leader] + body.offset
    return held


def merged(onto: Link, body: Link, T_onto_body: Floats) -> Link:
    """Merge two links into one with the name and frame of the first."""
    mass, com, inertia = combine_bodies([onto.properties, move_body(T_onto_body, *body.properties)])
    return Link(name=onto.name, mass=mass, com=com, inertia=inertia)
