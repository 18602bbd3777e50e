"""Real roots of many polynomials at once, within 0 <= x <= 1."""

from __future__ import annotations

from functools import cache
from math import comb

import numpy as np

from forearm.spatial import Flags, Floats

HALVINGS = 60  # bisections of an interval: a float has 53 bits
ROUNDING = 2.0**-52
NOTHING = 1e-13  # of the sum of |coefficients|: an extremum smaller than this counts as a root


def roots_within(c: Floats) -> Floats:
    """Roots of c[:, 0] + c[:, 1] x + .. within 0 <= x <= 1, (r, d+1) -> (r, d) increasing, padded with NaN.

    Between the roots of its derivative, found recursively, a polynomial has at most one root. Where it
    touches 0, the root of the derivative is its root. The zero polynomial has none.
    """
    found = np.full((len(c), c.shape[1] - 1), np.nan)
    rows = np.flatnonzero(_may_vanish(c))
    if not rows.size or c.shape[1] < 2:
        return found
    c = c[rows]
    bends = roots_within(c[:, 1:] * np.arange(1.0, c.shape[1]))
    edges = np.concatenate([np.zeros((len(c), 1)), bends, np.ones((len(c), 1))], axis=1)
    edges = np.sort(np.where(np.isnan(edges), 1.0, edges), axis=1)
    values = values_within(c, edges)
    values[np.abs(values) <= NOTHING * np.abs(c).sum(axis=1, keepdims=True)] = 0.0
    row, k = np.nonzero(values[:, :-1] * values[:, 1:] < 0.0)
    roots = _between(c[row], edges[row, k], edges[row, k + 1], values[row, k] < 0.0)
    places = np.full((len(c), 2 * edges.shape[1] - 1), np.nan)
    places[:, ::2] = np.where(values == 0.0, edges, np.nan)
    places[row, 2 * k + 1] = roots
    first = np.ones_like(places, dtype=bool)  # 1.0 is the padding for missing roots of the derivative
    first[:, 2::2] = edges[:, 1:] > edges[:, :-1]
    places = np.sort(np.where(first, places, np.nan), axis=1)[:, : found.shape[1]]
    found[rows] = places
    return found


def _between(c: Floats, low: Floats, high: Floats, below: Flags) -> Floats:
    """The root (r,) of each polynomial between two places with values of opposite sign, `below` 0 at the
    lower: Newton steps with bisection as a safeguard.
    """
    x = 0.5 * (low + high)
    slopes, size = c[:, 1:] * np.arange(1.0, c.shape[1]), np.abs(c).sum(axis=1)
    for _ in range(HALVINGS if len(c) else 0):
        value = values_within(c, x[:, None])[:, 0]
        left = (value < 0.0) != below
        low, high = np.where(left, low, x), np.where(left, x, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = x - value / values_within(slopes, x[:, None])[:, 0]
        step = np.where((step > low) & (step < high), step, 0.5 * (low + high))
        settled = (np.abs(step - x) <= 4.0 * ROUNDING) | (np.abs(value) <= ROUNDING * size)
        x = np.where(settled, x, step)
        if settled.all():
            break
    return x


def values_within(c: Floats, x: Floats) -> Floats:
    """(r, d+1) at x (r, k) -> (r, k)."""
    y = np.repeat(c[:, -1:], x.shape[1], axis=1)
    for k in range(c.shape[1] - 2, -1, -1):
        y *= x
        y += c[:, k, None]
    return y


def _may_vanish(c: Floats) -> Flags:
    """Whether the Bernstein coefficients, which bound the values, have both signs."""
    lattice = c @ to_bernstein(c.shape[1]).T
    slack = NOTHING * np.abs(c).sum(axis=1)
    both = (lattice.min(axis=1) <= slack) & (lattice.max(axis=1) >= -slack)
    return np.asarray(both & (slack > 0.0))


@cache
def to_bernstein(size: int) -> Floats:
    """The matrix from power to Bernstein coefficients of degree size - 1: (size, size)."""
    top = size - 1
    return np.array(
        [[comb(i, j) / comb(top, j) if j <= i else 0.0 for j in range(size)] for i in range(size)]
    )
