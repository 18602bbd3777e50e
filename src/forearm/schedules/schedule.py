"""Schedules: a start and a processor for each task."""

from __future__ import annotations

from functools import cached_property

from forearm.schedules.tasks import TaskGraph
from forearm.values import frozen


@frozen
class TaskSchedule:
    """A schedule of a task graph on processors 0, 1, ...; times are in units of cost.

    Args:
        graph: the tasks.
        processors: how many there are.
        start: when each task begins.
        processor: on which processor, from 0.
        method: the method that found it.
        communication: time a result needs to reach another processor.
        bound: lower bound on the length of any schedule; None: unknown.
        synchronisation: cost of a wait: a task that needs a result of another processor, newer than all that
            its own has taken from there, keeps its own processor busy for this time between the arrival and
            its start.
    """

    graph: TaskGraph
    processors: int
    start: tuple[float, ...]
    processor: tuple[int, ...]
    method: str
    communication: float = 0.0
    bound: float | None = None
    synchronisation: float = 0.0

    @cached_property
    def length(self) -> float:
        """When the last task ends."""
        return max((s + task.cost for s, task in zip(self.start, self.graph.tasks, strict=True)), default=0.0)

    @property
    def speedup(self) -> float:
        """How many times faster than one processor."""
        return self.graph.total / self.length if self.length else 1.0

    @property
    def efficiency(self) -> float:
        """The fraction of the processors' time that is used."""
        return self.speedup / self.processors

    @cached_property
    def lanes(self) -> tuple[tuple[int, ...], ...]:
        """The tasks of each processor in order of their starts."""
        made: list[list[int]] = [[] for _ in range(self.processors)]
        for k in sorted(range(len(self.graph)), key=lambda k: (self.start[k], k)):
            made[self.processor[k]].append(k)
        return tuple(map(tuple, made))

    @cached_property
    def waits(self) -> int:
        """How many times a processor waits for another, without waits that an earlier one covers."""
        order = {k: (p, number) for p, lane in enumerate(self.lanes) for number, k in enumerate(lane)}
        taken: dict[tuple[int, int], int] = {}
        count = 0
        for p, lane in enumerate(self.lanes):
            for k in lane:
                made = [order[e] for e in self.graph.before[k] if order[e][0] != p]
                new = {
                    (p, other): number for other, number in sorted(made) if number > taken.get((p, other), -1)
                }
                taken |= new
                count += len(new)
        return count
