"""Choices and tables: identities, signs, folding, slopes; splines against what defines them."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forearm.codegen.languages.c import LOOK_UP as C_LOOK_UP
from forearm.errors import InputError
from forearm.symbols import Expr, Graph, derivative, evaluate, gradient, refined
from forearm.symbols.counts import Counts
from forearm.symbols.graph import CHOOSE, LOOKUP
from forearm.symbols.scalars import choose, look_up, maximum, minimum
from forearm.symbols.table import LookupTable, spline, straight

STEPS = straight((0.0, 1.0, 3.0), (2.0, -1.0, 5.0))
POINTS = (-2.0, -0.5, 0.1, 0.7, 3.0, 3.2)
CURVE = spline(POINTS, (1.0, 0.2, -0.4, 2.0, 1.5, 1.4))
small = st.integers(-3, 3).map(float)


def inputs(count: int = 4) -> tuple[Graph, list[Expr]]:
    graph = Graph()
    return graph, [graph.input(f"x[{i}]") for i in range(count)]


def at(graph: Graph, result: Any, values: Any) -> Any:
    return evaluate(graph, result, {f"x[{i}]": v for i, v in enumerate(values)})


@pytest.mark.slow
@settings(max_examples=30)
@given(st.tuples(small, small, small, small))
def test_every_sign_and_equal_values(values: tuple[float, ...]) -> None:
    graph, leaves = inputs()
    for signs in itertools.product((1.0, -1.0), repeat=4):
        a, b, x, y = (s * v for s, v in zip(signs, values, strict=True))
        made = choose(*(-e if s < 0.0 else e for e, s in zip(leaves, signs, strict=True)))
        assert at(graph, made, values) == (x if a < b else y)


def test_the_same_choice_is_the_same_place_whatever_its_signs() -> None:
    graph, (a, b, x, y) = inputs()
    made = choose(a, b, x, y)
    size = len(graph)
    assert choose(a, b, x, y).node == made.node
    assert choose(-b, -a, x, y).node == made.node
    other = choose(a, b, -x, -y)
    assert (other.node, other.negative) == (made.node, True)
    assert len(graph) == size


def test_what_is_known_is_not_chosen() -> None:
    graph, (a, b, x, y) = inputs()
    assert choose(1.0, 2.0, x, y) is x
    assert choose(2.0, 1.0, x, y) is y
    assert choose(a, a, x, y) is y
    assert choose(a, b, x, x) is x
    assert choose(a, b, 2.0, 2.0) == 2.0
    assert look_up(STEPS, graph.constant(2.0)) == 2.0
    assert look_up(STEPS, graph.constant(-2.0)) == 2.0
    assert CHOOSE not in graph.kinds
    assert LOOKUP not in graph.kinds


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2))
def test_greater_and_smaller(pair: list[float]) -> None:
    graph, (a, b, _, _) = inputs()
    for f, truth in ((maximum, max), (minimum, min)):
        assert f(*pair) == truth(pair)
        assert at(graph, f(a, b), [*pair, 0.0, 0.0]) == truth(pair)
        assert np.array_equal(f(np.array(pair), 0.5), [truth(v, 0.5) for v in pair])
    assert maximum(2.0, -np.inf) == 2.0


def test_arrays_are_chosen_entry_by_entry_and_nan_is_not_smaller() -> None:
    graph, (a, b, x, y) = inputs()
    rows = np.array([[1.0, 2.0, np.nan], [2.0, 1.0, 1.0], [5.0, 5.0, 5.0], [7.0, 7.0, 7.0]])
    assert at(graph, choose(a, b, x, y), rows).tolist() == [5.0, 7.0, 7.0]


def test_slopes_are_those_of_what_is_chosen_even_beside_a_pole() -> None:
    """The root of what is negative has no slope, and is not chosen."""
    graph, (a, b, _, _) = inputs()
    made = choose(a, 0.0, a * b, 3.0 * b)
    for values, truth in (([-2.0, 5.0], [5.0, -2.0]), ([2.0, 5.0], [0.0, 3.0])):
        slopes = gradient(graph, made, [a, b])
        forwards = [derivative(graph, [made], {x: 1.0})[0] for x in (a, b)]
        assert [at(graph, s, values) for s in slopes] == truth
        assert [at(graph, s, values) for s in forwards] == truth
    root = choose(a, 0.0, b, a.sqrt())
    with np.errstate(invalid="ignore", divide="ignore"):
        (forwards,) = derivative(graph, [root], {a: 1.0})
        assert at(graph, forwards, [-1.0, 2.0]) == 0.0


def test_straight_lines_are_numpys_and_nan_stays_nan() -> None:
    x = np.linspace(-3.0, 6.0, 2001)
    for table in (STEPS, CURVE, STEPS.slope(), STEPS.slope().slope()):
        assert math.isnan(table.at(math.nan))
        assert np.isnan(table.at(np.array([np.nan]))).all()
    np.testing.assert_allclose(STEPS.at(x), np.interp(x, (0.0, 1.0, 3.0), (2.0, -1.0, 5.0)), atol=1e-14)
    assert [STEPS.at(float(v)) for v in x] == STEPS.at(x).tolist()


def test_a_spline_goes_through_its_points_with_two_continuous_slopes_and_no_bend_at_its_ends() -> None:
    for k, (point, value) in enumerate(zip(POINTS, (1.0, 0.2, -0.4, 2.0, 1.5, 1.4), strict=True)):
        assert CURVE.at(point) == pytest.approx(value, abs=1e-14)
        table = CURVE
        for order in range(3):
            left, right = table.pieces[k : k + 2]
            begin = POINTS[max(k - 1, 0)]
            before = sum(c * (point - begin) ** p for p, c in enumerate(left))
            if 0 < k < len(POINTS) - 1:
                assert before == pytest.approx(right[0], abs=1e-12), (k, order)
            elif order == 2:  # natural: the bend ends at 0 inside
                inside = right[0] if k == 0 else before
                assert inside == pytest.approx(0.0, abs=1e-12)
            table = table.slope()


def test_a_spline_is_the_solution_of_its_equations_by_elimination_of_a_full_matrix() -> None:
    rng = np.random.default_rng(5)
    x = np.sort(rng.uniform(0.0, 4.0, 30))
    y = rng.uniform(-1.0, 1.0, 30)
    h, slope = np.diff(x), np.diff(y) / np.diff(x)
    A, right = np.eye(30), np.zeros(30)
    for i in range(1, 29):
        A[i, i - 1 : i + 2] = h[i - 1], 2.0 * (h[i - 1] + h[i]), h[i]
        right[i] = 6.0 * (slope[i] - slope[i - 1])
    bends = np.linalg.solve(A, right)
    made = spline(tuple(x.tolist()), tuple(y.tolist()))
    found = [2.0 * piece[2] for piece in made.pieces[1:-1]]
    np.testing.assert_allclose(found, bends[:-1], rtol=1e-9, atol=1e-9 * np.abs(bends).max())


@pytest.mark.parametrize("table", [STEPS, CURVE], ids=["straight", "spline"])
def test_slopes_of_tables(table: LookupTable) -> None:
    graph, (a, *_) = inputs()
    made = look_up(table, -a)
    (slope,) = derivative(graph, [made], {a: 1.0})
    for value in (-5.0, -2.2, -0.6, 0.0, 0.3, 1.3, 4.0):
        step = 1e-6
        truth = (table.at(-value - step) - table.at(-value + step)) / (2.0 * step)
        if min(abs(-value - b) for b in table.breaks) > 2.0 * step:
            assert at(graph, slope, [value]) == pytest.approx(truth, abs=1e-8)
            assert at(graph, gradient(graph, made, [a])[0], [value]) == pytest.approx(truth, abs=1e-8)


def _operations_of_c(order: int) -> int:
    """Operations in the generated C of one look-up, after its search: those of each turn of its loop."""
    _, loop = C_LOOK_UP.split("for (")
    (turn,) = (line for line in loop.splitlines() if "value =" in line)
    return (order - 1) * sum(f" {sign} " in turn.partition("=")[2] for sign in "*-+")


def test_counts_say_how_choices_and_look_ups_are_counted() -> None:
    graph, (a, b, x, y) = inputs()
    counts = graph.counts([choose(a, b, x * y, -y), look_up(STEPS, a)])
    linear = Counts(mul=1, add=2, lookup=1)  # value * (x - start) + coefficient
    assert counts == Counts(mul=1, add=1) + linear
    assert str(counts) == "2 mul, 3 add, 1 lookup"
    cubic = graph.counts([look_up(CURVE, a)])
    assert cubic == Counts(mul=3, add=6, lookup=1)
    assert cubic.operations == _operations_of_c(CURVE.order)


def test_what_is_common_to_branches_is_found_by_refinement() -> None:
    graph, (a, b, x, y) = inputs()
    result = choose(a, b, x * y + x * b, a) + look_up(CURVE, a * y + a * b)
    better, (found,) = refined(graph, [result])
    assert better.counts(found).mul < graph.counts(result).mul
    values = [0.3, 0.4, 1.2, -0.7]
    assert at(better, found, values) == pytest.approx(at(graph, result, values), rel=1e-14)


@pytest.mark.slow
def test_twenty_thousand_points_are_looked_up_as_one_is() -> None:
    x = tuple(float(k) for k in range(20_000))
    table = straight(x, tuple(math.sin(v) for v in x))
    assert table.at(17_777.25) == pytest.approx(0.75 * math.sin(17_777) + 0.25 * math.sin(17_778))


@pytest.mark.parametrize(
    ("breaks", "pieces"),
    [
        ((), ((1.0, 2.0),)),
        ((0.0,), ((1.0, 2.0),)),
        ((0.0,), ((1.0,), (1.0,))),
        ((0.0,), ((1.0, 2.0), (1.0, 2.0, 3.0))),
        ((1.0, 0.0), ((1.0, 2.0),) * 3),
        ((0.0, 0.0), ((1.0, 2.0),) * 3),
        ((math.nan,), ((1.0, 2.0),) * 2),
        ((0.0,), ((1.0, math.inf),) * 2),
    ],
)
def test_what_is_no_table_is_refused(breaks: Any, pieces: Any) -> None:
    with pytest.raises(InputError, match="table: expected"):
        LookupTable(breaks, pieces)
