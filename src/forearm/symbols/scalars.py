"""Functions of any scalar: floats, arrays of floats entry by entry, expressions,
and whatever else computes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from forearm.portable import atan2, cos, exp, sin
from forearm.symbols.graph import (
    ABS,
    ADD,
    ATAN2,
    COS,
    DIV,
    EXP,
    MUL,
    REAL,
    SIGN,
    SIN,
    SQRT,
    SUB,
    Expr,
    square_root,
)

Scalar = Any
ARRAYS = (np.ndarray, np.floating)  # not made anew at every call


def same(x: Any, y: Any) -> bool:
    """Whether two scalars are known to be equal, be they numbers or expressions."""
    if isinstance(x, Expr) and isinstance(y, Expr):
        return x.node == y.node and x.negative is y.negative
    return isinstance(x, REAL) and isinstance(y, REAL) and x == y


def is_zero(x: Any) -> bool:
    """Whether a scalar is known to be 0."""
    return isinstance(x, REAL) and x == 0


def sign(x: Scalar) -> Scalar:
    """-1, 0 or 1."""
    if isinstance(x, ARRAYS):
        return np.sign(x)
    return (x > 0.0) - (x < 0.0) + 0.0 if isinstance(x, REAL) else x.sign()


def root(x: Scalar) -> Scalar:
    """The square root."""
    if isinstance(x, ARRAYS):
        return np.sqrt(x)
    return square_root(x) if isinstance(x, REAL) else x.sqrt()


def exponential(x: Scalar) -> Scalar:
    """e^x."""
    if isinstance(x, ARRAYS):
        return np.exp(x)
    return exp(x) if isinstance(x, REAL) else x.exp()


def hinge(x: Scalar) -> Scalar:
    """x where it is positive, 0 elsewhere."""
    return 0.5 * (x + abs(x))


def sine(x: Scalar) -> Scalar:
    """The sine."""
    if isinstance(x, ARRAYS):
        return np.sin(x)
    return sin(x) if isinstance(x, REAL) else x.sin()


def cosine(x: Scalar) -> Scalar:
    """The cosine."""
    if isinstance(x, ARRAYS):
        return np.cos(x)
    return cos(x) if isinstance(x, REAL) else x.cos()


def arctangent(y: Scalar, x: Scalar) -> Scalar:
    """The angle of (x, y), from -pi to pi."""
    if isinstance(x, ARRAYS) or isinstance(y, ARRAYS):
        return np.arctan2(y, x)
    if isinstance(x, REAL) and isinstance(y, REAL):
        return atan2(y, x)
    return x.graph.constant(y).arctangent(x) if isinstance(y, REAL) else y.arctangent(x)


OPERATIONS: dict[int, Callable[..., Scalar]] = {
    MUL: operator.mul,
    ADD: operator.add,
    SUB: operator.sub,
    DIV: operator.truediv,
    ATAN2: arctangent,
    SQRT: root,
    COS: cosine,
    SIN: sine,
    SIGN: sign,
    ABS: abs,
    EXP: exponential,
}


def operate(kind: int, *operands: Scalar) -> Scalar:
    """An operation of the graph by its kind, on expressions and plain numbers."""
    return OPERATIONS[kind](*operands)
