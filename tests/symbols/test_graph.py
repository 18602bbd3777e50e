"""The graph: what folds, what is one node, what counts, and that its values are those of
Python's own arithmetic.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from symbols.making import EVERY, EXACT, given, leaves_of, random_program, random_results, run

from forearm.errors import InputError
from forearm.symbols import Counts, Expr, Graph, evaluate
from forearm.symbols.graph import MUL, expressions, mapped
from forearm.symbols.scalars import choose, root, same

ROUNDING = 1e-12  # forty operations on values up to 50, folded or not
# A formula of x and y, and the shorter one that it folds to.
FOLDED = {
    "x + 0.0": "x",
    "0 + x": "x",
    "x + -0.0": "x",
    "x - 0.0": "x",
    "0.0 - x": "-x",
    "0.0 - -x": "x",
    "+x": "x",
    "1.0 * x": "x",
    "x * 1": "x",
    "-1.0 * x": "-x",
    "0.0 * x": "0.0",
    "x * -0.0": "0.0",
    "x / 1.0": "x",
    "x / -1": "-x",
    "x / 4.0": "0.25 * x",
    "x / -4.0": "-(0.25 * x)",
    "0.0 / x": "0.0",
    "x / x": "1.0",
    "-x / x": "-1.0",
    "x - x": "0.0",
    "-x + x": "0.0",
    "x * y - y * x": "0.0",
    "-3.0 * x": "-(3.0 * x)",
    "3.0 * -x": "-(3.0 * x)",
    "2.0 * (3.0 * x)": "6.0 * x",
    "-2.0 * (x * 3.0)": "-(6.0 * x)",
    "2.0 * x / 2.0": "x",
    "-0.5 * (2.0 * x)": "-x",
    "2.0 * x + 3.0 * x": "5.0 * x",
    "x + 2.0 * x": "3.0 * x",
    "2.0 * x - x": "x",
    "x - 3.0 * x": "-(2.0 * x)",
    "3.0 * x - 2.0 * x": "x",
    "2.0 * x - 3.0 * x": "-x",
    "-2.0 * x - 3.0 * x": "-(5.0 * x)",
    "2.0 * x - x * 2.0": "0.0",
    "2.0 * (x * y) + y * x": "3.0 * (x * y)",
    "x + y - x": "y",
    "x + y - y": "x",
    "x - (x + y)": "-y",
    "y - (x + y)": "-x",
    "x - y + y": "x",
    "x - y - x": "-y",
    "x - (x - y)": "y",
    "y - x + x": "y",
    "y - x - y": "-x",
    "x + x - x": "x",
    "x + 2.0 - 2.0": "x",
    "2.0 - x - 2.0": "-x",
    "(-x).cos()": "x.cos()",
    "(-x).sin()": "-x.sin()",
    "(-x).sign()": "-x.sign()",
    "x ** 1": "x",
    "x ** 3": "x * x * x",
    "y * x": "x * y",
    "y + x": "x + y",
    "y - x": "-(x - y)",
    "-x - y": "-(x + y)",
    "-x + y": "-(x - y)",
    "-x * -y": "x * y",
    "-x / y": "-(x / y)",
    "x / -y": "-(x / y)",
}


@pytest.fixture
def graph() -> Graph:
    return Graph()


@pytest.mark.slow
def test_values_of_every_operation_are_those_of_python() -> None:
    for seed in range(60):
        graph, results, truths, rows = random_results(seed, EVERY)
        for row, truth in zip(rows, truths, strict=True):
            found = evaluate(graph, results, given(row))
            np.testing.assert_allclose(found, truth, rtol=ROUNDING, atol=ROUNDING, err_msg=f"seed {seed}")


NOT_FOLDED = (
    "x + y",
    "x - y",
    "x * y",
    "x / y",
    "1.0 / x",
    "x + x",
    "x * x",
    "x + 1.0",
    "1.0 - x",
    "2.0 * x",
)


def formula(text: str) -> Callable[[Any, Any], Any]:
    made: Callable[[Any, Any], Any] = eval(f"lambda x, y: {text}")
    return made


@pytest.mark.slow
def test_values_are_exactly_those_of_python() -> None:
    """Small whole numbers and halves: every folding must give the same number to the last bit."""
    for seed in range(60):
        steps, rows = random_program(seed, EXACT, size=60)
        graph = Graph()
        values = run(steps, leaves_of(graph))
        for row in rows:
            assert evaluate(graph, values, given(row)) == run(steps, row)


@pytest.mark.parametrize("text", FOLDED)
def test_folding_keeps_the_value_also_of_zeros_and_negative_numbers(graph: Graph, text: str) -> None:
    x, y = graph.input("x"), graph.input("y")
    found, wanted = formula(text)(x, y), formula(FOLDED[text])(x, y)
    assert same(found, wanted), f"{found} is not {wanted}"
    assert type(found) is type(wanted)
    numbers = [-2.5, 1.75] if "/" in text else [0.0, -0.0, -2.5, 1.75]
    for at in itertools.product(numbers, repeat=2):
        truth = formula(text)(*map(Plain, at))
        assert evaluate(graph, found, dict(zip("xy", at, strict=True))) == float(truth)


def test_what_does_not_fold_is_one_operation(graph: Graph) -> None:
    x, y = graph.input("x"), graph.input("y")
    for text in NOT_FOLDED:
        made = formula(text)
        counts = graph.counts(made(x, y))
        assert counts.mul + counts.add + counts.div == 1
        assert evaluate(graph, made(x, y), {"x": 1.5, "y": -0.75}) == made(1.5, -0.75)


def test_what_cannot_be_is_refused(graph: Graph) -> None:
    """What is not finite, and factors that leave the range of numbers, are no constants; 0 divides nothing;
    graphs do not mix; a name is taken once.
    """
    x, none, other = graph.input("x"), graph.constant(0.0), Graph().input("x")
    assert (x * 1e-200) * -1e-200 == 0.0
    constant = "cannot be a constant of an expression; only finite numbers can"
    refused: list[tuple[str, Callable[[], Any]]] = [
        (constant, lambda: (x * 1e200) * 1e200),
        (constant, lambda: x / 1e-310),
        ("a result belongs to another graph", lambda: graph.counts([x, other])),
    ]
    for value in (math.nan, math.inf, -math.inf):
        refused += [
            (constant, partial(graph.constant, value)),
            (constant, partial(operator.mul, 2.0 * x, value)),
            (constant, partial(operator.sub, value, x)),
            (constant, partial(operator.truediv, value, x)),
        ]
    for operation in (operator.add, operator.sub, operator.mul, operator.truediv):
        refused.append(("expected expressions of one graph", partial(operation, x, other)))
    for make in (graph.input, graph.parameter):
        refused.append(("there is already an input or parameter 'x' in this graph", partial(make, "x")))
    for text, ask in refused:
        with pytest.raises(InputError, match=text):
            ask()
    for a, b in ((x, 0), (x, -0.0), (x, none), (1.0, none), (0.0, none), (none, 0.0)):
        with pytest.raises(ZeroDivisionError, match="symbols: an expression was divided by the number 0"):
            a / b


class Plain(float):
    """A float that has functions of its own, as expressions do."""

    def cos(self) -> float:
        return math.cos(self)

    def sin(self) -> float:
        return math.sin(self)

    def sign(self) -> float:
        return float(np.sign(self))

    def __neg__(self) -> Plain:
        return Plain(-float(self))


def test_constants_as_expressions_fold_like_plain_numbers(graph: Graph) -> None:
    x = graph.input("x")
    two, three, none = graph.constant(2.0), graph.constant(-3), graph.constant(0.0)
    assert [two + three, two - three, two * three, two / three, two + two, two - two] == [
        -1.0,
        5.0,
        -6.0,
        2.0 / -3.0,
        4.0,
        0.0,
    ]
    assert [three + three, three / three, none * two, 6 / three] == [-6.0, 1.0, 0.0, -2.0]
    assert same(x * three, -(3.0 * x))
    assert same(x / two, 0.5 * x)
    assert same(x / three, x * (1.0 / -3.0))
    assert same(x + none, x)
    assert same(none - x, -x)
    assert same(graph.constant(-0.0) + x, x)
    assert same(graph.constant(1.0) * x, x)
    assert [none * x, none / x, x * graph.constant(-0.0)] == [0.0, 0.0, 0.0]
    assert same(x + two, x + 2.0)
    assert same(graph.constant(-2.0), -two)
    assert [three.sin(), three.cos(), three.sign(), none.sign(), graph.constant(4.0).sqrt()] == [
        math.sin(-3.0),
        math.cos(-3.0),
        -1.0,
        0.0,
        2.0,
    ]
    assert all(type(value) is float and value >= 0.0 for value in graph.values.values())


def test_the_same_operation_is_the_same_node(graph: Graph) -> None:
    x, y, z = (graph.input(name) for name in "xyz")

    def all_of_it() -> list[Any]:
        return [
            (x * y + z) * (z - y * x) / (x + 2.0 * z),
            (z + y * x).cos().sqrt(),
            (x - z).sin(),
            (z - x).sign(),
            -x * 0.3,
        ]

    first = all_of_it()
    before = len(graph)
    assert all(same(a, b) for a, b in zip(first, all_of_it(), strict=True))
    assert len(graph) == before


def test_commuted_operands_and_signs_make_no_node_of_their_own(graph: Graph) -> None:
    x, y = graph.input("x"), graph.input("y")
    product, total, difference = x * y, x + y, x - y
    before = len(graph)
    for node, values in ((product, [y * x, -y * x]), (total, [y + x, -x - y]), (difference, [y - x, -y + x])):
        assert [value.node for value in values] == [node.node, node.node]
    assert (y - x).negative is not difference.negative
    assert len(graph) == before
    assert (y / x).node != (x / y).node


def test_expressions_meet_numpy_and_refuse_what_is_no_number(graph: Graph) -> None:
    x, y = graph.input("x"), graph.input("y")
    assert same(np.float64(2.0) * x, 2.0 * x)
    assert same(np.float64(2.0) - x, 2.0 - x)
    assert same(x * np.float64(2.0), 2.0 * x)
    assert same(x / np.float64(2.0), 0.5 * x)
    assert same(x / np.float64(-2.0), -(0.5 * x))
    assert same(x + np.float64(2.0), 2.0 + x)
    assert same(graph.constant(np.float64(-2.0)) * x, -(2.0 * x))
    vector = np.array([x, 0.0, y])
    assert same(vector @ np.array([1.0, 5.0, -2.0]), x - 2.0 * y)
    assert same((x * vector)[2], x * y)
    assert same((vector + x)[1], x)
    assert same(sum([x, y, 0]), x + y)
    doings: list[Callable[[], Any]] = [
        lambda: x * "2",
        lambda: x + None,
        lambda: x - "2",
        lambda: x / "2",
        lambda: "2" / x,
        lambda: 1j * x,
        lambda: x**0,
        lambda: x**-1,
        lambda: x**0.5,  # type: ignore[operator]
    ]
    for doing in doings:
        with pytest.raises(TypeError):
            doing()


def test_a_root_takes_a_sign_inside(graph: Graph) -> None:
    """y - x is -(x - y) in the graph; that says nothing of its value, and a change of sign costs nothing."""
    x, y = graph.input("x"), graph.input("y")
    roots = [(y - x).sqrt(), (-x).sqrt(), (-(x * y)).sqrt(), (x - y).sqrt()]
    assert same(roots[0], (y - x).sqrt())
    assert graph.counts(roots) == Counts(mul=1, add=1, sqrt=4)
    assert evaluate(graph, roots[:3], {"x": -4.0, "y": 5.0}) == [3.0, 2.0, math.sqrt(20.0)]
    assert evaluate(graph, roots[3], {"x": 5.0, "y": 1.0}) == 2.0
    with pytest.raises(InputError, match=r"the square root of -4\.0 is not a real number"):
        graph.constant(-4.0).sqrt()


def test_counts_by_hand(graph: Graph) -> None:
    x, y, z = (graph.input(name) for name in "xyz")
    a, b = Counts(5, 4, 3, 2, 1), Counts(1, 1, 1, 1, 1)
    assert (a + b, a - b) == (Counts(6, 5, 4, 3, 2), Counts(4, 3, 2, 1, 0))
    assert [str(a), str(Counts())] == ["5 mul, 4 add, 3 div, 2 sqrt, 1 trig", "nothing"]
    assert graph.needed([]) == []
    assert graph.counts([x, -x, 2.0, graph.constant(3.0)]) == Counts()
    shared = x * y
    matrix = np.array([[2.0 * shared, (x / y).sqrt()], [x.cos(), (-x).sin()]])
    results = {"a": [shared + z, shared - z], "b": matrix, "c": (x.sign(),)}
    assert graph.counts(results) == Counts(mul=2, add=2, div=1, sqrt=1, trig=2)
    assert graph.counts([x * y, y * x]) == Counts(mul=1)
    assert graph.counts((x + y) * (x + y)) == Counts(mul=1, add=1)
    assert graph.counts_of([shared.node, x.node]) == Counts(mul=1)


def test_parameters_cost_nothing_until_they_meet_an_input(graph: Graph) -> None:
    x, m, r = graph.input("x"), graph.parameter("m"), graph.parameter("r")
    beforehand = (m * r * r + 2.0 * m) / (r.cos() + 1.0) - m.sqrt()
    assert graph.counts(beforehand) == Counts()
    assert graph.counts([beforehand * x, x + m]) == Counts(mul=1, add=1)
    values = (x, m, beforehand, beforehand * x, graph.constant(2.0))
    assert [graph.offline[value.node] for value in values] == [False, True, True, False, True]


def test_needed_has_operands_first_and_nothing_else(graph: Graph) -> None:
    x, y, z = (graph.input(name) for name in "xyz")
    unused = (x + y) * z
    result = (x * y).sin() - 2.0 * y
    needed = graph.needed(result)
    assert needed == sorted(needed)
    # two inputs, the number 2; x y, sin, 2 y, the difference
    assert len(needed) == len({x.node, y.node}) + 1 + 4
    assert unused.node not in needed
    assert z.node not in needed
    for place in needed:
        if graph.kinds[place] >= MUL:
            assert set(graph.operands(place)) <= set(needed[: needed.index(place)])


def test_names_stay_with_the_first_and_tell_of_the_sign(graph: Graph) -> None:
    x, y, z = (graph.input(name) for name in "xyz")
    graph.name("w", x + y)
    graph.name("other", x + y)
    graph.name("d", y - x)
    graph.name("leaf", x)
    graph.name("number", 2.0)
    graph.name("number", graph.constant(2.0))
    graph.name("v", np.array([x * y, 0.0, -(x * z)]))
    graph.name("M", [[y * z, 1.0], [x, x.cos()]])
    graph.name("long", np.array([0.0, 0.0, 0.0, x.sin()]))
    names = {graph.names[node]: node for node in graph.names}
    assert names == {
        "w": (x + y).node,
        "neg_d": (x - y).node,
        "vx": (x * y).node,
        "neg_vz": (x * z).node,
        "Mxx": (y * z).node,
        "Myy": x.cos().node,
        "long3": x.sin().node,
    }
    assert [repr(e) for e in (x, -x, x + y, y - x, -(x * z), graph.constant(-2.0))] == [
        "Expr(x)",
        "Expr(-x)",
        "Expr(w)",
        "Expr(-neg_d)",
        "Expr(-neg_vz)",
        "Expr(-2.0)",
    ]
    assert repr(x / z) == f"Expr(#{(x / z).node})"


def test_sections_are_those_in_which_a_value_was_first_made(graph: Graph) -> None:
    x, y = graph.input("x"), graph.input("y")
    graph.section = "outwards"
    first = x * y
    graph.section = "inwards"
    again, second = y * x, x + y
    assert again.node == first.node
    assert [graph.sections[e.node] for e in (x, first, second)] == ["", "outwards", "inwards"]
    assert len(graph.sections) == len(graph.kinds) == len(graph.offline) == len(graph)


def test_results_may_be_nested(graph: Graph) -> None:
    x, y = graph.input("x"), graph.input("y")
    nested = {"a": [x, 1.0, (y, "text")], "b": np.array([[x, 2.0]]), "c": None}
    assert [e.node for e in expressions(nested)] == [x.node, y.node, x.node]
    changed = mapped(nested, lambda e: -e)
    assert isinstance(changed["a"][2], tuple)
    assert [repr(e) for e in expressions(changed)] == ["Expr(-x)", "Expr(-y)", "Expr(-x)"]
    assert (changed["a"][1], changed["b"][0, 1], changed["c"]) == (1.0, 2.0, None)
    assert isinstance(nested["b"], np.ndarray)
    assert same(nested["b"][0, 0], x), "what came stays as it was"


def test_sizes_and_exponentials() -> None:
    """|x| does not see a sign, e^x does: y - x and x - y are one node with two signs."""
    graph = Graph()
    x, y = graph.input("x"), graph.input("y")
    assert same(abs(x - y), abs(y - x))
    assert same(abs(-x), abs(x))
    assert not same(abs(x), x)
    assert not same((x - y).exp(), (y - x).exp())
    assert same((-(x * y)).exp(), (-(x * y)).exp())
    results = [abs(x - y), (x - y).exp(), (y - x).exp(), (-x).exp(), abs(-(x * y))]
    at = {"x": 0.7, "y": -1.1}
    truth = [1.8, math.exp(1.8), math.exp(-1.8), math.exp(-0.7), 0.77]
    assert evaluate(graph, results, at) == pytest.approx(truth, rel=1e-15)
    # |x| costs nothing, an exponential as much as a sine
    assert graph.counts(results) == Counts(mul=1, add=1, trig=3)
    assert [abs(graph.constant(-3.0)), graph.constant(0.0).exp(), graph.constant(-2.0).exp()] == [
        3.0,
        1.0,
        math.exp(-2.0),
    ]
    m = graph.parameter("m")
    assert graph.counts([abs(m).sqrt() * x, (m * m).exp() * y]) == Counts(mul=2)  # known before any state is


def test_what_is_forgotten_is_made_again_as_in_a_graph_that_never_had_it() -> None:
    def more(x: Expr, y: Expr) -> list[Any]:
        return [(x * y + 2.5) * (x - y), choose(x, y, 3.0 * x, y * y), root(x * x + 0.25)]

    tried, fresh = Graph(), Graph()
    (x, y), (u, v) = ((graph.input("x"), graph.input("y")) for graph in (tried, fresh))
    assert tried.counts(x * y) == fresh.counts(u * v)
    size = len(tried)
    tried.name("z", (x + 7.0) * y)
    more(y, x)
    tried.forget(size)
    assert len(tried) == size == len(fresh)
    assert tried.counts(more(x, y)) == fresh.counts(more(u, v))
    for part in ("kinds", "left", "right", "offline", "sections", "values", "branches", "leaves", "names"):
        assert getattr(tried, part) == getattr(fresh, part), part
