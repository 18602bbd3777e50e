"""Choices and look-ups as vector code: the bits of every lane, every number of points, both precisions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from kernels.compiling import evaluated

from forearm.codegen.functions import Traced
from forearm.codegen.program import Argument
from forearm.kernels.ir import function_text, module_text
from forearm.kernels.native import host
from forearm.kernels.vectors import CHOSEN_BREAKS, COUNTED_BREAKS
from forearm.symbols import Graph, evaluate
from forearm.symbols.scalars import choose, look_up, quantised, rounded
from forearm.symbols.table import LookupTable, spline, straight

MANY = 3 * COUNTED_BREAKS + 7  # so many that the piece is found by halving


def table(points: int, smooth: bool) -> LookupTable:
    x = (
        np.sort(np.random.default_rng(points).uniform(-1.0, 1.0, points))
        if points > 2
        else np.array([-0.5, 0.5])
    )
    values = tuple(math.sin(4.0 * v) + 1.5 for v in x)
    return (spline if smooth else straight)(tuple(x.tolist()), values)


def states(of: LookupTable) -> np.ndarray:
    """Some between, beyond, and all breaks with their neighbours."""
    breaks = np.array(of.breaks)
    near = [np.nextafter(breaks, -9.0), breaks, np.nextafter(breaks, 9.0)]
    return np.concatenate([np.random.default_rng(1).uniform(-1.5, 1.5, 200), *near, [0.0, -0.0, 1e6, -1e6]])


@pytest.mark.parametrize(
    "points", [2, CHOSEN_BREAKS, CHOSEN_BREAKS + 1, COUNTED_BREAKS, COUNTED_BREAKS + 1, MANY]
)
@pytest.mark.parametrize("smooth", [False, True], ids=["straight", "spline"])
@pytest.mark.sweep
def test_tables_of_any_size_in_any_number_of_lanes(points: int, smooth: bool) -> None:
    made = table(points, smooth)
    graph = Graph()
    x = graph.input("x[0]")
    results = [look_up(made, x), look_up(made.slope(), -x)]
    values = states(made)
    truth = np.stack(evaluate(graph, results, {"x[0]": values}), axis=1)
    alone = evaluated(graph, results, values, host("float64", 1))
    scale = 1.0 + np.abs(truth)
    assert (np.abs(alone - truth) / scale).max() < 1e-14
    for lanes in (2, 4, 8):
        assert np.array_equal(evaluated(graph, results, values, host("float64", lanes)), alone)
    short = evaluated(graph, results[:1], values[:200], host("float32"))
    assert np.abs(short[:, 0] - truth[:200, 0]).max() < 2e-5


def test_choices_take_the_branch_in_each_lane_and_nan_the_second() -> None:
    graph = Graph()
    a, b, x, y = (graph.input(f"x[{i}]") for i in range(4))
    results = [choose(a, b, x, -y), choose(-a, 0.0, 1.0, x) * y, choose(a, b, choose(x, y, a, b), x)]
    rng = np.random.default_rng(3)
    rows = rng.integers(-2, 3, (203, 4)).astype(float)
    truth = np.stack(evaluate(graph, results, {f"x[{i}]": rows[:, i] for i in range(4)}), axis=1)
    for dtype in ("float64", "float32"):
        for lanes in (1, 2, 4, 8):
            assert np.array_equal(evaluated(graph, results, rows, host(dtype, lanes)), truth)


def test_what_is_not_finite_makes_its_state_nan_and_no_other() -> None:
    made = table(MANY, smooth=False)
    graph = Graph()
    values = np.array([0.1, np.nan, 0.2, np.inf, -np.inf, 0.3])
    found = evaluated(graph, [look_up(made, graph.input("x[0]"))], values, host("float64"))
    assert np.isnan(found[:, 0]).tolist() == [False, True, False, True, True, False]


def test_functions_of_one_module_share_a_table() -> None:
    """Looked up twice with one table and once with another: two tables are kept."""
    graph, target = Graph(), host("float64")
    x, one, other = graph.input("x[0]"), table(9, smooth=False), table(5, smooth=False)
    results = np.array([look_up(one, x), look_up(one, 2.0 * x), look_up(other, x)], dtype=object)
    traced = Traced(graph, {"y": results}, (Argument("x", (1,), ""),), (Argument("y", (3,), ""),))
    text = module_text([function_text(name, traced, target) for name in ("f", "g")], target)
    assert f"\n{text}".count("\n@table.") == 2


def test_roundings_are_those_of_numpy_in_every_lane_and_precision() -> None:
    graph = Graph()
    x = graph.input("x[0]")
    results = [rounded(x), -rounded(-x), quantised(x, 0.25, -8.0, 7.0)]
    ties = np.arange(-9.0, 9.5, 0.5)
    big = np.array([2.0**23 - 0.5, 2.0**23, 2.0**52 - 0.5, 2.0**52 + 1.0, 1e300, 0.49999999999999994, -0.0])
    values = np.concatenate([ties, ties + 1e-9, np.random.default_rng(2).uniform(-5.0, 5.0, 100), big, -big])
    truth = np.stack(
        [np.rint(values), np.rint(values), np.clip(np.rint(values / 0.25), -8, 7) * 0.25], axis=1
    )
    assert np.array_equal(np.stack(evaluate(graph, results, {"x[0]": values}), axis=1), truth)
    for lanes in (1, 2, 4, 8):
        assert np.array_equal(evaluated(graph, results, values, host("float64", lanes)), truth)
    short = values[np.abs(values) < 1e30].astype(np.float32)
    found = evaluated(graph, results[:1], short, host("float32"))[:, 0]
    assert np.array_equal(found, np.rint(short))
