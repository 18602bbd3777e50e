"""Recursive Lagrange after Hollerbach, with 4x4 and with 3x3 matrices; trees too. Dhanaraj A.2, A.3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from forearm.dynamics.lagrange import ChainMatrices, matrices_of, pseudo_inertia, trace_of_product
from forearm.kinematics.matrices import base_rates
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
    cos_sin,
    noted,
    silent,
    steps,
    tilde,
)
from forearm.symbols.scalars import Values


def hollerbach_4x4(
    model: Model,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    base: Base = AT_REST,
    hand: Wrench | None = None,
    note: Note = silent,
    matrices: Callable[..., ChainMatrices] = matrices_of,
) -> Values:
    """T, Td, Tdd outwards; D and c inwards; tau_i = tr(dT_i/dq_i D_i) - g dT_i/dq_i c_i. Dhanaraj A.2 (with
    Tdd, m r). `matrices` computes its inputs.
    """
    given, count = matrices(model, q, qd, qdd), len(model.bodies)
    T: dict[int, Any] = {-1: np.eye(4)}
    Td, Tdd = {-1: np.zeros((4, 4))}, {-1: np.zeros((4, 4))}
    if base is not AT_REST:
        Td[-1], Tdd[-1] = base_rates(base)
    A, dT = given.A, []
    for i, body in enumerate(model.bodies):
        A_i, dA, ddA = A[i], given.dA[i], given.ddA[i]
        p = body.parent
        dT.append(T[p] @ dA)
        T[i] = T[p] @ A_i
        Td[i] = Td[p] @ A_i + dT[i] * qd[i]
        Tdd[i] = Tdd[p] @ A_i + (Td[p] @ dA) * (2.0 * qd[i]) + (T[p] @ ddA) * (qd[i] * qd[i]) + dT[i] * qdd[i]
        noted(note, i, T=T[i], Td=Td[i], Tdd=Tdd[i])
    D, c = [given.J[i] @ Tdd[i].T for i in range(count)], list(given.mr)
    if hand is not None and model.hand >= 0:
        D[model.hand] = D[model.hand] - wrench_matrix(model, T[model.hand][:3, :3], hand)
    tau: Values = [None] * count
    on = children(model)
    for i in reversed(range(count)):
        for k in on[i]:
            D[i] = D[i] + A[k] @ D[k]
            c[i] = c[i] + A[k] @ c[k]
        tau[i] = trace_of_product(dT[i], D[i].T) - given.G @ (dT[i] @ c[i])
        noted(note, i, D=D[i], c=c[i], tau=tau[i])
    return tau


def wrench_matrix(model: Model, R: Array, hand: Wrench) -> Array:
    """The 4x4 matrix X with tr(dT X) = force . dp + moment . dphi for every infinitesimal motion dT of the
    hand's body.

    A moment n is the skew part: X_33 = -1/2 tilde(R^T n) R^T, as tr(tilde(phi) R X_33) = phi . n.
    """
    force, moment = model.R_hand @ hand.force, model.R_hand @ hand.moment
    X = np.zeros((4, 4), dtype=object if R.dtype == object else float)
    X[:3, :3] = (np.outer(model.p_hand, force) - 0.5 * tilde(moment)) @ R.T
    X[3, :3] = R @ force
    return X


def hollerbach_3x3(
    model: Model,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    base: Base = AT_REST,
    hand: Wrench | None = None,
    note: Note = silent,
) -> Values:
    """R, Rd, Rdd and the origins' accelerations outwards; D, e and c inwards. Dhanaraj A.3.

    D_i = integral over everything behind joint i of y xdd^T dm, with y in the joint's moving frame; e_i is
    the integral of xdd^T, c_i that of y.
    """
    at = steps(model, q)
    R, Rdd, pdd, dR, axis = _outward_3x3(model, at, q, qd, qdd, base, note)
    count = len(model.bodies)
    tau: Values = [None] * count
    on = children(model)
    D, e, c, M = (dict[int, Any]() for _ in range(4))
    for i in reversed(range(count)):
        body = model.bodies[i]
        J, mr = pseudo_inertia(body.m, body.r, body.I)[:3, :3], body.m * body.r
        D_o = J @ Rdd[i].T + mr[:, None] * pdd[i][None, :]
        e_i, c_o, M_i = body.m * pdd[i] + Rdd[i] @ mr, mr, body.m
        if hand is not None and model.hand == i:
            X = wrench_matrix(model, R[i], hand)
            D_o, e_i = D_o - X[:3, :3], e_i - X[3, :3]
        for k in on[i]:
            turn = model.bodies[k].Rb @ at[k].Rz
            l = at[k].l  # noqa: E741
            D_o = D_o + turn @ D[k] + l[:, None] * e[k][None, :]
            e_i, c_o, M_i = e_i + e[k], c_o + turn @ c[k] + M[k] * l, M_i + M[k]
        e[i], M[i] = e_i, M_i
        D[i] = body.Ra @ D_o + (0.0 if body.ends_at_joint else body.pa[:, None] * e_i[None, :])
        c[i] = body.Ra @ c_o + (0.0 if body.ends_at_joint else M_i * body.pa)
        if body.revolute:
            tau[i] = trace_of_product(dR[i], D[i].T) - model.g @ (dR[i] @ c[i])
        else:
            tau[i] = axis[i] @ e_i - M_i * (model.g @ axis[i])
        noted(note, i, D=D[i], e=e[i], c=c[i], tau=tau[i])
    return tau


def _outward_3x3(
    model: Model, at: list[JointTransform], q: Vector, qd: Vector, qdd: Vector, base: Base, note: Note
) -> tuple[dict[int, Any], dict[int, Any], dict[int, Any], list[Any], list[Array]]:
    """R, Rdd and the origins' accelerations by body, dR/dq (None for a prismatic joint) and the axes, in base
    axes.
    """
    R = {-1: np.eye(3)}
    Rd, Rdd, pdd = {-1: tilde(base.w)}, {-1: tilde(base.wd) + tilde(base.w) @ tilde(base.w)}, {-1: base.a}
    dR, axis = [], []
    for i, body in enumerate(model.bodies):
        p, step = body.parent, at[i]
        before = R[p] @ body.Rb
        axis.append(before[:, 2])
        pdd[i] = pdd[p] + Rdd[p] @ step.l
        if body.revolute:
            c, s = cos_sin(q[i])
            d1 = np.array([[-s, -c, 0.0], [c, -s, 0.0], [0.0, 0.0, 0.0]])
            d2 = np.array([[-c, s, 0.0], [-s, -c, 0.0], [0.0, 0.0, 0.0]])
            A = body.Rb @ step.Rz @ body.Ra
            dA, ddA = body.Rb @ d1 @ body.Ra, body.Rb @ d2 @ body.Ra
            dR.append(before @ d1)
            R[i] = R[p] @ A
            Rd[i] = Rd[p] @ A + (R[p] @ dA) * qd[i]
            Rdd[i] = (
                Rdd[p] @ A
                + (Rd[p] @ dA) * (2.0 * qd[i])
                + (R[p] @ ddA) * (qd[i] * qd[i])
                + (R[p] @ dA) * qdd[i]
            )
        else:
            A = body.Rb @ body.Ra
            dR.append(None)
            R[i], Rd[i], Rdd[i] = R[p] @ A, Rd[p] @ A, Rdd[p] @ A
            slide = body.Rb[:, 2]
            pdd[i] = pdd[i] + (Rd[p] @ slide) * (2.0 * qd[i]) + axis[i] * qdd[i]
        if not body.ends_at_joint:
            pdd[i] = pdd[i] + Rdd[i] @ body.s
        noted(note, i, R=R[i], Rd=Rd[i], Rdd=Rdd[i], rdd=pdd[i])
    return R, Rdd, pdd, dR, axis
