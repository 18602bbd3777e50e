"""Portable arithmetic: rounded correctly, by what it did not come from (decimal series, exact fractions)."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forearm import portable
from forearm.symbols import Graph

DIGITS = 80  # of decimals: more than any float needs to be rounded
ANGLES = st.floats(-1e4, 1e4) | st.floats(-1e-6, 1e-6) | st.floats(-1e15, 1e15)
NUMBERS = st.floats(-1e6, 1e6).filter(lambda x: x == 0.0 or abs(x) > 1e-150)


def decimal_cos_sin(x: float) -> tuple[float, float]:
    """By Taylor's series in decimals, the angle made small by halving and made large again by doubling."""
    with localcontext() as context:
        context.prec = DIGITS + 30 + 2 * max(0, math.frexp(x)[1])
        halvings = max(0, math.frexp(x)[1]) + 4
        r = Decimal(x) / 2**halvings
        s = term = r
        k = 1
        while abs(term) > Decimal(10) ** -context.prec * abs(r):
            term *= -r * r / ((k + 1) * (k + 2))
            s, k = s + term, k + 2
        c = (1 - s * s).sqrt()
        for _ in range(halvings):
            c, s = c * c - s * s, 2 * c * s
        return float(c), float(s)


@given(ANGLES)
def test_cosines_and_sines_are_rounded_correctly(x: float) -> None:
    assert portable.cos_sin(x) == decimal_cos_sin(x)
    assert (portable.cos(-x), portable.sin(-x)) == (portable.cos(x), -portable.sin(x))


def test_hard_angles_and_those_at_the_ends() -> None:
    for x in (math.pi, math.pi / 2, 3 * math.pi / 2, 1e22, 2.0**-27, 6381956970095103 * 2.0**797):
        assert portable.cos_sin(x) == decimal_cos_sin(x)
    assert portable.cos_sin(0.0) == (1.0, 0.0)
    assert [math.copysign(1.0, portable.sin(x)) for x in (-0.0, 0.0)] == [-1.0, 1.0]
    assert portable.cos_sin(5e-324) == (1.0, 5e-324)
    assert all(math.isnan(v) for x in (math.inf, -math.inf, math.nan) for v in portable.cos_sin(x))


@pytest.mark.slow
@given(NUMBERS, NUMBERS)
def test_an_angle_is_the_nearest_float(y: float, x: float) -> None:
    """Its neighbours are not nearer: (x, y) lies between the directions half a unit before and behind it."""
    angle = portable.atan2(y, x)
    assert math.copysign(1.0, angle) == math.copysign(1.0, y)
    assert math.isclose(angle, math.atan2(y, x), rel_tol=4e-16, abs_tol=0.0)
    if x == 0.0 or y == 0.0 or abs(y) < 1e-6 * abs(x):
        return
    before, behind = (
        (Fraction(angle) + Fraction(math.nextafter(angle, way))) / 2 for way in (-math.inf, math.inf)
    )
    for middle, side in ((before, 1), (behind, -1)):
        c, s = fraction_cos_sin(middle)
        assert side * (Fraction(y) * c - Fraction(x) * s) > 0


def fraction_cos_sin(x: Fraction) -> tuple[Fraction, Fraction]:
    """To some 1e-60, by series of fractions."""
    c = s = Fraction(0)
    term = Fraction(1)
    for k in range(90):
        c, s = (c + (-1) ** (k // 2) * term, s) if k % 2 == 0 else (c, s + (-1) ** (k // 2) * term)
        term = (term * x / (k + 1)).limit_denominator(10**80)
    return c, s


def test_angles_along_axes_are_those_of_the_c_library() -> None:
    ends = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan)
    for y in ends:
        for x in ends:
            assert repr(portable.atan2(y, x)) == repr(math.atan2(y, x)), (y, x)


@given(st.floats(-740.0, 709.0) | st.floats(-1e-8, 1e-8))
def test_exponentials_are_rounded_correctly(x: float) -> None:
    with localcontext() as context:
        context.prec = DIGITS
        assert portable.exp(x) == float(Decimal(x).exp())


def test_exponentials_at_the_ends() -> None:
    for x, y in ((0.0, 1.0), (-0.0, 1.0), (-800.0, 0.0), (-math.inf, 0.0), (math.inf, math.inf)):
        assert portable.exp(x) == y
    assert math.isnan(portable.exp(math.nan))
    for x in (710.0, 1e300):
        with pytest.raises(OverflowError):
            portable.exp(x)


@given(st.integers(0, 2**32 - 1))
def test_products_are_sums_from_the_first_to_the_last(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, B = (rng.normal(size=(n, m)) * 10.0 ** rng.integers(-8, 8, (n, m)) for n, m in ((4, 3), (3, 5)))
    made = portable.matmul(A, B)
    for i in range(4):
        for j in range(5):
            a, b = A[i].tolist(), B[:, j].tolist()
            assert made[i, j] == a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
            assert made[i, j] == portable.dot(A[i], B[:, j]) == portable.matmul(A[i], B[:, j])
    assert (portable.product(A, B, B.T) == portable.matmul(made, B.T)).all()


def test_products_take_any_scalar() -> None:
    graph = Graph()
    x = graph.input("x")
    made = portable.matmul(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([x, 3.0], dtype=object))
    assert made.dtype == object
    assert made[0].node == (2.0 * x).node
    assert made[1] == 3.0


def test_totals_have_an_order_and_an_end() -> None:
    assert portable.total([0.1] * 10) == 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1
    assert portable.total([1e16, 1.0, -1e16]) == 0.0  # no compensation
    assert portable.total([]) == 0.0
    assert portable.total([2.0], start=1.0) == 3.0


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_weighted_sums(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    w, p = rng.normal(size=count), rng.normal(size=(count, 3))
    assert np.allclose(portable.weighted(w, p), w @ p, rtol=0.0, atol=1e-13)
    assert np.allclose(portable.weighted_squares(w, p), (w * p.T) @ p, rtol=0.0, atol=1e-13)


def test_lengths() -> None:
    assert portable.norm(np.array([2.0, 3.0, 6.0])) == 7.0
    assert portable.hypot(-3.0, 4.0) == 5.0
