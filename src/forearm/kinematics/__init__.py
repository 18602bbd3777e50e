"""Kinematics: poses, velocities and Jacobians of links at given joint coordinates."""

from forearm.kinematics.answers import FollowedPath, IKBatch, IKResult, Nearest, PathEvent
from forearm.kinematics.closed_form.following import follow
from forearm.kinematics.closed_form.solve import inverse
from forearm.kinematics.hand import HandMotion, hand_motion, hand_pose, twist_of
from forearm.kinematics.jacobian import jacobian, jacobian_derivative, position, velocity
from forearm.kinematics.manipulability import condition_number, manipulability, singular_values
from forearm.kinematics.matrices import WatersMatrices, waters_matrices
from forearm.kinematics.numerical import NumericSolution, inverse_numeric
from forearm.kinematics.orientation import (
    angular_velocity,
    orientation_forms,
    orientation_of,
    orientation_rates,
    rotation_from,
)
from forearm.kinematics.poses import body_poses, forward, link_poses
from forearm.kinematics.rates import (
    FiniteSteps,
    JointRates,
    finite_step_rates,
    joint_accelerations,
    joint_rates,
)

__all__ = [
    "FiniteSteps",
    "FollowedPath",
    "HandMotion",
    "IKBatch",
    "IKResult",
    "JointRates",
    "Nearest",
    "NumericSolution",
    "PathEvent",
    "WatersMatrices",
    "angular_velocity",
    "body_poses",
    "condition_number",
    "finite_step_rates",
    "follow",
    "forward",
    "hand_motion",
    "hand_pose",
    "inverse",
    "inverse_numeric",
    "jacobian",
    "jacobian_derivative",
    "joint_accelerations",
    "joint_rates",
    "link_poses",
    "manipulability",
    "orientation_forms",
    "orientation_of",
    "orientation_rates",
    "position",
    "rotation_from",
    "singular_values",
    "twist_of",
    "velocity",
    "waters_matrices",
]
