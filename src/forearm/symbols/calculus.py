"""Derivatives of expressions, as expressions of the same graph:
forwards along one direction, or backwards from one result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from forearm.symbols.graph import (
    ABS,
    ADD,
    ATAN2,
    CHOOSE,
    COS,
    DIV,
    EXP,
    LOOKUP,
    MUL,
    SIGN,
    SIN,
    SQRT,
    SUB,
    Expr,
    Graph,
    mapped,
    number,
)
from forearm.symbols.scalars import Scalar, again, choose, is_zero, look_up


def jacobian(graph: Graph, results: Sequence[Scalar], inputs: Sequence[Expr]) -> Any:
    """d results[i] / d inputs[j] as an array (len(results), len(inputs)), backwards if there are
    fewer results than inputs.
    """
    if len(results) < len(inputs):
        return np.array([gradient(graph, r, inputs) for r in results], dtype=object).reshape(
            len(results), len(inputs)
        )
    columns = [derivative(graph, results, {x: 1.0}) for x in inputs]
    return np.array(columns, dtype=object).reshape(len(inputs), len(results)).T


def derivative(graph: Graph, results: Sequence[Scalar], direction: dict[Expr, Scalar]) -> list[Scalar]:
    """How the results change when the inputs change along a direction:
    forward mode, one sweep for all results.
    """
    rate: dict[int, Scalar] = {x.node: -d if x.negative else d for x, d in direction.items()}
    for place in graph.needed(list(results)):
        if graph.kinds[place] < MUL or place in rate:
            continue
        total: Scalar = 0.0
        if graph.kinds[place] == CHOOSE:
            a, b, x, y = graph.operands(place)
            total = choose(Expr(graph, a, False), Expr(graph, b, False), rate.get(x, 0.0), rate.get(y, 0.0))
        for operand, slope in _slopes(graph, place):
            moved = rate.get(operand, 0.0)
            if not is_zero(moved):
                total = total + slope * moved
        if not is_zero(total):
            rate[place] = total
    return [_signed(rate.get(r.node, 0.0), r) if isinstance(r, Expr) else 0.0 for r in results]


def gradient(graph: Graph, result: Scalar, inputs: Sequence[Expr]) -> list[Scalar]:
    """How one result depends on every input: reverse mode, one sweep for all inputs."""
    if not isinstance(result, Expr):
        return [0.0] * len(inputs)
    pull: dict[int, Scalar] = {result.node: -1.0 if result.negative else 1.0}
    for place in reversed(graph.needed(result)):
        if graph.kinds[place] < MUL or place not in pull:
            continue
        if graph.kinds[place] == CHOOSE:
            a, b, x, y = graph.operands(place)
            tested = Expr(graph, a, False), Expr(graph, b, False)
            for operand, pulls in ((x, (pull[place], 0.0)), (y, (0.0, pull[place]))):
                pull[operand] = pull.get(operand, 0.0) + choose(*tested, *pulls)
        for operand, slope in _slopes(graph, place):
            if not is_zero(slope):
                pull[operand] = pull.get(operand, 0.0) + slope * pull[place]
    return [_signed(pull.get(x.node, 0.0), x) for x in inputs]


def substituted(graph: Graph, results: Any, table: dict[Expr, Scalar]) -> Any:
    """The results with other values in the place of inputs; what does not depend on these inputs stays."""
    values: dict[int, Scalar] = {x.node: -value if x.negative else value for x, value in table.items()}
    for place in graph.needed(results):
        operands = graph.operands(place)
        if any(operand in values for operand in operands):
            values[place] = again(graph, place, *(values.get(k, Expr(graph, k, False)) for k in operands))
    return mapped(results, lambda e: _signed(values.get(e.node, Expr(graph, e.node, False)), e))


def _slopes(graph: Graph, place: int) -> list[tuple[int, Scalar]]:
    """For each operand of an operation the derivative of the operation by it; constants are left out,
    and choices, which have the derivative of what is chosen.
    """
    kind, a, b = graph.kinds[place], graph.left[place], graph.right[place]
    x = Expr(graph, a, False)
    made = Expr(graph, place, False)
    slopes: list[tuple[int, Scalar]]
    if kind == MUL:
        slopes = [(a, Expr(graph, b, False)), (b, x)]
    elif kind in (ADD, SUB):
        slopes = [(a, 1.0), (b, 1.0 if kind == ADD else -1.0)]
    elif kind == DIV:
        y = Expr(graph, b, False)
        inverse = made * (1.0 / graph.values[a]) if graph.values.get(a) else 1.0 / y  # c / y is there already
        slopes = [(a, inverse), (b, -(made * inverse) if a in graph.values else -(made / y))]
    elif kind == ATAN2:
        y, square = Expr(graph, b, False), x * x + Expr(graph, b, False) * Expr(graph, b, False)
        slopes = [(a, y / square), (b, -(x / square))]
    elif kind == SQRT:
        slopes = [(a, 0.5 / made)]
    elif kind == COS:
        slopes = [(a, -x.sin())]
    elif kind == SIN:
        slopes = [(a, x.cos())]
    elif kind == ABS:
        slopes = [(a, x.sign())]
    elif kind == EXP:
        slopes = [(a, made)]
    elif kind == LOOKUP:
        slopes = [(a, look_up(graph.tables[place].slope(), x))]
    elif kind == CHOOSE:
        slopes = []
    else:
        assert kind == SIGN  # flat wherever it has a slope
        slopes = [(a, 0.0)]
    return [(operand, number(slope)) for operand, slope in slopes if operand not in graph.values]


def _signed(value: Scalar, of: Expr) -> Scalar:
    return -value if of.negative else value
