"""The frame of a body's joint, from the body's pose: against the product of joints that led there."""

from __future__ import annotations

import numpy as np
from arms import every_kind, posture
from nearness import assert_near

from forearm.kinematics import body_poses

ROUNDING = 1e-12  # products of ten poses with entries of order 1


def test_joint_frame_is_where_the_joint_has_moved_to() -> None:
    for arm in every_kind(1):
        poses = body_poses(arm, np.array([posture(arm, 1), posture(arm, 2)]))
        for body, W in zip(arm.moving.bodies, poses, strict=True):
            parent = poses[body.parent] if body.parent >= 0 else np.broadcast_to(np.eye(4), W.shape)
            found = body.joint_frame(W)
            assert_near(found @ body.after, W, ROUNDING)
            assert_near(body.joint_frame(W[1]), found[1], ROUNDING)
            fixed = parent @ body.before
            # A turn leaves the joint's origin, a slide its axes; both leave its axis.
            kept = (np.s_[..., :3, 3], np.s_[..., :3, :3])[body.kind == "prismatic"]
            assert_near(found[kept], fixed[kept], ROUNDING)
            assert_near(found[..., :3, :3] @ body.axis, fixed[..., :3, :3] @ body.axis, ROUNDING)
