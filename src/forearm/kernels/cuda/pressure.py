"""Register pressure: values to keep in memory where more are alive than a thread has registers.

The value whose next use is farthest away is evicted first, into cells of results that are not yet stored:
into a block's shared memory, where an assembler would spill to local memory.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from typing import Any

from forearm.symbols.graph import CALL, COS, MUL, SIN, Expr, Graph, expressions

TRIED = 8  # values for which a cell is sought, beyond those that must be evicted
Cell = tuple[str, int]  # an array of results, and the entry in it


def kept_values(
    graph: Graph,
    groups: Sequence[Sequence[tuple[str, int, Any]]],
    order: Sequence[int],
    absorbed: Mapping[int, int],
    most: int,
) -> dict[int, Cell]:
    """Values by their places on the graph, and the cells that hold them; at most `most` others are alive at
    once, as far as there are cells.

    Args:
        graph: the graph of the results.
        groups: results (array, entry, expression) that are computed together and then stored, one group after
            the other.
        order: of the operations.
        absorbed: the product fused into each sum, by `ir.absorbed_products`.
        most: values in registers.
    """
    times, stored = _times(graph, groups, order, set(absorbed.values()))
    uses = _uses(graph, groups, times, stored, absorbed)
    angles = [Expr(graph, graph.left[p], False) for p in times if graph.kinds[p] in (COS, SIN)]
    early = set(graph.needed(angles))  # which are computed early
    cells = sorted(((end, (a, k)) for end, group in zip(stored, groups, strict=True) for a, k, _ in group))
    taken: dict[Cell, list[tuple[int, int]]] = {cell: [] for _, cell in cells}
    kept: dict[int, Cell] = {}
    alive: dict[int, list[int]] = {}
    again = 0  # time at which cells are sought again, after there were none
    for place, now in times.items():
        if place in uses:
            alive[place] = uses[place]
        if len(alive) <= most or now < again:
            continue
        alive = {p: when for p, when in alive.items() if when[-1] > now}
        over = max(0, len(alive) - most)
        for victim in nlargest(TRIED + over, alive, key=lambda p: _next(alive[p], now)) if over else ():
            begin, end = times[victim], uses[victim][-1]
            if victim in early or graph.kinds[victim] == CALL:
                continue
            cell = next((c for last, c in cells if end < last and _is_free(taken[c], begin, end)), None)
            if cell is None:
                continue
            taken[cell].append((begin, end))
            kept[victim] = cell
            del alive[victim]
            over -= 1
            if not over:
                break
        again = now + TRIED if over else 0
    return kept


def _times(
    graph: Graph, groups: Sequence[Sequence[tuple[str, int, Any]]], order: Sequence[int], inside: set[int]
) -> tuple[dict[int, int], list[int]]:
    """When each operation is done, and each group stored."""
    times: dict[int, int] = {}
    stored: list[int] = []
    now = 0
    for group in groups:
        here = set(graph.needed([e for _, _, e in group]))
        for place in order:
            if place in here and place not in times and place not in inside:
                times[place] = now
                now += 1
        stored.append(now)
        now += 1
    return times, stored


def _uses(
    graph: Graph,
    groups: Sequence[Sequence[tuple[str, int, Any]]],
    times: Mapping[int, int],
    stored: Sequence[int],
    absorbed: Mapping[int, int],
) -> dict[int, list[int]]:
    """The times at which each value is used, in order."""
    uses: dict[int, list[int]] = {}
    for place, now in times.items():
        wanted: set[int] = set(_operands(graph, place))
        product = absorbed.get(place)
        if product is not None:
            wanted = wanted - {product} | set(_operands(graph, product))
        for operand in wanted:
            if operand in times:
                uses.setdefault(operand, []).append(now)
    for end, group in zip(stored, groups, strict=True):
        for e in expressions([e for _, _, e in group]):
            if e.node in times:
                uses.setdefault(e.node, []).append(end)
    return {place: sorted(when) for place, when in uses.items()}


def _operands(graph: Graph, place: int) -> Iterable[int]:
    return graph.operands(place) if graph.kinds[place] >= MUL else ()


def _next(when: Sequence[int], now: int) -> int:
    return when[min(bisect_right(when, now), len(when) - 1)]


def _is_free(taken: Sequence[tuple[int, int]], begin: int, end: int) -> bool:
    return all(end < first or last < begin for first, last in taken)
