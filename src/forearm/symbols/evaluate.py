"""The values of expressions on NumPy arrays, or on numbers: then the same on every machine."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from forearm.errors import InputError
from forearm.symbols.graph import ADD, CONSTANT, DIV, MUL, SIGN, SQRT, SUB, Expr, Graph
from forearm.symbols.scalars import again

# NumPy's own on numbers too: of 1 / 0, of the root of -1 and of NaN they say what arrays say.
IN_NUMPY: dict[int, Callable[..., Any]] = {
    MUL: np.multiply,
    ADD: np.add,
    SUB: np.subtract,
    DIV: np.divide,
    SQRT: np.sqrt,
    SIGN: np.sign,
}


def evaluate(graph: Graph, results: Any, given: dict[str, Any]) -> Any:
    """The results with a number or an array for each input and parameter; arrays share one shape."""
    values: dict[int, Any] = {}
    for place in graph.needed(results):
        kind = graph.kinds[place]
        if kind == CONSTANT:
            values[place] = graph.values[place]
        elif place in graph.leaves:
            name = graph.leaves[place]
            if name not in given:
                raise InputError(
                    f"evaluate: no value for {name!r}; came values for "
                    f"{', '.join(sorted(given)) or 'nothing'}."
                )
            values[place] = given[name]
        else:
            value = computed(graph, place, *(values[operand] for operand in graph.operands(place)))
            values[place] = float(value) if isinstance(value, np.float64) else value
    return _taken(results, values)


def computed(graph: Graph, place: int, *operands: Any) -> Any:
    """One operation on the values of its operands."""
    return (IN_NUMPY.get(graph.kinds[place]) or partial(again, graph, place))(*operands)


def _taken(results: Any, values: dict[int, Any]) -> Any:
    if isinstance(results, Expr):
        return -values[results.node] if results.negative else values[results.node]
    if isinstance(results, np.ndarray):
        flat = np.broadcast_arrays(*(_taken(entry, values) for entry in results.flat))
        return np.array(flat).reshape(*results.shape, *flat[0].shape) if flat else results
    if isinstance(results, dict):
        return {key: _taken(entry, values) for key, entry in results.items()}
    if isinstance(results, list | tuple):
        return [_taken(entry, values) for entry in results]
    return results
