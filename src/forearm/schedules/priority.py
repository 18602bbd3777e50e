"""Critical-path list scheduling: of the tasks that can start earliest, the one with the longest chain to the
end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from forearm.schedules.schedule import TaskSchedule
from forearm.schedules.tasks import TaskGraph
from forearm.values import check_number, check_whole, frozen

MOST_PROCESSORS = 1024
NOTHING = (-1.0, -1)
Waiting = tuple[float, float, int]  # arrival of the last predecessor, -priority, task
Ready = tuple[float, int]  # -priority, task
Candidate = tuple[float, float, int, int]  # start, -priority, task, processor


@dataclass
class _Processor:
    """When a processor is free, and its candidate tasks: those that wait for results, and those that are
    ready.
    """

    free: float = 0.0
    waiting: list[Waiting] = field(default_factory=list)
    ready: list[Ready] = field(default_factory=list)


@frozen
class Timing:
    """Starts and processors while they are found, the costs of communication, and the newest result that each
    processor has taken from every other.
    """

    graph: TaskGraph
    start: list[float]
    processor: list[int]
    communication: float
    synchronisation: float
    # by (receiver, sender): start and task
    taken: dict[tuple[int, int], tuple[float, int]] = field(default_factory=dict)

    def arrival(self, k: int, p: int) -> float:
        """When the results that a task needs have arrived at a processor."""
        tasks, late = self.graph.tasks, self.communication
        return max(
            (
                self.start[e] + tasks[e].cost + (late if self.processor[e] != p else 0.0)
                for e in self.graph.before[k]
            ),
            default=0.0,
        )

    def wait(self, k: int, p: int) -> float:
        """Synchronisation cost of a task on a processor: once per other processor with a new result."""
        return self.synchronisation * len(self._news(k, p)) if self.synchronisation else 0.0

    def place(self, k: int, p: int, start: float) -> None:
        """Place the task on a processor at a time."""
        if self.synchronisation:
            self.taken.update(self._news(k, p))
        self.start[k], self.processor[k] = start, p

    def _news(self, k: int, p: int) -> dict[tuple[int, int], tuple[float, int]]:
        found: dict[tuple[int, int], tuple[float, int]] = {}
        for e in self.graph.before[k]:
            pair, made = (p, self.processor[e]), (self.start[e], e)
            if pair[1] != p and made > found.get(pair, self.taken.get(pair, NOTHING)):
                found[pair] = made
        return found


def schedule_by_priority(
    graph: TaskGraph, processors: int, communication: float = 0.0, synchronisation: float = 0.0
) -> TaskSchedule:
    """Highest level first: the level of a task is the most costly chain from it to the end (Hu's rule for
    trees).

    Fewer processors are used where communication costs more than it gains.

    Args:
        graph: the tasks.
        processors: how many there are.
        communication: time a result needs to reach another processor, in units of cost.
        synchronisation: cost of a wait, before the task that waits starts, in units of cost.
    """
    check_machine(processors, communication, synchronisation)
    dear = communication > 0.0 or synchronisation > 0.0
    used = {1} | {q for k in range(12) if (q := 2**k) < processors} if dear else set()
    costs = {"communication": float(communication), "synchronisation": float(synchronisation)}
    found = []
    for q in sorted(used | {processors}):
        start, processor = listed(graph, q, graph.tails, communication, synchronisation)
        found.append(TaskSchedule(graph, processors, tuple(start), tuple(processor), "priority", **costs))
    return min(found, key=lambda made: made.length)


def listed(
    graph: TaskGraph,
    processors: int,
    priority: Sequence[float],
    communication: float = 0.0,
    synchronisation: float = 0.0,
) -> tuple[list[float], list[int]]:
    """(start, processor) of each task: no processor idles while a task is ready for it.

    Of the tasks that can start earliest the one of highest priority comes first, on the first processor that
    is free for it. Processors without a task are equivalent: only the first of them is tried.
    """
    n = len(graph)
    timing = Timing(graph, [0.0] * n, [0] * n, communication, synchronisation)
    done, missing = [False] * n, [len(set(earlier)) for earlier in graph.before]
    open_ones = [_Processor()]

    def offer(k: int) -> None:
        for p, one in enumerate(open_ones):
            heappush(one.waiting, (timing.arrival(k, p), -priority[k], k))

    for k in range(n):
        if not missing[k]:
            offer(k)
    for _ in range(n):
        begin, _, k, p = min(c for p, one in enumerate(open_ones) if (c := _candidate(p, one, timing, done)))
        timing.place(k, p, begin)
        done[k] = True
        if p == len(open_ones) - 1 and len(open_ones) < processors:
            open_ones.append(_Processor(0.0, open_ones[p].waiting.copy(), open_ones[p].ready.copy()))
        open_ones[p].free = begin + graph.tasks[k].cost
        for later in set(graph.after[k]):
            missing[later] -= 1
            if not missing[later]:
                offer(later)
    return timing.start, timing.processor


def timed(
    graph: TaskGraph,
    order: Sequence[int],
    processor: Sequence[int],
    communication: float,
    synchronisation: float,
) -> list[float]:
    """The earliest starts of tasks in a given order on each processor, each after its predecessors."""
    timing = Timing(graph, [0.0] * len(graph), list(processor), communication, synchronisation)
    free: dict[int, float] = {}
    for k in order:
        p = processor[k]
        timing.place(k, p, max(free.get(p, 0.0), timing.arrival(k, p)) + timing.wait(k, p))
        free[p] = timing.start[k] + graph.tasks[k].cost
    return timing.start


def _candidate(p: int, one: _Processor, timing: Timing, done: list[bool]) -> Candidate | None:
    """The next task of a processor, if any."""
    waiting, ready = one.waiting, one.ready
    while waiting and (waiting[0][0] <= one.free or done[waiting[0][2]]):
        _, urgency, k = heappop(waiting)
        if not done[k]:
            heappush(ready, (urgency, k))
    while ready and done[ready[0][1]]:
        heappop(ready)
    if ready:
        urgency, k = ready[0]
        return one.free + timing.wait(k, p), urgency, k, p
    if waiting:
        here, urgency, k = waiting[0]
        return here + timing.wait(k, p), urgency, k, p
    return None


def check_machine(processors: int, communication: float = 0.0, synchronisation: float = 0.0) -> None:
    """Raise InputError for an invalid number of processors, communication time or synchronisation cost."""
    check_whole(processors, "processors", 1, MOST_PROCESSORS)
    for name, time in (("communication", communication), ("synchronisation", synchronisation)):
        check_number(time, name, minimum=0.0)
