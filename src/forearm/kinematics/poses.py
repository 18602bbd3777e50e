"""Poses of bodies, links and the hand in the base frame: the product of the A matrices. Waters II."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.arm.joint import motion
from forearm.kinematics.arguments import as_coordinates
from forearm.spatial import Floats


def forward(arm: Arm, q: ArrayLike, link: str | None = None) -> Floats:
    """The pose of the hand, or of a named link, in the base frame: (n,) -> (4, 4), (B, n) -> (B, 4, 4).

    Args:
        arm: the arm.
        q: joint coordinates, (n,) or (B, n).
        link: name of the link; None: the hand.
    """
    name = arm.hand.link if link is None else arm.link(link).name
    pose = link_poses(arm, q)[name]
    return pose @ arm.hand.pose if link is None else pose


def link_poses(arm: Arm, q: ArrayLike) -> dict[str, Floats]:
    """The pose of every link in the base frame, by name: (4, 4) or (B, 4, 4).

    Args:
        arm: the arm.
        q: joint coordinates, (n,) or (B, n).
    """
    coordinates = as_coordinates(arm, q)
    bodies = body_poses(arm, coordinates)
    base = np.broadcast_to(np.eye(4), (*coordinates.shape[:-1], 4, 4))
    return {
        name: (base if index < 0 else bodies[index]) @ T for name, (index, T) in arm.moving.frames.items()
    }


def body_poses(arm: Arm, q: ArrayLike) -> list[Floats]:
    """The pose of every moving body in the base frame: W_i = W_parent before_i motion_i(q) after_i.

    Args:
        arm: the arm.
        q: joint coordinates, (n,) or (B, n).
    """
    coordinates = as_coordinates(arm, q)
    poses: list[Floats] = []
    for body in arm.moving.bodies:
        moved = motion(body.kind, body.axis, body.multiplier * coordinates[..., body.freedom] + body.offset)
        local = body.before @ moved @ body.after
        poses.append(local if body.parent < 0 else poses[body.parent] @ local)
    return poses
