"""Block tridiagonal systems, for splines through many points."""

from __future__ import annotations

import numpy as np

from forearm.spatial import Floats

FEW = 8  # blocks below which the system is solved densely


def solve_symmetric(diagonal: Floats, upper: Floats, wanted: Floats) -> Floats:
    """Solve D_i x_i + U_i x_(i+1) + U_(i-1)^T x_(i-1) = wanted_i for x (m, b, n), positive definite.

    By cyclic reduction: every second block is eliminated, all in one step, until few are left. One step of
    iterative refinement removes the rounding error of the elimination.

    Args:
        diagonal: D (m, b, b), symmetric.
        upper: U (m - 1, b, b).
        wanted: right-hand sides (m, b, n).
    """
    scale = 1.0 / np.sqrt(np.einsum("mii->mi", diagonal))
    D = diagonal * scale[:, :, None] * scale[:, None, :]
    U = upper * scale[:-1, :, None] * scale[1:, None, :]
    b = wanted * scale[:, :, None]
    x = _reduced(D, U, b)
    x += _reduced(D, U, b - _product(D, U, x))
    return np.asarray(x * scale[:, :, None])


def _product(D: Floats, U: Floats, x: Floats) -> Floats:
    y = D @ x
    y[:-1] += U @ x[1:]
    y[1:] += np.swapaxes(U, 1, 2) @ x[:-1]
    return y


def _reduced(D: Floats, U: Floats, b: Floats) -> Floats:
    """Cyclic reduction; unknowns at odd indices follow from those at even ones."""
    m, size = D.shape[:2]
    if m <= FEW:
        return _dense(D, U, b)
    odd = np.arange(1, m, 2)
    inside = odd + 1 < m  # whether a block follows
    inverse = np.linalg.inv(D[odd])
    left = inverse @ np.swapaxes(U[odd - 1], 1, 2)  # x_odd = own - left x_(odd-1) - right x_(odd+1)
    right = np.zeros_like(left)
    right[inside] = inverse[inside] @ U[odd[inside]]
    own = inverse @ b[odd]
    even_D, even_b = D[::2].copy(), b[::2].copy()
    rows = np.arange(len(odd))
    even_D[rows] -= U[odd - 1] @ left
    even_b[rows] -= U[odd - 1] @ own
    after = np.swapaxes(U[odd[inside]], 1, 2)
    even_D[rows[inside] + 1] -= after @ right[inside]
    even_b[rows[inside] + 1] -= after @ own[inside]
    even_U = -(U[odd[inside] - 1] @ right[inside])
    even = _reduced(even_D, even_U, even_b)
    x = np.empty((m, size, b.shape[2]))
    x[::2] = even
    x[odd] = own - left @ even[rows]
    x[odd[inside]] -= right[inside] @ even[rows[inside] + 1]
    return x


def _dense(D: Floats, U: Floats, b: Floats) -> Floats:
    m, size, n = b.shape
    A = np.zeros((m, size, m, size))
    for i in range(m):
        A[i, :, i] = D[i]
        if i + 1 < m:
            A[i, :, i + 1] = U[i]
            A[i + 1, :, i] = U[i].T
    return np.asarray(np.linalg.solve(A.reshape(m * size, m * size), b.reshape(m * size, n))).reshape(b.shape)
