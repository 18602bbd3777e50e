"""Rotations, poses and moments of inertia: the formulas that every package needs.

A pose is a (4, 4) array acting on columns from the left; `T_a_b` takes coordinates in frame b to frame a.
Roll, pitch, yaw follow URDF: R = Rz(yaw) Ry(pitch) Rx(roll).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.portable import atan2, cos_sin, matmul, product

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
MassProperties = tuple[float, Floats, Floats]  # mass, centre, inertia about it
# Radians: axes this near to a right angle were meant so, and rounded in a file to nine decimals or more.
RIGHT_ANGLE = 1e-9
EXACT = 1e-15  # what sines and cosines leave of a right angle
# The entries of a symmetric tensor by name, row by row.
TENSOR = {"xx": (0, 0), "xy": (0, 1), "xz": (0, 2), "yy": (1, 1), "yz": (1, 2), "zz": (2, 2)}


def rotation_x(angle: float) -> Floats:
    """Rotation about x by an angle in radians."""
    c, s = cos_sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def rotation_z(angle: float) -> Floats:
    """Rotation about z by an angle in radians."""
    c, s = cos_sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def rotation_rpy(rpy: Sequence[float] | Floats) -> Floats:
    """Rotation by roll, pitch, yaw: R = Rz(yaw) Ry(pitch) Rx(roll), as URDF has it."""
    (cr, sr), (cp, sp), (cy, sy) = (cos_sin(float(v)) for v in rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rpy_of(R: Floats) -> Floats:
    """Roll, pitch, yaw of a rotation matrix, accurate through pitch = +-90 degrees.

    Roll is read first; yaw is then taken from R Rx(-roll), so that an ill-conditioned roll near the pole is
    made good by the yaw and the three angles give R back to rounding.
    """
    roll = atan2(R[2, 1], R[2, 2])
    c, s = cos_sin(roll)
    yaw = atan2(s * R[0, 2] - c * R[0, 1], c * R[1, 1] - s * R[1, 2])
    pitch = atan2(-R[2, 0], s * R[2, 1] + c * R[2, 2])
    return np.array([roll, pitch, yaw])


def rotation_about(axis: Floats, angle: float | Floats) -> Floats:
    """Rotation about a unit axis: R = 1 + sin(angle) K + (1 - cos(angle)) K^2, K =
    tilde(axis); shape (..., 3, 3).
    """
    K, square = _tilde_and_square(*axis.tolist())
    if type(angle) is float:
        c, s = cos_sin(angle)
    else:
        c, s = (f(np.asarray(angle, dtype=float))[..., None, None] for f in (np.cos, np.sin))
    R: Floats = np.eye(3) + s * K + (1.0 - c) * square
    return R


@lru_cache(maxsize=512)
def _tilde_and_square(x: float, y: float, z: float) -> tuple[Floats, Floats]:
    K = tilde(np.array([x, y, z]))
    return K, matmul(K, K)


def rotation_from_z(axis: Floats) -> Floats:
    """A rotation that takes z to a unit axis; exact for axes along x, y and z."""
    x, y, z = (float(v) for v in axis)
    if z < 0.0:  # half a turn about x first, then the short way: 1 + z is never small
        flip = np.diag([1.0, -1.0, -1.0])
        return np.asarray(matmul(flip, rotation_from_z(matmul(flip, axis))))
    K = tilde(np.array([-y, x, 0.0]))
    R: Floats = np.eye(3) + K + matmul(K, K) / (1.0 + z)
    return R


def tilde(v: Floats) -> Floats:
    """The matrix of the cross product, over any scalar: tilde(v) @ w = v x w."""
    x, y, z = v.tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def cross(a: Floats, b: Floats) -> Floats:
    """np.cross of (..., 3) to the bit, which takes several times as long for one vector or some hundred."""
    ax, ay, az, bx, by, bz = (v[..., k] for v in (a, b) for k in range(3))
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def pose(R: ArrayLike | None = None, p: ArrayLike | None = None) -> Floats:
    """A rotation and a position as a (4, 4) pose."""
    T = np.eye(4)
    if R is not None:
        T[:3, :3] = R
    if p is not None:
        T[:3, 3] = p
    return T


def pose_xyz_rpy(xyz: Sequence[float] | Floats, rpy: Sequence[float] | Floats) -> Floats:
    """The pose with origin xyz (m) and roll, pitch, yaw (rad)."""
    return pose(rotation_rpy(rpy), np.asarray(xyz, dtype=float))


def inverse_pose(T: Floats) -> Floats:
    """The inverse of a pose: (R^T, -R^T p)."""
    R = T[:3, :3]
    return pose(R.T, -matmul(R.T, T[:3, 3]))


def is_rotation(R: Floats) -> bool:
    """Whether R is orthonormal, to 1e-9, and right-handed."""
    x, y, z = R
    return bool(np.abs(matmul(R, R.T) - np.eye(3)).max() <= 1e-9 and matmul(np.cross(x, y), z) > 0)


def squared(R: Floats) -> Floats:
    """The rotation, exact along every axis that lies within RIGHT_ANGLE of one of the other frame.

    What sines leave of exact right angles stays as it is: R itself where there is nothing else.
    """
    made = R
    for i, k in np.argwhere(np.abs(R) > 0.5):
        across = max(abs(float(v)) for v in (*np.delete(R[i], k), *np.delete(R[:, k], i)))
        if EXACT < across < RIGHT_ANGLE:
            made = made.copy() if made is R else made
            made[i], made[:, k] = 0.0, 0.0
            made[i, k] = math.copysign(1.0, R[i, k])
    return made


def squared_pose(T: Floats) -> Floats:
    """The pose with its rotation `squared`."""
    R = T[:3, :3]
    made = squared(R)
    return T if made is R else pose(made, T[:3, 3])


def parallel_axis(mass: float, r: Floats) -> Floats:
    """What moving a body's centre of mass to r adds to its inertia: m (|r|^2 1 - r r^T). Swartz p. 11."""
    shift: Floats = mass * (matmul(r, r) * np.eye(3) - np.outer(r, r))
    return shift


def inertia_from_pseudo(J: Floats) -> Floats:
    """I = tr(J) 1 - J, the inertia tensor from J = integral of r r^T dm, over any scalar. Silver 2.11."""
    inertia: Floats = np.trace(J) * np.eye(3) - J
    return inertia


def pseudo_from_inertia(inertia: Floats) -> Floats:
    """J = 1/2 tr(I) 1 - I, over any scalar. Silver 2.11; Mata (11) calls it Euler's tensor."""
    J: Floats = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    return J


def turn_inertia(R: Floats, inertia: Floats) -> Floats:
    """The tensor in turned axes, R I R^T, kept exactly symmetric."""
    turned: Floats = product(R, inertia, R.T)
    return 0.5 * (turned + turned.T)


def move_body(T: Floats, mass: float, com: Floats, inertia: Floats) -> MassProperties:
    """A body in another frame, in which its own has the pose T: R c + p and R I R^T;
    bit for bit where T is 1.
    """
    if np.array_equal(T, np.eye(4)):
        return mass, com, inertia
    R, p = T[:3, :3], T[:3, 3]
    return mass, matmul(R, com) + p, turn_inertia(R, inertia)


def combine_bodies(bodies: Sequence[MassProperties]) -> MassProperties:
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
