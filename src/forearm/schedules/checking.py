"""Is it a schedule at all: every task once, one at a time on a processor, none before what it waits for has arrived.

It looks at tasks, processors and starts alone, and trusts nothing that made them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from forearm.schedules.schedule import Schedule
from forearm.schedules.tasks import TaskGraph

Kind = Literal["missing", "repeated", "unknown", "processor", "time", "overlap", "precedence"]
KINDS: tuple[Kind, ...] = ("missing", "repeated", "unknown", "processor", "time", "overlap", "precedence")
CLOSE = 1e-9  # of the largest time: what sums of costs may be rounded by


@dataclass(frozen=True)
class Entry:
    """One task of a schedule that may be none: a name, a processor counted from 0, and a start."""

    task: str
    processor: int
    start: float


@dataclass(frozen=True)
class Violation:
    """One thing that is wrong: its kind, the task, a sentence, and the other task that it overlaps with or waits for."""

    kind: Kind
    task: str
    message: str
    other: str = ""


@dataclass(frozen=True)
class _Placed:
    """An entry whose task is known by its place in the graph."""

    task: int
    processor: int
    start: float
    end: float


def violations(schedule: Schedule) -> tuple[Violation, ...]:
    """Everything that is wrong with a schedule; nothing where it is one."""
    graph = schedule.graph
    listed = zip(range(len(schedule.start)), schedule.processor, schedule.start, strict=False)
    placed = [_placed(graph, k, processor, start) for k, processor, start in listed if k < len(graph)]
    extra = max(len(schedule.start), len(schedule.processor)) - len(graph)
    odd = [Violation("unknown", "", f"{extra} more entries than the graph has tasks")] if extra > 0 else []
    return (*odd, *_found(graph, placed, schedule.processors, schedule.communication))


def violations_of_entries(
    graph: TaskGraph, entries: Iterable[Entry], processors: int, communication: float = 0.0
) -> tuple[Violation, ...]:
    """Everything that is wrong with a list of entries: names may be missing, come twice, or be those of no task.

    Names in the graph must differ. Of a task that comes twice the earliest result counts for those that wait for it.
    """
    index = {task.name: k for k, task in enumerate(graph.tasks)}
    placed, found = [], []
    for entry in entries:
        if entry.task in index:
            placed.append(_placed(graph, index[entry.task], entry.processor, entry.start))
        else:
            found.append(Violation("unknown", entry.task, f"{entry.task} at {entry.start:g} is none of the tasks"))
    return (*found, *_found(graph, placed, processors, communication))


def _placed(graph: TaskGraph, k: int, processor: int, start: float) -> _Placed:
    return _Placed(k, processor, start, start + graph.tasks[k].cost)


def _found(graph: TaskGraph, placed: Sequence[_Placed], processors: int, communication: float) -> list[Violation]:
    found = [*_each_once(graph, placed), *_in_range(graph, placed, processors)]
    timed = [p for p in placed if math.isfinite(p.start)]
    slack = CLOSE * max((abs(p.end) for p in timed), default=0.0)
    return [*found, *_one_at_a_time(graph, timed, slack), *_precedence(graph, timed, communication, slack)]


def _each_once(graph: TaskGraph, placed: Sequence[_Placed]) -> Iterable[Violation]:
    times = Counter(p.task for p in placed)
    for k, task in enumerate(graph.tasks):
        if times[k] == 0:
            yield Violation("missing", task.name, f"{task.name} is not done")
        elif times[k] > 1:
            yield Violation("repeated", task.name, f"{task.name} is done {times[k]} times")


def _in_range(graph: TaskGraph, placed: Sequence[_Placed], processors: int) -> Iterable[Violation]:
    for p in placed:
        name = graph.tasks[p.task].name
        if not 0 <= p.processor < processors:
            yield Violation("processor", name, f"{name} is on processor {p.processor} of 0 to {processors - 1}")
        if not (math.isfinite(p.start) and p.start >= 0.0):
            yield Violation("time", name, f"{name} starts at {p.start:g}")


def _one_at_a_time(graph: TaskGraph, placed: Sequence[_Placed], slack: float) -> Iterable[Violation]:
    busy: dict[int, _Placed] = {}  # on each processor, of what was seen, the entry that ends last
    for p in sorted(placed, key=lambda p: (p.start, p.task)):
        last = busy.get(p.processor)
        if last is not None and p.start < last.end - slack and p.end > p.start:
            name, other = graph.tasks[p.task].name, graph.tasks[last.task].name
            yield Violation("overlap", name, f"{name} starts at {p.start:g} where {other} runs to {last.end:g}", other)
        if last is None or p.end > last.end:
            busy[p.processor] = p


def _precedence(graph: TaskGraph, placed: Sequence[_Placed], communication: float, slack: float) -> Iterable[Violation]:
    of: dict[int, list[_Placed]] = {}
    for p in placed:
        of.setdefault(p.task, []).append(p)
    for p in placed:
        name = graph.tasks[p.task].name
        for earlier in sorted(set(graph.before[p.task])):
            arrivals = [e.end + (communication if e.processor != p.processor else 0.0) for e in of.get(earlier, [])]
            if arrivals and p.start < min(arrivals) - slack:  # what is missing was said already
                other = graph.tasks[earlier].name
                yield Violation(
                    "precedence", name, f"{name} starts at {p.start:g}, {other} is there at {min(arrivals):g}", other
                )
