"""Accelerations by articulated bodies on a chain of moments, linear in n. Mata 5.1, after Featherstone.

An articulated body responds to an angular acceleration b and an acceleration a of its origin with the moment
I b + H a + p and the force H^T b + M a + f. Each step is a function of one segment and its neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from forearm.model import Array, Scalar, Vector, cross, tilde
from forearm.reduction.chain import SYMMETRIC, Chain, Segment, SegmentRotation, levers, turns
from forearm.reduction.composite import Six
from forearm.reduction.composite import turned as turned_six
from forearm.reduction.recursion import moment, spin_of
from forearm.symbols.scalars import Values
from forearm.values import frozen

REST = np.zeros(3)


@frozen
class ArticulatedBody:
    """An articulated body:
    I and M symmetric by the entries of SYMMETRIC, H (3, 3), p and f the bias due to velocity.
    """

    I: Six  # noqa: E741
    H: Array
    M: Six
    p: Array
    f: Array

    def __add__(self, other: ArticulatedBody) -> ArticulatedBody:
        return ArticulatedBody(
            [a + b for a, b in zip(self.I, other.I, strict=True)],
            self.H + other.H,
            [a + b for a, b in zip(self.M, other.M, strict=True)],
            self.p + other.p,
            self.f + other.f,
        )

    def answer(self, b: Array, a: Array) -> tuple[Array, Array]:
        """I b + H a + p and H^T b + M a + f."""
        return full(self.I) @ b + self.H @ a + self.p, self.H.T @ b + full(self.M) @ a + self.f


@frozen
class ArticulatedJoint:
    """A joint as seen by its drive: a unit acceleration requires the moment U and force V;
    r = 1 / d; u is the remainder of tau.
    """

    U: Array
    V: Array
    r: Scalar
    u: Scalar


def forward(chain: Chain, q: Vector, qd: Vector, tau: Vector, rotor: Vector) -> Values:
    """Accelerations of the joints, one per segment; for chains whose joints are all independent."""
    at, l = turns(chain, q), levers(chain, q)  # noqa: E741
    segments, count = chain.segments, len(chain.segments)
    w: dict[int, Any] = {-1: REST}
    drift: list[tuple[Array, Array]] = []
    bodies: list[ArticulatedBody] = []
    for i, s in enumerate(segments):
        w[i], b_drift, a_drift = onward(s, at[i], l[i], w[s.parent], qd[i])
        drift.append((b_drift, a_drift))
        bodies.append(own(s, w[i]))
    joints: list[Any] = [None] * count
    for i in reversed(range(count)):
        s = segments[i]
        joints[i] = seen(s, bodies[i], tau[i], rotor[i])
        if s.parent >= 0:
            bodies[s.parent] = bodies[s.parent] + handed(at[i], l[i], bodies[i], joints[i], *drift[i])
    b: dict[int, Any] = {-1: REST}
    a: dict[int, Any] = {-1: -chain.g}
    qdd: Values = []
    for i, s in enumerate(segments):
        acceleration, b[i], a[i] = answered(s, at[i], l[i], joints[i], *drift[i], b[s.parent], a[s.parent])
        qdd.append(acceleration)
    return qdd


def onward(s: Segment, turn: SegmentRotation, l: Array, w: Array, rate: Scalar) -> tuple[Array, Array, Array]:  # noqa: E741
    """The angular velocity behind a joint, and the accelerations,
    angular and linear, that velocities alone cause there.
    """
    arm = spin_of(w, REST).Omega @ l
    if not s.revolute:
        return w, REST, arm + cross(w, s.axis) * (rate + rate)
    inside = turn.down(w)
    return inside + s.axis * rate, cross(inside, s.axis) * rate, turn.down(arm)


def own(s: Segment, w: Array) -> ArticulatedBody:
    """A segment alone, with its angular velocity."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = s.J
    spin = spin_of(w, REST)
    mass = [s.m if i == j else 0.0 for i, j in SYMMETRIC]
    return ArticulatedBody(
        [yy + zz, -xy, -xz, xx + zz, -yz, xx + yy], tilde(s.h), mass, moment(s, spin), spin.Omega @ s.h
    )


def seen(s: Segment, body: ArticulatedBody, tau: Scalar, rotor: Scalar) -> ArticulatedJoint:
    """The articulated body as seen by its joint's drive."""
    if s.revolute:  # about z
        U, V = np.array([body.I[2], body.I[4], body.I[5]]), body.H[2]
        return ArticulatedJoint(U, V, 1.0 / (U[2] + rotor), tau - body.p[2])
    V = full(body.M) @ s.axis
    return ArticulatedJoint(body.H @ s.axis, V, 1.0 / (s.axis @ V + rotor), tau - s.axis @ body.f)


def handed(
    turn: SegmentRotation,
    l: Array,  # noqa: E741
    body: ArticulatedBody,
    joint: ArticulatedJoint,
    b: Array,
    a: Array,
) -> ArticulatedBody:
    """The contribution of the body behind a joint to the one before it: at its origin, in its axes.
    b, a are the drift of `onward`.
    """
    U, V = joint.U * joint.r, joint.V * joint.r
    rest = ArticulatedBody(
        [x - U[i] * joint.U[j] for x, (i, j) in zip(body.I, SYMMETRIC, strict=True)],
        body.H - U[:, None] * joint.V[None, :],
        [x - V[i] * joint.V[j] for x, (i, j) in zip(body.M, SYMMETRIC, strict=True)],
        body.p + U * joint.u,
        body.f + V * joint.u,
    )
    p, f = (turn.up(v) for v in rest.answer(b, a))
    inside = np.array([turn.up(rest.H[:, k]) for k in range(3)])  # its rows are columns of H
    H = np.array([turn.up(inside[:, k]) for k in range(3)])
    I, M = turned_six(turn, rest.I), turned_six(turn, rest.M)  # noqa: E741
    C = tilde(l)
    raised = H + C @ full(M)
    more = C @ H.T + raised @ C.T
    return ArticulatedBody(
        [x + more[i, j] for x, (i, j) in zip(I, SYMMETRIC, strict=True)], raised, M, p + cross(l, f), f
    )


def answered(
    s: Segment,
    turn: SegmentRotation,
    l: Array,  # noqa: E741
    joint: ArticulatedJoint,
    drift_b: Array,
    drift_a: Array,
    b: Array,
    a: Array,
) -> tuple[Scalar, Array, Array]:
    """A joint's acceleration, and the accelerations behind it, from b, a of the body before it."""
    b, a = turn.down(b) + drift_b, turn.down(a + cross(b, l)) + drift_a
    acceleration = (joint.u - (joint.U @ b + joint.V @ a)) * joint.r
    return (
        (acceleration, b + s.axis * acceleration, a)
        if s.revolute
        else (acceleration, b, a + s.axis * acceleration)
    )


def full(six: Six) -> Array:
    """A symmetric matrix from its entries."""
    xx, xy, xz, yy, yz, zz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
