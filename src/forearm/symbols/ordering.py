"""An order of computation with few live values, for machines with few registers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

from forearm.symbols.graph import MUL, Graph, expressions

NEAR = 100  # an operation may be postponed past this many that were created after it


def order(graph: Graph, results: Any) -> list[int]:
    """The operations that the results need, operands first, in the best of several orders:
    of creation, depth first, or greedy.

    Depth first evaluates the operand that needs more live values before the other: Sethi and Ullman's rule
    for trees.
    """
    made = [place for place in graph.needed(results) if graph.kinds[place] >= MUL]
    orders = (
        made,
        _depth_first(graph, results),
        _greedy(graph, made, oldest=False),
        _greedy(graph, made, oldest=True),
    )
    return min(orders, key=lambda places: most_live(graph, places, results))


def grouped_order(graph: Graph, groups: Sequence[Any]) -> list[int]:
    """The operations that groups of results need, operands first, in the better of two orders: of creation,
    or of creation within one group after the other; in both, each operation is postponed while that reduces
    the number of live values.

    For many results, where those of a group have most in common.
    """
    made = [place for place in graph.needed(list(groups)) if graph.kinds[place] >= MUL]
    by_group: dict[int, None] = {}
    for group in groups:
        by_group |= dict.fromkeys(place for place in graph.needed(group) if graph.kinds[place] >= MUL)
    orders = [_delayed(graph, places) for places in (list(by_group), made)]
    return min(orders, key=lambda places: most_live(graph, places, groups))


def most_live(graph: Graph, places: list[int], results: Any) -> int:
    """The maximum number of live computed values when the operations are done in this order.

    Results are stored as they are computed; inputs, parameters and constants are not counted.
    """
    uses: Counter[int] = Counter()
    for place in places:
        uses.update(_operands(graph, place))
    alive = most = 0
    left = Counter(uses)
    for place in places:
        for operand in _operands(graph, place):
            left[operand] -= 1
            alive -= left[operand] == 0
        alive += uses[place] > 0
        most = max(most, alive)
    return most


def _operands(graph: Graph, place: int) -> list[int]:
    return [p for p in set(graph.operands(place)) if graph.kinds[p] >= MUL]


def _depth_first(graph: Graph, results: Any) -> list[int]:
    need: dict[int, int] = {}
    for place in graph.needed(results):
        if graph.kinds[place] >= MUL:
            below = sorted((need[p] for p in _operands(graph, place)), reverse=True)
            need[place] = max([1, *(n + i for i, n in enumerate(below))])
    done = set()
    made = []
    for result in expressions(results):
        ends = [result.node] if graph.kinds[result.node] >= MUL else []
        while ends:
            place = ends[-1]
            missing = [p for p in _operands(graph, place) if p not in done]
            if not missing:
                ends.pop()
                if place not in done:
                    done.add(place)
                    made.append(place)
                continue
            ends.append(max(missing, key=lambda p: (need[p], p)))
    return made


def _greedy(graph: Graph, places: list[int], oldest: bool) -> list[int]:
    """Always choose the ready operation after which fewest values are live.

    Ties: the one whose consumer is nearest to being ready, then the one with fewest consumers; then in order
    of creation, or the one that uses the oldest value.
    """
    operands = {place: _operands(graph, place) for place in places}
    users: dict[int, list[int]] = {place: [] for place in places}
    for place in places:
        for operand in operands[place]:
            users[operand].append(place)
    missing = {place: len(operands[place]) for place in places}
    left = {place: len(users[place]) for place in places}
    done: dict[int, int] = {}  # place -> position in the order
    ready: list[tuple[int, ...]] = []

    def offer(place: int) -> None:
        """Add it to the ready operations; again when it becomes more urgent, the only change possible."""
        if missing[place] == 0 and place not in done:
            growth = (left[place] > 0) - sum(left[p] == 1 for p in operands[place])
            nearest = min((missing[u] for u in users[place]), default=0)
            age = min((done[p] for p in operands[place]), default=len(places)) if oldest else 0
            heappush(ready, (growth, nearest, len(users[place]), age, place))

    for place in places:
        offer(place)
    while ready:
        place = heappop(ready)[-1]
        if place in done:
            continue
        done[place] = len(done)
        for operand in operands[place]:
            left[operand] -= 1
            if left[operand] == 1:
                for user in users[operand]:
                    offer(user)
        for user in users[place]:
            missing[user] -= 1
            offer(user)
            for operand in operands[user]:
                offer(operand)
    return list(done)


def _delayed(graph: Graph, places: list[int]) -> list[int]:
    """From the last operation to the first: of those whose results are no longer needed, always one before
    which fewest values are live; ties, and differences within NEAR operations, keep the given order.
    """
    operands = {place: _operands(graph, place) for place in places}
    when = {place: k for k, place in enumerate(places)}
    left: Counter[int] = Counter()
    for some in operands.values():
        left.update(some)
    ready = {place for place in places if not left[place]}
    alive = set()
    made = []

    def urgency(place: int) -> tuple[int, int]:
        return sum(p not in alive for p in operands[place]) - (place in alive), -when[place]

    while ready:
        latest = max(when[place] for place in ready)
        place = min((p for p in ready if latest - when[p] <= NEAR), key=urgency)
        ready.remove(place)
        alive.discard(place)
        made.append(place)
        for operand in operands[place]:
            alive.add(operand)
            left[operand] -= 1
            if not left[operand]:
                ready.add(operand)
    return made[::-1]
