"""Functions of any scalar: on numbers, symbols, arrays, and arrays that hold both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from forearm.symbols import Graph, evaluate, scalars

CLOSE = 1e-14  # sines and exponentials of two libraries
FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "sin": (scalars.sin, np.sin),
    "cos": (scalars.cos, np.cos),
    "exp": (scalars.exp, np.exp),
    "root": (lambda x: scalars.root(x * x + 0.3), lambda x: np.sqrt(x * x + 0.3)),
    "sign": (scalars.sign, np.sign),
    "rounded": (scalars.rounded, np.rint),
    "atan2": (lambda x: scalars.atan2(x, 0.7), lambda x: np.arctan2(x, 0.7)),
    "atan2 of it": (lambda x: scalars.atan2(-0.4, x), lambda x: np.arctan2(-0.4, x)),
    "maximum": (lambda x: scalars.maximum(x, 0.2), lambda x: np.maximum(x, 0.2)),
    "minimum": (lambda x: scalars.minimum(0.2, x), lambda x: np.minimum(0.2, x)),
    "choose": (lambda x: scalars.choose(x, 0.2, 2.0 * x, -x), lambda x: np.where(x < 0.2, 2.0 * x, -x)),
    "quantised": (
        lambda x: scalars.quantised(x, 0.3, -2, 2),
        lambda x: np.clip(np.rint(x / 0.3), -2, 2) * 0.3,
    ),
}
VALUES = np.array([0.9, -1.7, 0.1])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_of_arrays_that_hold_symbols_and_numbers(name: str) -> None:
    ours, truth = FUNCTIONS[name]
    graph = Graph()
    mixed = np.array([graph.input("x"), -graph.input("y"), VALUES[2]], dtype=object)
    made = evaluate(graph, ours(mixed), {"x": VALUES[0], "y": -VALUES[1]})
    np.testing.assert_allclose(np.array(made, dtype=float), truth(VALUES), rtol=CLOSE)
    alone = evaluate(graph, ours(mixed[0]), {"x": VALUES[0], "y": 0.0})
    np.testing.assert_allclose(alone, truth(VALUES)[0], rtol=CLOSE)
    np.testing.assert_allclose([ours(x) for x in VALUES.tolist()], truth(VALUES), rtol=CLOSE)
    np.testing.assert_allclose(ours(VALUES), truth(VALUES), rtol=CLOSE)
