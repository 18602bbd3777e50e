"""Who does what when: a start and a processor for each task."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from forearm.schedules.tasks import TaskGraph


@dataclass(frozen=True, eq=False)
class TaskSchedule:
    """Tasks of a graph on processors 0, 1, ..., times in units of their costs.

    Args:
        graph: the tasks.
        processors: how many there are.
        start: when each task begins.
        processor: on which processor, from 0.
        method: what found it.
        communication: time a result needs to reach another processor.
        bound: a length below which none can be; None: not known.
        synchronisation: what a wait costs: a task that takes a result from another processor, newer than all
            that its own has taken from there before, keeps its own busy for so long between the arrival and
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
        """When the last task is done."""
        return max((s + task.cost for s, task in zip(self.start, self.graph.tasks, strict=True)), default=0.0)

    @property
    def speedup(self) -> float:
        """How many times faster than one processor."""
        return self.graph.total / self.length if self.length else 1.0

    @property
    def efficiency(self) -> float:
        """The share of the processors' time that is used."""
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
        """How many times a processor waits for another one:
        what an earlier wait for the same one includes is none.
        """
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
