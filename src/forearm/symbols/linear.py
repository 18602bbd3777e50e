"""Linear equations over any scalar."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def solve_general(A: Array, b: Array) -> Array:
    """x with A x = b over any scalar, by elimination without exchanges:
    for matrices near a symmetric positive definite one.
    """
    n = len(b)
    U, x = np.array(A, dtype=A.dtype), np.array(b, dtype=A.dtype)
    r: list[Any] = [None] * n  # 1 / the diagonal
    for k in range(n):
        r[k] = 1.0 / U[k, k]
        for i in range(k + 1, n):
            factor = U[i, k] * r[k]
            for j in range(k + 1, n):
                U[i, j] = U[i, j] - factor * U[k, j]
            x[i] = x[i] - factor * x[k]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] = x[i] - U[i, j] * x[j]
        x[i] = x[i] * r[i]
    return x


def solve_symmetric(M: Array, b: Array) -> Array:
    """x with M x = b for a symmetric positive definite M, by L D L^T over any scalar,
    with one division per unknown.
    """
    n = len(b)
    V = np.array(M, dtype=M.dtype)  # becomes L D
    L = np.array(M, dtype=M.dtype)
    x = np.array(b, dtype=M.dtype)
    r: list[Any] = [None] * n  # 1 / D
    for j in range(n):
        for i in range(j, n):
            for k in range(j):
                V[i, j] = V[i, j] - L[i, k] * V[j, k]
        r[j] = 1.0 / V[j, j]
        for i in range(j + 1, n):
            L[i, j] = V[i, j] * r[j]
    for i in range(n):
        for k in range(i):
            x[i] = x[i] - L[i, k] * x[k]
    for i in range(n - 1, -1, -1):
        x[i] = x[i] * r[i]
        for k in range(i + 1, n):
            x[i] = x[i] - L[k, i] * x[k]
    return x
