"""Arithmetic that rounds the same on every machine, for generated text, counts, plans and cache keys.

NumPy's products of float arrays go through BLAS, which sums in an order of its own on each kind of CPU; sines
go through the CPU's vector unit or the system's C library. Here sums have one order, and sines, cosines and
angles are rounded correctly, from integers. Addition, multiplication, division and square roots of single
numbers are the same everywhere by IEEE 754; `sum` is not (it changed with CPython 3.12), nor are
`math.hypot`, `**` and a random generator's `uniform`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

Array = Any  # NDArray of float64, or of objects that add and multiply
# Behind the binary point: the hardest float needs some 120, and 60 may cancel near multiples of right angles.
BITS = 320
TINY = 1.0 / (1 << 27)  # below it sin x is x and cos x is 1, rounded
LARGEST_EXPONENT = 800.0  # beyond it e^x is no float, or 0


def matmul(A: Array, B: Array) -> Array:
    """A @ B, each entry summed from the first product to the last, as NumPy sums products of objects."""
    made = A.astype(object) @ B.astype(object)
    if A.dtype == object or B.dtype == object:
        return made
    return np.asarray(made, dtype=np.float64) + 0.0  # which makes -0 a 0


def product(*matrices: Array) -> Array:
    """matmul of several, from the left."""
    made = matrices[0]
    for matrix in matrices[1:]:
        made = matmul(made, matrix)
    return made


def total(values: Iterable[Any], start: Any = None) -> Any:
    """The sum from the first to the last, over any scalar; 0 of nothing."""
    made = start
    for value in values:
        made = value if made is None else made + value
    return 0.0 if made is None else made


def weighted(w: Array, p: Array) -> Array:
    """The sum of w_i p_i over the rows of p; like all sums of NumPy along an axis, it has one order."""
    return np.array([np.add.reduce(w * column) for column in p.T])


def weighted_squares(w: Array, p: Array) -> Array:
    """The sum of w_i p_i p_i^T over the rows of p."""
    return np.array([weighted(w * column, p) for column in p.T])


def dot(a: Array, b: Array) -> Any:
    """The scalar product of two vectors, over any scalar."""
    return total(x * y for x, y in zip(a.tolist(), b.tolist(), strict=True))


def norm(v: Array) -> float:
    """The length of a vector."""
    return math.sqrt(dot(v, v))


def hypot(x: float, y: float) -> float:
    """The length of (x, y), for numbers whose squares are floats."""
    return math.sqrt(x * x + y * y)


def cos(x: float) -> float:
    """The cosine, rounded correctly."""
    return cos_sin(float(x))[0]


def sin(x: float) -> float:
    """The sine, rounded correctly."""
    return cos_sin(float(x))[1]


def cos_sin(x: float) -> tuple[float, float]:
    """Cosine and sine, rounded correctly; NaN of what is not finite."""
    if not math.isfinite(x):
        return math.nan, math.nan
    return (1.0, x) if abs(x) < TINY else _kept_cos_sin(x)


@lru_cache(maxsize=4096)
def _kept_cos_sin(x: float) -> tuple[float, float]:
    bits = BITS + max(0, math.frexp(x)[1])
    c, s = _cos_sin(_fixed(x, bits), bits)
    return c / (1 << bits), s / (1 << bits)  # a quotient of whole numbers is rounded correctly


def atan2(y: float, x: float) -> float:
    """The angle of (x, y), rounded correctly: what the C library gives, and one of Newton's steps."""
    near = math.atan2(y, x)
    if x == 0.0 or y == 0.0 or not math.isfinite(x) or not math.isfinite(y):
        return near  # one of a few constants, or NaN
    bits = BITS + max(0, -math.frexp(near)[1])
    numbers = [n * (1 << bits) for n in _whole(x, y)]
    c, s = _cos_sin(_fixed(near, bits), bits)
    tangent = ((numbers[1] * c - numbers[0] * s) << bits) // (numbers[0] * c + numbers[1] * s)
    angle = (
        _fixed(near, bits) + tangent
    )  # the tangent is some 1e-16, its cube beyond the last bit that decides
    return angle / (1 << bits)


@lru_cache(maxsize=4096)
def exp(x: float) -> float:
    """e^x, rounded correctly; OverflowError beyond the largest float."""
    if math.isnan(x) or abs(x) > LARGEST_EXPONENT or abs(x) < TINY * TINY:
        return math.exp(x)  # NaN, infinity, 0 or 1
    doublings, r = divmod(_fixed(x, BITS), _log_2())
    made, term, k = 0, 1 << BITS, 0
    while term:
        made += term
        k += 1
        term = (term * r >> BITS) // k
    return (made << max(0, doublings)) / (1 << BITS - min(0, doublings))


def _fixed(x: float, bits: int) -> int:
    """x times 2^bits, which is whole."""
    over, under = x.as_integer_ratio()
    return (over << bits) // under


def _whole(x: float, y: float) -> tuple[int, int]:
    """Whole numbers in the ratio of two floats."""
    (a, b), (c, d) = x.as_integer_ratio(), y.as_integer_ratio()
    return a * d, c * b


def _cos_sin(x: int, bits: int) -> tuple[int, int]:
    """Cosine and sine of a fixed-point number, to a few units of the last bit."""
    right = _pi(bits) >> 1
    quarters = (2 * x + right) // (2 * right)
    r = x - quarters * right
    square, one = (r * r) >> bits, 1 << bits
    c = s = 0
    term, k = one, 0
    while term:  # (-1)^k r^2k / (2k)!, and the same with one factor r / (2k + 1) more
        c += term
        s += (term * r >> bits) // (2 * k + 1)
        k += 1
        term = -(term * square >> bits) // ((2 * k - 1) * (2 * k))
    return ((c, s), (-s, c), (-c, -s), (s, -c))[quarters % 4]


@lru_cache(maxsize=1)
def _log_2() -> int:
    """log 2 times 2^BITS, by 2 atanh(1/3)."""
    power, made, k = (2 << BITS + 16) // 3, 0, 1
    while power:
        made += power // k
        power //= 9
        k += 2
    return made >> 16


@lru_cache(maxsize=16)
def _pi(bits: int) -> int:
    """pi times 2^bits, by Machin: 16 atan(1/5) - 4 atan(1/239)."""

    def arctangent(over: int) -> int:
        term = made = (1 << bits + 16) // over
        k = 1
        while term:
            term //= -over * over
            k += 2
            made += term // k
        return made

    return (16 * arctangent(5) - 4 * arctangent(239)) >> 16
