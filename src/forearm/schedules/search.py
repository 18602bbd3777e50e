"""Better schedules without a solver: lists from both ends in turns, from changed priorities,
until the bound is met.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from forearm.schedules.bounds import ROUNDING, lower_bound
from forearm.schedules.priority import listed, schedule_by_priority, timed
from forearm.schedules.schedule import TaskSchedule
from forearm.schedules.tasks import TaskGraph

WORK = 60_000  # tasks times processors placed in all tries together: some seconds
PASSES = 4  # back and forth, for each try
SPREAD = 0.15  # of the longest chain: how far priorities are changed, at most
SEED = 1


def schedule_by_search(
    graph: TaskGraph, processors: int, communication: float = 0.0, synchronisation: float = 0.0
) -> TaskSchedule:
    """The best of many lists; `bound` is proven, so that a schedule as long as it is the best there is.

    A schedule read from its end is one of the graph with all arrows turned; listing that anew by the times of
    the first, and the result again from the front, never makes it much worse and often better (Li and
    Willis's passes). Lists from the end know nothing of `synchronisation`, which hangs on what comes before;
    their order is timed from the front, with all costs.
    """
    best = replace(schedule_by_priority(graph, processors, communication, synchronisation), method="search")
    bound = lower_bound(graph, processors)
    best = replace(best, bound=bound)
    if not len(graph):
        return best
    rng = np.random.default_rng(SEED)
    tails = np.array(graph.tails)
    tries = max(2, WORK // (PASSES * len(graph) * processors))
    for attempt in range(tries):
        if is_proven(best):
            break
        change = SPREAD * graph.critical_path * (attempt / tries)
        priority = tails + rng.uniform(-change, change, len(graph)) if attempt else tails
        best = min(best, _to_and_fro(best, priority.tolist()), key=lambda made: made.length)
    return best


def is_proven(schedule: TaskSchedule) -> bool:
    """Whether no schedule is shorter."""
    return schedule.bound is not None and schedule.length <= schedule.bound * (1.0 + 4.0 * ROUNDING)


def reversed_graph(graph: TaskGraph) -> TaskGraph:
    """The same tasks from last to first, all arrows turned."""
    last = len(graph) - 1
    before = tuple(tuple(sorted({last - a for a in graph.after[last - k]})) for k in range(len(graph)))
    return TaskGraph(graph.tasks[::-1], before, graph.name)


def _to_and_fro(like: TaskSchedule, priority: Sequence[float]) -> TaskSchedule:
    """The best of the schedules on the way from these priorities, listed from the front and
    from the back in turns.
    """
    graph, processors, handing = like.graph, like.processors, (like.communication, like.synchronisation)
    backwards = reversed_graph(graph)
    last = len(graph) - 1
    best = like
    for _ in range(PASSES // 2):
        start, processor = listed(graph, processors, priority, *handing)
        best = min(
            best, replace(like, start=tuple(start), processor=tuple(processor)), key=lambda made: made.length
        )
        ends = [s + task.cost for s, task in zip(start, graph.tasks, strict=True)]
        turned, owner = listed(backwards, processors, ends[::-1], like.communication)
        # Times read from the end would be differences, which rounding can make negative:
        # the order is kept, not the times.
        order = [last - k for k in sorted(range(len(graph)), key=lambda k: (turned[k], k), reverse=True)]
        start = timed(graph, order, owner[::-1], *handing)
        best = min(
            best,
            replace(like, start=tuple(start), processor=tuple(owner[::-1])),
            key=lambda made: made.length,
        )
        priority = [s + task.cost for s, task in zip(turned, backwards.tasks, strict=True)][
            ::-1
        ]  # what is left from a start on
    return best
