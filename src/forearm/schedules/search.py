"""Better schedules without a solver: list scheduling forwards and backwards in turns, from perturbed
priorities, until the bound is met.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from forearm.schedules.bounds import ROUNDING, lower_bound
from forearm.schedules.priority import listed, schedule_by_priority, timed
from forearm.schedules.schedule import TaskSchedule
from forearm.schedules.tasks import TaskGraph

WORK = 60_000  # tasks times processors placed in all tries together: a few seconds
PASSES = 4  # back and forth, for each try
SPREAD = 0.15  # of the critical path: largest change of a priority
SEED = 1


def schedule_by_search(
    graph: TaskGraph, processors: int, communication: float = 0.0, synchronisation: float = 0.0
) -> TaskSchedule:
    """The best of many list schedules; `bound` is proven, so that a schedule of that length is optimal.

    A schedule read backwards is one of the reversed graph; scheduling that by the times of the first, and the
    result forwards again, never lengthens it much and often shortens it (Li and Willis's passes). Backward
    passes ignore `synchronisation`, which depends on earlier tasks; their order is timed forwards, with all
    costs.
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
    """Whether the schedule is proven to be the shortest."""
    return schedule.bound is not None and schedule.length <= schedule.bound * (1.0 + 4.0 * ROUNDING)


def reversed_graph(graph: TaskGraph) -> TaskGraph:
    """The same tasks in reverse order, all edges reversed."""
    last = len(graph) - 1
    before = tuple(tuple(sorted({last - a for a in graph.after[last - k]})) for k in range(len(graph)))
    return TaskGraph(graph.tasks[::-1], before, graph.name)


def _to_and_fro(like: TaskSchedule, priority: Sequence[float]) -> TaskSchedule:
    """The best schedule from these priorities, forwards and backwards in turns."""
    graph, processors, handing = like.graph, like.processors, (like.communication, like.synchronisation)
    backwards = reversed_graph(graph)
    last = len(graph) - 1
    tried = [like]
    for _ in range(PASSES // 2):
        start, processor = listed(graph, processors, priority, *handing)
        tried.append(replace(like, start=tuple(start), processor=tuple(processor)))
        ends = [s + task.cost for s, task in zip(start, graph.tasks, strict=True)]
        turned, owner = listed(backwards, processors, ends[::-1], like.communication)
        # Times read from the end would be differences, which rounding can make negative:
        # the order is kept, not the times.
        order = [last - k for k in sorted(range(len(graph)), key=lambda k: (turned[k], k), reverse=True)]
        start = timed(graph, order, owner[::-1], *handing)
        tried.append(replace(like, start=tuple(start), processor=tuple(owner[::-1])))
        # the remaining time from each start
        priority = [s + task.cost for s, task in zip(turned, backwards.tasks, strict=True)][::-1]
    return min(tried, key=lambda made: made.length)
