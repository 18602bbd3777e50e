"""Where the links are and how they move for given joint coordinates: poses, velocities, Jacobians."""

from forearm.kinematics.jacobian import jacobian, jacobian_derivative, position, velocity
from forearm.kinematics.matrices import WatersMatrices, waters_matrices
from forearm.kinematics.poses import body_poses, forward, link_poses

__all__ = [
    "WatersMatrices",
    "body_poses",
    "forward",
    "jacobian",
    "jacobian_derivative",
    "link_poses",
    "position",
    "velocity",
    "waters_matrices",
]
