"""The bodies to write for an arm: massless links between the joints of one body are merged back into it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.joint import Frame, Joint
from forearm.arm.link import Link
from forearm.portable import matmul
from forearm.spatial import Floats, inverse_pose, rpy_of
from forearm.values import frozen


class PlacedJoint(NamedTuple):
    """A joint with its axis and a point on it, both (3,) in the frame of the body that it moves."""

    joint: Joint
    axis: Floats
    pos: Floats


@frozen
class WrittenBody:
    """A body: its link, parent link, pose there, and the joints that move it, in order."""

    link: Link
    parent: str
    xyz: Floats
    rpy: Floats
    joints: tuple[PlacedJoint, ...]


def link_between(joint: str) -> str:
    """The reader's name for a massless link behind a joint that shares its body with others."""
    return f"{joint}_link"


def gathered(arm: Arm) -> Iterator[WrittenBody]:
    """The bodies of an arm in joint frames, without the base, depth first."""
    links = {link.name: link for link in arm.links}
    on = Counter(joint.parent for joint in arm.tree)
    waiting: dict[str, list[Joint]] = {}
    for joint in arm.tree:
        row = [*waiting.pop(joint.parent, []), joint]
        is_between = (
            joint.kind != "fixed"
            and joint.child == link_between(joint.name)
            and links[joint.child].massless
            and on[joint.child] == 1
            and joint.child != arm.hand.link
        )
        if is_between:
            waiting[joint.child] = row
        else:
            yield _one_body(links[joint.child], row)


def _one_body(link: Link, row: Sequence[Joint]) -> WrittenBody:
    """The body behind joints in series: T = before_1 motion_1 before_2 motion_2 ... = B c_1 c_2 ..., with B
    the product of all `before` and c_i the motion in the body's frame, transformed back through the joints
    behind i.
    """
    behind = np.eye(4)
    joints: list[PlacedJoint] = []
    for joint in reversed(row):
        if joint.kind != "fixed":
            seen = inverse_pose(behind)
            axis = joint.axis if _is_shift(behind) else matmul(seen[:3, :3], joint.axis)
            joints.insert(0, PlacedJoint(joint, axis, seen[:3, 3]))
        behind = matmul(joint.before, behind)
    first = row[0].placement
    assert isinstance(first, Frame)
    if len(row) == 1:
        return WrittenBody(link, row[0].parent, first.xyz, first.rpy, tuple(joints))
    turned = [joint for joint in row[1:] if not _is_shift(joint.before)]
    rpy = rpy_of(behind[:3, :3]) + 0.0 if turned else first.rpy
    return WrittenBody(link, row[0].parent, behind[:3, 3], rpy, tuple(joints))


def _is_shift(T: Floats) -> bool:
    return np.array_equal(T[:3, :3], np.eye(3))
