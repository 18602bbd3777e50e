"""The few functions that friction needs, over floats, arrays, symbols and whatever else computes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Scalar = Any


def sign(x: Scalar) -> Scalar:
    """-1, 0 or 1."""
    if isinstance(x, np.ndarray | np.floating):
        return np.sign(x)
    return (x > 0.0) - (x < 0.0) + 0.0 if isinstance(x, float | int) else x.sign()


def root(x: Scalar) -> Scalar:
    """The square root."""
    if isinstance(x, np.ndarray | np.floating):
        return np.sqrt(x)
    return math.sqrt(x) if isinstance(x, float | int) else x.sqrt()


def exponential(x: Scalar) -> Scalar:
    """e^x."""
    if isinstance(x, np.ndarray | np.floating):
        return np.exp(x)
    return math.exp(x) if isinstance(x, float | int) else x.exp()


def hinge(x: Scalar) -> Scalar:
    """x where it is positive, 0 elsewhere."""
    return 0.5 * (x + abs(x))
