"""Polynomials on pieces from values and derivatives at their ends."""

from __future__ import annotations

from functools import cache
from math import comb, factorial

import numpy as np

from forearm.spatial import Floats


@cache
def hermite_matrix(order: int) -> Floats:
    """Ascending coefficients on 0 <= x <= 1 from (p, p', ..) at 0 and (p, p', ..) at 1, `order` of each:
    (2 order, 2 order).
    """
    size = 2 * order
    taylor = np.zeros((size, size))  # from coefficients to p^(k) / k! at both ends
    for k in range(order):
        taylor[k, k] = 1.0
        taylor[order + k, k:] = [comb(i, k) for i in range(k, size)]
    # its inverse consists of integers
    matrix: Floats = np.round(np.linalg.inv(taylor)) / np.tile(_factorials(order), 2)
    matrix.flags.writeable = False
    return matrix


def hermite_pieces(breaks: Floats, values: Floats) -> Floats:
    """Coefficients (k, 2 r, n) of the pieces between breaks (k+1,) from values (k+1, r, n): q and its
    derivatives below the r-th.
    """
    return hermite_between(np.diff(breaks), values[:-1], values[1:])


def hermite_between(lengths: Floats, begin: Floats, end: Floats) -> Floats:
    """The same for pieces of these lengths (k,) from values at the ends of each, (k, r, n)."""
    order = begin.shape[1]
    pieces = hermite_by_share(lengths, begin, end)
    pieces /= lengths[:, None, None] ** np.arange(2 * order)[None, :, None]
    pieces[:, :order] = begin / _factorials(order)[None, :, None]
    return pieces


def hermite_by_share(lengths: Floats, begin: Floats, end: Floats) -> Floats:
    """The same in ascending powers of the fraction 0 <= x <= 1 of each piece."""
    order = begin.shape[1]
    powers = lengths[:, None, None] ** np.arange(order)[None, :, None]
    ends = np.concatenate([begin * powers, end * powers], axis=1)
    ends[:, order] -= begin[:, 0]  # the difference is exact where the sum of both is not
    ends[:, 0] = 0.0
    pieces: Floats = np.einsum("ij,kjn->kin", hermite_matrix(order), ends)
    pieces[:, 0] = begin[:, 0]
    return pieces


def _factorials(count: int) -> Floats:
    return np.array([factorial(k) for k in range(count)], dtype=np.float64)
