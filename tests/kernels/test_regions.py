"""Iterations and functions as vector code: each lane goes on as long as it must."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from kernels.compiling import evaluated

from forearm.codegen.functions import Traced
from forearm.codegen.program import Argument
from forearm.kernels import ir
from forearm.kernels.native import host
from forearm.symbols import Expr, Graph, Shared, evaluate, gradient, iterate, refined
from forearm.symbols.scalars import cos, look_up
from forearm.symbols.table import straight

TABLE = straight(tuple(0.1 * k for k in range(-9, 10)), tuple(0.3 * (k % 4) for k in range(19)))


def root(of: Any, most: int = 50) -> Any:
    return iterate(
        lambda s: [0.5 * (s[0] + of / s[0]), abs(s[0] - of / s[0])],
        [of, 1.0],
        lambda s: (1e-13 * of, s[1]),
        most,
    )[0]


def everything() -> tuple[Graph, list[Any]]:
    """A loop in a loop, a loop and a table in a function, a function in a loop, what is done at most once."""
    graph = Graph()
    a, b, c = (graph.input(f"x[{i}]") for i in range(3))
    turned = Shared(lambda s: [cos(s[0]) * s[1] + c, root(s[1] * s[1] + look_up(TABLE, s[0]) + 1.0)])
    halved = iterate(
        lambda s: [-(0.5 * s[0]) + 0.01 * root(1.5 + s[0] * s[0], 3), s[1] + 1.0, s[1]],
        [40.0 * a + b, 0.0, -1.0],
        lambda s: (1.0, abs(s[0])),
        9,
    )
    walked = iterate(lambda s: turned([s[0] + 0.1, s[1]]), [a, b], lambda s: (s[0], c), 4)
    once = iterate(lambda s: [2.0 * s[0]], [a], lambda s: (b, c), 1)
    slopes = gradient(graph, root(a * a * b * b + 1.0), [a, b])
    roots = [root(a * a + 2.0), -root(b * b + 0.5) * c]
    return graph, [*roots, *halved, *turned(turned([a, b])), *walked, *once, *slopes]


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_the_bits_of_every_lane_and_those_of_numpy_but_for_rounding(lanes: int) -> None:
    graph, results = everything()
    rows = np.random.default_rng(1).uniform(-3.0, 3.0, (203, 3))
    truth = np.stack(evaluate(graph, results, {f"x[{i}]": rows[:, i] for i in range(3)}), axis=1)
    found = evaluated(graph, results, rows, host("float64", lanes))
    scale = 1.0 + np.abs(truth)
    assert (np.abs(found - truth) / scale).max() < 1e-12
    assert np.array_equal(found, evaluated(graph, results, rows[::-1], host("float64", lanes))[::-1])
    assert np.array_equal(found, evaluated(graph, results, rows, host("float64", 1)))
    new, again = refined(graph, results)
    assert (np.abs(evaluated(new, again, rows, host("float64", lanes)) - truth) / scale).max() < 1e-12


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("part", [3, 40])
def test_long_code_in_parts_has_the_same_bits(lanes: int, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regions and what is in them, exponentials side by side, tables and constants, with cuts anywhere."""
    graph, results = everything()
    a, b, c = (Expr(graph, place, False) for place in graph.leaves)
    results += [(a + 0.3 * b).exp() * (0.1 * c).exp(), (a * b).sin().exp() - b, graph.constant(0.7), -a]
    rows = np.random.default_rng(1).uniform(-3.0, 3.0, (23, 3))
    target = host("float64", lanes)
    inputs, outputs = (Argument("x", (3,), ""),), (Argument("y", (len(results),), ""),)
    traced = Traced(graph, {"y": np.array(results, dtype=object)}, inputs, outputs)
    whole, functions = evaluated(graph, results, rows, target), []
    monkeypatch.setattr(ir, "PART", part)
    for longest in (target.longest, 5):
        target = replace(target, longest=longest)
        functions.append(ir.function_text("f", traced, target).count("; function"))
    assert functions[1] > functions[0]
    assert np.array_equal(evaluated(graph, results, rows, target), whole)


def test_single_precision_and_what_is_not_a_number() -> None:
    graph = Graph()
    results = [root(graph.input("x[0]"), 30)]
    values = np.array([2.0, np.nan, 1e-3, 9.0, np.inf, 1e4])
    found = evaluated(graph, results, values, host("float32"))[:, 0]
    assert np.isnan(found[[1, 4]]).all()
    assert np.allclose(found[[0, 2, 3, 5]], np.sqrt(values[[0, 2, 3, 5]]), rtol=1e-6)
