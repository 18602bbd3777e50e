"""The frame of a body's joint, from the body's pose: against the product of joints that led there."""

from __future__ import annotations

import numpy as np
import pytest
from arms import every_kind, posture
from nearness import assert_near

from forearm.kinematics import body_poses

ROUNDING = 1e-12  # products of ten poses with entries of order 1


@pytest.mark.parametrize("seed", range(4))
def test_joint_frame_is_where_the_joint_has_moved_to(seed: int) -> None:
    for arm in every_kind(seed):
        q = np.array([posture(arm, seed), posture(arm, seed + 1)])
        poses = body_poses(arm, q)
        for body, W in zip(arm.moving.bodies, poses, strict=True):
            parent = poses[body.parent] if body.parent >= 0 else np.broadcast_to(np.eye(4), W.shape)
            found = body.joint_frame(W)
            assert found.shape == (2, 4, 4)
            assert_near(found @ body.after, W, ROUNDING)
            fixed = parent @ body.before
            # A turn leaves the joint's origin, a slide its axes; both leave its axis.
            kept = (np.s_[..., :3, 3], np.s_[..., :3, :3])[body.kind == "prismatic"]
            assert_near(found[kept], fixed[kept], ROUNDING)
            assert np.abs((found - fixed)[..., :3, :3] @ body.axis).max() <= ROUNDING
            for k in range(2):
                assert_near(body.joint_frame(W[k]), found[k], ROUNDING)
