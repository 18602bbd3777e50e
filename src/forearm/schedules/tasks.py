"""Tasks with costs and precedence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from forearm.errors import InputError, shorten
from forearm.values import check_number, frozen, is_number


def is_time(time: object) -> bool:
    """Whether it is a finite number of at least 0."""
    return is_number(time) and math.isfinite(time) and time >= 0.0


@dataclass(frozen=True)
class Task:
    """One piece of work.

    Args:
        name: its name.
        cost: in operations or units of time.
        group: the part of the arm that it belongs to, such as "link 3".
    """

    name: str
    cost: float = 1.0
    group: str = ""

    def __post_init__(self) -> None:
        check_number(self.cost, f"task {shorten(self.name)}, cost", minimum=0.0)


@frozen
class TaskGraph:
    """Tasks in topological order, with their predecessors.

    Args:
        tasks: the tasks.
        before: for each task the indices of its predecessors.
        name: its name in messages.
    """

    tasks: tuple[Task, ...]
    before: tuple[tuple[int, ...], ...]
    name: str = "tasks"

    def __post_init__(self) -> None:
        if len(self.before) != len(self.tasks):
            raise InputError(
                f"expected one list of predecessors per task, {len(self.tasks)}, got {len(self.before)}.",
                self.name,
            )
        for k, earlier in enumerate(self.before):
            if any(not 0 <= e < k for e in earlier):
                raise InputError(
                    "it may depend only on tasks listed before it.", self.name, f"task {self.tasks[k].name}"
                )

    def __len__(self) -> int:
        return len(self.tasks)

    @cached_property
    def after(self) -> tuple[tuple[int, ...], ...]:
        """The successors of each task."""
        made: list[list[int]] = [[] for _ in self.tasks]
        for k, earlier in enumerate(self.before):
            for e in earlier:
                made[e].append(k)
        return tuple(map(tuple, made))

    @cached_property
    def layers(self) -> tuple[int, ...]:
        """The layer of each task: 1 without predecessors, else one more than the largest of theirs."""
        made: list[int] = []
        for earlier in self.before:
            made.append(1 + max((made[e] for e in earlier), default=0))
        return tuple(made)

    @cached_property
    def heads(self) -> tuple[float, ...]:
        """The earliest start of each task: the most costly chain before it."""
        made: list[float] = []
        for earlier in self.before:
            made.append(max((made[e] + self.tasks[e].cost for e in earlier), default=0.0))
        return tuple(made)

    @cached_property
    def tails(self) -> tuple[float, ...]:
        """The most costly chain from each task on, itself included."""
        made = [0.0] * len(self.tasks)
        for k in reversed(range(len(self.tasks))):
            made[k] = self.tasks[k].cost + max((made[a] for a in self.after[k]), default=0.0)
        return tuple(made)

    @property
    def total(self) -> float:
        """The cost of all tasks."""
        return sum(task.cost for task in self.tasks)

    @property
    def critical_path(self) -> float:
        """The most costly chain: the least length on any number of processors."""
        return max(self.tails, default=0.0)
