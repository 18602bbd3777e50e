"""Where the links are and how they move for given joint coordinates: poses, velocities, Jacobians."""

from forearm.kinematics.jacobian import jacobian, jacobian_derivative, position, velocity
from forearm.kinematics.poses import body_poses, forward, link_poses

__all__ = ["body_poses", "forward", "jacobian", "jacobian_derivative", "link_poses", "position", "velocity"]
