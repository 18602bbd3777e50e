"""Small tasks merged into larger ones without cycles.

Two rules alternate until nothing fits any more. A task is merged with its only successor or its only
predecessor: there is no other path between them. Tasks of one level are merged: every edge leads from a lower
level to a higher one, before and after.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from forearm.errors import InputError, shorten
from forearm.schedules.automatic import Costs, Division, divided
from forearm.values import is_number


@dataclass
class _Parts:
    """The groups while they grow: members, cost and neighbours by group number."""

    members: dict[int, list[int]]
    cost: dict[int, float]
    before: dict[int, set[int]]
    after: dict[int, set[int]]

    def join(self, a: int, b: int) -> None:
        """Merge group b into group a."""
        self.members[a] += self.members.pop(b)
        self.cost[a] += self.cost.pop(b)
        for mine, back in ((self.before, self.after), (self.after, self.before)):
            for other in mine.pop(b):
                back[other].discard(b)
                if other != a:
                    back[other].add(a)
                    mine[a].add(other)
            mine[a].discard(b)


def grouped(division: Division, size: float, costs: Costs | None = None) -> Division:
    """The same division in tasks of cost at most `size`, unless a single operation costs more."""
    if not is_number(size) or not 0.0 < size < math.inf:
        raise InputError(
            f"expected a number above 0, the largest cost of a task, got {shorten(size)}.", "size"
        )
    graph = division.graph
    parts = _Parts(
        {k: [k] for k in range(len(graph))},
        {k: task.cost for k, task in enumerate(graph.tasks)},
        {k: set(earlier) for k, earlier in enumerate(graph.before)},
        {k: set(later) for k, later in enumerate(graph.after)},
    )
    count = len(parts.members) + 1
    while len(parts.members) < count:
        count = len(parts.members)
        _join_neighbours(parts, size)
        _join_levels(parts, size)
    groups = [
        tuple(sorted(place for k in members for place in division.places[k]))
        for members in parts.members.values()
    ]
    return divided(division.traced, groups, graph.name, costs or Costs())


def _join_neighbours(parts: _Parts, size: float) -> None:
    """Merge chains and trees: backwards into the only successor, then forwards into the only predecessor."""
    order = _sorted(parts)
    for k in reversed(order):
        if len(parts.after[k]) == 1:
            (user,) = parts.after[k]
            if parts.cost[k] + parts.cost[user] <= size:
                parts.join(user, k)
    for k in order:
        if k in parts.members and len(parts.before[k]) == 1:
            (source,) = parts.before[k]
            if parts.cost[k] + parts.cost[source] <= size:
                parts.join(source, k)


def _join_levels(parts: _Parts, size: float) -> None:
    """Merge tasks of one level, the most urgent first, filling one group before the next."""
    order = _sorted(parts)
    level: dict[int, int] = {}
    for k in order:
        level[k] = 1 + max((level[e] for e in parts.before[k]), default=-1)
    tail: dict[int, float] = {}
    for k in reversed(order):
        tail[k] = parts.cost[k] + max((tail[a] for a in parts.after[k]), default=0.0)
    filling: dict[int, int] = {}
    for k in sorted(order, key=lambda k: (level[k], -tail[k], k)):
        into = filling.get(level[k])
        if into is not None and parts.cost[into] + parts.cost[k] <= size:
            parts.join(into, k)
        else:
            filling[level[k]] = k


def _sorted(parts: _Parts) -> list[int]:
    """The groups in topological order."""
    missing = {k: len(earlier) for k, earlier in parts.before.items()}
    order = [k for k, count in missing.items() if not count]
    for k in order:
        for later in sorted(parts.after[k]):
            missing[later] -= 1
            if not missing[later]:
                order.append(later)
    return order
