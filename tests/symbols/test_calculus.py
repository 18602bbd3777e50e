"""Derivatives against complex steps, differences, each other, and the inertia matrix that they must give."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from arms import OFFSETS, SEVEN_POINTS
from symbols.making import (
    EVERY,
    SMOOTH,
    Floats,
    given,
    leaves_of,
    loaded,
    random_program,
    run,
    states,
    traced,
)

import forearm as fa
from forearm.errors import InputError
from forearm.symbols import Graph, derivative, evaluate, gradient, jacobian, substituted
from forearm.symbols.scalars import atan2, same

TINY = 1e-30  # the complex step: no differences are taken, so it has no rounding of its own
EXACT = 1e-11  # forty operations on values up to 50 and slopes of some thousands
DIFFERENCES = 1e-6  # seven points, of second derivatives


def complex_slopes(steps: Any, row: list[float], places: list[int]) -> Floats:
    """d values[places] / d leaves by complex steps, (len(places), 5)."""
    columns = []
    for k in range(len(row)):
        moved = [complex(v, TINY if i == k else 0.0) for i, v in enumerate(row)]
        columns.append([complex(run(steps, moved)[p]).imag / TINY for p in places])
    return np.array(columns).T


def values(graph: Graph, table: Any, row: list[float]) -> Floats:
    return np.asarray(evaluate(graph, table, given(row)), dtype=float)


def agree(found: Floats, truth: Floats, tolerance: float) -> bool:
    return bool(np.abs(found - truth).max() <= tolerance * max(1.0, float(np.abs(truth).max())))


@pytest.mark.parametrize("seed", range(15))
def test_random_expressions(seed: int) -> None:
    steps, rows = random_program(seed, EVERY, size=30)
    graph = Graph()
    leaves = leaves_of(graph)
    made = run(steps, leaves)
    places = [len(made) - 1, len(made) - 3, 0]
    results = [made[places[0]], -made[places[1]], leaves[0]]
    signs = np.array([[1.0], [-1.0], [1.0]])
    backwards = np.array([gradient(graph, r, leaves) for r in results], dtype=object)
    forwards = np.array([derivative(graph, results, {x: 1.0}) for x in leaves], dtype=object).T
    for row in rows:
        truth = signs * complex_slopes(steps, row, places)
        assert agree(values(graph, backwards, row), truth, EXACT)
        assert agree(values(graph, forwards, row), truth, EXACT)
        assert agree(values(graph, jacobian(graph, results, leaves), row), truth, EXACT)


@pytest.mark.parametrize("seed", range(5))
def test_second_derivatives(seed: int) -> None:
    steps, rows = random_program(1000 + seed, SMOOTH, size=16)
    graph = Graph()
    leaves = leaves_of(graph)
    made = run(steps, leaves)
    H = jacobian(graph, gradient(graph, made[-1], leaves), leaves)
    assert H.shape == (5, 5)
    for row in rows:
        columns = []
        for k in range(5):
            moved = [[v + h if i == k else v for i, v in enumerate(row)] for h in OFFSETS]
            columns.append(
                SEVEN_POINTS @ np.array([complex_slopes(steps, m, [len(made) - 1])[0] for m in moved])
            )
        found = values(graph, H, row)
        assert agree(found, np.array(columns), DIFFERENCES)
        assert agree(found, found.T, EXACT)


BY_HAND = {
    "x * y": "y, x",
    "-(x * y)": "-y, -x",
    "x + y": "1.0, 1.0",
    "y - x": "-1.0, 1.0",
    "3.0 * x - 2.0": "3.0, 0.0",
    "x.sin() + y.cos()": "x.cos(), -y.sin()",
    "x * x": "x + x, 0.0",
    "x.sign() * y": "0.0, x.sign()",
    "x": "1.0, 0.0",
    "2.5": "0.0, 0.0",
    "x.graph.constant(2.5)": "0.0, 0.0",
}


def test_each_operation_by_hand() -> None:
    graph = Graph()
    x, y = leaves = [graph.input("x"), graph.input("y")]
    for text, slopes in BY_HAND.items():
        result, wanted = eval(text), eval(slopes)
        for row in (gradient(graph, result, leaves), jacobian(graph, [result], leaves)[0]):
            assert all(same(a, b) for a, b in zip(row, wanted, strict=True)), text
    at = {"x": 4.0, "y": 5.0}
    root = math.sqrt(20.0)
    for made, truth in (
        (x / y, [0.2, -4.0 / 25.0]),
        (3.0 / x, [-3.0 / 16.0, 0.0]),
        ((x * y).sqrt(), [2.5 / root, 2.0 / root]),
        ((y - x).sqrt(), [-0.5, 0.5]),
    ):
        assert evaluate(graph, gradient(graph, made, leaves), at) == pytest.approx(truth, rel=1e-15)


def test_directions_signs_and_values_between() -> None:
    graph = Graph()
    x, y = graph.input("x"), graph.input("y")
    assert evaluate(graph, derivative(graph, [x * y, 2.0, -x], {x: 2.0, y: -3.0}), {"x": 5.0, "y": 7.0}) == [
        -1.0,
        0.0,
        -2.0,
    ]
    moved = derivative(graph, [x * y], {x: y, y: x})
    assert evaluate(graph, moved, {"x": 5.0, "y": 7.0}) == [74.0]
    assert derivative(graph, [3.0 * x], {-x: 1.0}) == [-3.0]
    assert gradient(graph, 3.0 * x, [-x]) == [-3.0]
    between = x + y
    result = between * between * x
    for found in (derivative(graph, [result], {between: 1.0}), gradient(graph, result, [between])):
        assert evaluate(graph, found, {"x": 2.0, "y": 3.0}) == [20.0], "with x held"
    along = derivative(graph, [result], {between: 2.0, x: 1.0})
    assert evaluate(graph, along, {"x": 2.0, "y": 3.0}) == [65.0], "the value between moves as it is told"


def test_a_jacobian_goes_the_way_that_has_fewer_sweeps() -> None:
    """One result of n factors backwards, n results of one input forwards:
    a small multiple of n, the other way n^2.
    """
    graph = Graph()
    inputs = [graph.input(f"x{i}") for i in range(20)]
    result = inputs[0]
    for x in inputs[1:]:
        result = result * x
    assert graph.counts([result, jacobian(graph, [result], inputs)]).mul < 60
    chain = [inputs[0]]
    for _ in range(20):
        chain.append(chain[-1].sin())
    assert graph.counts(jacobian(graph, chain, inputs[:1])).mul == 19


@pytest.mark.slow
@pytest.mark.parametrize("name", ["puma560-akb"])
def test_torques_by_accelerations_are_the_inertia_matrix(name: str) -> None:
    graph, tau = traced(name, "newton-euler")
    n = len(tau)
    places = {leaf: place for place, leaf in graph.leaves.items()}
    leaf = [
        [type(tau[-1])(graph, places[f"{symbol}{i}"], False) for i in range(n)]
        for symbol in ("q", "qd", "qdd")
    ]
    table, _ = states(name, "newton-euler", 2)
    q, qd, qdd = (np.array([table[f"{symbol}{i}"] for i in range(n)]).T for symbol in ("q", "qd", "qdd"))
    arm = loaded(name)
    M = evaluate(graph, jacobian(graph, tau, leaf[2]), table)
    np.testing.assert_allclose(np.moveaxis(M, 2, 0), fa.dynamics.inertia_matrix(arm, q), rtol=0.0, atol=1e-12)
    found = evaluate(graph, jacobian(graph, tau, leaf[0] + leaf[1]), table)
    for k in range(2):
        for j in range(n):
            step = OFFSETS[:, None] * np.eye(n)[j]
            rest = np.zeros((7, n))
            by_q = SEVEN_POINTS @ fa.dynamics.inverse(arm, q[k] + step, rest + qd[k], rest + qdd[k])
            by_qd = SEVEN_POINTS @ fa.dynamics.inverse(arm, rest + q[k], qd[k] + step, rest + qdd[k])
            np.testing.assert_allclose(found[:, j, k], by_q, rtol=0.0, atol=1e-8)
            np.testing.assert_allclose(found[:, n + j, k], by_qd, rtol=0.0, atol=1e-8)


def test_slopes_of_sizes_and_exponentials() -> None:
    graph = Graph()
    x, y = graph.input("x"), graph.input("y")
    for at in ({"x": 0.7, "y": 0.2}, {"x": 0.2, "y": 0.7}):
        side, gap = math.copysign(1.0, at["x"] - at["y"]), at["x"] - at["y"]
        assert evaluate(graph, gradient(graph, abs(x - y), [x, y]), at) == [side, -side]
        slopes = evaluate(graph, gradient(graph, (-(x - y) * (x - y)).exp(), [x, y]), at)
        bump = math.exp(-(gap**2))
        assert slopes == pytest.approx([-2.0 * gap * bump, 2.0 * gap * bump], rel=1e-14)
        twice = derivative(graph, derivative(graph, [x.exp()], {x: 1.0}), {x: 1.0})
        assert evaluate(graph, twice, at) == pytest.approx([math.exp(at["x"])], rel=1e-15)
    assert evaluate(graph, gradient(graph, abs(x), [x]), {"x": 0.0}) == [0.0]


def test_slopes_of_an_angle() -> None:
    """d angle = (x dy - y dx) / (x^2 + y^2), in every quadrant and with signs in front of either leg."""
    graph = Graph()
    x, y = graph.input("x"), graph.input("y")
    for values in ((0.3, 1.2), (-0.7, 0.4), (-0.5, -2.0), (1.5, -0.2)):
        at = dict(zip(("x", "y"), values, strict=True))
        square = values[0] ** 2 + values[1] ** 2
        for angle, sign in ((y.arctangent(x), 1.0), ((-y).arctangent(x), -1.0), ((-y).arctangent(-x), 1.0)):
            slopes = evaluate(graph, gradient(graph, angle, [x, y]), at)
            np.testing.assert_allclose(
                slopes, [-sign * values[1] / square, sign * values[0] / square], rtol=1e-14
            )
    made = [y.graph.constant(1.0).arctangent(-2.0), x.arctangent(-1.0), atan2(1.0, x), atan2(1.0, -1.0)]
    angles = [math.atan2(*legs) for legs in ((1.0, -2.0), (0.3, -1.0), (1.0, 0.3), (1.0, -1.0))]
    np.testing.assert_allclose(evaluate(graph, made, {"x": 0.3}), angles, rtol=1e-15)


def test_numbers_in_the_place_of_inputs_are_computed_with() -> None:
    graph = Graph()
    x, y = graph.input("x"), graph.input("y")
    results = [x.sqrt(), abs(y), y.sign(), y.exp(), atan2(x, y), atan2(y, x)]
    found = substituted(graph, results, {x: 2.0, y: -3.0})
    assert found == [math.sqrt(2.0), 3.0, -1.0, math.exp(-3.0), math.atan2(2.0, -3.0), math.atan2(-3.0, 2.0)]
    half = substituted(graph, results[4:], {x: 2.0})
    values = evaluate(graph, half, {"x": 0.0, "y": -3.0})
    assert values == pytest.approx(found[4:], rel=1e-15)
    with pytest.raises(InputError, match=r"the square root of -2\.0 is not a real number"):
        substituted(graph, results, {x: -2.0})
