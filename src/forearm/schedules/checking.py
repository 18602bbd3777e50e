"""Is it a schedule at all: every task once, one at a time on a processor, none before what it
waits for has arrived.

It looks at tasks, processors and starts alone, and trusts nothing that made them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Literal

from forearm.errors import InputError, shorten
from forearm.schedules.schedule import TaskSchedule
from forearm.schedules.tasks import TaskGraph, is_time

Kind = Literal["missing", "repeated", "unknown", "processor", "time", "overlap", "precedence"]
CLOSE = 1e-9  # of the larger of two times that are compared: what sums of costs may be rounded by


@dataclass(frozen=True)
class ScheduleEntry:
    """One task of a schedule that may be none: a name, a processor counted from 0, and a start."""

    task: str
    processor: int
    start: float


@dataclass(frozen=True)
class Violation:
    """One thing that is wrong with a schedule.

    Attributes:
        kind: "missing", "repeated", "unknown", "processor", "time", "overlap" or "precedence".
        task: name of the task.
        message: a sentence.
        other: the task that it overlaps with or waits for, "" where there is none.
    """

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


@dataclass(frozen=True)
class _Machine:
    """What schedules are made for: how many processors, and what it costs to hand results over."""

    processors: int
    communication: float
    synchronisation: float


def violations(schedule: TaskSchedule) -> tuple[Violation, ...]:
    """Everything that is wrong with a schedule; nothing where it is one."""
    graph = schedule.graph
    listed = zip(range(len(schedule.start)), schedule.processor, schedule.start, strict=False)
    placed = [_placed(graph, k, processor, start) for k, processor, start in listed if k < len(graph)]
    extra = max(len(schedule.start), len(schedule.processor)) - len(graph)
    odd = [Violation("unknown", "", f"{extra} more entries than the graph has tasks")] if extra > 0 else []
    machine = _Machine(schedule.processors, schedule.communication, schedule.synchronisation)
    return (*odd, *_found(graph, placed, machine))


def violations_of_entries(
    graph: TaskGraph,
    entries: Iterable[ScheduleEntry],
    processors: int,
    communication: float = 0.0,
    synchronisation: float = 0.0,
) -> tuple[Violation, ...]:
    """Everything that is wrong with a list of entries: names may be missing, come twice,
    or be those of no task.

    Names in the graph must differ. Of a task that comes twice the earliest result counts for
    those that wait for it.
    """
    index = {task.name: k for k, task in enumerate(graph.tasks)}
    placed, found = [], []
    for entry in entries:
        if entry.task in index:
            placed.append(_placed(graph, index[entry.task], entry.processor, entry.start))
        else:
            found.append(
                Violation("unknown", entry.task, f"{entry.task} at {entry.start:g} is none of the tasks")
            )
    return (*found, *_found(graph, placed, _Machine(processors, communication, synchronisation)))


def check_schedule(schedule: TaskSchedule, graph: TaskGraph, where: str) -> None:
    """Refuse what is no schedule of a graph."""
    if schedule.graph is not graph:
        raise InputError(f"{where}: the schedule is of another task graph; schedule division.graph.")
    wrong = violations(schedule)
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise InputError(f"{where}: it is no schedule: {wrong[0].message}{more}. See violations(schedule).")


def _placed(graph: TaskGraph, k: int, processor: int, start: float) -> _Placed:
    begin = float(start) if isinstance(start, Real) else math.nan
    return _Placed(k, processor, begin, begin + graph.tasks[k].cost)


def _found(graph: TaskGraph, placed: Sequence[_Placed], machine: _Machine) -> list[Violation]:
    found = [*_machine(machine), *_each_once(graph, placed), *_in_range(graph, placed, machine.processors)]
    timed = [p for p in placed if math.isfinite(p.start)]
    of: dict[int, list[_Placed]] = {}
    for p in timed:
        of.setdefault(p.task, []).append(p)
    late, each = (time if is_time(time) else 0.0 for time in (machine.communication, machine.synchronisation))
    timed.sort(key=lambda p: (p.start, p.end, p.task))
    waits = [each * news for news in _news(graph, timed, of)] if each else [0.0] * len(timed)
    return [*found, *_one_at_a_time(graph, timed, waits), *_precedence(graph, timed, waits, of, late)]


def _machine(machine: _Machine) -> Iterable[Violation]:
    for name, time in (
        ("communication", machine.communication),
        ("synchronisation", machine.synchronisation),
    ):
        if not is_time(time):
            yield Violation("time", "", f"{name} takes {shorten(time)}, which is no time")


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
        if not isinstance(p.processor, Integral) or not 0 <= p.processor < processors:
            yield Violation(
                "processor", name, f"{name} is on processor {p.processor} of 0 to {processors - 1}"
            )
        if not math.isfinite(p.start) or p.start < -CLOSE * abs(p.end):
            yield Violation("time", name, f"{name} starts at {p.start:g}")


def _news(graph: TaskGraph, placed: Sequence[_Placed], of: dict[int, list[_Placed]]) -> Iterable[int]:
    """For each entry, in order of starts, how many other processors have something for it that is
    newer than all before.
    """
    seen: dict[tuple[int, int], tuple[float, int]] = {}
    for p in placed:
        new: dict[tuple[int, int], tuple[float, int]] = {}
        for made in (
            min(of[e], key=lambda made: (made.processor != p.processor, made.end))
            for e in graph.before[p.task]
            if e in of
        ):
            pair, stamp = (p.processor, made.processor), (made.start, made.task)
            if made.processor != p.processor and (pair not in seen or stamp > seen[pair]):
                new[pair] = max(stamp, new.get(pair, stamp))
        seen |= new
        yield len(new)


def _is_before(time: float, other: float) -> bool:
    """Whether a time is earlier than another, by more than rounding."""
    return time < other - CLOSE * max(abs(time), abs(other))


def _one_at_a_time(
    graph: TaskGraph, placed: Sequence[_Placed], waits: Sequence[float]
) -> Iterable[Violation]:
    """A processor is busy with a task from where its wait begins; entries come in order of their starts."""
    busy: dict[int, _Placed] = {}  # on each processor, of what was seen, the entry that ends last
    for p, wait in zip(placed, waits, strict=True):
        last = busy.get(p.processor)
        if last is not None and (p.end > p.start or wait) and _is_before(p.start, last.end + wait):
            name, other = graph.tasks[p.task].name, graph.tasks[last.task].name
            yield Violation(
                "overlap",
                name,
                f"{name} starts at {p.start:g}{_said(wait)} where {other} runs to {last.end:g}",
                other,
            )
        if last is None or p.end > last.end:
            busy[p.processor] = p


def _precedence(
    graph: TaskGraph,
    placed: Sequence[_Placed],
    waits: Sequence[float],
    of: dict[int, list[_Placed]],
    late: float,
) -> Iterable[Violation]:
    for p, wait in zip(placed, waits, strict=True):
        name = graph.tasks[p.task].name
        for earlier in sorted(set(graph.before[p.task])):
            arrivals = [e.end + (late if e.processor != p.processor else 0.0) for e in of.get(earlier, [])]
            if arrivals and _is_before(p.start, min(arrivals) + wait):  # what is missing was said already
                other = graph.tasks[earlier].name
                yield Violation(
                    "precedence",
                    name,
                    f"{name} starts at {p.start:g}{_said(wait)}, {other} is there at {min(arrivals):g}",
                    other,
                )


def _said(wait: float) -> str:
    return f" after a wait of {wait:g}" if wait else ""
