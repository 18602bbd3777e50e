"""Polynomials on pieces from values and derivatives at their ends."""

from __future__ import annotations

from functools import cache
from math import perm

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@cache
def hermite_matrix(order: int) -> Array:
    """Rising coefficients on 0 <= x <= 1 from (p, p', ..) at 0 and (p, p', ..) at 1, `order` of each:
    (2 order, 2 order).
    """
    size = 2 * order
    ends = np.zeros((size, size))
    for k in range(order):
        ends[k, k] = perm(k, k)
        ends[order + k, k:] = [perm(i, k) for i in range(k, size)]
    # its inverse is of whole numbers and, from the second derivative on, of halves of them
    matrix: Array = np.round(2.0 * np.linalg.inv(ends)) / 2.0
    matrix.flags.writeable = False
    return matrix


def hermite_pieces(breaks: Array, values: Array) -> Array:
    """Coefficients (k, 2 r, n) of the pieces between breaks (k+1,) from values (k+1, r, n):
    q and its derivatives below the r-th.
    """
    return hermite_between(np.diff(breaks), values[:-1], values[1:])


def hermite_between(lengths: Array, begin: Array, end: Array) -> Array:
    """The same for pieces of these lengths (k,) from values at the ends of each, (k, r, n)."""
    order = begin.shape[1]
    h = lengths[:, None, None]
    powers = h ** np.arange(order)[None, :, None]
    ends = np.concatenate([begin * powers, end * powers], axis=1)
    ends[:, order] -= begin[:, 0]  # the difference is exact where the sum of both is not
    ends[:, 0] = 0.0
    pieces: Array = np.einsum("ij,kjn->kin", hermite_matrix(order), ends)
    pieces /= h ** np.arange(2 * order)[None, :, None]
    pieces[:, :order] = begin / np.array([perm(i, i) for i in range(order)])[None, :, None]
    return pieces
