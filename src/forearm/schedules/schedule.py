"""Who does what when: a start and a processor for each task."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from forearm.schedules.tasks import TaskGraph


@dataclass(frozen=True, eq=False)
class Schedule:
    """Tasks of a graph on processors 0, 1, ...: `start` and `processor` of each task, by the `method` that found them.

    `communication` is what a result needs to reach another processor; `bound` a length below which none
    can be, or None.
    """

    graph: TaskGraph
    processors: int
    start: tuple[float, ...]
    processor: tuple[int, ...]
    method: str
    communication: float = 0.0
    bound: float | None = None

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
