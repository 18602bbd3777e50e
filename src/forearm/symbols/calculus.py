"""Derivatives of expressions, as expressions of the same graph:
forward mode along one direction, or reverse mode from one result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forearm.portable import total
from forearm.symbols.evaluate import called, substituted, transplanted
from forearm.symbols.graph import (
    ABS,
    ADD,
    ATAN2,
    CALL,
    CHOOSE,
    COS,
    DIV,
    EXP,
    LOOKUP,
    MUL,
    PICK,
    ROUND,
    SIGN,
    SIN,
    SQRT,
    SUB,
    Expr,
    Graph,
    number,
)
from forearm.symbols.linear import solve_general
from forearm.symbols.region import Region
from forearm.symbols.scalars import Scalar, Values, choose, is_zero, look_up, objects

# The slopes of functions of one operand x with the value y; that of a sign is 0 wherever it exists.
SLOPES: dict[int, Callable[[Expr, Expr], Scalar]] = {
    SQRT: lambda _, y: 0.5 / y,
    COS: lambda x, _: -x.sin(),
    SIN: lambda x, _: x.cos(),
    ABS: lambda x, _: x.sign(),
    EXP: lambda _, y: y,
    SIGN: lambda *_: 0.0,
    ROUND: lambda *_: 0.0,
}


def jacobian(graph: Graph, results: Sequence[Scalar], inputs: Sequence[Expr]) -> Any:
    """d results[i] / d inputs[j] as an array (len(results), len(inputs)),
    in reverse mode if there are fewer results than inputs.
    """
    if len(results) < len(inputs):
        return objects([gradient(graph, r, inputs) for r in results]).reshape(len(results), len(inputs))
    columns = [derivative(graph, results, {x: 1.0}) for x in inputs]
    return objects(columns).reshape(len(inputs), len(results)).T


def derivative(graph: Graph, results: Sequence[Scalar], direction: dict[Expr, Scalar]) -> Values:
    """Directional derivatives of all results for given rates of the inputs: forward mode, one sweep."""
    rate = {x.node: -d if x.negative else d for x, d in direction.items()}
    for place in graph.needed(list(results)):
        if graph.kinds[place] < MUL or place in rate:
            continue
        total = 0.0
        if graph.kinds[place] == CALL:
            rate[place] = _pushed(graph, place, rate)
            continue
        if graph.kinds[place] == PICK:
            total = rate[graph.left[place]][graph.picks[place]]
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


def gradient(graph: Graph, result: Scalar, inputs: Sequence[Expr]) -> Values:
    """Derivatives of one result with respect to every input: reverse mode, one sweep."""
    if not isinstance(result, Expr):
        return [0.0] * len(inputs)
    pull: dict[int, Scalar] = {result.node: -1.0 if result.negative else 1.0}
    for place in reversed(graph.needed(result)):
        if graph.kinds[place] < MUL or place not in pull:
            continue
        if graph.kinds[place] == CALL:
            for operand, pulled in _pulled(graph, place, pull[place]):
                pull[operand] = pull.get(operand, 0.0) + pulled
            continue
        if graph.kinds[place] == PICK:
            whole = pull.setdefault(graph.left[place], {})
            whole[graph.picks[place]] = pull[place]
        if graph.kinds[place] == CHOOSE:
            a, b, x, y = graph.operands(place)
            tested = Expr(graph, a, False), Expr(graph, b, False)
            for operand, pulls in ((x, (pull[place], 0.0)), (y, (0.0, pull[place]))):
                pull[operand] = pull.get(operand, 0.0) + choose(*tested, *pulls)
        for operand, slope in _slopes(graph, place):
            if not is_zero(slope):
                pull[operand] = pull.get(operand, 0.0) + slope * pull[place]
    return [_signed(pull.get(x.node, 0.0), x) for x in inputs]


def _pushed(graph: Graph, place: int, rate: dict[int, Scalar]) -> Values:
    """Forward mode through a region, by a derivative region: of the state at its end if it iterates."""
    region, operands = graph.calls[place]
    body, inputs, values, count = _opened(region)
    moved = [k for k, operand in enumerate(operands) if k >= count and not is_zero(rate.get(operand, 0.0))]
    changes = [body.input(f"rate[{k}]") for k in moved]
    results = derivative(body, values, {inputs[k]: c for k, c in zip(moved, changes, strict=True)})
    if count:
        results = list(solve_general(_left(body, values, inputs), objects(results)))
    made = Region(body, (*inputs, *changes), tuple(results), title=f"change of {region.title}")
    found = called(made, [*_at_the_end(graph, place, count), *(rate[operands[k]] for k in moved)])
    return [*found, *[0.0] * (len(region.results) - len(values))]


def _pulled(graph: Graph, place: int, weights: dict[int, Scalar]) -> list[tuple[int, Scalar]]:
    """Reverse mode through a region: for each operand the derivative of the weighted values, likewise."""
    region, operands = graph.calls[place]
    body, inputs, values, count = _opened(region)
    symbols = [body.input(f"weight[{k}]") for k in range(len(values))]
    weighted = total((symbol * value for symbol, value in zip(symbols, values, strict=True)), 0.0)
    results = gradient(body, weighted, inputs[count:])
    if count:
        solved = solve_general(_left(body, values, inputs).T, objects(symbols))
        results = substituted(body, results, dict(zip(symbols, solved, strict=True)))
    made = Region(body, (*inputs, *symbols), tuple(results), title=f"slope of {region.title}")
    given = [*_at_the_end(graph, place, count), *(weights.get(k, 0.0) for k in range(len(values)))]
    return list(zip(operands[count:], called(made, given), strict=True))


def _opened(region: Region) -> tuple[Graph, list[Expr], Values, int]:
    """A graph with a region's inputs, the expressions to differentiate, and how many of the inputs are an
    iterated state: then the equations that hold at its end are differentiated (implicit function theorem).
    """
    body = Graph()
    inputs = [body.input(f"x[{k}]") for k in range(len(region.inputs))]

    def moved(some: Region, wanted: Sequence[Scalar]) -> Values:
        places = dict(zip((x.node for x in some.inputs), inputs, strict=True))
        return list(transplanted(some.graph, list(wanted), places))

    if region.condition is None:
        return body, inputs, moved(region, region.results), 0
    if region.most == 1:
        *values, a, b = moved(region, region.wanted)
        return body, inputs, [choose(a, b, x, y) for x, y in zip(values, inputs, strict=False)], 0
    assert region.zero is not None
    return body, inputs, moved(region.zero, region.zero.results), len(region.results)


def _left(body: Graph, values: Sequence[Scalar], inputs: Sequence[Expr]) -> Any:
    """- d values / d state: with 0 = f(x, p) it is -f_x dx = f_p dp."""
    return -jacobian(body, values, inputs[: len(values)])


def _at_the_end(graph: Graph, place: int, count: int) -> list[Expr]:
    """A region's inputs, with the final state in place of the initial one."""
    region, operands = graph.calls[place]
    given = [Expr(graph, operand, False) for operand in operands]
    return [*graph.call(region, operands), *given[count:]] if count else given


def _slopes(graph: Graph, place: int) -> list[tuple[int, Scalar]]:
    """For each operand of an operation the derivative with respect to it; constants are omitted, and so are
    choices and regions, which are differentiated through what is chosen or called.
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
        inverse = made * (1.0 / graph.values[a]) if graph.values.get(a) else 1.0 / y  # c / y exists already
        slopes = [(a, inverse), (b, -(made * inverse) if a in graph.values else -(made / y))]
    elif kind == ATAN2:
        y, square = Expr(graph, b, False), x * x + Expr(graph, b, False) * Expr(graph, b, False)
        slopes = [(a, y / square), (b, -(x / square))]
    elif kind in SLOPES:
        slopes = [(a, SLOPES[kind](x, made))]
    elif kind == LOOKUP:
        slopes = [(a, look_up(graph.tables[place].slope(), x))]
    else:
        slopes = []
    return [(operand, number(slope)) for operand, slope in slopes if operand not in graph.values]


def _signed(value: Scalar, of: Expr) -> Scalar:
    return -value if of.negative else value
