"""Waters' 4x4 matrices: A of each joint with its derivatives, W, U and V of each link. Waters II.

Over any scalar for the formulations that use them, and over floats for users. The homogeneous coordinate is
last; in the document it is first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.kinematics.arguments import one_state
from forearm.model import Array, Base, RigidBody, Scalar, cos_sin, model_of, refuse_tree, tilde
from forearm.spatial import Floats
from forearm.values import frozen


@frozen
class WatersMatrices:
    """Waters' matrices (4, 4) at one state of a serial arm, lists over links.

    A point r (x, y, z, 1) of link i is at W_i r and moves with V_i r.

    Attributes:
        A, dA, ddA: the joint's matrix, dA/dq and d2A/dq2.
        W: the link's pose in the base frame.
        U: U[i][j] = dW_i/dq_j for j <= i.
        V: dW/dt.
    """

    A: list[Floats]
    dA: list[Floats]
    ddA: list[Floats]
    W: list[Floats]
    U: list[list[Floats]]
    V: list[Floats]


def waters_matrices(arm: Arm, q: ArrayLike, qd: ArrayLike) -> WatersMatrices:
    """A, W, U and V by the recurrences W_i = W_{i-1} A_i, U_ij = U_{i-1,j} A_i, V_i = sum of U_ij qd_j.

    Args:
        arm: a serial arm.
        q, qd: joint coordinates and velocities (n,).
    """
    posture, rates = one_state(arm, "waters_matrices", q=q, qd=qd)
    model = model_of(arm)
    refuse_tree(model, "Waters' matrices")
    made = WatersMatrices([], [], [], [], [], [])
    before = np.eye(4)
    for body, position in zip(model.bodies, posture, strict=True):
        A, dA, ddA = joint_matrices(body, float(position))
        U = [*(inner @ A for inner in (made.U[-1] if made.U else [])), before @ dA]
        before = before @ A
        V = sum((u * rate for u, rate in zip(U, rates, strict=False)), np.zeros((4, 4)))
        for row, value in ((made.A, A), (made.dA, dA), (made.ddA, ddA), (made.W, before), (made.V, V)):
            row.append(value)
        made.U.append(U)
    return made


def joint_matrices(body: RigidBody, q: Scalar) -> tuple[Array, Array, Array]:
    """A, dA/dq and d2A/dq2 of a revolute or prismatic joint."""
    before, after = homogeneous(body.Rb, body.pb), homogeneous(body.Ra, body.pa)
    zero = np.zeros((4, 4))
    if body.revolute:
        c, s = cos_sin(q)
        m0 = np.array([[c, -s, 0.0, 0.0], [s, c, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
        m1 = np.array([[-s, -c, 0.0, 0.0], [c, -s, 0.0, 0.0], [0.0] * 4, [0.0] * 4])
        m2 = np.array([[-c, s, 0.0, 0.0], [-s, -c, 0.0, 0.0], [0.0] * 4, [0.0] * 4])
    else:
        m0 = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, q], [0.0, 0.0, 0.0, 1.0]])
        m1, m2 = zero.copy(), zero
        m1[2, 3] = 1.0
    return before @ m0 @ after, before @ m1 @ after, before @ m2 @ after


def base_rates(base: Base) -> tuple[Array, Array]:
    """dW/dt and d2W/dt2 of a moving base, over any scalar: tilde(w), and tilde(wd) + tilde(w)^2
    with the acceleration.
    """
    spin = tilde(base.w)
    return _rate(spin, np.zeros(3)), _rate(tilde(base.wd) + spin @ spin, base.a)


def _rate(R: Array, p: Array) -> Array:
    return np.vstack([np.hstack([R, p[:, None]]), np.zeros((1, 4))])


def homogeneous(R: Array, p: Array) -> Array:
    """A pose from rotation and position, over any scalar."""
    return np.vstack([np.hstack([R, p[:, None]]), np.array([[0.0, 0.0, 0.0, 1.0]])])
