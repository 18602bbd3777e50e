"""Sine and cosine as vector code, against whole numbers and the C library in extended precision,
and where forms change.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from kernels.compiling import errors_in_ulp, evaluated

import forearm as fa
from forearm.kernels.native import host
from forearm.kernels.vectors import Target
from forearm.symbols import Graph

TRUE_ULP = 1.5  # of the result itself, however small; 1.38 and 1.47 were seen
FAR_ULP = (
    2.0  # the same up to the limit, where the angle is reduced to a little more than pi/4; 1.74 was seen
)
WITHOUT_FUSED = 2.0  # the same on machines without fused multiply-add; 1.65 was seen
BITS = 300  # behind the point, of whole numbers that stand for reals


def sine_and_cosine(dtype: str, x: Any, lanes: int | None = None, target: Target | None = None) -> Any:
    graph = Graph()
    angle = graph.input("x[0]")
    return evaluated(graph, [angle.sin(), angle.cos()], x, target or host(dtype, lanes))


@pytest.mark.parametrize(("dtype", "largest"), [("float64", 1e5), ("float32", 1e3)])
def test_within_two_units_in_the_last_place(dtype: str, largest: float) -> None:
    """Of the result, at least of 1e-3 of 1 near zeros."""
    rng = np.random.default_rng(0)
    quarters = np.arange(-2000, 2000) * (np.pi / 4.0)
    near = np.concatenate([quarters + d for d in (0.0, 1e-9, -1e-9, 1e-4)])
    spread = [rng.uniform(-s, s, 20000) for s in (1e-6, 0.8, 4.0, 100.0, largest)]
    x = np.concatenate([*spread, near[np.abs(near) < largest], [0.0, largest, -largest]]).astype(dtype)
    long = x.astype(np.longdouble)
    errors = errors_in_ulp(sine_and_cosine(dtype, x), np.stack([np.sin(long), np.cos(long)], axis=1), 1e-3)
    assert errors.max() <= (2.0 if host(dtype).fused else 2.5)


def test_far_away_digits_are_lost_slowly_without_fused_multiply_add() -> None:
    """In double precision, where the parts of pi/2 are short: as if the angle were one of its neighbours."""
    x = np.random.default_rng(1).uniform(-1e12, 1e12, 2000)
    found = sine_and_cosine("float64", x, target=replace(host("float64"), fused=False))
    truth = np.array([exact(float(one)) for one in x], dtype=float)
    assert (np.abs(found - truth).max(axis=1) < np.spacing(np.abs(x))).all()


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize(("dtype", "digits", "largest"), [("float64", 48, 300), ("float32", 20, 38)])
def test_beyond_the_limit_there_is_no_sine(dtype: str, digits: int, largest: int, fused: bool) -> None:
    """Never noise: a number where there is a sine, NaN where there is none."""
    if fused and not host(dtype).fused:
        pytest.skip("this machine has no fused multiply-add")
    target = replace(host(dtype), fused=fused)
    limit = 2.0**digits * math.pi / 2.0
    sizes = 10.0 ** np.random.default_rng(1).uniform(math.log10(limit), largest, 2000)
    beyond = np.concatenate([[1.000001 * limit], sizes * 1.000001])
    below = np.linspace(0.9 * limit, 0.999999 * limit, 2000)
    for sign in (1.0, -1.0):
        assert np.isnan(sine_and_cosine(dtype, sign * beyond, target=target)).all()
        circle = (sine_and_cosine(dtype, sign * below, target=target).astype(float) ** 2).sum(axis=1)
        assert np.abs(circle - 1.0).max() < 1e-6


@pytest.mark.slow
def test_a_kernel_at_large_angles() -> None:
    """Right at the angles that single precision has, up to the limit; beyond it NaN."""
    arm = random_arm(5, 3, prismatic=False)
    q = np.random.default_rng(3).uniform(-1.6e6, 1.6e6, (200, 3)).astype("float32")
    k = fa.compile(arm, dtype="float32")
    truth = fa.dynamics.gravity(arm, q.astype(float))
    assert np.abs(k.gravity(q) - truth).max() < 1e-5 * np.abs(truth).max()
    q[:, 1] = 1e7
    assert np.isnan(k.gravity(q)).any(axis=1).all()
    assert np.isnan(k.gravity(q[0])).any()


def test_small_and_special() -> None:
    y = sine_and_cosine("float64", [0.0, 1e-300, 5e-324, -1e-20, np.nan, np.inf, -np.inf, 1.0])
    assert y[:4, 0].tolist() == [0.0, 1e-300, 5e-324, -1e-20]
    assert y[:4, 1].tolist() == [1.0] * 4
    assert np.isnan(y[4:7]).all()
    assert abs(y[7, 0] - np.sin(1.0)) < 2e-16


def test_every_width_has_the_same_bits() -> None:
    x = np.random.default_rng(2).uniform(-50.0, 50.0, 1001)
    one = sine_and_cosine("float64", x, 1)
    for lanes in (2, 4, 8, 16):
        assert np.array_equal(sine_and_cosine("float64", x, lanes), one)


def arctangent(n: int) -> int:
    """arctan(1 / n) by its series, in units of 2^-BITS."""
    total = term = (1 << (BITS + 20)) // n
    k, sign = 1, -1
    while term:
        term //= n * n
        k += 2
        total, sign = total + sign * (term // k), -sign
    return total >> 20


HALF_PI = 2 * (4 * arctangent(5) - arctangent(239))  # Machin


def exact(x: float) -> tuple[Fraction, Fraction]:
    """Sine and cosine with whole numbers: the angle less quarters of a turn, then both series."""
    fraction = Fraction(x)
    value = (fraction.numerator << BITS) // fraction.denominator
    quarter = (2 * value + HALF_PI) // (2 * HALF_PI)
    r = value - quarter * HALF_PI
    sums = []
    for term, k in ((r, 2), (1 << BITS, 1)):
        total = 0
        while term:
            total, term, k = total + term, -(((term * r) >> BITS) * r >> BITS) // (k * (k + 1)), k + 2
            term += term == -1  # halves of a unit below 0 are rounded down for ever
        sums.append(Fraction(total, 1 << BITS))
    sine, cosine = sums
    return [(sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine)][quarter % 4]


def true_errors(dtype: str, x: Any, target: Target | None = None) -> Any:
    """Units in the last place of each result itself."""
    found = sine_and_cosine(dtype, x, target=target)
    errors = np.zeros(found.shape)
    for i, row in enumerate(found):
        for j, truth in enumerate(exact(float(x[i]))):
            spacing = np.spacing(np.abs(np.dtype(dtype).type(float(truth))))
            errors[i, j] = abs(Fraction(float(row[j])) - truth) / Fraction(float(spacing))
    return errors


def hard_angles(dtype: str, largest: float) -> Any:
    """The numbers next to multiples of a quarter and an eighth of a turn, from the first to the
    last, and others between.
    """
    rng = np.random.default_rng(5)
    last = int(largest / (math.pi / 4.0))
    eighths = np.unique(np.concatenate([np.arange(1, 20), rng.integers(1, last, 80), [last]]))
    kind = np.dtype(dtype).type
    at = (np.concatenate([eighths, -eighths]) * (math.pi / 4.0)).astype(dtype)
    beside = [at, np.nextafter(at, kind(np.inf)), np.nextafter(at, kind(-np.inf)), at + kind(1e-5)]
    spread = [rng.uniform(-size, size, 100).astype(dtype) for size in (1.0, 10.0, largest)]
    return np.concatenate([*beside, *spread])


def test_the_truth_is_true() -> None:
    for x in (0.3, -2.0, 100.0, 9.4e4):
        sine, cosine = exact(x)
        assert abs(float(sine) - math.sin(x)) < 2e-16
        assert abs(float(cosine) - math.cos(x)) < 2e-16
        assert abs(sine**2 + cosine**2 - 1) < Fraction(1, 1 << (BITS - 20))
    sine, cosine = exact(math.pi / 2.0)
    assert float(cosine) == 6.123233995736766e-17  # printed digits of pi behind those of a double
    assert float(sine) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "largest"), [("float64", 1e5), ("float64", 4.4e14), ("float32", 1e3), ("float32", 1.6e6)]
)
def test_within_a_unit_or_so_of_the_result_itself(dtype: str, largest: float) -> None:
    """Also where sine or cosine is almost 0, and all that is left of the angle is what pi lacks."""
    x = hard_angles(dtype, largest)
    smallest = np.abs(sine_and_cosine(dtype, x)).min()
    assert smallest < (1e-12 if dtype == "float64" else 1e-5)
    if host(dtype).fused:
        assert true_errors(dtype, x).max() <= (TRUE_ULP if largest < 1e6 else FAR_ULP)
    elif dtype == "float32" or largest < 1e6:
        assert true_errors(dtype, x).max() <= WITHOUT_FUSED


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "largest"), [("float64", 1e5), ("float32", 1.6e6)])
def test_machines_without_fused_multiply_add(dtype: str, largest: float) -> None:
    target = replace(host(dtype), fused=False)
    assert true_errors(dtype, hard_angles(dtype, largest), target).max() <= WITHOUT_FUSED
