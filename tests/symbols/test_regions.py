"""Iterations and functions in the graph: identities with the same written out, folding, derivatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forearm.symbols import (
    Expr,
    Graph,
    Shared,
    derivative,
    evaluate,
    gradient,
    iterate,
    jacobian,
    most_live,
    order,
    refined,
    substituted,
)
from forearm.symbols.graph import CALL
from forearm.symbols.scalars import choose, sin

numbers = st.floats(0.1, 5.0)


def square_root(of: Any, most: int = 60) -> Any:
    """Heron's iteration from the number itself."""
    return iterate(
        lambda s: [0.5 * (s[0] + of / s[0]), abs(s[0] - of / s[0])],
        [of, 1.0 + of],
        lambda s: (1e-13 * of, s[1]),
        most,
    )[0]


def guarded_root(of: Any) -> Any:
    """The same with a step that is taken only if it helps, and the equation for derivatives."""

    def step(s: list[Any]) -> list[Any]:
        tried = 0.5 * (s[0] + of / s[0])
        left = abs(tried * tried - of)
        return [choose(left, s[1], tried, s[0]), choose(left, s[1], left, s[1]), s[2] + 1.0]

    state = iterate(
        step, [of + 1.0, 1e9, 0.0], lambda s: (1e-13, s[1]), 60, lambda s: [s[0] * s[0] - of], "root"
    )
    return state[0]


def two() -> tuple[Graph, Expr, Expr]:
    graph = Graph()
    return graph, graph.input("a"), graph.input("b")


@pytest.mark.slow
@settings(max_examples=20)
@given(numbers, numbers)
def test_numbers_expressions_and_arrays_give_the_same(a: float, b: float) -> None:
    graph, x, y = two()
    made = square_root(x * y)
    alone = square_root(a * b)
    assert alone == pytest.approx(math.sqrt(a * b), rel=1e-14)
    assert evaluate(graph, made, {"a": a, "b": b}) == alone
    rows = np.array([a, 0.3, 7.0, 1e-3]), np.array([b, 2.0, 7.0, 1e-3])
    found = evaluate(graph, made, {"a": rows[0], "b": rows[1]})
    assert found.tolist() == [square_root(p * q) for p, q in zip(*rows, strict=True)]
    assert square_root(rows[0] * rows[1]).tolist() == found.tolist()


def test_rounds_are_bounded_and_the_condition_is_asked_before_each() -> None:
    graph, x, y = two()

    def counted(most: int) -> Any:
        return iterate(lambda s: [s[0] + 1.0], [x], lambda s: (s[0], y), most)[0]

    for most, end in ((0, 0.5), (1, 1.5), (3, 3.5), (9, 5.5)):
        assert evaluate(graph, counted(most), {"a": 0.5, "b": 5.0}) == end
        assert evaluate(graph, counted(most), {"a": 6.0, "b": 5.0}) == 6.0
        assert math.isnan(evaluate(graph, counted(most), {"a": math.nan, "b": 5.0}))


def test_the_same_iteration_is_the_same_place() -> None:
    graph, x, y = two()
    first = square_root(x + y)
    assert square_root(x + y).node == first.node
    assert square_root(x - y).node != first.node
    assert square_root(x + y, 59).node != first.node
    assert graph.kinds.count(CALL) == 3


def test_what_is_known_is_not_iterated() -> None:
    graph, x, _ = two()
    assert square_root(graph.constant(9.0)) == 3.0
    # entries that no round changes are no state, also where that shows only afterwards
    state = iterate(
        lambda s: [s[0] * s[1] + s[2], s[1], s[2] * (s[1] - 1.0)], [x, 1.0, 0.0], lambda s: (s[0], 9.0), 4
    )
    ((region, _),) = graph.calls.values()
    assert state[1] == 1.0
    assert len(region.results) == 2
    # a start that is negative, and a result with a sign
    negated = iterate(lambda s: [-s[0]], [-x], lambda s: (s[0], 0.0), 5)[0]
    assert evaluate(graph, -negated, {"a": 2.0}) == -2.0


def test_what_does_not_change_is_computed_outside() -> None:
    graph, x, y = two()
    made = iterate(lambda s: [s[0] + sin(x) * y], [0.0], lambda s: (s[0], 1.0), 7)[0]
    ((region, operands),) = graph.calls.values()
    assert len(operands) == 2
    assert graph.counts(made).trig == 1
    assert region.counts.trig == 0
    # one round of the loop and its comparison
    assert (region.counts.add, region.counts.mul) == (2, 0)


@pytest.mark.slow
@settings(max_examples=20)
@given(numbers, numbers)
def test_derivatives_at_the_fixed_point(a: float, b: float) -> None:
    graph, x, y = two()
    for root in (square_root, guarded_root):
        made = root(x * y) * y
        truth = [0.5 * math.sqrt(b / a) * b, 1.5 * math.sqrt(a * b)]
        given_values = {"a": a, "b": b}
        assert evaluate(graph, gradient(graph, made, [x, y]), given_values) == pytest.approx(truth, rel=1e-9)
        forwards = [derivative(graph, [made], {v: 1.0})[0] for v in (x, y)]
        assert evaluate(graph, forwards, given_values) == pytest.approx(truth, rel=1e-9)
    # and once more
    second = gradient(graph, gradient(graph, square_root(x), [x])[0], [x])[0]
    assert evaluate(graph, second, {"a": a}) == pytest.approx(-0.25 * a**-1.5, rel=1e-8)


