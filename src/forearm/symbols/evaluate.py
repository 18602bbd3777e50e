"""Evaluate a graph with other values for its leaves: arrays, numbers (then with the same result on every
machine), or expressions of another graph.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from forearm.errors import InputError
from forearm.symbols.graph import (
    ABS,
    ADD,
    ATAN2,
    CHOOSE,
    COS,
    DIV,
    EXP,
    MUL,
    ROUND,
    SIGN,
    SIN,
    SQRT,
    SUB,
    Expr,
    Graph,
    mapped,
    number,
    unsigned,
)
from forearm.symbols.scalars import Scalar, atan2, choose, cos, exp, look_up, root, rounded, sign, sin

if TYPE_CHECKING:
    from forearm.symbols.region import Region

OPERATIONS: dict[int, Callable[..., Scalar]] = {
    MUL: operator.mul,
    ADD: operator.add,
    SUB: operator.sub,
    DIV: operator.truediv,
    ATAN2: atan2,
    SQRT: root,
    COS: cos,
    SIN: sin,
    SIGN: sign,
    ABS: abs,
    EXP: exp,
    ROUND: rounded,
    CHOOSE: choose,
}
# NumPy's functions for numbers too: for 1 / 0, the root of -1 and NaN they return what they return for
# arrays.
IN_NUMPY: dict[int, Callable[..., Any]] = {
    MUL: np.multiply,
    ADD: np.add,
    SUB: np.subtract,
    DIV: np.divide,
    SQRT: np.sqrt,
    SIGN: np.sign,
}


def evaluate(graph: Graph, results: Any, given: dict[str, Any]) -> Any:
    """The results for a number or an array per input and parameter; arrays have the same shape."""
    values = {}
    for place in graph.needed(results):
        if place in graph.leaves:
            name = graph.leaves[place]
            if name not in given:
                raise InputError(
                    f"expected a value for {name!r}, got values for {', '.join(sorted(given)) or 'nothing'}.",
                    "evaluate",
                )
            values[place] = given[name]
    return _evaluated(graph, results, values)


def _evaluated(graph: Graph, results: Any, values: dict[int, Any]) -> Any:
    for place in graph.needed(results):
        if place in graph.values:
            values[place] = graph.values[place]
        elif place not in values:
            value = computed(graph, place, *(values[operand] for operand in graph.operands(place)))
            values[place] = float(value) if isinstance(value, np.float64) else value
    return _taken(results, values)


def computed(graph: Graph, place: int, *operands: Any) -> Any:
    """One operation on the values of its operands."""
    return (IN_NUMPY.get(graph.kinds[place]) or partial(again, graph, place))(*operands)


def again(graph: Graph, place: int, *operands: Scalar) -> Scalar:
    """An operation of a graph on other operands, expressions or plain numbers."""
    if place in graph.tables:
        return look_up(graph.tables[place], *operands)
    if place in graph.calls:
        return called(graph.calls[place][0], operands)
    if place in graph.picks:
        return operands[0][graph.picks[place]]
    return OPERATIONS[graph.kinds[place]](*operands)


def transplanted(
    graph: Graph,
    results: Any,
    values: dict[int, Scalar],
    into: Graph | None = None,
    written_out: bool = False,
) -> Any:
    """The results rebuilt with these values for leaves, or for any other node that has one; the values may
    belong to another graph. Sections and names are copied `into` that graph. Called functions may be
    `written_out` (inlined); iterations stay.
    """
    for place in graph.needed(results):
        operands = graph.operands(place)
        if place in graph.values:
            values[place] = graph.values[place]
        if place in values or not operands or any(operand not in values for operand in operands):
            continue  # below nodes that have a value already
        given = [values[operand] for operand in operands]
        if into is not None:
            into.section = graph.sections[place]
        if written_out and place in graph.calls:
            region = graph.calls[place][0]
            if region.condition:
                values[place] = called(region.written_out(), given)
            else:
                inside = dict(zip((x.node for x in region.inputs), given, strict=True))
                values[place] = transplanted(region.graph, list(region.results), inside, into, written_out)
        else:
            values[place] = again(graph, place, *given)
        if into is not None and place in graph.names:
            into.name_again(graph.names[place], values[place])
    return mapped(results, lambda e: -values[e.node] if e.negative else values[e.node])


def substituted(graph: Graph, results: Any, table: dict[Expr, Scalar]) -> Any:
    """The results with other values for some inputs; what does not depend on these inputs stays."""
    values = {x.node: -value if x.negative else value for x, value in table.items()}
    for place in graph.needed(results):
        operands = graph.operands(place)
        if place not in values and any(operand in values for operand in operands):
            values[place] = again(graph, place, *(values.get(k, Expr(graph, k, False)) for k in operands))

    def put(e: Expr) -> Scalar:
        value = values.get(e.node, Expr(graph, e.node, False))
        return -value if e.negative else value

    return mapped(results, put)


def called(region: Region, operands: Sequence[Scalar]) -> Sequence[Scalar]:
    """The values of a region: a place in the operands' graph, or numbers if they are numbers."""
    operands = [number(x) for x in operands]
    graph = next((x.graph for x in operands if isinstance(x, Expr)), None)
    if graph is None:
        return run(region, operands)
    there = [x if isinstance(x, Expr) else graph.constant(float(x)) for x in operands]
    return graph.call(region, tuple(unsigned(x).node for x in there))


def run(region: Region, operands: Sequence[Any]) -> Sequence[Any]:
    """A region on numbers or arrays; entries of an array that are done wait for the others."""

    def at(results: Any, state: Sequence[Any]) -> Any:
        given = [*state, *operands[len(state) :]]
        return _evaluated(
            region.graph, results, dict(zip((x.node for x in region.inputs), given, strict=True))
        )

    if region.condition is None:
        return list(at(list(region.results), ()))
    state = list(operands[: len(region.results)])
    for _ in range(region.most):
        a, b = at(list(region.condition), state)
        on = np.less(a, b)
        if not on.any():
            break
        following = at(list(region.results), state)
        state = [np.where(on, x, y) if np.ndim(on) else x for x, y in zip(following, state, strict=True)]
    return state


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
