"""Motion of points and links: velocities, the geometric Jacobian and its time derivative. Waters II."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.kinematics.arguments import as_coordinates, states_of
from forearm.kinematics.poses import body_poses
from forearm.spatial import Floats, cross
from forearm.values import frozen_array


def position(arm: Arm, q: ArrayLike, link: str | None = None, point: ArrayLike = (0.0, 0.0, 0.0)) -> Floats:
    """A point of a link in the base frame: (3,) or (B, 3).

    Args:
        arm: the arm.
        q: joint coordinates, (n,) or (B, n).
        link: name of the link; None: the hand.
        point: (3,) in the frame of the link or hand, m.
    """
    return _placed(arm, as_coordinates(arm, q), link, point)[2]


def velocity(
    arm: Arm, q: ArrayLike, qd: ArrayLike, link: str | None = None, point: ArrayLike = (0.0, 0.0, 0.0)
) -> tuple[Floats, Floats]:
    """Linear velocity of a point of a link and the link's angular velocity, in base axes:
    (3,), (3,) or (B, 3), (B, 3).

    Args:
        arm: the arm.
        q, qd: joint coordinates and velocities, (n,) or (B, n).
        link: name of the link; None: the hand.
        point: (3,) in the frame of the link or hand, m.
    """
    q, rates = states_of(arm, q=q, qd=qd)
    twist = np.einsum("...ij,...j->...i", jacobian(arm, q, link, point), rates)
    return twist[..., :3], twist[..., 3:]


def jacobian(arm: Arm, q: ArrayLike, link: str | None = None, point: ArrayLike = (0.0, 0.0, 0.0)) -> Floats:
    """J with (linear velocity; angular velocity) = J qd, base axes, at a point of a link: (6, n) or (B, 6,
    n), linear rows first.

    Args:
        arm: the arm.
        q: joint coordinates, (n,) or (B, n).
        link: name of the link; None: the hand.
        point: (3,) in the frame of the link or hand, m.
    """
    q = as_coordinates(arm, q)
    carrier, poses, at = _placed(arm, q, link, point)
    J = np.zeros((*q.shape[:-1], 6, arm.n))
    for index in _path(arm, carrier):
        body = arm.moving.bodies[index]
        z, p = _axis(arm, poses, index)
        column = body.multiplier * _column(body.kind == "revolute", z, at - p)
        J[..., body.freedom] += column
    return J


def jacobian_derivative(
    arm: Arm, q: ArrayLike, qd: ArrayLike, link: str | None = None, point: ArrayLike = (0.0, 0.0, 0.0)
) -> Floats:
    """dJ/dt at q, qd, of the same Jacobian: (6, n) or (B, 6, n).

    Args:
        arm: the arm.
        q, qd: joint coordinates and velocities, (n,) or (B, n).
        link: name of the link; None: the hand.
        point: (3,) in the frame of the link or hand, m.
    """
    q, rates = states_of(arm, q=q, qd=qd)
    carrier, poses, at = _placed(arm, q, link, point)
    path = _path(arm, carrier)[::-1]
    # Outward recursion: angular velocity before each joint, and the velocity of each joint's origin.
    w = np.zeros((*q.shape[:-1], 3))
    v_joint, w_before = {}, {}
    v, last = np.zeros_like(w), np.zeros(3)
    for index in path:
        body = arm.moving.bodies[index]
        z, p = _axis(arm, poses, index)
        v = v + cross(w, p - last)
        rate = body.multiplier * rates[..., body.freedom, None]
        w_before[index] = w
        if body.kind == "revolute":
            w = w + z * rate
        else:
            v = v + z * rate
        v_joint[index], last = v, p
    v_at = v + cross(w, at - last)
    Jd = np.zeros((*q.shape[:-1], 6, arm.n))
    for index in path:
        body = arm.moving.bodies[index]
        z, p = _axis(arm, poses, index)
        zd = cross(w_before[index], z)
        if body.kind == "revolute":
            moved = np.concatenate([cross(zd, at - p) + cross(z, v_at - v_joint[index]), zd], axis=-1)
        else:
            moved = np.concatenate([zd, np.zeros_like(zd)], axis=-1)
        Jd[..., body.freedom] += body.multiplier * moved
    return Jd


def _column(revolute: bool, z: Floats, lever: Floats) -> Floats:
    return np.concatenate([cross(z, lever), z] if revolute else [z, np.zeros_like(z)], axis=-1)


def _axis(arm: Arm, poses: list[Floats], index: int) -> tuple[Floats, Floats]:
    """Axis and origin of the joint that moves a body, in the base frame; the origin moves with the joint."""
    body = arm.moving.bodies[index]
    T = body.joint_frame(poses[index])
    return T[..., :3, :3] @ body.axis, T[..., :3, 3]


def _placed(arm: Arm, q: Floats, link: str | None, point: ArrayLike) -> tuple[int, list[Floats], Floats]:
    """The body that carries the link, the poses of all bodies, and the point in the base frame."""
    name = arm.hand.link if link is None else arm.link(link).name
    index, T = arm.moving.frames[name]
    T = T @ arm.hand.pose if link is None else T
    local = T @ np.append(frozen_array(point, (3,), "point"), 1.0)
    poses = body_poses(arm, q)
    if index < 0:
        return index, poses, np.broadcast_to(local[:3], (*q.shape[:-1], 3)).copy()
    return index, poses, (poses[index] @ local)[..., :3]


def _path(arm: Arm, index: int) -> list[int]:
    """The bodies from this one inwards to the base."""
    path = []
    while index >= 0:
        path.append(index)
        index = arm.moving.bodies[index].parent
    return path
