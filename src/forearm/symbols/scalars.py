"""Functions of any scalar: floats, arrays entry by entry, expressions, and other types with arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from forearm.portable import atan2 as atan2_of_floats
from forearm.portable import cos as cos_of_float
from forearm.portable import exp as exp_of_float
from forearm.portable import sin as sin_of_float
from forearm.symbols.graph import REAL, Expr, chosen, square_root
from forearm.symbols.table import LookupTable

Scalar = Any
Values = list[Scalar]
ARRAYS = (np.ndarray, np.floating)  # built once, not at every call


def objects(values: Any) -> Any:
    """An array of any scalars."""
    return np.array(values, dtype=object)


def same(x: Any, y: Any) -> bool:
    """Whether two scalars, numbers or expressions, are known to be equal."""
    if isinstance(x, Expr) and isinstance(y, Expr):
        return x.node == y.node and x.negative is y.negative
    return isinstance(x, REAL) and isinstance(y, REAL) and x == y


def is_zero(x: Any) -> bool:
    """Whether a scalar is known to be 0."""
    return isinstance(x, REAL) and x == 0


def sign(x: Scalar) -> Scalar:
    """-1, 0 or 1."""
    if isinstance(x, ARRAYS):
        return _by_entry(sign, x) if _has_symbols(x) else np.sign(x)
    return (x > 0.0) - (x < 0.0) + 0.0 if isinstance(x, REAL) else x.sign()


def rounded(x: Scalar) -> Scalar:
    """The nearest integer, ties to even."""
    if _has_symbols(x):
        return _by_entry(rounded, x)
    return x.rint() if isinstance(x, Expr) else np.rint(x)


def root(x: Scalar) -> Scalar:
    """The square root."""
    if type(x) is float:
        return square_root(x)
    if isinstance(x, ARRAYS):
        return _by_entry(root, x) if _has_symbols(x) else np.sqrt(x)
    return square_root(x) if isinstance(x, REAL) else x.sqrt()


def exp(x: Scalar) -> Scalar:
    """e^x."""
    if isinstance(x, ARRAYS):
        return _by_entry(exp, x) if _has_symbols(x) else np.exp(x)
    return exp_of_float(x) if isinstance(x, REAL) else x.exp()


def hinge(x: Scalar) -> Scalar:
    """x where it is positive, 0 elsewhere."""
    return 0.5 * (x + abs(x))


def choose(a: Scalar, b: Scalar, x: Scalar, y: Scalar) -> Scalar:
    """x where a < b, else y."""
    if type(a) is float and type(b) is float:
        return x if a < b else y
    if type(a) is np.ndarray and a.dtype != object:
        return np.where(a < b, x, y)
    if _has_symbols(a, b, x, y):
        return _by_entry(choose, a, b, x, y)
    for value in (a, b, x, y):
        if isinstance(value, Expr):
            return chosen(value.graph, a, b, x, y)
    if any(isinstance(value, np.ndarray) for value in (a, b, x, y)):
        return np.where(np.less(a, b), x, y)
    return x if a < b else y


def maximum(x: Scalar, y: Scalar) -> Scalar:
    """The greater of two; for arrays NaN where either is."""
    if type(x) is float and type(y) is float:
        return x if y < x else y
    if (isinstance(x, ARRAYS) or isinstance(y, ARRAYS)) and not _has_symbols(x, y):
        return np.maximum(x, y)
    return choose(y, x, x, y)


def minimum(x: Scalar, y: Scalar) -> Scalar:
    """The smaller of two; for arrays NaN where either is."""
    if type(x) is float and type(y) is float:
        return x if x < y else y
    if (isinstance(x, ARRAYS) or isinstance(y, ARRAYS)) and not _has_symbols(x, y):
        return np.minimum(x, y)
    return choose(x, y, x, y)


def quantised(x: Scalar, step: Scalar, lowest: float | None = None, highest: float | None = None) -> Scalar:
    """The nearest multiple of a step, clamped to `lowest` to `highest` times the step if given."""
    level = rounded(x / step)
    if lowest is not None and highest is not None:
        level = minimum(maximum(level, lowest), highest)
    return level * step


def look_up(table: LookupTable, x: Scalar) -> Scalar:
    """A table's value at x."""
    return x.looked_up(table) if isinstance(x, Expr) else table.at(x)


def sin(x: Scalar) -> Scalar:
    """The sine."""
    if isinstance(x, ARRAYS):
        return _by_entry(sin, x) if _has_symbols(x) else np.sin(x)
    return sin_of_float(x) if isinstance(x, REAL) else x.sin()


def cos(x: Scalar) -> Scalar:
    """The cosine."""
    if isinstance(x, ARRAYS):
        return _by_entry(cos, x) if _has_symbols(x) else np.cos(x)
    return cos_of_float(x) if isinstance(x, REAL) else x.cos()


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """The angle of (x, y), from -pi to pi."""
    if isinstance(x, ARRAYS) or isinstance(y, ARRAYS):
        return _by_entry(atan2, y, x) if _has_symbols(y, x) else np.arctan2(y, x)
    if isinstance(x, REAL) and isinstance(y, REAL):
        return atan2_of_floats(y, x)
    return x.graph.constant(y).arctangent(x) if isinstance(y, REAL) else y.arctangent(x)


def _has_symbols(*given: Scalar) -> bool:
    """Whether one of them is an array of symbols, which NumPy cannot compare and whose numbers lack sin()."""
    return any(isinstance(x, np.ndarray) and x.dtype == object for x in given)


def _by_entry(function: Callable[..., Scalar], *given: Scalar) -> Scalar:
    return np.frompyfunc(function, len(given), 1)(*given)
