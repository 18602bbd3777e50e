"""The graph that keeps every operation as it is written: what folds, what is free, what is not needed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from forearm.symbols import Counts, evaluate
from forearm.symbols.recorder import Recorder


@pytest.fixture
def graph() -> Recorder:
    return Recorder()


def everything(graph: Recorder) -> Counts:
    return graph.counts_of(place for place in range(len(graph)) if not graph.offline[place])


def test_each_operation_counts_one(graph: Recorder) -> None:
    x, y = graph.input("x"), graph.input("y")
    results = [x * y, x + y, x - y, 2.0 * x, x + 2.0, 7.0 - x, x / y, 1.0 / y, x / 4.0, x / x]
    found = evaluate(graph, results, {"x": 3.0, "y": 5.0})
    assert found == pytest.approx([15.0, 8.0, -2.0, 6.0, 5.0, 4.0, 0.6, 0.2, 0.75, 1.0])
    assert everything(graph) == Counts(mul=2, add=4, div=4)


def test_the_same_operation_done_twice_counts_twice(graph: Recorder) -> None:
    x, y = graph.input("x"), graph.input("y")
    assert graph.counts([x * y, x * y, x + y, y + x]) == Counts(mul=2, add=2)
    assert graph.counts(x * y - x * y) == Counts(mul=2, add=1)
    assert graph.counts([x * x, 2.0 * x]) == Counts(mul=2)
    assert graph.counts(x + x) == Counts(add=1)
    square = x * x  # shared, counted once however often it is needed
    assert graph.counts([square + 1.0, [square + 2.0, (square,)]]) == Counts(mul=1, add=2)


def test_multiples_do_not_meet_and_sums_keep_their_terms(graph: Recorder) -> None:
    x, y = graph.input("x"), graph.input("y")
    assert graph.counts(2.0 * (3.0 * x)) == Counts(mul=2)
    assert graph.counts(2.0 * x + 3.0 * x) == Counts(mul=2, add=1)
    assert graph.counts((x + y) - y) == Counts(add=2)
    known = graph.parameter("p")
    assert graph.counts(known * (known * x)) == Counts(mul=2)


def test_exact_zero_and_one_fold_and_a_change_of_sign_is_free(graph: Recorder) -> None:
    x = graph.input("x")
    assert x * 0.0 == 0.0
    assert isinstance(x * 0.0, float)
    assert x * 1.0 is x
    assert x + 0.0 is x
    for negative in (-1.0 * x, 0.0 - x, x / -1.0, -x):
        assert (negative.node, negative.negative) == (x.node, True)
    negative = -x
    assert -negative - x == 0.0
    assert x - x == 0.0
    assert x + -x == 0.0
    assert 0.0 / x == 0.0
    assert everything(graph) == Counts()


def test_parameters_among_themselves_are_free_but_not_beside_an_input(graph: Recorder) -> None:
    a, b, x = graph.parameter("a"), graph.parameter("b"), graph.input("x")
    known = (a * b + 1.5) / a - b
    assert graph.counts([known, a.cos()]) == Counts()
    found = evaluate(graph, known * x, {"a": 2.0, "b": 3.0, "x": 5.0})
    assert found == pytest.approx((7.5 / 2.0 - 3.0) * 5.0)
    assert everything(graph) == Counts(mul=1)


def test_one_sine_and_one_cosine_an_angle(graph: Recorder) -> None:
    q = graph.input("q")
    results = [q.cos(), q.sin(), q.cos() * q.sin(), (-q).sin()]
    c, s = math.cos(0.3), math.sin(0.3)
    assert evaluate(graph, results, {"q": 0.3}) == pytest.approx([c, s, c * s, -s])
    assert everything(graph) == Counts(mul=1, trig=2)


def test_arrays_of_them_multiply_as_arrays_do(graph: Recorder) -> None:
    A, v = np.arange(1.0, 10.0).reshape(3, 3) + 1.5, np.array([0.3, 0.7, 1.1])
    entries = graph.inputs("A", 3, 3)
    product = entries @ np.array([graph.parameter(f"v{k}") for k in range(3)])
    given = {f"A[{i}, {k}]": A[i, k] for i in range(3) for k in range(3)}
    found = evaluate(graph, product, given | {f"v{k}": v[k] for k in range(3)})
    np.testing.assert_allclose(found.astype(float), A @ v, rtol=1e-15)
    assert graph.counts(product) == Counts(mul=9, add=6)
    assert graph.counts(product[:1]) == Counts(mul=3, add=2)
