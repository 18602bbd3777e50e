"""Modified Newton-Euler: the acceleration matrix lambda and gyroscopic constants.
Dhanaraj 2.3.2, with full tensors.
"""

from __future__ import annotations

import numpy as np

from forearm.dynamics.newton_euler import inward
from forearm.dynamics.symmetric import turned_back
from forearm.model import (
    AT_REST,
    Array,
    Base,
    JointTransform,
    Model,
    Note,
    RigidBody,
    Vector,
    Wrench,
    silent,
    steps,
)
from forearm.symbols.scalars import Values, is_zero


def modified_newton_euler(
    model: Model,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    base: Base = AT_REST,
    hand: Wrench | None = None,
    note: Note = silent,
) -> Values:
    """Joint torques and forces, one per body, with lambda r in place of wd x r + w x (w x r)."""
    at, cross = steps(model, q), model.cross
    w, wd, a = {-1: base.w}, {-1: base.wd}, {-1: base.a - model.g}
    k = {-1: mixed_products(base.w)}
    lam = {-1: acceleration_matrix(base.w, base.wd, k[-1])}
    F, N = [], []
    for i, body in enumerate(model.bodies):
        p, step, z = body.parent, at[i], body.z
        # Steps 1, 2: the Coriolis term is qd (w_i x z), as w_i and R^T w_{i-1} differ along z only.
        w[i] = step.down(w[p])
        if body.revolute:
            w[i] = w[i] + z * qd[i]
        note("w", i, w[i])
        wd[i] = step.down(wd[p])
        if body.revolute:
            wd[i] = wd[i] + z * qdd[i] + cross(w[i], z) * qd[i]
        note("alpha", i, wd[i])
        # Step 2A: a prismatic joint adds no rotation, so lambda and k only change axes (2.29)
        if body.revolute:
            k[i] = mixed_products(w[i])
            lam[i] = acceleration_matrix(w[i], wd[i], k[i])
        else:
            k[i] = renamed_products(step, k[p]) if renames_axes(step) else mixed_products(w[i])
            lam[i] = turned_back(step, lam[p])
        note("lambda", i, lam[i])
        # Step 3
        a[i] = step.down(a[p] + lam[p] @ step.l)
        if not body.revolute:
            a[i] = a[i] + z * qdd[i] + cross(w[i], z) * (2.0 * qd[i])
        if not body.ends_at_joint:
            a[i] = a[i] + lam[i] @ body.s
        note("a", i, a[i])
        # Steps 4, 5, 6
        ac = a[i] + lam[i] @ body.r
        note("a_c", i, ac)
        F.append(body.m * ac)
        note("F", i, F[i])
        N.append(body.I @ wd[i] + gyroscopic_moment(body, w[i], k[i]))
        note("N", i, N[i])
    # Steps 7, 8, 9 are those of the plain recursion.
    return inward(model, at, F, N, hand, note)


def mixed_products(w: Array) -> Array:
    """k = (wy wz, wz wx, wx wy). Dhanaraj 2.28."""
    x, y, z = w.tolist()
    return np.array([y * z, z * x, x * y])


def renames_axes(step: JointTransform) -> bool:
    """Whether the body's axes are the parent's under other names or signs: R holds only 0, 1 and -1."""
    R = step.body.Rb @ (step.Rz @ step.body.Ra) if step.R is None else step.R
    return all(isinstance(entry, float) and entry in (0.0, 1.0, -1.0) for entry in R.ravel().tolist())


def renamed_products(step: JointTransform, k: Array) -> Array:
    """k of a body whose axes are its parent's renamed: the same products under other names and signs."""
    x, y, z = k.tolist()
    K = turned_back(step, np.array([[0.0, z, y], [z, 0.0, x], [y, x, 0.0]]))
    return np.array([K[1, 2], K[0, 2], K[0, 1]])


def acceleration_matrix(w: Array, wd: Array, k: Array) -> Array:
    """lambda with lambda r = wd x r + w x (w x r), from w, wd and the products k of w. Dhanaraj 2.27."""
    x, y, z = w.tolist()
    ax, ay, az = wd.tolist()
    kx, ky, kz = k.tolist()
    xx, yy, zz = x * x, y * y, z * z
    return np.array(
        [[-(yy + zz), kz - az, ky + ay], [kz + az, -(xx + zz), kx - ax], [ky - ay, kx + ax, -(xx + yy)]]
    )


def gyroscopic_moment(body: RigidBody, w: Array, k: Array) -> Array:
    """w x I w by products and differences of moments. Dhanaraj 2.41; 2.42 where the tensor is diagonal."""
    (Ixx, Ixy, Ixz), (_, Iyy, Iyz), (_, _, Izz) = body.I
    kx, ky, kz = k.tolist()
    moment = np.array([(Izz - Iyy) * kx, (Ixx - Izz) * ky, (Iyy - Ixx) * kz])
    if all(is_zero(v) for v in (Ixy, Ixz, Iyz)):
        return moment
    xx, yy, zz = (v * v for v in w)
    mixed = np.array([[yy - zz, kz, -ky], [-kz, zz - xx, kx], [ky, -kx, xx - yy]])
    return moment + mixed @ np.array([Iyz, Ixz, Ixy])
