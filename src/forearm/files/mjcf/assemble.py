"""Turn a tree of bodies, each with any number of hinges and slides, into an Arm. No XML here."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

import numpy as np

from forearm.arm.arm import Arm, Hand
from forearm.arm.drive import Friction, Motor
from forearm.arm.joint import Frame, Joint, Mimic
from forearm.arm.link import Link
from forearm.errors import InputError, NameNotFound, located, shorten, suggest
from forearm.files.mjcf.gather import link_between
from forearm.files.mjcf.orientation import ORIGIN, Placed
from forearm.files.mjcf.tree import WORLD, ArmBody, ArmJoint, BodyTree
from forearm.portable import matmul
from forearm.spatial import rotation_about

# Usual names of the site at the hand, with or without a prefix such as "left/".
HAND_SITES = (
    "attachment_site", "ee", "ee_site", "eef", "eef_site", "end_effector", "end_effector_site", "tcp",
    "tcp_site", "tool", "tool_site", "grip_site", "gripper_site", "pinch", "pinch_site",
)  # fmt: skip


def arm_of(tree: BodyTree, file: str, root: str | None, hand: str | None) -> Arm:
    """The arm on `root`, taken as its fixed base; without `root`, the only arm there is."""
    base = chosen_base(tree, file, root)
    _refuse_loose(base)
    links, joints = _links_and_joints(base, tree.driven)
    present = {joint.name for joint in joints}
    joints = [_following(joint, tree.mimics, present) for joint in joints]
    R = base.placed.R
    with located(file):
        arm = Arm(
            name=tree.name,
            links=tuple(links),
            tree=tuple(joints),
            gravity=tree.gravity if np.array_equal(R, np.eye(3)) else matmul(R.T, tree.gravity),
            base=base.placed.pose,
        )
        return arm.replace(hand=_hand(arm, base, hand))


def chosen_base(tree: BodyTree, file: str, root: str | None) -> ArmBody:
    """Choose the base: a body on the world without a joint."""
    arms = [body for body in tree.bodies if any(part.joints for part in body.walk())]
    world = ArmBody(WORLD, ORIGIN, (), (0.0, np.zeros(3), np.zeros((3, 3))), tuple(arms))
    if root is not None:
        return _named_base(tree, world, file, root)
    if not arms and len(tree.bodies) == 1:
        arms = list(tree.bodies)
    if not arms:
        raise InputError("no body has a hinge or a slide joint, so there is no arm.", file)
    if len(arms) > 1:
        names = ", ".join(repr(body.name) for body in arms[:20])
        raise InputError(
            f"{len(arms)} bodies on the world have joints: {names}; choose one with root=, or "
            f"root={WORLD!r} for all.",
            file,
        )
    if arms[0].loose:
        raise InputError(f"{arms[0].loose}, so its base is free; root={arms[0].name!r} fixes it.")
    return world if arms[0].joints else arms[0]


def _named_base(tree: BodyTree, world: ArmBody, file: str, root: str) -> ArmBody:
    stack = [(body, ORIGIN) for body in reversed(tree.bodies)]
    names = [WORLD]
    while stack:
        body, outer = stack.pop()
        here = body.placed.on(outer)
        if body.name == root:
            return dataclasses.replace(body, placed=here, joints=(), loose="")
        names.append(body.name)
        stack.extend((child, here) for child in reversed(body.children))
    if root == WORLD:
        return world
    raise NameNotFound(f"there is no body {shorten(root)} for root=; {suggest(str(root), names)}", file)


def _refuse_loose(base: ArmBody) -> None:
    for body in base.walk():
        if body.loose and " free " in body.loose:
            raise InputError(f"{body.loose}, so it floats; choose the base body of the arm with root=.")
        if body.loose:
            raise InputError(
                f"{body.loose}, which forearm does not support; use three hinges in the body instead."
            )


def _links_and_joints(base: ArmBody, driven: Mapping[str, ArmJoint]) -> tuple[list[Link], list[Joint]]:
    bodies = list(base.walk())
    used = {body.name for body in bodies} | {joint.name for body in bodies for joint in body.joints}
    links, joints = [Link(name=base.name, mass=0.0)], []
    if not base.unknown_mass:  # the base does not move: its mass only enters the total
        links = [_link(base)]
    stack = [(child, base.name, False) for child in reversed(base.children)]
    while stack:
        body, parent, moves = stack.pop()
        moves = moves or bool(body.joints)
        if body.unknown_mass and moves:
            raise InputError(body.unknown_mass)
        moved_by = [driven.get(joint.name, joint) for joint in body.joints]
        made = list(_joints_of(body, moved_by, parent, used))
        links += [Link(name=joint.child) for joint in made[:-1]]
        links.append(Link(name=body.name) if body.unknown_mass else _link(body))
        joints += made
        stack.extend((child, body.name, moves) for child in reversed(body.children))
    return links, joints


def _link(body: ArmBody) -> Link:
    mass, com, inertia = body.properties
    with located(body.where) if body.where else located(f"body {body.name!r}"):
        return Link(name=body.name, mass=mass, com=com, inertia=inertia)


def _joints_of(body: ArmBody, moved_by: list[ArmJoint], parent: str, used: set[str]) -> Iterator[Joint]:
    """The joints that move a body, with massless links between them; a fixed joint if it has none.

    A link frame coincides with its joint. A body that rotates about a point other than its origin therefore
    sits on a fixed joint behind the hinge, which preserves the frame of the file.
    """
    at, origin = body.placed, np.zeros(3)  # the next joint's parent frame, and the body's origin in it
    for index, joint in enumerate(moved_by):
        is_last = index == len(moved_by) - 1
        turns_elsewhere = joint.kind == "revolute" and bool(np.cross(joint.pos, joint.axis).any())
        pivot = joint.pos if turns_elsewhere else np.zeros(3)
        at = Placed(pivot - origin, np.eye(3)).on(at)
        child = body.name if is_last and not turns_elsewhere else _fresh(link_between(joint.name), used)
        yield _joint(joint, parent, child, at)
        parent, origin, at = child, pivot, ORIGIN
    if not moved_by or origin.any():
        yield Joint(
            name=_fresh(f"{body.name}_fixed", used),
            kind="fixed",
            parent=parent,
            child=body.name,
            placement=at.shifted(at.xyz - origin).frame(),
        )


def _joint(joint: ArmJoint, parent: str, child: str, at: Placed) -> Joint:
    with located(joint.where) if joint.where else located(f"joint {joint.name!r}"):
        friction = joint.viscous != 0.0 or joint.coulomb != 0.0
        geared = joint.gear != 1.0 or joint.armature != 0.0
        square = joint.gear * joint.gear
        return Joint(
            name=joint.name,
            kind=joint.kind,
            parent=parent,
            child=child,
            placement=_at_zero(joint, at).frame(joint.axis),
            limits=joint.limits,
            max_effort=joint.effort,
            motor=Motor(gear_ratio=joint.gear, rotor_inertia=joint.armature / square) if geared else None,
            friction=Friction(viscous=joint.viscous, coulomb=(joint.coulomb, -joint.coulomb))
            if friction
            else None,
        )


def _at_zero(joint: ArmJoint, at: Placed) -> Placed:
    """The joint's frame at q = 0, from that at q = ref."""
    if joint.ref == 0.0:
        return at
    axis = Frame(axis=joint.axis).axis
    if joint.kind == "prismatic":
        return at.shifted(at.xyz - joint.ref * matmul(at.R, axis))
    return Placed(at.xyz, matmul(at.R, rotation_about(axis, -joint.ref)))


