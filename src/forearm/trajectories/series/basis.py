"""Basis functions of time for series motions: Fourier, and quintic B-splines, with four derivatives.

The Fourier functions are cos(h w t) - 1 and sin(h w t), h = 1..H, w = 2 pi / duration: they end as they
begin, and are at rest there if sum h^2 a_h = 0 for the cosines and sum h b_h = 0 for the sines. Of the
B-splines on uniform knots the first and the last three are omitted, so that the series rests at both ends.
"""

from __future__ import annotations

import numpy as np

from forearm.spatial import Floats

BASES = ("fourier", "spline")
DEGREE = 5
Derivatives = tuple[Floats, Floats, Floats]


def function_count(basis: str, harmonics: int) -> int:
    """Number of functions of a series: with the same number of degrees of freedom for both bases, 2 H - 2."""
    return 2 * harmonics if basis == "fourier" else 2 * harmonics - 2


def resting(basis: str, count: int) -> Floats:
    """Orthonormal combinations (count, f) of the functions that begin and end at rest."""
    if basis == "spline":
        return np.eye(count)
    h = np.arange(1.0, count // 2 + 1)
    conditions = np.zeros((2, count))
    conditions[0, : len(h)], conditions[1, len(h) :] = h * h, h
    return np.linalg.svd(conditions)[2][2:].T


def series_functions(basis: str, count: int, duration: float, t: Floats) -> Derivatives:
    """The functions and their first and second derivatives at times (m,): (m, count) each."""
    functions, first, second = series_derivatives(basis, count, duration, t, 3)
    return functions, first, second


def series_derivatives(basis: str, count: int, duration: float, t: Floats, orders: int) -> list[Floats]:
    """The functions and their derivatives below an order up to 5, all continuous inside."""
    if basis == "fourier":
        return _fourier(count // 2, duration, t)[:orders]
    return _splines(count, duration, t, orders)


def spline_knots(count: int) -> Floats:
    """The breakpoints of this many B-splines, from 0 to 1."""
    return np.linspace(0.0, 1.0, count + 2)


def _fourier(harmonics: int, duration: float, t: Floats) -> list[Floats]:
    h = np.arange(1.0, harmonics + 1)
    w = 2.0 * np.pi / duration * h
    # by fractions of the period: full turns cause no rounding error at its end
    angle = 2.0 * np.pi * np.mod(np.outer(t / duration, h), 1.0)
    c, s = np.cos(angle), np.sin(angle)
    return [
        np.concatenate([c - 1.0, s], axis=1),
        np.concatenate([-w * s, w * c], axis=1),
        np.concatenate([-w * w * c, -w * w * s], axis=1),
        np.concatenate([w**3 * s, -(w**3) * c], axis=1),
        np.concatenate([w**4 * c, w**4 * s], axis=1),
    ]


def _splines(count: int, duration: float, t: Floats, orders: int) -> list[Floats]:
    knots = np.concatenate([np.zeros(DEGREE), spline_knots(count), np.ones(DEGREE)])
    u = t / duration
    inner = slice(3, 3 + count)
    made = [_bsplines(DEGREE, knots, u)[:, inner]]
    slopes: Floats | None = None
    for order in range(1, orders):
        step = _slopes(DEGREE + 1 - order, knots)
        slopes = step if slopes is None else step @ slopes
        made.append((_bsplines(DEGREE - order, knots, u) @ slopes)[:, inner] / duration**order)
    return made


def _bsplines(degree: int, knots: Floats, u: Floats) -> Floats:
    """All B-splines of a degree on knots, at places (m,), by the Cox-de Boor recursion."""
    k = np.clip(np.searchsorted(knots, u, side="right") - 1, DEGREE, len(knots) - DEGREE - 2)
    made: Floats = (np.arange(len(knots) - 1) == k[:, None]).astype(np.float64)
    for d in range(1, degree + 1):
        rising = (u[:, None] - knots[: -d - 1]) * _inverse(knots[d:-1] - knots[: -d - 1])
        falling = (knots[d + 1 :] - u[:, None]) * _inverse(knots[d + 1 :] - knots[1:-d])
        made = rising * made[:, :-1] + falling * made[:, 1:]
    return made


def _slopes(degree: int, knots: Floats) -> Floats:
    """Coefficients of the derivatives of B-splines of a degree in those of one degree less, (count + 1,
    count).
    """
    count = len(knots) - degree - 1
    by = degree * _inverse(knots[degree : degree + count + 1] - knots[: count + 1])
    made = np.zeros((count + 1, count))
    index = np.arange(count)
    made[index, index], made[index + 1, index] = by[:-1], -by[1:]
    return made


def _inverse(lengths: Floats) -> Floats:
    """1 / length, 0 where knots coincide."""
    return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)
