"""The regressor: torques are linear in the ten inertial parameters of each body about its origin.
Swartz (5)-(10), Mata (8).

A body needs the force m a + Omega h and the moment h x a + I wd + w x I w about its origin, each linear in m,
h and I; their projections on a joint's partial motions are its torques.
"""

from __future__ import annotations

import numpy as np

from forearm.dynamics.gibbs_appell import motion_of, partials
from forearm.model import AT_REST, Array, Base, Model, Vector, cross, silent, steps, tilde
from forearm.portable import matmul

# mass, first moment, inertia about the body's origin, in the axes of its link's frame
PARAMETERS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
INERTIA_ENTRIES = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))


def regressor(model: Model, q: Vector, qd: Vector, qdd: Vector, base: Base = AT_REST) -> Array:
    """Y with tau = Y pi, one row per joint, ten columns per body in the order of PARAMETERS."""
    at = steps(model, q)
    moving, by = motion_of(model, at, qd, qdd, base, silent), partials(model, at)
    count = len(model.bodies)
    Y = np.zeros((count, 10 * count), dtype=model.bodies[0].Rb.dtype if isinstance(q[0], float) else object)
    for i in range(count):
        w, wd, a = moving.w[i], moving.wd[i], moving.sdd[i]
        spin = _products(wd) + np.array([cross(w, column) for column in _products(w).T]).T
        force = np.column_stack([a, moving.Omega[i], np.zeros((3, 6))])
        moment = np.column_stack([np.zeros(3), -tilde(a), spin])
        for j in by.wd[i]:
            Y[j, 10 * i : 10 * i + 10] = by.sdd[i][j] @ force + by.wd[i][j] @ moment
    return Y


def parameters_of(model: Model) -> Array:
    """The inertial parameters of every body, ten each, about the body's origin."""
    made = []
    for body in model.bodies:
        about = body.I - body.m * matmul(tilde(body.r), tilde(body.r))
        made += [body.m, *(body.m * body.r), *(about[i, j] for i, j in INERTIA_ENTRIES)]
    return np.array(made)


def _products(v: Array) -> Array:
    """K with K (Ixx, Ixy, Iyy, Ixz, Iyz, Izz) = I v."""
    x, y, z = v
    return np.array([[x, y, 0.0, z, 0.0, 0.0], [0.0, x, y, 0.0, z, 0.0], [0.0, 0.0, 0.0, x, y, z]])
