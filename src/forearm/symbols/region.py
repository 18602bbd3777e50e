"""Regions: computations that a graph holds as a unit. One with a condition iterates its step; one without is
a function, traced once and called wherever it is used.

A region has its own graph. Loop invariants of its step are computed outside, once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from forearm.symbols.counts import Counts
from forearm.symbols.evaluate import called, substituted, transplanted
from forearm.symbols.graph import Expr, Graph, expressions
from forearm.symbols.scalars import Scalar, Values, same
from forearm.values import frozen

State = Values


@frozen
class Region:
    """Results from inputs on a graph. One with a condition (a, b) iterates: its first inputs are the state,
    its results the next state; it continues while a < b, at most `most` rounds.

    `zero` are equations for as many of the first state entries that hold at the end: an iteration is
    differentiated through them. A region of a single round is differentiated like a choice.
    """

    graph: Graph
    inputs: tuple[Expr, ...]
    results: tuple[Scalar, ...]
    condition: tuple[Scalar, Scalar] | None = None
    most: int = 1
    zero: Region | None = None
    title: str = ""

    @property
    def wanted(self) -> State:
        """The results, and the operands of the condition."""
        return [*self.results, *(self.condition or ())]

    @property
    def counts(self) -> Counts:
        """The operations of one round, including the comparison of the condition."""
        return self.graph.counts(self.wanted) + Counts(add=int(self.condition is not None))

    def written_out(self) -> Region:
        """The same with called functions inlined."""
        body = Graph()
        inputs = [body.input(self.graph.leaves[x.node]) for x in self.inputs]
        values = {x.node: e for x, e in zip(self.inputs, inputs, strict=True)}
        made = transplanted(self.graph, self.wanted, values, body, written_out=True)
        count = len(self.results)
        condition = (made[count], made[count + 1]) if self.condition else None
        return replace(
            self, graph=body, inputs=tuple(inputs), results=tuple(made[:count]), condition=condition
        )

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        """Everything that determines what it computes."""
        g = self.graph
        ends = tuple((e.node, e.negative) if isinstance(e, Expr) else e for e in self.wanted)
        return (
            tuple(zip(g.kinds, g.left, g.right, strict=True)),
            *(tuple(sorted(table.items())) for table in (g.branches, g.values, g.picks)),
            *(tuple(table.items()) for table in (g.tables, g.calls)),
            tuple(x.node for x in self.inputs),
            ends,
            self.most,
            self.zero,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Region) and self._key == other._key

    @cached_property
    def _hash(self) -> int:
        return hash(self._key)

    def __hash__(self) -> int:
        return self._hash


def iterate(
    step: Callable[[State], Sequence[Scalar]],
    start: Sequence[Scalar],
    condition: Callable[[State], tuple[Scalar, Scalar]],
    most: int,
    zero: Callable[[State], Sequence[Scalar]] | None = None,
    title: str = "",
) -> State:
    """The state after rounds of step(state), as long as a < b of condition(state), at most `most`.

    Numbers and arrays are iterated immediately, entries that are done waiting for the others; for expressions
    a region is created. `zero` are equations for the first entries of the state that hold at the end, used
    for derivatives (default: the step changes nothing).
    """
    state = list(start)
    for _ in range(most):
        a, b = condition(state)
        if isinstance(a, Expr) or isinstance(b, Expr):
            return _iterated(step, list(start), condition, most, zero, title)
        on = np.less(a, b)
        if not on.any():
            break
        following = list(step(state))
        if next(expressions(following), None) is not None:
            return _iterated(step, list(start), condition, most, zero, title)
        state = [np.where(on, x, y) if np.ndim(on) else x for x, y in zip(following, state, strict=True)]
    return state


def when(
    flag: Scalar,
    function: Callable[[State], Sequence[Scalar]],
    given: Sequence[Scalar],
    otherwise: Sequence[Scalar],
    title: str = "",
) -> State:
    """function(given) where a flag is above 0, else the alternative values: computed only if needed, as far
    as it depends on what is given.
    """
    first = next(expressions([flag, *given]), None)
    if first is not None:
        graph, symbols = first.graph, stand_ins(first.graph, len(given))
        found = list(function(symbols))
        needed = graph.needed(found)
        used = [k for k, symbol in enumerate(symbols) if symbol.node in needed]
        given, symbols = [given[k] for k in used], [symbols[k] for k in used]
        function = lambda some: substituted(graph, found, dict(zip(symbols, some, strict=True)))  # noqa: E731
    count = len(given)

    def made(state: State) -> State:
        return [*([0.0] * (count + 1)), *function(state[1 : count + 1])]

    start = [flag, *given, *otherwise]
    return iterate(made, start, lambda state: (0.0, state[0]), 1, title=title)[count + 1 :]


def _iterated(
    step: Callable[[State], Sequence[Scalar]],
    start: State,
    condition: Callable[[State], tuple[Scalar, Scalar]],
    most: int,
    zero: Callable[[State], Sequence[Scalar]] | None,
    title: str,
) -> State:
    """Traced with symbols for the state; entries that no round changes are not part of the state."""
    found = next(expressions([start, condition(start)]), None) or next(expressions(list(step(start))))
    graph = found.graph
    symbols = stand_ins(graph, len(start))
    following, pair = list(step(symbols)), condition(symbols)
    left = [a - b for a, b in zip(following, symbols, strict=True)] if zero is None else list(zero(symbols))
    keep = list(range(len(start)))
    while still := [k for k in keep if same(following[k], symbols[k])]:
        table = {symbols[k]: start[k] for k in still}
        following, pair, left = substituted(graph, [following, list(pair), left], table)
        keep = [k for k in keep if k not in still]
    state = [symbols[k] for k in keep]
    left = [left[k] for k in keep if k < len(left)]
    made, used = extracted(graph, state, [*(following[k] for k in keep), *pair, *left])
    ends = len(keep), len(keep) + 2
    body, inputs, wanted = made.graph, made.inputs, made.results
    derived = Region(body, inputs, wanted[ends[1] :], title=title)
    region = Region(body, inputs, wanted[: ends[0]], wanted[ends[0] : ends[1]], most, derived, title)
    final = list(start)
    for k, value in zip(keep, called(region, [*(start[k] for k in keep), *used]), strict=True):
        final[k] = value
    return final


class Shared:
    """A function from scalars to scalars that a graph stores once, however often it is called."""

    def __init__(self, function: Callable[[State], Sequence[Scalar]], title: str = "") -> None:
        self.function, self.title = function, title
        self._made: tuple[Graph, Region, list[Expr]] | None = None

    def __call__(self, values: Sequence[Scalar]) -> State:
        """The function's values; for expressions those of a region."""
        first = next(expressions(list(values)), None)
        if first is None:
            return list(self.function(list(values)))
        if self._made is None or self._made[0] is not first.graph:
            symbols = stand_ins(first.graph, len(values))
            region, used = extracted(first.graph, symbols, list(self.function(symbols)), self.title)
            self._made = first.graph, region, used
        return list(called(self._made[1], [*values, *self._made[2]]))


