"""Projection of a load onto physical bodies: ten parameters with a positive semidefinite pseudo-inertia.

P = [[S, h], [h^T, m]] with S = trace(I) / 2 - I about the origin; P belongs to a distribution of mass if and
only if no eigenvalue is negative, which is stronger than positive mass and tensor: it includes the triangle
inequality.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.identification.cone_program import Cone, nearest_point, packed
from forearm.identification.payload.regressor import entries_of, tensor_of
from forearm.spatial import parallel_axis

Floats = NDArray[np.float64]
KNOWN = 1e-14  # of the largest eigenvalue of the information: smaller ones carry no information
PULL = 1e-6  # of the smallest informative one: regularisation of the rest
POSITIVE = 1e-12  # of the trace: negative eigenvalues above minus this are rounding errors


def pseudo_inertia(pi: Floats) -> Floats:
    """P (4, 4) of the ten parameters."""
    tensor = tensor_of(pi[4:])
    P = np.empty((4, 4))
    P[:3, :3] = 0.5 * np.trace(tensor) * np.eye(3) - tensor
    P[:3, 3] = P[3, :3] = pi[1:4]
    P[3, 3] = pi[0]
    return P


def is_physical(pi: Floats, lengths: Floats) -> bool:
    """Whether masses could have these parameters; `lengths` (4,) scale the entries of P."""
    P = pseudo_inertia(pi) / np.outer(lengths, lengths)
    return bool(pi[0] > 0.0 and np.linalg.eigvalsh(P)[0] >= -POSITIVE * max(float(np.trace(P)), 0.0))


def nearest_physical(theta: Floats, information: Floats, A: Floats, b: Floats, lengths: Floats) -> Floats:
    """P of the most likely body, pi = A x + b: the minimum of (x - theta)^T H (x - theta) with P >= 0.

    A describes an unknown inertia, and known or unknown mass and first moments.
    """
    scale = 1.0 / np.outer(lengths, lengths)
    K = packed(np.array([pseudo_inertia(column) * scale for column in A.T])).T
    units = 1.0 / np.linalg.norm(K, axis=0)  # scale each unknown to change P by 1
    values, V = np.linalg.eigh(information * np.outer(units, units))
    known = values > KNOWN * values[-1]
    weak = PULL * (values[known][0] if known.any() else 1.0)
    roots = np.sqrt(np.where(known, values, weak))
    # coordinates y in which the most likely is the nearest
    cone = Cone(1, ((K * units) @ V) / roots, packed(pseudo_inertia(b) * scale))
    d, start = (roots * (V.T @ (x / units)) for x in (theta, _inside(theta, A, b, lengths)))
    P, _ = cone.parts(nearest_point(d, cone, start).slack)
    return np.asarray(P[0] / scale)


def _inside(theta: Floats, A: Floats, b: Floats, lengths: Floats) -> Floats:
    """Unknowns of a body: with mass, and with enough inertia for its first moments."""
    scale = 1.0 / np.outer(lengths, lengths)
    made, size = theta.copy(), float(np.abs(pseudo_inertia(A @ theta + b) * scale).max())
    if A[0].any():
        k, mass = int(np.argmax(np.abs(A[0]))), float((A @ theta + b)[0])
        made[k] += (max(mass, size * lengths[3] ** 2) - mass) / A[0, k]
    P = pseudo_inertia(A @ made + b) * scale
    short = size - float(np.linalg.eigvalsh(P[:3, :3] - np.outer(P[:3, 3], P[:3, 3]) / P[3, 3])[0])
    if short > 0.0:
        ball = parameters_of_body(0.0, np.zeros(3), 2.0 * short * float(np.max(lengths[:3])) ** 2 * np.eye(3))
        made += np.linalg.lstsq(A, ball, rcond=None)[0]
    return made


def body_of(P: Floats) -> tuple[float, Floats, Floats]:
    """Mass, centre of mass and inertia about it of a pseudo-inertia; zeros if the mass is 0."""
    m = float(P[3, 3])
    if m <= 0.0:
        return 0.0, np.zeros(3), np.zeros((3, 3))
    com = P[:3, 3] / m
    values, vectors = np.linalg.eigh(P[:3, :3] - m * np.outer(com, com))
    S = (vectors * np.maximum(values, 0.0)) @ vectors.T
    inertia = np.trace(S) * np.eye(3) - S
    return m, com, 0.5 * (inertia + inertia.T)


def parameters_of_body(mass: float, com: Floats, inertia: Floats) -> Floats:
    """The ten parameters of a body about the origin."""
    return np.array([mass, *(mass * com), *entries_of(inertia + parallel_axis(mass, com))])
