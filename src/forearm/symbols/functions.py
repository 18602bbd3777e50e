"""Functions that a graph calls, prepared for code generation: those with one caller are inlined, and
computations that do not depend on the state are hoisted out of the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from forearm.symbols.evaluate import again, called, transplanted
from forearm.symbols.graph import PARAMETER, Expr, Graph, mapped
from forearm.symbols.region import Region
from forearm.symbols.scalars import Scalar, Values
from forearm.values import frozen


def with_functions(graph: Graph, results: Any) -> tuple[Graph, Any]:
    """The same results on a graph whose functions all have several callers and contain no computation that
    could be hoisted; loops stay loops.
    """
    if not graph.calls:
        return graph, results
    made = Graph()
    leaves = {
        place: made.parameter(leaf) if graph.kinds[place] == PARAMETER else made.input(leaf)
        for place, leaf in graph.leaves.items()
    }
    return made, _Copying(graph, results).copied(graph, results, leaves, made)


@frozen
class _Hoisted:
    """A region after hoisting: its inputs are those at `online`, followed by the values `known`, computed on
    the graph `outside` from the other inputs as parameters.
    """

    region: Region
    online: tuple[int, ...]
    outside: Graph
    parameters: dict[int, int]  # place of a parameter -> index of the input
    known: tuple[Expr, ...]


class _Copying:
    def __init__(self, graph: Graph, results: Any) -> None:
        self.callers: Counter[Region] = Counter()
        self._count(graph, results)
        self._made: dict[tuple[Region, tuple[int, ...]], _Hoisted] = {}

    def _count(self, graph: Graph, results: Any) -> None:
        for place in graph.needed(results):
            if place in graph.calls:
                region = graph.calls[place][0]
                self.callers[region] += 1
                if self.callers[region] == 1:
                    self._count(region.graph, region.wanted)

    def copied(self, graph: Graph, results: Any, leaves: dict[int, Scalar], into: Graph) -> Any:
        """The results on another graph, with these values for the leaves."""
        values = dict(leaves)
        for place in graph.needed(results):
            operands = graph.operands(place)
            if place in graph.values:
                values[place] = graph.values[place]
            if not operands:
                continue
            into.section = graph.sections[place]
            given = [values[operand] for operand in operands]
            if place in graph.calls:
                values[place] = self._called(graph.calls[place][0], given, into)
            else:
                values[place] = again(graph, place, *given)
            if place in graph.names:
                into.name_again(graph.names[place], values[place])
        return mapped(results, lambda e: -values[e.node] if e.negative else values[e.node])

    def _called(self, region: Region, given: Values, into: Graph) -> Sequence[Scalar]:
        if region.condition is None and self.callers[region] == 1:
            leaves = dict(zip((x.node for x in region.inputs), given, strict=True))
            made: Sequence[Scalar] = self.copied(region.graph, list(region.results), leaves, into)
            return made
        states = len(region.results) if region.condition else 0
        before = tuple(k for k, x in enumerate(given) if k >= states and _is_known(x))
        hoisted = self._hoisted(region, before)
        leaves = {place: given[k] for place, k in hoisted.parameters.items()}
        known = transplanted(hoisted.outside, list(hoisted.known), leaves, into)
        return called(hoisted.region, [*(given[k] for k in hoisted.online), *known])

    def _hoisted(self, region: Region, before: tuple[int, ...]) -> _Hoisted:
        """The region, given that the inputs at these places do not depend on the state."""
        found = self._made.get((region, before))
        if found is None:
            found = self._made[region, before] = self._make(region, before)
        return found

    def _make(self, region: Region, before: tuple[int, ...]) -> _Hoisted:
        outside = Graph()
        symbols = [
            outside.parameter(f"p[{k}]") if k in before else outside.input(f"x[{k}]")
            for k in range(len(region.inputs))
        ]
        leaves = {x.node: e for x, e in zip(region.inputs, symbols, strict=True)}
        wanted = self.copied(region.graph, region.wanted, leaves, outside)
        known = tuple(outside.known_before(wanted))
        online = tuple(k for k in range(len(symbols)) if k not in before)
        inside = Graph()
        inputs = [inside.input(f"x[{k}]") for k in range(len(online) + len(known))]
        places = [*(symbols[k].node for k in online), *(e.node for e in known)]
        made = transplanted(outside, wanted, dict(zip(places, inputs, strict=True)), inside)
        count = len(region.results)
        condition = (made[count], made[count + 1]) if region.condition else None
        lean = Region(inside, tuple(inputs), tuple(made[:count]), condition, region.most, title=region.title)
        return _Hoisted(lean, online, outside, {symbols[k].node: k for k in before}, known)


def _is_known(x: Scalar) -> bool:
    return isinstance(x, Expr) and x.graph.offline[x.node] and x.node not in x.graph.values
