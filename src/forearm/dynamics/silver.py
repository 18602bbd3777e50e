"""Lagrange's equations with angular velocities, equivalent to Newton-Euler. Silver 3.11, 3.15, 3.16, and his
form in W.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from forearm.dynamics.hollerbach import wrench_matrix
from forearm.dynamics.lagrange import pseudo_inertia, trace_of_product
from forearm.kinematics.angles import axis_of, cross_matrix
from forearm.kinematics.matrices import base_rates, joint_matrices
from forearm.model import AT_REST, Array, Base, Model, Note, Vector, Wrench, noted, refuse_tree, silent, steps
from forearm.spatial import Floats
from forearm.symbols.scalars import Values
from forearm.values import frozen_array


def lagrange_silver(
    model: Model,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    base: Base = AT_REST,
    hand: Wrench | None = None,
    note: Note = silent,
) -> Values:
    """tau_j = sum over i of m_i vd_i . dv_i/dqd_j + [I_i wd_i + w_i x I_i w_i] . dw_i/dqd_j, in
    base axes. Silver 3.11.

    A loaded hand is an extra link, as in Silver: one more term, with the force and moment that the hand
    transmits (section 3.2).
    """
    w, wd, a = {-1: base.w}, {-1: base.wd}, {-1: base.a - model.g}
    R, origin, cross = {-1: np.eye(3)}, {-1: np.zeros(3)}, model.cross
    z, joint = [], []
    pushes = []  # link, point, force, moment
    for i, (body, step) in enumerate(zip(model.bodies, steps(model, q), strict=True)):
        k = body.parent
        before = R[k] @ body.Rb
        z.append(before[:, 2])
        lever = R[k] @ step.l
        joint.append(origin[k] + lever)
        R[i] = before @ step.Rz @ body.Ra
        spin = cross(w[k], z[i]) * qd[i]
        at_joint = a[k] + cross(wd[k], lever) + cross(w[k], cross(w[k], lever))
        if body.revolute:
            w[i], wd[i] = w[k] + z[i] * qd[i], wd[k] + z[i] * qdd[i] + spin
        else:
            w[i], wd[i] = w[k], wd[k]
            at_joint = at_joint + z[i] * qdd[i] + 2.0 * spin
        onward = R[i] @ body.s
        origin[i] = joint[i] + onward
        a[i] = at_joint + cross(wd[i], onward) + cross(w[i], cross(w[i], onward))
        r = R[i] @ body.r
        vd = a[i] + cross(wd[i], r) + cross(w[i], cross(w[i], r))
        inertia = R[i] @ body.I @ R[i].T
        F, N = body.m * vd, inertia @ wd[i] + cross(w[i], inertia @ w[i])
        pushes.append((i, origin[i] + r, F, N))
        noted(note, i, w=w[i], wd=wd[i], vd=vd, F=F, N=N, z=z[i])
    if hand is not None and model.hand >= 0:
        T = R[model.hand]
        force, moment = T @ (model.R_hand @ hand.force), T @ (model.R_hand @ hand.moment)
        pushes.append((model.hand, origin[model.hand] + T @ model.p_hand, -force, -moment))

    tau = [0.0] * len(model.bodies)
    for i, point, F, N in pushes:
        j = i
        while j >= 0:
            # 3.15, 3.16
            if model.bodies[j].revolute:
                tau[j] = tau[j] + F @ cross(z[j], point - joint[j]) + N @ z[j]
            else:
                tau[j] = tau[j] + F @ z[j]
            j = model.bodies[j].parent
    for j, value in enumerate(tau):
        note("tau", j, value)
    return tau


def lagrange_silver_w(
    model: Model, q: Vector, qd: Vector, qdd: Vector, base: Base = AT_REST, hand: Wrench | None = None
) -> Values:
    """The same torques in the other representation: tau_i = sum over j >= i of tr(dW_j/dq_i J_j Wdd_j^T).
    Silver 1.2.

    W is the 4x4 pose of a link; gravity enters as the base's acceleration. For serial chains.
    """
    refuse_tree(model, "Silver's form in W")
    W = np.eye(4)
    Wd, Wdd = base_rates(Base(base.w, base.wd, base.a - model.g))
    U: list[Array] = []
    tau = [0.0] * len(model.bodies)
    for j, body in enumerate(model.bodies):
        A, dA, ddA = joint_matrices(body, q[j])
        own = W @ dA
        U = [*(inner @ A for inner in U), own]
        Wdd = Wdd @ A + (Wd @ dA) * (2.0 * qd[j]) + (W @ ddA) * (qd[j] * qd[j]) + own * qdd[j]
        Wd, W = Wd @ A + own * qd[j], W @ A
        forces = pseudo_inertia(body.m, body.r, body.I) @ Wdd.T
        if hand is not None and model.hand == j:
            forces = forces - wrench_matrix(model, W[:3, :3], hand)
        for i in range(j + 1):
            tau[i] = tau[i] + trace_of_product(U[i], forces.T)
    return tau


def rotation_rate(w: ArrayLike, W: ArrayLike) -> Floats:
    """The rate (3, 3) of a rotation: Wd = w x W. Silver 2.5.

    Args:
        w: angular velocity (3,), fixed axes, rad/s.
        W: rotation matrix (3, 3), the body's axes in the fixed ones.
    """
    return cross_matrix(frozen_array(w, (3,), "w")) @ frozen_array(W, (3, 3), "W")


def angular_velocity(W: ArrayLike, Wd: ArrayLike) -> Floats:
    """The angular velocity (3,) of a rotation: w_i = 1/2 P_ijk W_jl Wd_kl. Silver 2.6.

    Args:
        W: rotation matrix (3, 3), the body's axes in the fixed ones.
        Wd: its time derivative (3, 3).
    """
    return axis_of(frozen_array(Wd, (3, 3), "Wd") @ frozen_array(W, (3, 3), "W").T)
