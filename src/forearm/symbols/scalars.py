"""Functions of any scalar: floats, arrays of floats entry by entry, expressions, and whatever else computes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from forearm.symbols.graph import ATAN2, operate

Scalar = Any
ARRAYS, REAL = (np.ndarray, np.floating), (float, int)  # not made anew at every call


def sign(x: Scalar) -> Scalar:
    """-1, 0 or 1."""
    if isinstance(x, ARRAYS):
        return np.sign(x)
    return (x > 0.0) - (x < 0.0) + 0.0 if isinstance(x, REAL) else x.sign()


def root(x: Scalar) -> Scalar:
    """The square root."""
    if isinstance(x, ARRAYS):
        return np.sqrt(x)
    return math.sqrt(x) if isinstance(x, REAL) else x.sqrt()


def exponential(x: Scalar) -> Scalar:
    """e^x."""
    if isinstance(x, ARRAYS):
        return np.exp(x)
    return math.exp(x) if isinstance(x, REAL) else x.exp()


def hinge(x: Scalar) -> Scalar:
    """x where it is positive, 0 elsewhere."""
    return 0.5 * (x + abs(x))


def sine(x: Scalar) -> Scalar:
    """The sine."""
    if isinstance(x, ARRAYS):
        return np.sin(x)
    return math.sin(x) if isinstance(x, REAL) else x.sin()


def cosine(x: Scalar) -> Scalar:
    """The cosine."""
    if isinstance(x, ARRAYS):
        return np.cos(x)
    return math.cos(x) if isinstance(x, REAL) else x.cos()


def arctangent(y: Scalar, x: Scalar) -> Scalar:
    """The angle of (x, y), from -pi to pi."""
    if isinstance(x, ARRAYS) or isinstance(y, ARRAYS):
        return np.arctan2(y, x)
    if isinstance(x, REAL) and isinstance(y, REAL):
        return math.atan2(y, x)
    return operate(ATAN2, y, x)
