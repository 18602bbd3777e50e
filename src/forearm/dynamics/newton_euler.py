"""Newton-Euler, recursive, in link coordinates. Swartz (1)-(10); Dhanaraj 2.3.

One recursion serves both conventions: for standard Denavit-Hartenberg the lever s lies behind the joint
(Swartz's p), for the modified one and URDF the lever l lies before it (Dhanaraj's p).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from forearm.model import (
    AT_REST,
    Array,
    Base,
    JointTransform,
    Model,
    Note,
    Vector,
    Wrench,
    children,
    silent,
    steps,
)
from forearm.symbols.scalars import Values


def newton_euler(
    model: Model,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    base: Base = AT_REST,
    hand: Wrench | None = None,
    note: Note = silent,
) -> Values:
    """Joint torques and forces, one per body: outwards velocities and accelerations,
    inwards forces and moments.
    """
    at, cross = steps(model, q), model.cross
    w, wd, a = {-1: base.w}, {-1: base.wd}, {-1: base.a - model.g}
    F, N = [], []
    for i, body in enumerate(model.bodies):
        k, step = body.parent, at[i]
        l, z = step.l, body.z  # noqa: E741
        # Swartz (1), (2)
        w_in = step.down(w[k])
        w[i] = w_in + z * qd[i] if body.revolute else w_in
        note("w", i, w[i])
        wd[i] = step.down(wd[k])
        if body.revolute:
            wd[i] = wd[i] + z * qdd[i] + cross(w_in, z * qd[i])
        note("wd", i, wd[i])
        # Swartz (4): to the joint in the parent, through the joint, and on to the body's own origin
        a[i] = step.down(a[k] + cross(wd[k], l) + cross(w[k], cross(w[k], l)))
        if not body.revolute:
            a[i] = a[i] + z * qdd[i] + 2.0 * cross(w_in, z * qd[i])
        if not body.ends_at_joint:
            a[i] = a[i] + cross(wd[i], body.s) + cross(w[i], cross(w[i], body.s))
        note("vd", i, a[i])
        # Swartz (5), (6), (7)
        ac = a[i] + cross(wd[i], body.r) + cross(w[i], cross(w[i], body.r))
        note("vd*", i, ac)
        F.append(body.m * ac)
        note("F", i, F[i])
        N.append(body.I @ wd[i] + cross(w[i], body.I @ w[i]))
        note("N", i, N[i])

    return inward(model, at, F, N, hand, note)


def linear_velocities(model: Model, q: Vector, qd: Vector, w: Sequence[Array], base: Base) -> list[Array]:
    """The linear velocity of each link's origin, in its axes, relative to the base's origin, from the angular
    velocities w of the links. Swartz (3), which no torque needs.
    """
    at, cross = steps(model, q), model.cross
    turns = {-1: base.w, **dict(enumerate(w))}
    v = {-1: np.zeros(3)}
    for i, body in enumerate(model.bodies):
        k = body.parent
        v[i] = at[i].down(v[k] + cross(turns[k], at[i].l)) + cross(turns[i], body.s)
        if not body.revolute:
            v[i] = v[i] + body.z * qd[i]
    return [v[i] for i in range(len(model.bodies))]


def inward(
    model: Model, at: list[JointTransform], F: list[Array], N: list[Array], hand: Wrench | None, note: Note
) -> Values:
    """Local forces and moments from the tip to the base, and what of them lies along the
    joints. Swartz (8)-(10).
    """
    f, n = list(F), list(N)
    tau = [0.0] * len(F)
    on, cross = children(model), model.cross
    for i in reversed(range(len(F))):
        body = model.bodies[i]
        passed = [at[c].up(f[c]) for c in on[i]]
        if passed:
            note("f_in", i, passed)
        for f_c in passed:
            f[i] = f[i] + f_c
        if hand is not None and model.hand == i:
            # f_{n+1} is what the hand exerts outward: what the surroundings exert enters negated.
            force = model.R_hand @ hand.force
            f[i] = f[i] - force
            n[i] = n[i] - model.R_hand @ hand.moment - cross(model.p_hand, force)
        note("f", i, f[i])
        n[i] = n[i] + cross(body.r, F[i])
        for c, f_c in zip(on[i], passed, strict=True):
            n[i] = n[i] + at[c].up(n[c]) + cross(at[c].l, f_c)
        if not body.ends_at_joint:
            n[i] = n[i] + cross(body.s, f[i])
        note("n", i, n[i])
        tau[i] = body.z @ n[i] if body.revolute else body.z @ f[i]
        note("tau", i, tau[i])
    return tau
