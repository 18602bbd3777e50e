"""The closed form of the equations of motion: tau = D(q) qdd + h_ikm qd_k qd_m + c(q). Dhanaraj A.1; Paul's D
and E.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.dynamics.lagrange import chain_of, kept_derivatives, trace_of_product
from forearm.kinematics.arguments import as_coordinates, one_state
from forearm.model import model_of
from forearm.spatial import Floats
from forearm.values import as_shape, frozen


@frozen
class ClosedForm:
    """The coefficients of the rigid arm at one configuration: tau = D qdd + h qd qd + c.

    Attributes:
        D: inertia matrix (n, n).
        h: (n, n, n) with tau_i = sum of h_ikm qd_k qd_m.
        c: gravity torques (n,).
    """

    D: Floats
    h: Floats
    c: Floats

    def torque(self, qd: ArrayLike, qdd: ArrayLike) -> Floats:
        """D qdd + h qd qd + c.

        Args:
            qd, qdd: joint velocities and accelerations (n,).
        """
        rates, accelerations = as_shape(qd, self.c.shape, "qd"), as_shape(qdd, self.c.shape, "qdd")
        return np.asarray(self.D @ accelerations + self.velocity_torque(rates) + self.c, dtype=np.float64)

    def velocity_torque(self, qd: Floats) -> Floats:
        """h_ikm qd_k qd_m."""
        return np.asarray(np.einsum("ikm,k,m->i", self.h, qd, qd), dtype=np.float64)


def closed_form(arm: Arm, q: ArrayLike) -> ClosedForm:
    """D_ik, h_ikm and c_i of the rigid serial arm. Dhanaraj A.1.

    Args:
        arm: a serial arm.
        q: joint coordinates (n,).
    """
    (posture,) = one_state(arm, "closed_form", q=q)
    model = model_of(arm.rigid())
    n = model.n
    if n == 0:
        return ClosedForm(np.zeros((0, 0)), np.zeros((0, 0, 0)), np.zeros(0))
    chain = chain_of(model, posture.tolist(), [0.0] * n, [0.0] * n, "the closed form")
    U, UU = kept_derivatives(chain)
    D, h, c = np.zeros((n, n)), np.zeros((n, n, n)), np.zeros(n)
    for j in range(n):
        for i in range(j + 1):
            UJ = U[j][i] @ chain.J[j]
            c[i] -= chain.G @ (U[j][i] @ chain.mr[j])
            for k in range(j + 1):
                D[i, k] += trace_of_product(UJ, U[j][k])
                for m in range(j + 1):
                    h[i, k, m] += trace_of_product(UJ, UU(j, k, m))
    return ClosedForm(D, h, c)


def paul(arm: Arm, q: ArrayLike, qd: ArrayLike) -> tuple[Floats, Floats]:
    """Paul's terms of the rigid arm at a state: D, the inertia matrix, and E, everything without
    acceleration. Waters IV.

    Args:
        arm: a serial arm.
        q, qd: joint coordinates and velocities (n,).
    """
    form = closed_form(arm, q)
    return form.D, form.torque(as_coordinates(arm, qd, "qd"), np.zeros(arm.n))
