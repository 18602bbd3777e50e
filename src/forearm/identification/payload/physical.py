"""The nearest load that a body can have: ten parameters whose pseudo-inertia is positive semidefinite.

P = [[S, h], [h^T, m]] with S = trace(I) / 2 - I about the origin; P is that of masses if and only if no
eigenvalue is negative, which is more than a positive mass and tensor: the triangle inequality holds too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.identification.payload.regressor import entries_of, tensor_of
from forearm.spatial import parallel_axis

Floats = NDArray[np.float64]
STEPS = 4000
CLOSE = 1e-12  # of the largest entry: two steps that differ by less are the end
POSITIVE = 1e-12  # of the trace: eigenvalues above minus this are none that rounding did not make


def pseudo_inertia(pi: Floats) -> Floats:
    """P (4, 4) of the ten parameters."""
    tensor = tensor_of(pi[4:])
    P = np.empty((4, 4))
    P[:3, :3] = 0.5 * np.trace(tensor) * np.eye(3) - tensor
    P[:3, 3] = P[3, :3] = pi[1:4]
    P[3, 3] = pi[0]
    return P


def is_physical(pi: Floats, lengths: Floats) -> bool:
    """Whether masses could have these parameters; `lengths` (4,) bring the entries of P to one scale."""
    P = pseudo_inertia(pi) / np.outer(lengths, lengths)
    return bool(pi[0] > 0.0 and np.linalg.eigvalsh(P)[0] >= -POSITIVE * max(float(np.trace(P)), 0.0))


def nearest_physical(theta: Floats, information: Floats, A: Floats, b: Floats, lengths: Floats) -> Floats:
    """P of the body whose parameters pi = A theta + b are the most likely:
    least (x - theta)^T H (x - theta) with P >= 0.

    Steps alternate between the quadratic and the cone (the method of multipliers);
    what is given back lies in the cone.
    """
    scale = 1.0 / np.outer(lengths, lengths)
    K = np.array([(pseudo_inertia(column) * scale).ravel() for column in A.T]).T
    k = (pseudo_inertia(b) * scale).ravel()
    units = 1.0 / np.linalg.norm(K, axis=0)  # each unknown moves P by 1
    K, H, wanted = K * units, information * np.outer(units, units), theta / units
    eigenvalues = np.linalg.eigvalsh(H)
    known = eigenvalues[eigenvalues > 1e-14 * eigenvalues[-1]]
    H = H / np.sqrt(known[0] * known[-1])
    solver, right = np.linalg.inv(H + K.T @ K), H @ wanted
    z, u = _clipped(K @ wanted + k), np.zeros(16)
    for _ in range(STEPS):
        x = solver @ (right + K.T @ (z - u - k))
        at = K @ x + k
        before, z = z, _clipped(at + u)
        u += at - z
        if max(np.abs(z - before).max(), np.abs(at - z).max()) <= CLOSE * max(np.abs(z).max(), 1e-300):
            break
    return np.asarray(z.reshape(4, 4) / scale)


def body_of(P: Floats) -> tuple[float, Floats, Floats]:
    """Mass, centre of mass and inertia about it of a pseudo-inertia; nothing where the mass is nothing."""
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


def _clipped(flat: Floats) -> Floats:
    values, vectors = np.linalg.eigh(flat.reshape(4, 4))
    return np.asarray(((vectors * np.maximum(values, 0.0)) @ vectors.T).ravel())
