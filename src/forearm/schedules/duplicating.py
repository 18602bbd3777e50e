"""Threads that never wait for each other: each computes some of the results and everything that these need.

Values that several results need are computed several times, which is cheaper wherever a value takes longer to
reach another core than to be recomputed.
"""

from __future__ import annotations

import numpy as np

from forearm.codegen.functions import Traced
from forearm.schedules.automatic import Costs
from forearm.schedules.priority import check_machine
from forearm.schedules.threaded_plan import Threads, ThreadStep
from forearm.spatial import Flags, Floats
from forearm.symbols.graph import MUL, Expr, expressions

MOST_UNITS = 256  # groups of results that are assigned

HALVINGS = 12


def apart(traced: Traced, processors: int, costs: Costs | None = None) -> Threads:
    """Assign contiguous ranges of results to threads so that the largest load is minimal.

    Ranges are contiguous in memory, so that two threads seldom write to one cache line. A value that appears
    twice, as in a symmetric matrix, is computed at its first or its last appearance, whichever balances
    better.
    """
    check_machine(processors)
    graph, prices = traced.graph, costs or Costs()
    kinds = enumerate(graph.kinds)
    weight = np.array([prices.of(graph, place) if kind >= MUL else 0.0 for place, kind in kinds])
    found = [e.node for e in expressions(traced.results) if graph.kinds[e.node] >= MUL]
    orders = [list(dict.fromkeys(found)), list(dict.fromkeys(found[::-1]))[::-1]]
    made = [_stretches(traced, nodes, weight, processors) for nodes in orders]
    _, stretches = min(made, key=lambda pair: pair[0])
    writer = {node: k for k, nodes in enumerate(stretches) for node in nodes}
    steps = tuple((ThreadStep(places=_computed(traced, nodes)),) for nodes in stretches) or ((ThreadStep(),),)
    return Threads(traced, steps, writer, {}, 0, 1)


def _stretches(
    traced: Traced, nodes: list[int], weight: Floats, processors: int
) -> tuple[float, list[list[int]]]:
    """(the largest load of a thread, the results of each): by bisection, filling one thread after the other
    up to a limit.
    """
    size = -(-len(nodes) // MOST_UNITS) or 1
    units = [nodes[at : at + size] for at in range(0, len(nodes), size)]
    needs = [_needed(traced, unit) for unit in units]
    whole = float(weight[np.logical_or.reduce(needs)].sum()) if needs else 0.0
    low, high = whole / processors, whole
    best = [nodes] if nodes else []
    for _ in range(HALVINGS):
        limit = 0.5 * (low + high)
        cuts = _filled(needs, weight, limit)
        if cuts is None or len(cuts) > processors:
            low = limit
        else:
            high, best = limit, [[node for unit in units[a:b] for node in unit] for a, b in cuts]
    return high, best


def _filled(needs: list[Flags], weight: Floats, limit: float) -> list[tuple[int, int]] | None:
    """Begin and end of each range with no load above the limit; None if a single result exceeds it."""
    cuts, first = [], 0
    while first < len(needs):
        held, last = needs[first].copy(), first + 1
        if weight[held].sum() > limit:
            return None
        while last < len(needs) and weight[held | needs[last]].sum() <= limit:
            held |= needs[last]
            last += 1
        cuts.append((first, last))
        first = last
    return cuts


def _computed(traced: Traced, nodes: list[int]) -> list[int]:
    return [
        place for place in np.flatnonzero(_needed(traced, nodes)).tolist() if traced.graph.kinds[place] >= MUL
    ]


def _needed(traced: Traced, nodes: list[int]) -> Flags:
    made = np.zeros(len(traced.graph), dtype=bool)
    made[traced.graph.needed([Expr(traced.graph, node, False) for node in nodes])] = True
    return made
