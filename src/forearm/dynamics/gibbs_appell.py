"""Gibbs-Appell: the function itself, its sums, the linear recursion, and the inertia matrix. Mata 2, 3, 4.

Trees and prismatic joints extend the recursions here: Mata 4 covers chains of revolute joints.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from forearm.dynamics.modified_newton_euler import acceleration_matrix, mixed_products
from forearm.dynamics.symmetric import both_ways, mirrored, turned_symmetric, zeros
from forearm.model import (
    AT_REST,
    Array,
    Base,
    JointTransform,
    Model,
    Note,
    Scalar,
    Vector,
    Wrench,
    children,
    noted,
    silent,
    steps,
    tilde,
)
from forearm.spatial import pseudo_from_inertia
from forearm.symbols.scalars import Values
from forearm.values import frozen


@frozen
class LinkMotion:
    """Per link, in its own axes: w, wd, Omega, the origin's acceleration sdd and that of the centre of mass
    rdd.
    """

    w: list[Array]
    wd: list[Array]
    Omega: list[Array]
    sdd: list[Array]
    rdd: list[Array]


def motion_of(
    model: Model, at: list[JointTransform], qd: Vector, qdd: Vector, base: Base, note: Note
) -> LinkMotion:
    """Outward pass: angular velocities, angular acceleration tensors Omega = tilde(wd) + tilde(w)^2,
    accelerations. Mata 4.1.
    """
    w, wd, Omega = (
        {-1: base.w},
        {-1: base.wd},
        {-1: acceleration_matrix(base.w, base.wd, mixed_products(base.w))},
    )
    sdd = {-1: base.a - model.g}
    rdd, cross = [], model.cross
    for i, body in enumerate(model.bodies):
        k, step, z = body.parent, at[i], body.z
        w_in = step.down(w[k])
        sdd[i] = step.down(sdd[k] + Omega[k] @ step.l)
        if body.revolute:
            w[i] = w_in + z * qd[i]
            wd[i] = step.down(wd[k]) + z * qdd[i] + cross(w_in, z * qd[i])
        else:
            w[i], wd[i] = w_in, step.down(wd[k])
            sdd[i] = sdd[i] + z * qdd[i] + 2.0 * cross(w_in, z * qd[i])
        Omega[i] = acceleration_matrix(w[i], wd[i], mixed_products(w[i]))
        if not body.ends_at_joint:
            sdd[i] = sdd[i] + Omega[i] @ body.s
        rdd.append(sdd[i] + Omega[i] @ body.r)
        noted(note, i, w=w[i], wd=wd[i], Omega=Omega[i], sdd=sdd[i], rdd=rdd[i])
    w_, wd_, Omega_, sdd_ = ([table[i] for i in range(len(model.bodies))] for table in (w, wd, Omega, sdd))
    return LinkMotion(w_, wd_, Omega_, sdd_, rdd)


def force_and_moment(model: Model, moving: LinkMotion) -> tuple[list[Array], list[Array]]:
    """f = m rdd and t from tilde(t) = Omega J - (Omega J)^T, J the Euler tensor. Mata (9)-(12)."""
    f, t = [], []
    for i, body in enumerate(model.bodies):
        f.append(body.m * moving.rdd[i])
        t.append(skew_part(moving.Omega[i], pseudo_from_inertia(body.I)))
    return f, t


def skew_part(X: Array, J: Array) -> Array:
    """t with tilde(t) = X J - (X J)^T, J symmetric: 15 multiplications, 15 additions. Mata 4.1, step 2."""
    (J00, J01, J02), (_, J11, J12), (_, _, J22) = J
    return np.array(
        [
            X[2, 0] * J01 + X[2, 1] * J11 + (X[2, 2] - X[1, 1]) * J12 - X[1, 0] * J02 - X[1, 2] * J22,
            X[0, 1] * J12 + X[0, 2] * J22 + (X[0, 0] - X[2, 2]) * J02 - X[2, 1] * J01 - X[2, 0] * J00,
            X[1, 2] * J02 + X[1, 0] * J00 + (X[1, 1] - X[0, 0]) * J01 - X[0, 2] * J12 - X[0, 1] * J11,
        ]
    )


def gibbs_appell(
    model: Model,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    base: Base = AT_REST,
    hand: Wrench | None = None,
    note: Note = silent,
) -> Values:
    """The linear recursion: phi and chi inwards, tau_j = z_j . chi_j. Mata (14)-(16), 4.1."""
    at, cross = steps(model, q), model.cross
    f, t = force_and_moment(model, motion_of(model, at, qd, qdd, base, note))
    count = len(model.bodies)
    on = children(model)
    tau = [None] * count
    # every = f + phi: the force required at the joint by link j and everything behind it
    every, chi = list(f), list(t)
    for j in reversed(range(count)):
        body = model.bodies[j]
        chi[j] = chi[j] + cross(body.r, f[j])
        for c in on[j]:
            phi = at[c].up(every[c])
            every[j] = every[j] + phi
            chi[j] = chi[j] + cross(at[c].l, phi) + at[c].up(chi[c])
        if hand is not None and model.hand == j:
            force = model.R_hand @ hand.force
            every[j] = every[j] - force
            chi[j] = chi[j] - model.R_hand @ hand.moment - cross(model.p_hand, force)
        if not body.ends_at_joint:
            chi[j] = chi[j] + cross(body.s, every[j])
        tau[j] = body.z @ chi[j] if body.revolute else body.z @ every[j]
        noted(note, j, f=f[j], t=t[j], chi=chi[j], tau=tau[j])
    return tau


def gibbs_function(model: Model, q: Vector, qd: Vector, qdd: Vector, base: Base = AT_REST) -> Scalar:
    """G = sum of 1/2 m rdd.rdd + 1/2 wd.I wd + wd.(w x I w), gravity as base acceleration. Mata (3), (4)."""
    moving = motion_of(model, steps(model, q), qd, qdd, base, silent)
    G = 0.0
    for i, body in enumerate(model.bodies):
        w, wd, rdd = moving.w[i], moving.wd[i], moving.rdd[i]
        G = G + 0.5 * body.m * (rdd @ rdd) + 0.5 * (wd @ (body.I @ wd)) + wd @ model.cross(w, body.I @ w)
    return G


@frozen
class Partials:
    """dwd_i/dqdd_j, dsdd_i/dqdd_j and drdd_i/dqdd_j in axes of link i, for j on the path to i. Mata (7)."""

    wd: list[dict[int, Array]]
    sdd: list[dict[int, Array]]
    rdd: list[dict[int, Array]]


def partials(model: Model, at: list[JointTransform]) -> Partials:
    """The partial accelerations of each link with respect to each joint. Mata (7a)-(7e)."""
    wds: list[dict[int, Array]] = []
    rdds = []
    origins: list[dict[int, Array]] = []
    cross = model.cross
    for i, body in enumerate(model.bodies):
        k, step = body.parent, at[i]
        spin = {}
        origin = {}
        for j in wds[k] if k >= 0 else {}:
            spin[j] = step.down(wds[k][j])
            origin[j] = step.down(origins[k][j] + cross(wds[k][j], step.l)) + cross(spin[j], body.s)
        spin[i] = body.z if body.revolute else np.zeros(3)
        origin[i] = cross(body.z, body.s) if body.revolute else body.z
        wds.append(spin)
        origins.append(origin)
        rdds.append({j: origin[j] + cross(spin[j], body.r) for j in spin})
    return Partials(wds, origins, rdds)


def gibbs_appell_sum(model: Model, q: Vector, qd: Vector, qdd: Vector, base: Base = AT_REST) -> Values:
    """The O(n^2) sum: tau_j = sum of drdd_i/dqdd_j . f_i + dwd_i/dqdd_j . t_i. Mata (8), (13)."""
    at = steps(model, q)
    f, t = force_and_moment(model, motion_of(model, at, qd, qdd, base, silent))
    by = partials(model, at)
    tau = [0.0] * len(model.bodies)
    for i in range(len(model.bodies)):
        for j in by.wd[i]:
            tau[j] = tau[j] + by.rdd[i][j] @ f[i] + by.wd[i][j] @ t[i]
    return tau


def inertia_sum(model: Model, q: Vector) -> Array:
    """The O(n^3) sum: D_jk = sum over i of m drdd_i/dqdd_k . drdd_i/dqdd_j + dwd_i/dqdd_k . I dwd_i/dqdd_j.
    Mata (21).
    """
    by = partials(model, steps(model, q))
    D = zeros(model)
    for i, body in enumerate(model.bodies):
        for j in by.wd[i]:
            for k in by.wd[i]:
                linear = body.m * (by.rdd[i][k] @ by.rdd[i][j])
                D[j, k] = D[j, k] + linear + by.wd[i][k] @ (body.I @ by.wd[i][j])
    return D


def inertia_gibbs_appell(model: Model, q: Vector, note: Note = silent) -> Array:
    """The O(n^2) recursion for the Hessian of the Gibbs function. Mata 4.2.

    psi_j is the inertia of link j and all links behind it about the joint's origin, phi_j their first moment,
    M_j their mass; s_kj leads from joint k to joint j. D_jk = z_k . [psi_j - tilde(s_kj) tilde(phi_j)] z_j
    for revolute joints.
    """
    at = steps(model, q)
    count = len(model.bodies)
    on = children(model)
    M, phi, psi = (dict[int, Any]() for _ in range(3))
    for i in reversed(range(count)):
        body = model.bodies[i]
        # Steps 1, 4, 5: accumulated about the link's origin, in its axes;
        # first the terms known in advance (gamma, E)
        mass, first = body.m, body.m * body.r
        second = body.I - body.m * (tilde(body.r) @ tilde(body.r))
        for c in on[i]:
            l = at[c].l  # noqa: E741
            first = first + M[c] * l
            second = second - M[c] * (tilde(l) @ tilde(l))
        for c in on[i]:
            phi_c = at[c].up(phi[c])
            mass, first = mass + M[c], first + phi_c
            note("phi", i, first)
            second = second - both_ways(at[c].l, phi_c) + turned_symmetric(at[c], psi[c])
        if not body.ends_at_joint:
            second = second - both_ways(body.s, first) - mass * (tilde(body.s) @ tilde(body.s))
            first = first + mass * body.s
        M[i], phi[i], psi[i] = mass, first, mirrored(second)
        note("psi", i, psi[i])
    D, cross = zeros(model), model.cross
    before = ancestors(model, at)
    for j, body in enumerate(model.bodies):
        # Step 6: the diagonal. The force for a unit acceleration of joint j, and the
        # moment about its origin.
        z = body.z
        force = cross(z, phi[j]) if body.revolute else M[j] * z
        moment = psi[j] @ z if body.revolute else cross(phi[j], z)
        D[j, j] = z @ moment if body.revolute else z @ force
        # Steps 2, 3, 7
        for k, (z_k, s_kj) in before[j].items():
            note("s", j, s_kj)
            note("dwd", j, z_k)
            if model.bodies[k].revolute:
                D[j, k] = D[k, j] = z_k @ (moment + cross(s_kj, force))
            else:
                D[j, k] = D[k, j] = z_k @ force
            note("D", j, D[j, k])
    return D


def ancestors(model: Model, at: list[JointTransform]) -> list[dict[int, tuple[Array, Array]]]:
    """For each joint j and every joint before it: its axis, and the vector from its origin to that of j, in
    the axes of link j.
    """
    tables: list[dict[int, tuple[Array, Array]]] = []
    for i, step in enumerate(at):
        k = model.bodies[i].parent
        found = {}
        if k >= 0:
            body = model.bodies[k]
            ways = (
                tables[k] if body.ends_at_joint else {j: (z, s + body.s) for j, (z, s) in tables[k].items()}
            )
            found = {
                j: (step.down(z), step.down(s + step.l))
                for j, (z, s) in {**ways, k: (body.z, body.s)}.items()
            }
        tables.append(found)
    return tables