def stand_ins(graph: Graph, count: int) -> list[Expr]:
    """Unnamed inputs, placeholders for values that are substituted before anything is computed."""
    made = [graph.input(f"stand-in {len(graph)}") for _ in range(count)]
    for x in made:
        del graph.leaves[x.node]
    return made


def extracted(
    graph: Graph, symbols: Sequence[Expr], results: Sequence[Scalar], title: str = ""
) -> tuple[Region, list[Expr]]:
    """The part of the results that depends on the symbols, as a function; and its additional inputs."""
    moving = {x.node for x in symbols}
    needed = graph.needed(list(results))
    for place in needed:
        if any(operand in moving for operand in graph.operands(place)):
            moving.add(place)
    still = {e.node for e in expressions(list(results))}
    still |= {operand for place in needed if place in moving for operand in graph.operands(place)}
    used = [place for place in sorted(still) if place not in moving and place not in graph.values]
    body = Graph()
    inputs = [body.input(f"x[{k}]") for k in range(len(symbols) + len(used))]
    values = dict(zip([*(x.node for x in symbols), *used], inputs, strict=True))
    made = transplanted(graph, list(results), values, body)
    region = Region(body, tuple(inputs), tuple(made), title=title)
    return region, [Expr(graph, place, False) for place in used]
