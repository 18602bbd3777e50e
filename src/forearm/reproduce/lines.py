"""Straight hand paths as joint motions: by the closed form of Dhanaraj's program, or by Newton iteration."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.kernels import Kernel
from forearm.kinematics import jacobian, jacobian_derivative
from forearm.spatial import Floats
from forearm.values import frozen

Point = tuple[float, float, float]
NEWTON_STEPS = 20
CLOSE = 1e-13  # m and rad: residual at which Newton's iteration ends


@frozen
class Line:
    """Straight motion of a point: positions, velocities, accelerations (T, 3) at times t (T,), base axes."""

    t: Floats
    p: Floats
    v: Floats
    a: Floats


@frozen
class JointMotion:
    """Joint motion q, qd, qdd (T, n) at times t (T,)."""

    t: Floats
    q: Floats
    qd: Floats
    qdd: Floats


@frozen
class Positioning:
    """Lengths e, f, g (m) of a three-joint arm as in Dhanaraj D.1.3, and the signs of the roots of q1 and q3.

    f is positive if the forearm lies along +y of frame 3, as in D.1.3, and negative if along -y.
    """

    upper: float
    fore: float
    offset: float
    roots: tuple[float, float] = (1.0, 1.0)

    def joints(self, p: Floats) -> Floats:
        """q (T, 3) of points (T, 3), continuous from row to row. Dhanaraj D.1.3."""
        e, f, g = self.upper, self.fore, self.offset
        px, py, pz = np.asarray(p, dtype=np.float64).T
        beside = px**2 + py**2 - g**2
        s3 = (e**2 + f**2 + g**2 - px**2 - py**2 - pz**2) / (2.0 * e * f)
        if (beside < 0.0).any() or (np.abs(s3) > 1.0).any():
            raise InputError(
                f"the arm of {e:g} m and {abs(f):g} m does not reach every point of the "
                "line; take a nearer one."
            )
        q1 = np.arctan2(-px, py) + np.arctan2(self.roots[0] * np.sqrt(beside), g)
        q3 = np.arctan2(s3, self.roots[1] * np.sqrt(1.0 - s3**2))
        out, c3 = px * np.cos(q1) + py * np.sin(q1), np.cos(q3)
        q2 = np.arctan2(-out * f * c3 - pz * (e - f * s3), out * (e - f * s3) - pz * f * c3)
        return np.unwrap(np.stack([q1, q2, q3], axis=1), axis=0)


def even(start: Point, end: Point, t: Floats, duration: float) -> Line:
    """The line from start to end at constant speed."""
    way = np.array(end) - start
    u = t[:, None] / duration
    return Line(
        t,
        np.array(start) + u * way,
        np.broadcast_to(way / duration, (len(t), 3)).copy(),
        np.zeros((len(t), 3)),
    )


def half_sine(start: Point, end: Point, t: Floats, duration: float) -> Line:
    """The line from rest at start to rest at end with a half-sine speed profile."""
    way = np.array(end) - start
    w, angle = math.pi / duration, math.pi * t[:, None] / duration
    p = np.array(start) + 0.5 * (1.0 - np.cos(angle)) * way
    # exactly 0 at the end, so that friction vanishes there
    speed = np.where(angle < math.pi, np.sin(angle), 0.0)
    return Line(t, p, 0.5 * w * speed * way, 0.5 * w**2 * np.cos(angle) * way)


def moved(arm: Arm, line: Line, q: Floats) -> JointMotion:
    """The joint motion along a line at positions q (T, n): n = 3, or 6 with constant orientation of the hand.

    J qd = v, J qdd = a - Jd qd, with the first n rows of J.
    """
    turning = np.zeros((len(line.t), arm.n - 3))
    v, a = (np.concatenate([x, turning], axis=1) for x in (line.v, line.a))
    J = jacobian(arm, q)[:, : arm.n]
    qd = np.linalg.solve(J, v[..., None])[..., 0]
    curving = np.einsum("tij,tj->ti", jacobian_derivative(arm, q, qd)[:, : arm.n], qd)
    return JointMotion(line.t, q, qd, np.linalg.solve(J, (a - curving)[..., None])[..., 0])


def tracked(kernel: Kernel, p: Floats, R_base_hand: Floats, q_near: ArrayLike) -> Floats:
    """q (T, 6) of a hand at points (T, 3) with constant orientation, by Newton iteration.

    Each row starts from the previous one, the first from q_near.
    """
    rows, q = [], np.array(q_near, dtype=np.float64)
    for point in p:
        for _ in range(NEWTON_STEPS):
            T = kernel.forward_kinematics(q)
            miss = np.concatenate([point - T[:3, 3], _turn(R_base_hand @ T[:3, :3].T)])
            q = q + np.linalg.solve(kernel.jacobian(q), miss)
            if np.abs(miss).max() < CLOSE:
                break
        else:
            raise InputError(
                f"the hand of {kernel.arm.name} was not brought to "
                f"{point.round(4).tolist()}; take a nearer line."
            )
        rows.append(q)
    return np.array(rows)


def _turn(R: Floats) -> Floats:
    """The rotation vector of a small rotation R, to second order."""
    return 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
