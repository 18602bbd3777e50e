"""The computation of a graph as plain lists: equal only where every operation, number and input name is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from forearm.symbols.graph import Expr, Graph


def content(graph: Graph, results: Mapping[str, Sequence[Any]]) -> list[Any]:
    """The operations that results need, in order, and the places of the results.
    Names of values are ignored.
    """
    needed = graph.needed(dict(results))
    at = {place: k for k, place in enumerate(needed)}
    operations = [[graph.kinds[p], _own(graph, p), *(at[x] for x in graph.operands(p))] for p in needed]
    ends = [
        [name, *([at[e.node], e.negative] if isinstance(e, Expr) else float(e) for e in row)]
        for name, row in results.items()
    ]
    return [operations, ends]


def _own(graph: Graph, place: int) -> Any:
    """An operation's data besides its operands."""
    if place in graph.calls:
        region = graph.calls[place][0]
        inputs = [region.graph.leaves[x.node] for x in region.inputs]
        wanted = {"results": region.results, "condition": region.condition or ()}
        return [inputs, content(region.graph, wanted), region.most]
    return next(
        (t[place] for t in (graph.values, graph.leaves, graph.tables, graph.picks) if place in t), None
    )