def test_a_system_is_differentiated_as_one() -> None:
    """x = A(p) x + b by iteration, against the derivative of its solution."""
    graph, p, r = two()
    made = iterate(
        lambda s: [0.3 * p * s[0] - 0.2 * s[1] + r, 0.1 * s[0] + 0.4 * r * s[1] + p, s[0], s[1]],
        [0.0, 0.0, 1.0, 1.0],
        lambda s: (1e-15, abs(s[0] - s[2]) + abs(s[1] - s[3])),
        400,
        lambda s: [0.3 * p * s[0] - 0.2 * s[1] + r - s[0], 0.1 * s[0] + 0.4 * r * s[1] + p - s[1]],
    )[:2]

    def solved(at: tuple[float, float]) -> Any:
        a, b = at
        return np.linalg.solve([[1.0 - 0.3 * a, 0.2], [-0.1, 1.0 - 0.4 * b]], [b, a])

    at, h = (0.7, 0.9), 1e-6
    assert evaluate(graph, made, {"a": at[0], "b": at[1]}) == pytest.approx(solved(at), rel=1e-12)
    truth = [
        (solved((at[0] + h, at[1])) - solved((at[0] - h, at[1]))) / (2 * h),
        (solved((at[0], at[1] + h)) - solved((at[0], at[1] - h))) / (2 * h),
    ]
    for way in (
        jacobian(graph, made, [p, r]),
        np.array([gradient(graph, e, [p, r]) for e in made], dtype=object),
    ):
        assert np.allclose(evaluate(graph, way, {"a": at[0], "b": at[1]}), np.transpose(truth), rtol=1e-8)


def test_a_single_round_is_differentiated_as_a_choice() -> None:
    """s = p^2 where p < r, else r s0: on both sides of the condition, forwards and backwards."""
    graph, p, r = two()
    made = iterate(lambda s: [p * p * s[0]], [r * p], lambda s: (p, r), 1)[0] * 3.0
    for a, b in ((0.7, 0.9), (0.9, 0.7)):
        truth = [9.0 * a * a * b, 3.0 * a**3] if a < b else [3.0 * b, 3.0 * a]
        for way in (gradient(graph, made, [p, r]), jacobian(graph, [made], [p, r])[0]):
            assert evaluate(graph, list(way), {"a": a, "b": b}) == pytest.approx(truth, rel=1e-12)


def both_ways(graph: Graph, x: Expr, y: Expr) -> tuple[list[Any], list[Any]]:
    """A function called three times, with one called in it; and the same written out."""

    def inner(v: list[Any]) -> list[Any]:
        return [sin(v[0]) * y - v[0]]

    shared = Shared(inner)

    def outer(call: Any) -> Any:
        return lambda v: [v[0] * v[1] + x, call([v[1] - v[0]])[0]]

    function = Shared(outer(shared))
    plain = outer(inner)
    return function(function(function([x, y]))), plain(plain(plain([x, y])))


def test_a_function_is_held_once_and_gives_the_same_everywhere() -> None:
    graph, x, y = two()
    called, plain = both_ways(graph, x, y)
    values = {"a": 0.4, "b": -1.3}
    assert evaluate(graph, called, values) == pytest.approx(evaluate(graph, plain, values), rel=1e-15)
    held = {graph.calls[place][0] for place in graph.needed(called) if place in graph.calls}
    assert len(held) == 1
    assert graph.counts(called) == graph.counts(plain)
    for f in (
        lambda e: jacobian(graph, e, [x, y]),
        lambda e: np.array([gradient(graph, r, [x, y]) for r in e]),
    ):
        assert np.allclose(evaluate(graph, f(called), values), evaluate(graph, f(plain), values), rtol=1e-13)


def test_regions_are_refined_put_into_order_and_substituted() -> None:
    graph, x, y = two()
    called, _ = both_ways(graph, x, y)
    results = [square_root(x * x + y * y + 0.2 * x * y), *called, iterate(
        lambda s: [x * s[0] + y * s[0] + s[1], s[0]], [x, 1.0], lambda s: (s[0], 3.0), 5
    )[0]]  # fmt: skip
    values = {"a": 0.4, "b": 1.3}
    truth = evaluate(graph, results, values)
    new, again = refined(graph, results)
    assert evaluate(new, again, values) == pytest.approx(truth, rel=1e-13)
    before, after = graph.counts(results), new.counts(again)
    assert after.mul + after.add < before.mul + before.add
    places = order(new, again)
    assert set(places) == {p for p in new.needed(again) if new.operands(p)}
    assert most_live(new, places, again) > 0
    swapped = substituted(graph, results, {x: y, y: x * y})
    there = {"a": values["b"], "b": values["a"] * values["b"]}
    assert evaluate(graph, swapped, values) == pytest.approx(evaluate(graph, results, there), rel=1e-13)
    fixed = substituted(graph, results, {x: 0.4, y: 1.3})
    assert fixed == pytest.approx(truth, rel=1e-13)


def test_parameters_alone_are_iterated_beforehand() -> None:
    graph = Graph()
    m, x = graph.parameter("m"), graph.input("x")
    made = square_root(m) * x
    assert graph.counts(made).mul == 1
    assert [graph.offline[e.node] for e in graph.known_before(made)] == [True]