def _following(joint: Joint, mimics: Mapping[str, Mimic], present: set[str]) -> Joint:
    mimic = mimics.get(joint.name)
    if mimic is None or mimic.joint not in present:
        return joint
    return dataclasses.replace(joint, mimic=mimic)


def _fresh(name: str, used: set[str]) -> str:
    name = name[:180]
    fresh = next(n for n in (name, *(f"{name}{i}" for i in range(2, len(used) + 3))) if n not in used)
    used.add(fresh)
    return fresh


def _hand(arm: Arm, base: ArmBody, hand: str | None) -> Hand:
    """The hand by the name of a link or site, else a site with a usual hand name, else the last link."""
    sites = {name: Hand(link=body.name, pose=T) for body in base.walk() for name, T in body.sites.items()}
    if hand is not None:
        links = [link.name for link in arm.links]
        if hand in links:
            return Hand(link=hand)
        if hand in sites:
            return sites[hand]
        raise NameNotFound(
            f"there is no link or site {shorten(hand)}; {suggest(str(hand), (*links, *sites))}"
        )
    by_name: dict[str, list[Hand]] = {}
    for name, found in sites.items():
        by_name.setdefault(name.rpartition("/")[2].lower(), []).append(found)
    named = next((by_name[name] for name in HAND_SITES if name in by_name), [])
    return max(named, key=lambda found: _freedoms(arm, found.link)) if named else arm.hand


def _freedoms(arm: Arm, link: str) -> int:
    """Count the joints that move a link."""
    mover = {joint.child: joint for joint in arm.tree}
    count = 0
    while link in mover:
        count += mover[link].kind != "fixed"
        link = mover[link].parent
    return count
