"""Values of expressions on numbers and arrays: row by row the same, in the shape in
which the results came.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from symbols.making import given, random_results

from forearm.errors import InputError
from forearm.symbols import Graph, evaluate

AGREEMENT = 1e-10  # between formulations, of the largest torque


def test_arrays_are_evaluated_row_by_row() -> None:
    for seed in range(30):
        graph, results, truths, rows = random_results(seed)
        columns = given([np.array(column) for column in zip(*rows, strict=True)])
        together = evaluate(graph, np.array(results, dtype=object), columns)
        assert together.shape == (len(results), len(rows))
        alone = np.array([evaluate(graph, results, given(row)) for row in rows])
        np.testing.assert_allclose(together.T, alone, rtol=1e-14, atol=1e-14)
        np.testing.assert_allclose(alone, truths, rtol=1e-12, atol=1e-12)


def test_results_keep_their_shape_and_numbers_among_them() -> None:
    graph = Graph()
    x, y = graph.input("x"), graph.input("y")
    batch = {"x": np.array([1.0, 2.0, 3.0]), "y": np.array([4.0, 5.0, 6.0])}
    M = np.array([[0.0, x * y], [-x, 1.5], [x - y, y]], dtype=object)
    found = evaluate(graph, {"M": M, "v": [x + y, (2.0, -y)], "none": None}, batch)
    assert found["M"].shape == (3, 2, 3)
    np.testing.assert_array_equal(found["M"][0, 0], [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(found["M"][0, 1], [4.0, 10.0, 18.0])
    np.testing.assert_array_equal(found["M"][1], [[-1.0, -2.0, -3.0], [1.5, 1.5, 1.5]])
    np.testing.assert_array_equal(found["M"][2], [[-3.0, -3.0, -3.0], [4.0, 5.0, 6.0]])
    np.testing.assert_array_equal(found["v"][0], [5.0, 7.0, 9.0])
    assert found["v"][1][0] == 2.0
    np.testing.assert_array_equal(found["v"][1][1], [-4.0, -5.0, -6.0])
    assert found["none"] is None
    assert evaluate(graph, M, {"x": 1.0, "y": 4.0}).tolist() == [[0.0, 4.0], [-1.0, 1.5], [-3.0, 4.0]]
    assert evaluate(graph, np.array(x * y, dtype=object), batch).tolist() == [4.0, 10.0, 18.0]
    assert evaluate(graph, np.zeros((0, 3), dtype=object), {}).shape == (0, 3)
    assert evaluate(graph, [1.0, np.array([2.0])], {}) == [1.0, np.array([2.0])]


def test_constants_leaves_and_signs() -> None:
    graph = Graph()
    x, m = graph.input("x"), graph.parameter("m")
    results = [
        graph.constant(-2.0),
        x,
        -x,
        -(x + m),
        x.cos(),
        x.sin(),
        m.sqrt(),
        (-x).sign(),
        m / x,
        abs(-x),
        (-x).exp(),
    ]
    found = evaluate(graph, results, {"x": 0.7, "m": 2.0})
    assert found == pytest.approx(
        [
            -2.0,
            0.7,
            -0.7,
            -2.7,
            math.cos(0.7),
            math.sin(0.7),
            math.sqrt(2.0),
            -1.0,
            2.0 / 0.7,
            0.7,
            math.exp(-0.7),
        ],
        rel=1e-15,
    )


def test_a_missing_value_is_named() -> None:
    graph = Graph()
    x, m = graph.input("x"), graph.parameter("m")
    with pytest.raises(InputError, match=r"^evaluate: expected a value for 'm', got values for a, x\.$"):
        evaluate(graph, x * m, {"x": 1.0, "a": 2.0})
    with pytest.raises(InputError, match=r"^evaluate: expected a value for 'x', got values for nothing\.$"):
        evaluate(graph, -x, {})
    assert evaluate(graph, 2.0 * m, {"m": 3.0}) == 6.0, "what the results do not need may be missing"
