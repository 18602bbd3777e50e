"""Orders of computation: operands first, nothing missing, and as few values alive as is claimed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sweeps import long
from symbols.making import random_results, traced

from forearm.symbols import Graph, most_live, order, refined
from forearm.symbols.graph import MUL
from forearm.symbols.ordering import _delayed, _depth_first, _greedy, grouped_order


def as_made(graph: Graph, results: Any) -> list[int]:
    return [place for place in graph.needed(results) if graph.kinds[place] >= MUL]


def simulated(graph: Graph, places: list[int]) -> int:
    """The most values that are still to be read, found by looking ahead after each operation."""

    def reads(place: int) -> set[int]:
        return set(graph.operands(place))

    alive = [
        {p for p in places[: k + 1] if any(p in reads(u) for u in places[k + 1 :])}
        for k in range(len(places))
    ]
    return max((len(some) for some in alive), default=0)


def assert_valid(graph: Graph, results: Any, places: list[int]) -> None:
    assert sorted(places) == as_made(graph, results)
    when = {place: k for k, place in enumerate(places)}
    for place in places:
        for operand in graph.operands(place):
            if graph.kinds[operand] >= MUL:
                assert when[operand] < when[place]


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(30), *long([range(30, 200)])])
def test_orders_are_valid_and_the_best_is_taken(seeds: range) -> None:
    better = 0
    for seed in seeds:
        graph, results, _, _ = random_results(seed)
        made = as_made(graph, results)
        orders = [
            _depth_first(graph, results),
            _greedy(graph, made, oldest=False),
            _greedy(graph, made, oldest=True),
            made,
        ]
        chosen = order(graph, results)
        for places in (*orders, chosen):
            assert_valid(graph, results, places)
            assert most_live(graph, places, results) == simulated(graph, places), f"seed {seed}"
        assert most_live(graph, chosen, results) == min(
            most_live(graph, places, results) for places in orders
        )
        better += most_live(graph, chosen, results) < most_live(graph, made, results)
    assert better > len(seeds) // 4


def test_live_values_by_hand() -> None:
    graph = Graph()
    x, y, z = (graph.input(name) for name in "xyz")
    a, b, c = x * y, y * z, x * z
    total = a + b + c
    assert most_live(graph, as_made(graph, total), total) == 3
    places = [a.node, b.node, (a + b).node, c.node, total.node]
    assert most_live(graph, places, total) == 2
    assert most_live(graph, order(graph, total), total) == 2
    assert most_live(graph, [a.node, b.node, c.node], [a, b, c]) == 0, "results leave as they are computed"
    assert most_live(graph, [a.node, (a * a).node], a * a) == 1, (
        "a value read twice by one operation is one value"
    )
    both = [a, a * z]
    assert order(graph, both) == [a.node, (a * z).node]
    assert most_live(graph, order(graph, both), both) == 1


def test_results_that_need_no_operation() -> None:
    graph = Graph()
    x = graph.input("x")
    for results in ([], [x, -x, 2.0], {"k": graph.constant(3.0)}, np.array([x, 1.0])):
        assert order(graph, results) == []
        assert most_live(graph, [], results) == 0


def test_depth_first_needs_as_many_values_as_a_tree_must() -> None:
    """Sethi and Ullman's number: the heavier operand first, also where it was made last."""
    graph = Graph()
    leaves = iter([graph.input(f"x{i}") for i in range(64)])

    def tree(depth: int) -> Any:
        return next(leaves) * next(leaves) if depth == 1 else tree(depth - 1) + tree(depth - 1)

    light, heavy = tree(1), tree(4)
    for result, most in ((heavy, 4), (light * heavy, 4), (tree(4) - (light * heavy).cos(), 5)):
        assert most_live(graph, _depth_first(graph, result), result) == most


@pytest.mark.parametrize("name", ["puma560-akb", "panda", "chain12"])
@pytest.mark.long
def test_inverse_dynamics_keeps_less_than_ten_values_a_joint(name: str) -> None:
    """As made it is twelve to fourteen; force, moment, sine and cosine of each joint
    must wait, which is eight.
    """
    graph, tau = refined(*traced(name, "newton-euler"))
    chosen = order(graph, tau)
    assert_valid(graph, tau, chosen)
    assert most_live(graph, chosen, tau) < 10 * len(tau) < most_live(graph, as_made(graph, tau), tau)
    assert chosen == order(graph, tau)


@pytest.mark.slow
def test_orders_by_groups_are_valid_and_the_better_is_taken() -> None:
    fewer = 0
    for seed in range(25):
        graph, results, _, _ = random_results(seed)
        made = as_made(graph, results)
        entries = list(np.asarray(results, dtype=object).flat)
        chosen = grouped_order(graph, [entries[1::2], entries[::2]])
        late = _delayed(graph, made)
        for places in (late, chosen):
            assert_valid(graph, results, places)
        assert most_live(graph, chosen, results) <= most_live(graph, late, results)
        fewer += most_live(graph, chosen, results) < most_live(graph, made, results)
    assert fewer > 0
