"""The arm's skeleton for drawing."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.joint import Joint
from forearm.kinematics.poses import body_poses
from forearm.spatial import Floats
from forearm.values import frozen


@frozen
class Skeleton:
    """Line segments (2, 3) along the links, joints with point and axis, and the hand; base frame, m."""

    strokes: tuple[Floats, ...]
    joints: tuple[tuple[Joint, Floats, Floats], ...]
    hand: Floats

    @property
    def points(self) -> Floats:
        """All end points of segments, the base and the hand, (m, 3)."""
        return np.array([np.zeros(3), *(p for stroke in self.strokes for p in stroke), self.hand])


ROUNDING = 1e-12  # m: shorter segments are dropped


def skeleton(arm: Arm, q: Floats) -> Skeleton:
    """The skeleton of an arm at q: parent's origin, joint, moved joint, link's origin, ..., hand."""
    poses = body_poses(arm, q)
    strokes, joints = [], []
    for body, W in zip(arm.moving.bodies, poses, strict=True):
        parent = poses[body.parent] if body.parent >= 0 else np.eye(4)
        fixed = parent @ body.before
        moved = body.joint_frame(W)
        stops = [T[:3, 3] for T in (parent, fixed, moved, W)]
        strokes += [np.array((a, b)) for a, b in pairwise(stops) if np.abs(b - a).max() > ROUNDING]
        joints.append((body.joint, fixed[:3, 3], fixed[:3, :3] @ body.axis))
    index, T = arm.moving.frames[arm.hand.link]
    carrier = poses[index] if index >= 0 else np.eye(4)
    tip = (carrier @ T @ arm.hand.pose)[:3, 3]
    return Skeleton((*strokes, np.array([carrier[:3, 3], tip])), tuple(joints), tip)
