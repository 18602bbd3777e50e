"""Where the links are for given joint coordinates."""

from forearm.kinematics.poses import body_poses, forward, link_poses

__all__ = ["body_poses", "forward", "link_poses"]
