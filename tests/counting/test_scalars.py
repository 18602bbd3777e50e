"""The scalars that count: what folds, what is free, what is not needed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from counting.counted import values

from forearm.counting.scalars import Tally
from forearm.symbols.counts import Counts


@pytest.fixture
def tally() -> Tally:
    return Tally()


def test_each_operation_counts_one(tally: Tally) -> None:
    x, y = tally.variable(3.0), tally.variable(5.0)
    results = [x * y, x + y, x - y, 2.0 * x, x + 2.0, 7.0 - x, x / y, 1.0 / y]
    assert values(results) == pytest.approx([15.0, 8.0, -2.0, 6.0, 5.0, 4.0, 0.6, 0.2])
    assert tally.counts() == Counts(mul=2, add=4, div=2)


def test_squares_and_doubles_are_products(tally: Tally) -> None:
    x = tally.variable(3.0)
    assert tally.counts([x * x, 2.0 * x]) == Counts(mul=2)


def test_exact_zero_and_one_fold_and_a_change_of_sign_is_free(tally: Tally) -> None:
    x = tally.variable(3.0)
    assert x * 0.0 == 0.0
    assert isinstance(x * 0.0, float)
    assert x * 1.0 is x
    assert x + 0.0 is x
    assert float(-1.0 * x) == -3.0
    assert float(0.0 - x) == -3.0
    negative = -x
    assert float(-negative) == 3.0
    assert x - x == 0.0
    assert x + -x == 0.0
    assert tally.counts() == Counts()


def test_what_a_value_happens_to_be_folds_nothing(tally: Tally) -> None:
    nothing = tally.variable(0.0)
    assert float(nothing + nothing) == 0.0
    assert tally.counts() == Counts(add=1)
    assert float(-nothing - nothing) == 0.0
    assert tally.counts() == Counts(add=2)
    difference = -nothing - -nothing
    assert isinstance(difference, float)
    negative = -nothing
    assert isinstance(nothing - -negative, float)
    assert tally.counts() == Counts(add=2)
    nothing.sin(), (-nothing).sin()
    assert tally.counts().trig == 4, "sin x and sin -x are two values, also at 0"


def test_parameters_among_themselves_are_free_but_not_beside_a_variable(tally: Tally) -> None:
    a, b, x = tally.parameter(2.0), tally.parameter(3.0), tally.variable(5.0)
    known = (a * b + 1.5) / a - b
    assert not known.online
    assert not a.cos().online
    assert tally.counts() == Counts()
    assert float(known * x) == pytest.approx((7.5 / 2.0 - 3.0) * 5.0)
    assert tally.counts() == Counts(mul=1)


def test_one_sine_and_one_cosine_an_angle(tally: Tally) -> None:
    q = tally.variable(0.3)
    results = [q.cos(), q.sin(), q.cos() * q.sin()]
    assert values(results) == pytest.approx([math.cos(0.3), math.sin(0.3), math.cos(0.3) * math.sin(0.3)])
    assert tally.counts() == Counts(mul=1, trig=2)


def test_what_no_result_needs_is_not_counted(tally: Tally) -> None:
    x, y = tally.variable(3.0), tally.variable(5.0)
    used, _unused = x * y, (x + y) * (x - y)
    assert tally.counts() == Counts(mul=2, add=2)
    assert tally.counts([used + 1.0]) == Counts(mul=1, add=1)
    assert tally.counts([x]) == Counts()


def test_shared_values_are_counted_once_however_often_they_are_needed(tally: Tally) -> None:
    x = tally.variable(3.0)
    square = x * x
    assert tally.counts([square + 1.0, [square + 2.0, (square,)]]) == Counts(mul=1, add=2)


def test_arrays_of_them_multiply_as_arrays_do(tally: Tally) -> None:
    A = np.arange(1.0, 10.0).reshape(3, 3) + 1.5
    v = np.array([0.3, 0.7, 1.1])
    counted = np.array([[tally.variable(x) for x in row] for row in A], dtype=object)
    product = counted @ np.array([tally.parameter(x) for x in v], dtype=object)
    np.testing.assert_allclose(values(product), A @ v, rtol=1e-15)
    assert tally.counts() == Counts(mul=9, add=6)
    assert tally.counts(product[:1]) == Counts(mul=3, add=2)


def test_counts_say_what_they_are() -> None:
    assert str(Counts(3, 2, trig=4)) == "3 mul, 2 add, 4 trig"
    assert str(Counts()) == "nothing"
