"""Choice over floats and over arrays, entry by entry: the bits are the same."""

from __future__ import annotations

from typing import Any

import numpy as np

Scalar = Any  # a float or an array


def chosen(where: Scalar, yes: Scalar, no: Scalar) -> Scalar:
    """`yes` where `where` is positive, `no` elsewhere."""
    if type(where) is float:
        return yes if where > 0.0 else no
    return np.where(where > 0.0, yes, no)


def least(x: Scalar, y: Scalar) -> Scalar:
    """The smaller of two."""
    if type(x) is float and type(y) is float:
        return x if x < y else y
    return np.minimum(x, y)


def largest(x: Scalar, y: Scalar) -> Scalar:
    """The larger of two."""
    if type(x) is float and type(y) is float:
        return x if x > y else y
    return np.maximum(x, y)
