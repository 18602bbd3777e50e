"""The values of expressions on NumPy arrays, or on numbers: then the same on every machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from forearm.errors import InputError
from forearm.symbols.graph import (
    ABS,
    ADD,
    ATAN2,
    CONSTANT,
    COS,
    DIV,
    EXP,
    MUL,
    SIGN,
    SIN,
    SQRT,
    SUB,
    Expr,
    Graph,
)
from forearm.symbols.scalars import arctangent, cosine, exponential, sine

BINARY: dict[int, Callable[..., Any]] = {
    MUL: np.multiply,
    ADD: np.add,
    SUB: np.subtract,
    DIV: np.divide,
    ATAN2: arctangent,
}
UNARY: dict[int, Callable[..., Any]] = {
    COS: cosine,
    SIN: sine,
    SQRT: np.sqrt,
    SIGN: np.sign,
    ABS: np.abs,
    EXP: exponential,
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
            if kind in BINARY:
                value = BINARY[kind](values[graph.left[place]], values[graph.right[place]])
            else:
                value = UNARY[kind](values[graph.left[place]])
            values[place] = float(value) if isinstance(value, np.float64) else value
    return _taken(results, values)


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
