"""Stiff differential equations of a few states solved apart from forearm: Radau IIA of order five by full
Newton steps, its error from the same step in two halves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rates = Callable[[float, Floats], Sequence[float]]
ROOT = math.sqrt(6.0)
C = np.array([(4.0 - ROOT) / 10.0, (4.0 + ROOT) / 10.0, 1.0])
A = np.array(
    [
        [(88.0 - 7.0 * ROOT) / 360.0, (296.0 - 169.0 * ROOT) / 1800.0, (-2.0 + 3.0 * ROOT) / 225.0],
        [(296.0 + 169.0 * ROOT) / 1800.0, (88.0 + 7.0 * ROOT) / 360.0, (-2.0 - 3.0 * ROOT) / 225.0],
        [(16.0 - ROOT) / 36.0, (16.0 + ROOT) / 36.0, 1.0 / 9.0],
    ]
)
MOST_STEPS = 200_000
LARGE = 1e12  # no rate is


def solved(rates: Rates, times: Sequence[float], start: Sequence[float], rtol: float, atol: Floats) -> Floats:
    """y at the times (T,) from y' = rates(t, y), (T, n); each step is wrong by less than rtol |y| + atol.

    Args:
        rates: y' of a time and y.
        times: rising; the first is that of the start.
        start: y there.
        rtol, atol: what a step may be wrong by, atol for each state.
    """
    y, h, rows, steps = np.array(start, dtype=float), 1e-6, [np.array(start, dtype=float)], 0
    for begin, end in pairwise(times):
        t = float(begin)
        while t < end:
            steps += 1
            assert steps < MOST_STEPS, "the equations are too stiff for this, or wrong"
            last = h >= end - t
            length = end - t if last else h
            whole = _step(rates, t, y, length)
            half = None if whole is None else _step(rates, t, y, 0.5 * length)
            made = None if half is None else _step(rates, t + 0.5 * length, half, 0.5 * length)
            if whole is None or made is None:
                h = 0.2 * length
                continue
            error = float(np.max(np.abs(made - whole) / 31.0 / (atol + rtol * np.abs(made))))
            change = min(4.0, max(0.2, 0.9 * (error + 1e-12) ** (-1.0 / 6.0)))
            if error <= 1.0:
                t, y = (float(end) if last else t + length), made + (made - whole) / 31.0
                h = max(h, length * change) if last else length * change
            else:
                h = length * change
        rows.append(y)
    return np.array(rows)


def _step(rates: Rates, t: float, y: Floats, h: float) -> Floats | None:
    """One step, None where Newton's method does not find it."""
    n, first = len(y), np.array(rates(t, y))
    k = np.tile(first, 3)
    J = _jacobian(rates, t, y, first)
    solver = np.linalg.inv(np.eye(3 * n) - h * (A[:, None, :, None] * J[:, None, :]).reshape(3 * n, 3 * n))
    size = np.abs(y) + h * np.abs(first) + 1e-12
    for _ in range(12):
        stages = y + h * (A @ k.reshape(3, n))
        change = solver @ (np.concatenate([rates(t + c * h, s) for c, s in zip(C, stages, strict=True)]) - k)
        k = k + change
        if not np.all(np.abs(k) < LARGE):
            return None
        if np.all(h * np.abs(change.reshape(3, n)) <= 1e-13 * size):
            return np.asarray(y + h * (A[2] @ k.reshape(3, n)))
    return None


def _jacobian(rates: Rates, t: float, y: Floats, at: Floats) -> Floats:
    made = np.zeros((len(y), len(y)))
    for j in range(len(y)):
        moved = y.copy()
        moved[j] += 1e-7 * abs(y[j]) + 1e-11
        made[:, j] = (np.array(rates(t, moved)) - at) / (moved[j] - y[j])
    return made
