"""Hand coordinates: position, orientation and motion of the hand from joint coordinates. Waters II."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.kinematics.angles import axis_of
from forearm.kinematics.arguments import as_coordinates, states_of
from forearm.kinematics.jacobian import jacobian, jacobian_derivative
from forearm.kinematics.orientation import orientation_of, orientation_rates, rotation_from
from forearm.kinematics.poses import forward
from forearm.spatial import Floats
from forearm.values import as_floats, as_shape, frozen, frozen_array


@frozen
class HandMotion:
    """The motion of the hand, or of a given point, in base axes; (B, ...) for B states.

    Attributes:
        pose: (4, 4).
        velocity, angular_velocity: (3,), m/s and rad/s.
        acceleration, angular_acceleration: (3,), m/s^2 and rad/s^2.
    """

    pose: Floats
    velocity: Floats
    angular_velocity: Floats
    acceleration: Floats
    angular_acceleration: Floats

    @property
    def position(self) -> Floats:
        """Position of the hand's origin, (3,) or (B, 3)."""
        return self.pose[..., :3, 3]

    def orientation(self, form: str) -> Floats:
        """Orientation of the hand in one of `orientation_forms()`."""
        return orientation_of(self.pose[..., :3, :3], form)

    def orientation_rates(self, form: str) -> Floats:
        """The time derivative of `orientation(form)`."""
        return orientation_rates(self.orientation(form), self.angular_velocity, form)


def hand_motion(
    arm: Arm,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    link: str | None = None,
    point: ArrayLike = (0.0, 0.0, 0.0),
) -> HandMotion:
    """The motion of the hand, or of a point of a named link: (v; w) = J qd, (a; wd) = J qdd + J' qd.

    The pose has its origin at the point.

    Args:
        arm: the arm.
        q: joint coordinates, (n,) or (B, n).
        qd, qdd: joint velocities and accelerations, of the same shape; None: 0.
        link: name of the link; None: the hand.
        point: (3,) in the frame of the link or hand, m.
    """
    rest = np.zeros_like(as_coordinates(arm, q))
    coordinates, rates, seconds = states_of(
        arm, q=q, qd=rest if qd is None else qd, qdd=rest if qdd is None else qdd
    )
    T = forward(arm, coordinates, link)
    T[..., :3, 3] += T[..., :3, :3] @ frozen_array(point, (3,), "point")
    J, Jd = jacobian(arm, coordinates, link, point), jacobian_derivative(arm, coordinates, rates, link, point)
    first = np.einsum("...ij,...j->...i", J, rates)
    second = np.einsum("...ij,...j->...i", J, seconds) + np.einsum("...ij,...j->...i", Jd, rates)
    return HandMotion(T, first[..., :3], first[..., 3:], second[..., :3], second[..., 3:])


def hand_pose(position: ArrayLike, orientation: ArrayLike, form: str) -> Floats:
    """The pose (..., 4, 4) of a position and an orientation.

    Args:
        position: (..., 3), m.
        orientation: its values in that form.
        form: one of `orientation_forms()`.
    """
    R = rotation_from(orientation, form)
    at = as_shape(position, R.shape[:-1], "position")
    T = np.zeros((*at.shape[:-1], 4, 4))
    T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = R, at, 1.0
    return T


def twist_of(W: ArrayLike, V: ArrayLike) -> tuple[Floats, Floats]:
    """Velocity of the origin and angular velocity (..., 3) from a pose and its time derivative: w from V
    W^-1.

    The upper left corner of V W^-1 is the cross product by w. Waters II obtains w from one other point of the
    hand, which does not show the rotation about the line to that point.

    Args:
        W: pose (..., 4, 4) in the base frame.
        V: its time derivative (..., 4, 4).
    """
    pose, rate = as_floats(W, "W"), as_floats(V, "V")
    if pose.shape[-2:] != (4, 4) or rate.shape != pose.shape:
        raise InputError(f"expected shape (..., 4, 4) for both, got {pose.shape} and {rate.shape}.", "W", "V")
    spin = rate[..., :3, :3] @ np.swapaxes(pose[..., :3, :3], -1, -2)
    return rate[..., :3, 3], axis_of(spin)
