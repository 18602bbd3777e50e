"""Rotations, poses and moments of inertia: the few formulas that every room needs.

A pose is a (4, 4) array acting on columns from the left; `T_a_b` takes coordinates in frame b to frame a.
Roll, pitch, yaw follow URDF: R = Rz(yaw) Ry(pitch) Rx(roll).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def rotation_x(angle: float) -> Array:
    """Turn about x by an angle in radians."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def rotation_z(angle: float) -> Array:
    """Turn about z by an angle in radians."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def rotation_rpy(rpy: Sequence[float] | Array) -> Array:
    """Turn by roll, pitch, yaw: R = Rz(yaw) Ry(pitch) Rx(roll), as URDF has it."""
    (cr, sr), (cp, sp), (cy, sy) = ((math.cos(a), math.sin(a)) for a in (float(v) for v in rpy))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rpy_of(R: Array) -> Array:
    """Roll, pitch, yaw of a rotation matrix, accurate through pitch = +-90 degrees.

    Roll is read first; yaw is then taken from R Rx(-roll), so that an ill-conditioned roll near the pole is
    made good by the yaw and the three angles give R back to rounding.
    """
    roll = math.atan2(R[2, 1], R[2, 2])
    c, s = math.cos(roll), math.sin(roll)
    yaw = math.atan2(s * R[0, 2] - c * R[0, 1], c * R[1, 1] - s * R[1, 2])
    pitch = math.atan2(-R[2, 0], s * R[2, 1] + c * R[2, 2])
    return np.array([roll, pitch, yaw])


def rotation_about(axis: Array, angle: float | Array) -> Array:
    """Turn about a unit axis: R = 1 + sin(angle) K + (1 - cos(angle)) K^2, K = tilde(axis); shape (..., 3, 3)."""
    K = tilde(axis)
    angle = np.asarray(angle, dtype=float)[..., None, None]
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K)


def rotation_from_z(axis: Array) -> Array:
    """A turn that takes z to a unit axis; exact for axes along x, y and z."""
    x, y, z = (float(v) for v in axis)
    if z < 0.0:  # half a turn about x first, then the short way: 1 + z is never small
        flip = np.diag([1.0, -1.0, -1.0])
        return flip @ rotation_from_z(flip @ axis)
    K = tilde(np.array([-y, x, 0.0]))
    R: Array = np.eye(3) + K + K @ K / (1.0 + z)
    return R


def tilde(v: Array) -> Array:
    """The matrix of the cross product: tilde(v) @ w = v x w."""
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def pose(R: ArrayLike | None = None, p: ArrayLike | None = None) -> Array:
    """A rotation and a position as a (4, 4) pose."""
    T = np.eye(4)
    if R is not None:
        T[:3, :3] = R
    if p is not None:
        T[:3, 3] = p
    return T


def pose_xyz_rpy(xyz: Sequence[float] | Array, rpy: Sequence[float] | Array) -> Array:
    """The pose with origin xyz (m) and roll, pitch, yaw (rad)."""
    return pose(rotation_rpy(rpy), np.asarray(xyz, dtype=float))


def inverse_pose(T: Array) -> Array:
    """The inverse of a pose: (R^T, -R^T p)."""
    R = T[:3, :3]
    return pose(R.T, -R.T @ T[:3, 3])


def is_rotation(R: Array, tolerance: float = 1e-9) -> bool:
    """Whether R is orthonormal and right-handed to the tolerance."""
    return bool(np.abs(R @ R.T - np.eye(3)).max() <= tolerance and np.linalg.det(R) > 0)


def parallel_axis(mass: float, r: Array) -> Array:
    """What moving a body's centre of mass to r adds to its inertia: m (|r|^2 1 - r r^T). Swartz p. 11."""
    shift: Array = mass * (np.dot(r, r) * np.eye(3) - np.outer(r, r))
    return shift


def inertia_from_pseudo(J: Array) -> Array:
    """I = tr(J) 1 - J, the inertia tensor from J = integral of r r^T dm, over any scalar. Silver 2.11."""
    inertia: Array = np.trace(J) * np.eye(3) - J
    return inertia


def pseudo_from_inertia(inertia: Array) -> Array:
    """J = 1/2 tr(I) 1 - I, over any scalar. Silver 2.11; Mata (11) calls it Euler's tensor."""
    J: Array = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    return J


def turn_inertia(R: Array, inertia: Array) -> Array:
    """The tensor in turned axes, R I R^T, kept exactly symmetric."""
    turned = R @ inertia @ R.T
    return 0.5 * (turned + turned.T)


def combine_bodies(bodies: Sequence[tuple[float, Array, Array]]) -> tuple[float, Array, Array]:
    """One body from several (mass, centre, inertia about it) in the same axes. Swartz (16)-(18).

    A single body that has mass or inertia comes back bit for bit.
    """
    real = [b for b in bodies if b[0] != 0.0 or b[2].any()]
    if not real:
        return bodies[0] if bodies else (0.0, np.zeros(3), np.zeros((3, 3)))
    if len(real) == 1:
        return real[0]
    mass = math.fsum(b[0] for b in real)
    com = sum((b[0] * b[1] for b in real), np.zeros(3)) / mass if mass != 0.0 else real[0][1]
    inertia = sum((b[2] + parallel_axis(b[0], b[1] - com) for b in real), np.zeros((3, 3)))
    return mass, com, inertia
