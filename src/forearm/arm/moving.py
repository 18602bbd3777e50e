"""The arm as used in computations: moving bodies only, links on fixed joints merged into them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from forearm.arm.joint import Joint, Kind
from forearm.arm.link import Link
from forearm.arm.tree import resolve_mimics
from forearm.portable import matmul
from forearm.spatial import Floats, MassProperties, combine_bodies, inverse_pose, move_body, squared_pose
from forearm.values import frozen


@frozen
class MovingBody:
    """A moving body: T_parent_body(q) = before . motion(axis, q) . after, with merged mass properties.

    `parent` is the index of the parent body, -1 for the base. `freedom` is the index into q that drives it,
    by q_joint = multiplier q[freedom] + offset (1 and 0 unless the joint mimics another).
    """

    joint: Joint
    kind: Kind
    parent: int
    before: Floats
    axis: Floats
    after: Floats
    mass: float
    com: Floats
    inertia: Floats
    freedom: int
    multiplier: float
    offset: float

    def joint_frame(self, W: Floats) -> Floats:
        """The moving frame of the joint, (4, 4) or (B, 4, 4), in the frame in which the body's pose W is
        given.
        """
        return W if self._back is None else W @ self._back

    @cached_property
    def _back(self) -> Floats | None:
        """From the body's frame to the joint's; None if they coincide."""
        return None if np.array_equal(self.after, np.eye(4)) else inverse_pose(self.after)


@frozen
class Moving:
    """The moving bodies, parents first, and the pose of each link of the arm on them.

    `frames[link]` = (index of the body, or -1 for the base; pose (4, 4) of the link in that body's frame).
    """

    bodies: tuple[MovingBody, ...]
    frames: dict[str, tuple[int, Floats]]


def reduce_to_moving(links: Sequence[Link], tree: Sequence[Joint]) -> Moving:
    """Merge every link on a fixed joint into the moving body that carries it. Waters IV, joint locking."""
    frames, movers = _place_links(links, tree)
    for _, T in frames.values():
        T.flags.writeable = False
    content: dict[int, list[MassProperties]] = {}
    for link in links:
        index, T = frames[link.name]
        content.setdefault(index, []).append(move_body(T, *link.properties))

    freedoms = {j.name: i for i, j in enumerate(j for j in movers if j.mimic is None)}
    followers = resolve_mimics(tree)
    bodies = []
    for index, joint in enumerate(movers):
        parent, T_parent_link = frames[joint.parent]
        mass, com, inertia = combine_bodies(content[index])
        leader, multiplier, offset = followers.get(joint.name, (joint.name, 1.0, 0.0))
        for array in (com, inertia):
            array.flags.writeable = False
        before = joint.before
        if not np.array_equal(T_parent_link, np.eye(4)):
            before = squared_pose(matmul(T_parent_link, before))
        before.flags.writeable = False
        bodies.append(
            MovingBody(
                joint,
                joint.kind,
                parent,
                before,
                joint.axis,
                joint.after,
                mass,
                com,
                inertia,
                freedoms[leader],
                multiplier,
                offset,
            )
        )
    return Moving(tuple(bodies), frames)


def _place_links(
    links: Sequence[Link], tree: Sequence[Joint]
) -> tuple[dict[str, tuple[int, Floats]], list[Joint]]:
    frames: dict[str, tuple[int, Floats]] = {links[0].name: (-1, np.eye(4))}
    movers: list[Joint] = []
    for joint in tree:
        if joint.kind == "fixed":
            index, T = frames[joint.parent]
            frames[joint.child] = (index, squared_pose(matmul(T, joint.transform())))
        else:
            frames[joint.child] = (len(movers), np.eye(4))
            movers.append(joint)
    return frames, movers
