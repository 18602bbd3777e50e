"""Linear equations over any scalar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from forearm.symbols.scalars import Scalar, Values, maximum

Array = np.ndarray[Any, Any]


def solve_general(A: Array, b: Array) -> Array:
    """x with A x = b over any scalar, by elimination without pivoting:
    for matrices close to a symmetric positive definite one.
    """
    n = len(b)
    U, x = np.array(A, dtype=A.dtype), np.array(b, dtype=A.dtype)
    r = [None] * n  # 1 / the diagonal
    for k in range(n):
        r[k] = 1.0 / U[k, k]
        for i in range(k + 1, n):
            factor = U[i, k] * r[k]
            for j in range(k + 1, n):
                U[i, j] = U[i, j] - factor * U[k, j]
            x[i] = x[i] - factor * x[k]
    for i in reversed(range(n)):
        for j in range(i + 1, n):
            x[i] = x[i] - U[i, j] * x[j]
        x[i] = x[i] * r[i]
    return x


def solve_symmetric(M: Array, b: Array) -> Array:
    """x with M x = b for a symmetric positive definite M,
    by L D L^T over any scalar, with one division per unknown.
    """
    L, r = factor_symmetric(M)
    return solve_upper(L, r, solve_lower(L, np.array(b, dtype=M.dtype)))


def factor_symmetric(M: Array, least: Sequence[Scalar] | None = None) -> tuple[Array, Values]:
    """L, of which only the entries below its unit diagonal are used, and 1 / D with M = L D L^T.

    An entry of D below `least` (n,) is raised to it, as if the diagonal of M were larger by the difference.
    """
    n = len(M)
    V = np.array(M, dtype=M.dtype)  # becomes L D
    L = np.array(M, dtype=M.dtype)
    r = [None] * n
    for j in range(n):
        for i in range(j, n):
            for k in range(j):
                V[i, j] = V[i, j] - L[i, k] * V[j, k]
        r[j] = 1.0 / (V[j, j] if least is None else maximum(V[j, j], least[j]))
        for i in range(j + 1, n):
            L[i, j] = V[i, j] * r[j]
    return L, r


def solve_lower(L: Array, b: Array) -> Array:
    """x with L x = b, (n,) or (n, k), overwriting b."""
    for i in range(len(b)):
        for k in range(i):
            b[i] = b[i] - L[i, k] * b[k]
    return b


def solve_upper(L: Array, r: Values, b: Array) -> Array:
    """x with D L^T x = b, (n,) or (n, k), overwriting b."""
    for i in reversed(range(len(b))):
        b[i] = b[i] * r[i]
        for k in range(i + 1, len(b)):
            b[i] = b[i] - L[k, i] * b[k]
    return b


def inverse_symmetric(M: Array) -> Array:
    """M^-1 for a symmetric positive definite M, (L^-1)^T D^-1 L^-1:
    each entry above the diagonal mirrors the one below it.
    """
    L, r = factor_symmetric(M)
    n = len(M)
    W = np.zeros((n, n), dtype=M.dtype)  # L^-1, below its unit diagonal
    for i in range(n):
        for j in reversed(range(i)):
            W[i, j] = -L[i, j]
            for k in range(j + 1, i):
                W[i, j] = W[i, j] - L[i, k] * W[k, j]
    made = np.zeros((n, n), dtype=M.dtype)
    for i in range(n):
        for j in range(i + 1):
            entry = r[i] if i == j else W[i, j] * r[i]
            for k in range(i + 1, n):
                entry = entry + (W[k, i] * r[k]) * W[k, j]
            made[i, j] = made[j, i] = entry
    return made
