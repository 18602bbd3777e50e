"""Refined graphs: the same values, never more operations, and what is promised to be found is found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sweeps import long
from symbols.making import EVERY, EXACT, INVERSE, given, random_results, states, traced

from forearm.symbols import Counts, Expr, Graph, evaluate, refined
from forearm.symbols.scalars import same

SAME = 1e-13  # relative to the largest value: another order of the same few hundred operations
AGREEMENT = 1e-10  # between formulations
ARMS = ("puma560-akb", "chain4")
METHODS = (*INVERSE, "forward")
# Shares of the operations that are saved at least.
SAVED = {("chain4", "newton-euler"): 0.04, ("chain4", "modified-newton-euler"): 0.08}
SAVED |= {("puma560-akb", "gibbs-appell"): 0.035, ("chain4", "forward"): 0.05}


def work(counts: Counts) -> int:
    """Multiplications and additions; a division by what turns out to be a number becomes a multiplication."""
    return counts.mul + counts.add + counts.div


def text(graph: Graph) -> tuple[Any, ...]:
    """All that a graph is, to compare two."""
    return (
        graph.kinds,
        graph.left,
        graph.right,
        graph.values,
        graph.leaves,
        graph.names,
        graph.sections,
        graph.offline,
    )


@pytest.mark.slow
@pytest.mark.parametrize("operations", [EXACT, EVERY], ids=["polynomials", "every operation"])
@pytest.mark.parametrize("seeds", [range(60), *long([range(60, 400)])])
def test_random_graphs_keep_their_values_and_never_cost_more(operations: str, seeds: range) -> None:
    fewer = 0
    for seed in seeds:
        graph, results, truths, rows = random_results(seed, operations)
        before = text(graph)
        new, found = refined(graph, results)
        again, found_again = refined(new, found)
        assert text(graph) == before, "the graph that came stays as it was"
        for row, truth in zip(rows, truths, strict=True):
            largest = max(50.0, float(np.abs(truth).max()))  # values up to 50 pass through the results
            for values in (evaluate(new, found, given(row)), evaluate(again, found_again, given(row))):
                assert np.abs(np.array(values) - truth).max() <= 10 * SAME * largest, f"seed {seed}"
        old_counts, counts, counts_again = graph.counts(results), new.counts(found), again.counts(found_again)
        assert work(counts_again) <= work(counts) <= work(old_counts), f"seed {seed}"
        assert counts.trig <= old_counts.trig
        assert counts.sqrt <= old_counts.sqrt
        assert counts.div <= old_counts.div
        fewer += work(counts) < work(old_counts)
    assert fewer > len(seeds) // 20


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ARMS)
def test_formulations_keep_their_values_and_never_cost_more(name: str, method: str) -> None:
    graph, results = traced(name, method)
    table, answers = states(name, method)
    new, found = refined(graph, results)
    before, after = np.array(evaluate(graph, results, table)), np.array(evaluate(new, found, table))
    condition = 1e3 if method == "forward" else 1.0  # of the inertia matrices, at the least
    assert np.abs(after - before).max() <= SAME * condition * np.abs(before).max()
    assert np.abs(after.T - answers).max() <= AGREEMENT * np.abs(answers).max()
    old_counts, counts = graph.counts(results), new.counts(found)
    least = SAVED.get((name, method), 0.0)
    assert counts.mul + counts.add <= (1.0 - least) * (old_counts.mul + old_counts.add)
    assert (counts.div, counts.trig) == (old_counts.div, old_counts.trig)
    again, found_again = refined(new, found)
    assert work(again.counts(found_again)) <= work(counts)
    if method != "forward":
        assert again.counts(found_again) == counts, "nothing is left to be found"


def test_the_same_graph_is_refined_the_same_way() -> None:
    for seed in range(8):
        first, second = (refined(*random_results(seed)[:2]) for _ in range(2))
        assert text(first[0]) == text(second[0])
        assert repr(first[1]) == repr(second[1])
    first, second = (refined(*traced("chain4", "newton-euler")) for _ in range(2))
    assert text(first[0]) == text(second[0])


# Formulas of x, y, z, u, v and a parameter p, with the operations that are left of them.
FOUND = {
    "a common factor": ("[x * y + x * z]", Counts(mul=1, add=1)),
    "a common factor of differences": ("[x * y - z * x]", Counts(mul=1, add=1)),
    "a common factor of three": ("[x * y - x * z + u * x]", Counts(mul=1, add=2)),
    "a factor that stands alone too": ("[x + x * y + x * z]", Counts(mul=1, add=2)),
    "a factor that stands alone with a constant": ("[3.0 * x + x * y]", Counts(mul=1, add=1)),
    "a common constant": ("[3.0 * x + 3.0 * y]", Counts(mul=1, add=1)),
    "a common constant with signs": ("[3.0 * x - 3.0 * y - z]", Counts(mul=1, add=2)),
    "a factor and a constant": ("[3.0 * (x * y) + 3.0 * (x * z)]", Counts(mul=2, add=1)),
    "a factor behind constants": ("[2.0 * x * y * z + 3.0 * x * u * v]", Counts(mul=5, add=1)),
    "a parameter as factor": ("[p * x + p * y]", Counts(mul=1, add=1)),
    "parameters gathered": ("[p * x + 3.0 * x + 2.0 * p * x]", Counts(mul=1)),
    "parameters added beforehand": ("[x + p + y + p * p + 2.0]", Counts(add=2)),
    "parameters multiplied beforehand": ("[x * p * (p + 1.0)]", Counts(mul=1)),
    "a shared sum": ("[x + y + z, x + (y + u)]", Counts(add=3)),
    "a shared sum that is a result": ("[x + y, x + z + y, u + x + y]", Counts(add=3)),
    "a shared sum up to sign": ("[x - y + z, y + (u - x)]", Counts(add=3)),
    "a shared sum in one ratio": ("[2.0 * x + 6.0 * y + z, x + u + 3.0 * y]", Counts(mul=2, add=3)),
    "a shared sum in one ratio, the plainer first": (
        "[0.5 * x + 1.5 * y + z, x + u + 3.0 * y]",
        Counts(mul=2, add=3),
    ),
    "a shared sum with coefficients": ("[49.0 * x + z + y, 49.0 * x + u + y]", Counts(mul=1, add=3)),
    "a shared sum with a number": ("[x + y + 2.0, x + 2.0 + z]", Counts(add=3)),
    "a shared product": ("[x * y * z, x * (y * u)]", Counts(mul=3)),
    "a shared product at the end": ("[x * z * u, u * y * z]", Counts(mul=3)),
    "a shared product that is a result": ("[x * y, x * z * y, u * x * y]", Counts(mul=3)),
    "a shared square": ("[x * y * x, x * (z * x)]", Counts(mul=3)),
    "the same in another order": ("[x + y + z, x + (y + z), x + z + y]", Counts(add=2)),
    "constants of a product": ("[2.0 * x * (3.0 * y)]", Counts(mul=2)),
    "constants of a product that cancel": ("[2.0 * x * (0.5 * y) * z]", Counts(mul=2)),
    "numbers of a sum": ("[x + 2.0 + (y + 3.0)]", Counts(add=2)),
    "multiples of one value": ("[x + y + 2.0 * x]", Counts(mul=1, add=1)),
    "what cancels": ("[x + y - (x + z - z)]", Counts()),
    "two steps": ("[x * y * u + x * z * u + x * v * u]", Counts(mul=2, add=2)),
    "nothing": ("[x * y + z * u]", Counts(mul=2, add=1)),
}


@pytest.mark.parametrize("name", FOUND)
def test_found(name: str) -> None:
    formula, counts = FOUND[name]
    graph = Graph()
    leaves: dict[str, Any] = {leaf: graph.input(leaf) for leaf in "xyzuv"} | {"p": graph.parameter("p")}
    results: list[Any] = eval(formula, leaves)
    new, found = refined(graph, results)
    assert new.counts(found) == counts, f"before: {graph.counts(results)}"
    at = dict(zip("xyzuvp", (1.5, -2.25, 3.5, 0.75, -1.25, 2.5), strict=True))
    assert evaluate(new, found, at) == pytest.approx(evaluate(graph, results, at), rel=1e-14)


def test_what_others_need_is_not_taken_apart() -> None:
    """x y is a result and an angle: taking x out of x y + x z would make it twice."""
    graph = Graph()
    x, y, z = (graph.input(leaf) for leaf in "xyz")
    results = [x * y + x * z, x * y, (x * z).cos()]
    new, found = refined(graph, results)
    assert new.counts(found) == Counts(mul=2, add=1, trig=1) == graph.counts(results)
    total, shared = x + y + z, x + y
    results = [total, shared.sin(), shared / z, (total * 2.0).sqrt()]
    new, found = refined(graph, results)
    assert new.counts(found) == graph.counts(results) == Counts(mul=1, add=2, div=1, sqrt=1, trig=1)


def test_results_of_every_kind() -> None:
    graph = Graph()
    x, y, p = graph.input("x"), graph.input("y"), graph.parameter("p")
    results = {
        "constants": [2.0, graph.constant(-3.0), graph.constant(0.0)],
        "leaves": (x, -x, p, -p),
        "twice": [x * y, x * y, -(x * y)],
        "matrix": np.array([[x * y + x * p, 0.0], [-(x + y), 1.0]], dtype=object),
        "beforehand": p * p + 2.0,
        "other": [None, "text"],
    }
    new, found = refined(graph, results)
    assert found["constants"] == [2.0, -3.0, 0.0]
    assert isinstance(found["leaves"], tuple)
    assert [repr(e) for e in found["leaves"]] == ["Expr(x)", "Expr(-x)", "Expr(p)", "Expr(-p)"]
    assert same(found["twice"][0], found["twice"][1])
    assert same(found["twice"][0], -found["twice"][2])
    assert found["matrix"].shape == (2, 2)
    assert [found["matrix"][0, 1], found["matrix"][1, 1]] == [0.0, 1.0]
    assert found["other"] == [None, "text"]
    at = {"x": 2.0, "y": 5.0, "p": 3.0}
    assert evaluate(new, found["matrix"], at).tolist() == [[16.0, 0.0], [-7.0, 1.0]]
    assert evaluate(new, found["beforehand"], at) == 11.0
    assert new.counts(found["beforehand"]) == Counts()
    assert refined(graph, [])[1] == []


def test_what_turns_out_to_be_a_number_goes_through_functions() -> None:
    """(x + y + z + 4) - (x + z + y) is 4 once it is read as a sum."""
    graph = Graph()
    x, y, z = (graph.input(leaf) for leaf in "xyz")
    four = ((x + y) + z + 4.0) - ((x + z) + y)
    assert isinstance(four, Expr)
    results = [four, four.cos(), four.sin(), four.sqrt(), four.sign(), z / four, four / z, four * z, -four]
    new, found = refined(graph, results)
    at = {"x": 0.3, "y": 0.4, "z": 0.5}
    assert evaluate(new, found, at) == pytest.approx(evaluate(graph, results, at), rel=1e-14)
    assert found[0] == 4.0
    assert new.counts(found) == Counts(mul=2, div=1)
    new, found = refined(graph, [four * x])
    assert new.counts(found) == Counts(mul=1)
    assert evaluate(new, found, at) == [1.2]


def test_what_turns_out_to_be_zero() -> None:
    graph = Graph()
    x, y, z = (graph.input(leaf) for leaf in "xyz")
    none = ((x + y) + z) - ((x + z) + y)
    new, found = refined(graph, [none, none * x, x + none, none.sin(), none / x])
    assert found[0] == 0.0
    assert found[1] == 0.0
    assert same(found[2], Expr(new, next(p for p, leaf in new.leaves.items() if leaf == "x"), False))
    assert found[3:] == [0.0, 0.0]
    with pytest.raises(ZeroDivisionError, match="symbols: an expression was divided by the number 0"):
        refined(graph, x / none)


def test_roots_of_differences_survive_a_change_of_sign() -> None:
    graph = Graph()
    x, y, z = (graph.input(leaf) for leaf in "xyz")
    root = (y * z - x * z).sqrt()
    new, found = refined(graph, [root, x - y])
    assert evaluate(new, found, {"x": 1.0, "y": 3.0, "z": 2.0}) == [2.0, -2.0]
    assert new.counts(found) == Counts(mul=1, add=1, sqrt=1)


def test_coefficients_of_any_size() -> None:
    """Ratios of coefficients that are no number any more share nothing."""
    graph = Graph()
    x, y, z = (graph.input(leaf) for leaf in "xyz")
    results = [
        1e-200 * x + 1e200 * y + z,
        (2e-200 * x - z) + 3e200 * y,
        4e200 * x + 4e-200 * y,
        (2e200 * x + z) + 7e-200 * y,
    ]
    new, found = refined(graph, results)
    at = {"x": 1e-3, "y": 1e-3, "z": 7.0}
    np.testing.assert_allclose(evaluate(new, found, at), evaluate(graph, results, at), rtol=1e-14)


def test_inputs_and_parameters_stay_even_where_nobody_needs_them() -> None:
    graph = Graph()
    x, m, y = graph.input("x"), graph.parameter("m"), graph.input("y")
    new, found = refined(graph, x * 2.0 + m * 2.0)
    assert list(new.leaves.values()) == ["x", "m", "y"]
    assert [new.offline[place] for place in new.leaves] == [False, True, False]
    assert new.counts(found) == Counts(mul=1, add=1)
    assert y.node not in graph.needed(x)


def test_names_and_sections_stay_with_what_is_still_computed() -> None:
    graph = Graph()
    x, y, z, u = (graph.input(leaf) for leaf in "xyzu")
    graph.section = "first"
    shared, difference = x * y, y - x
    graph.name("shared", shared)
    graph.name("difference", difference)
    graph.section = "second"
    factored, plain = x * z + x * u, shared + z
    graph.name("factored", factored)
    graph.name("minus", -plain)
    new, found = refined(graph, [shared, difference, factored, -plain])
    signed = [
        f"neg_{symbol}" if e.negative else symbol
        for symbol, e in zip(("difference", "minus"), found[1::2], strict=True)
    ]
    assert [new.names[e.node] for e in found] == ["shared", signed[0], "factored", signed[1]]
    assert [new.sections[e.node] for e in found] == ["first", "first", "second", "second"]
    inner = next(p for p in (new.left[found[2].node], new.right[found[2].node]) if p not in new.leaves)
    assert new.sections[inner] == "second", "z + u belongs to what it was made for"
    assert evaluate(new, found, {"x": 2.0, "y": 5.0, "z": 3.0, "u": 7.0}) == [10.0, 3.0, 20.0, -13.0]


def test_named_values_of_a_formulation_keep_name_and_value() -> None:
    graph, results = traced("chain4", "newton-euler")
    new, _ = refined(graph, results)
    table, _ = states("chain4", "newton-euler")
    plain = {
        name.removeprefix("neg_"): Expr(graph, node, name.startswith("neg_"))
        for node, name in graph.names.items()
    }
    kept = {
        name.removeprefix("neg_"): Expr(new, node, name.startswith("neg_"))
        for node, name in new.names.items()
    }
    assert len(kept) > 50
    for name, expression in kept.items():
        found, truth = evaluate(new, expression, table), evaluate(graph, plain[name], table)
        np.testing.assert_allclose(found, truth, rtol=1e-11, err_msg=name)
        assert new.sections[expression.node].startswith("link ")
