"""Implied structure of a URDF tree: an undefined base, and links that never move."""

from __future__ import annotations

from collections.abc import Sequence

from forearm.arm.joint import Frame, Joint, Mimic


def implied_base(names: Sequence[str], joints: Sequence[Joint]) -> str | None:
    """The undefined link that joints start from, such as `world`, if it is the only possible base: every
    defined link is moved.
    """
    children = {joint.child for joint in joints}
    undefined = {joint.parent for joint in joints} - set(names)
    if len(undefined) != 1 or not set(names) <= children or undefined & children:
        return None
    return undefined.pop()


def links_at_rest(names: Sequence[str], joints: Sequence[Joint]) -> set[str]:
    """The links that no joint moves: the base and everything fixed to it."""
    on: dict[str, list[str]] = {}
    for joint in joints:
        if joint.kind == "fixed":
            on.setdefault(joint.parent, []).append(joint.child)
    stack = list(set(names) - {joint.child for joint in joints})
    still = set(stack)
    while stack:
        fixed = [child for child in on.get(stack.pop(), []) if child not in still]
        still.update(fixed)
        stack += fixed
    return still


def held_positions(joints: Sequence[Joint]) -> dict[str, float]:
    """Positions of joints that follow a fixed joint, which is at 0, directly or through others."""
    followers: dict[str, list[tuple[str, Mimic]]] = {}
    for joint in joints:
        if joint.mimic is not None:
            followers.setdefault(joint.mimic.joint, []).append((joint.name, joint.mimic))
    stack = [(joint.name, 0.0) for joint in joints if joint.kind == "fixed"]
    positions: dict[str, float] = {}
    while stack:
        leader, position = stack.pop()
        for name, mimic in followers.pop(leader, []):
            positions[name] = mimic.multiplier * position + mimic.offset
            stack.append((name, positions[name]))
    return positions


def held(joint: Joint, position: float) -> Joint:
    """The fixed joint equivalent to this one at a position."""
    place = Frame.from_pose(joint.transform(position)) if position else joint.placement
    return Joint(name=joint.name, kind="fixed", parent=joint.parent, child=joint.child, placement=place)
