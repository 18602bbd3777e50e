"""Energies, and the Coriolis matrix for which dM/dt - 2 C is skew-symmetric. Swartz (13)-(15), Waters IV."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from forearm.dynamics.symmetric import zeros
from forearm.model import Array, Model, Scalar, Vector, cross, steps, tilde


def jacobians(model: Model, q: Vector, qd: Vector) -> tuple[list[Any], list[Any], list[Any]]:
    """Per body in base axes: (w, v of the centre, R, the centre), {joint: (dw, dv)} and the time derivatives
    of the latter.
    """
    states = []
    columns = []
    rates = []
    R, origin, w, v = {-1: np.eye(3)}, {-1: np.zeros(3)}, {-1: np.zeros(3)}, {-1: np.zeros(3)}
    axes = {}  # z, zd, joint, velocity of the joint
    for i, (body, step) in enumerate(zip(model.bodies, steps(model, q), strict=True)):
        k = body.parent
        before = R[k] @ body.Rb
        z, lever = before[:, 2], R[k] @ step.l
        joint, vj = origin[k] + lever, v[k] + cross(w[k], lever)
        R[i] = before @ step.Rz @ body.Ra
        w[i] = w[k] + z * qd[i] if body.revolute else w[k]
        vj = vj if body.revolute else vj + z * qd[i]
        axes[i] = (z, cross(w[k], z), joint, vj)
        onward = R[i] @ body.s
        origin[i], v[i] = joint + onward, vj + cross(w[i], onward)
        c = origin[i] + R[i] @ body.r
        vc = v[i] + cross(w[i], R[i] @ body.r)
        states.append((w[i], vc, R[i], c))
        own = {}
        own_rate = {}
        j = i
        while j >= 0:
            z, zd, joint, vj = axes[j]
            if model.bodies[j].revolute:
                own[j] = (z, cross(z, c - joint))
                own_rate[j] = (zd, cross(zd, c - joint) + cross(z, vc - vj))
            else:
                own[j], own_rate[j] = (np.zeros(3), z), (np.zeros(3), zd)
            j = model.bodies[j].parent
        columns.append(own)
        rates.append(own_rate)
    return states, columns, rates


def without_gravity(model: Model) -> Model:
    """The same model without gravity."""
    return replace(model, g=np.zeros(3))


def kinetic(model: Model, q: Vector, qd: Vector) -> Scalar:
    """1/2 sum of m v.v + w.I w, without rotors."""
    K = 0.0
    for body, (w, v, R, _) in zip(model.bodies, jacobians(model, q, qd)[0], strict=True):
        local = R.T @ w
        K = K + 0.5 * body.m * (v @ v) + 0.5 * (local @ (body.I @ local))
    return K


def potential(model: Model, q: Vector) -> Scalar:
    """-sum of m g . c, zero if the centres of mass are at the base's origin."""
    states = jacobians(model, q, np.zeros(len(model.bodies)))[0]
    P = 0.0
    for body, (_, _, _, c) in zip(model.bodies, states, strict=True):
        P = P - body.m * (model.g @ c)
    return P


def coriolis(model: Model, q: Vector, qd: Vector) -> Array:
    """C with C qd the velocity torques and dM/dt - 2 C skew-symmetric: the one from Christoffel symbols.

    C_jk = sum over bodies of m Jv_j . Jvd_k + Jw_j . (I Jwd_k + S Jw_k), S = 1/2 (tilde(w) I - I
    tilde(w) - tilde(I w)).
    """
    states, columns, rates = jacobians(model, q, qd)
    C = zeros(model)
    for i, body in enumerate(model.bodies):
        w, _, R, _ = states[i]
        I = R @ body.I @ R.T  # noqa: E741
        S = 0.5 * (tilde(w) @ I - I @ tilde(w) - tilde(I @ w))
        for j, (wj, vj) in columns[i].items():
            for k, (wk, _) in columns[i].items():
                wdk, vdk = rates[i][k]
                C[j, k] = C[j, k] + body.m * (vj @ vdk) + wj @ (I @ wdk + S @ wk)
    return C
