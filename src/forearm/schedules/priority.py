"""Critical-path list scheduling: of what can be done earliest, always the task with the longest chain behind it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from heapq import heappop, heappush

from forearm.errors import InputError, shorten
from forearm.schedules.schedule import Schedule
from forearm.schedules.tasks import TaskGraph

MOST_PROCESSORS = 1024
Waiting = tuple[float, float, int]  # when what a task waits for is here, -priority, task
Ready = tuple[float, int]  # -priority, task
Candidate = tuple[float, float, int, int]  # start, -priority, task, processor


def schedule_by_priority(graph: TaskGraph, processors: int, communication: float = 0.0) -> Schedule:
    """Highest level first: the level of a task is the most costly chain from it to the end (Hu's rule for trees).

    A result needs `communication` to reach another processor. Where that costs more than it gains fewer processors are used.
    """
    check_machine(processors, communication)
    used = {1} | {q for k in range(12) if (q := 2**k) < processors} if communication > 0.0 else set()
    found = [listed(graph, q, graph.tails, communication) for q in sorted(used | {processors})]
    start, processor = min(found, key=lambda made: _length(graph, made[0]))
    return Schedule(graph, processors, tuple(start), tuple(processor), "priority", float(communication))


def listed(
    graph: TaskGraph, processors: int, priority: Sequence[float], communication: float = 0.0
) -> tuple[list[float], list[int]]:
    """(start, processor) of each task: no processor stands idle while there is a task that it could do.

    Of the tasks that can start earliest the one of highest priority comes first, on the first processor that is free for it.
    """
    n = len(graph)
    start, processor, done = [0.0] * n, [0] * n, [False] * n
    missing = [len(set(earlier)) for earlier in graph.before]
    free = [0.0] * processors
    waiting: list[list[Waiting]] = [[] for _ in range(processors)]
    ready: list[list[Ready]] = [[] for _ in range(processors)]

    def offer(k: int) -> None:
        for p in range(processors):
            heappush(waiting[p], (_arrival(graph, k, p, start, processor, communication), -priority[k], k))

    for k in range(n):
        if not missing[k]:
            offer(k)
    for _ in range(n):
        begin, _, k, p = min(c for p in range(processors) if (c := _candidate(p, free[p], waiting[p], ready[p], done)))
        start[k], processor[k], done[k] = begin, p, True
        free[p] = begin + graph.tasks[k].cost
        for later in set(graph.after[k]):
            missing[later] -= 1
            if not missing[later]:
                offer(later)
    return start, processor


def _candidate(p: int, free: float, waiting: list[Waiting], ready: list[Ready], done: list[bool]) -> Candidate | None:
    """What the processor would do next, if there is anything."""
    while waiting and (waiting[0][0] <= free or done[waiting[0][2]]):
        _, urgency, k = heappop(waiting)
        if not done[k]:
            heappush(ready, (urgency, k))
    while ready and done[ready[0][1]]:
        heappop(ready)
    if ready:
        return (free, *ready[0], p)
    return (*waiting[0], p) if waiting else None


def _arrival(graph: TaskGraph, k: int, p: int, start: Sequence[float], processor: Sequence[int], communication: float) -> float:
    """When the results that a task waits for are at a processor."""
    return max(
        (start[e] + graph.tasks[e].cost + (communication if processor[e] != p else 0.0) for e in graph.before[k]), default=0.0
    )


def _length(graph: TaskGraph, start: Sequence[float]) -> float:
    return max((s + task.cost for s, task in zip(start, graph.tasks, strict=True)), default=0.0)


def check_machine(processors: int, communication: float = 0.0) -> None:
    """Refuse a number of processors or a communication time that no machine has."""
    if isinstance(processors, bool) or not isinstance(processors, int) or not 1 <= processors <= MOST_PROCESSORS:
        raise InputError(
            f"processors: a whole number from 1 to {MOST_PROCESSORS} is needed; came {shorten(processors)}."
        )  # fmt: skip
    fits = isinstance(communication, int | float) and not isinstance(communication, bool) and math.isfinite(communication)
    if not fits or communication < 0.0:
        raise InputError(f"communication: a time of at least 0 is needed; came {shorten(communication)}.")
