"""Choice without branches, over any scalar: floats, arrays entry by entry, and expressions that are traced."""

from __future__ import annotations

from typing import Any

import numpy as np

from forearm.symbols.scalars import ARRAYS, hinge, sign

Scalar = Any


def chosen(where: Scalar, yes: Scalar, no: Scalar) -> Scalar:
    """`yes` where `where` is positive, `no` elsewhere; both finite, as the one not chosen is multiplied by 0."""
    if type(where) is float:  # first, as one plan at a time goes this way
        return yes if where > 0.0 else no
    if isinstance(where, ARRAYS):
        return np.where(where > 0.0, yes, no)
    taken = sign(hinge(where))
    return taken * yes + (1.0 - taken) * no


def least(x: Scalar, y: Scalar) -> Scalar:
    """The smaller of two, to the bit."""
    if type(x) is float and type(y) is float:
        return x if x < y else y
    if isinstance(x, ARRAYS) or isinstance(y, ARRAYS):
        return np.minimum(x, y)
    return chosen(y - x, x, y)


def largest(x: Scalar, y: Scalar) -> Scalar:
    """The larger of two, to the bit."""
    if type(x) is float and type(y) is float:
        return x if x > y else y
    if isinstance(x, ARRAYS) or isinstance(y, ARRAYS):
        return np.maximum(x, y)
    return chosen(x - y, x, y)
