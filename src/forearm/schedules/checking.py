"""Validation of schedules: every task once, one at a time on a processor, none before the results that it
needs have arrived.

Only tasks, processors and start times are looked at, independently of what found them.
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
from forearm.values import frozen

Kind = Literal["missing", "repeated", "unknown", "processor", "time", "overlap", "precedence"]
CLOSE = 1e-9  # relative to the larger of two times: rounding of sums of costs


@dataclass(frozen=True)
class ScheduleEntry:
    """One entry of a schedule to be validated: task name, processor from 0, and start."""

    task: str
    processor: int
    start: float


@dataclass(frozen=True)
class Violation:
    """One violation found in a schedule.

    Attributes:
        kind: "missing", "repeated", "unknown", "processor", "time", "overlap" or "precedence".
        task: name of the task.
        message: a sentence.
        other: the task that it overlaps with or depends on, "" if none.
    """

    kind: Kind
    task: str
    message: str
    other: str = ""


@frozen
class _Placed:
    """An entry whose task is given by its index in the graph."""

    task: int
    processor: int
    start: float
    end: float


@frozen
class _Machine:
    """The machine: processors, and the costs of communication and synchronisation."""

    processors: int
    communication: float
    synchronisation: float


def violations(schedule: TaskSchedule) -> tuple[Violation, ...]:
    """All violations of a schedule; empty if it is valid."""
    graph = schedule.graph
    listed = zip(range(len(schedule.start)), schedule.processor, schedule.start, strict=False)
    placed = [_placed(graph, k, processor, start) for k, processor, start in listed if k < len(graph)]
    extra = max(len(schedule.start), len(schedule.processor)) - len(graph)
    odd = [Violation("unknown", "", f"{extra} entries more than the graph has tasks")] if extra > 0 else []
    machine = _Machine(schedule.processors, schedule.communication, schedule.synchronisation)
    return (*odd, *_found(graph, placed, machine))


def violations_of_entries(
    graph: TaskGraph,
    entries: Iterable[ScheduleEntry],
    processors: int,
    communication: float = 0.0,
    synchronisation: float = 0.0,
) -> tuple[Violation, ...]:
    """All violations of a list of entries, whose names may be missing, repeated or unknown.

    Names in the graph must be unique. If a task is repeated, its successors use the earliest result.
    """
    index = {task.name: k for k, task in enumerate(graph.tasks)}
    placed, found = [], []
    for entry in entries:
        if entry.task in index:
            placed.append(_placed(graph, index[entry.task], entry.processor, entry.start))
        else:
            found.append(
                Violation(
                    "unknown", entry.task, f"{entry.task} at {entry.start:g} is not a task of the graph"
                )
            )
    return (*found, *_found(graph, placed, _Machine(processors, communication, synchronisation)))


def check_schedule(schedule: TaskSchedule, graph: TaskGraph, where: str) -> None:
    """Raise InputError unless this is a valid schedule of the graph."""
    if schedule.graph is not graph:
        raise InputError("expected a schedule of division.graph, got one of another task graph.", where)
    wrong = violations(schedule)
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise InputError(f"invalid schedule: {wrong[0].message}{more}. See violations(schedule).", where)


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
            yield Violation("time", "", f"{name} is {shorten(time)}, expected a finite number of at least 0")


def _each_once(graph: TaskGraph, placed: Sequence[_Placed]) -> Iterable[Violation]:
    times = Counter(p.task for p in placed)
    for k, task in enumerate(graph.tasks):
        if times[k] == 0:
            yield Violation("missing", task.name, f"{task.name} is missing")
        elif times[k] > 1:
            yield Violation("repeated", task.name, f"{task.name} is scheduled {times[k]} times")


def _in_range(graph: TaskGraph, placed: Sequence[_Placed], processors: int) -> Iterable[Violation]:
    for p in placed:
        name = graph.tasks[p.task].name
        if not isinstance(p.processor, Integral) or not 0 <= p.processor < processors:
            yield Violation(
                "processor", name, f"{name} is on processor {p.processor}, expected 0 to {processors - 1}"
            )
        if not math.isfinite(p.start) or p.start < -CLOSE * abs(p.end):
            yield Violation("time", name, f"{name} starts at {p.start:g}")


def _news(graph: TaskGraph, placed: Sequence[_Placed], of: dict[int, list[_Placed]]) -> Iterable[int]:
    """For each entry, in order of starts, from how many other processors it takes results newer than all that
    its own has taken from there.
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
    """Tasks that overlap on a processor, which is busy from the start of their wait; entries are sorted by
    start.
    """
    busy: dict[int, _Placed] = {}  # the entry that ends last so far, by processor
    for p, wait in zip(placed, waits, strict=True):
        last = busy.get(p.processor)
        if last is not None and (p.end > p.start or wait) and _is_before(p.start, last.end + wait):
            name, other = graph.tasks[p.task].name, graph.tasks[last.task].name
            yield Violation(
                "overlap",
                name,
                f"{name} starts at {p.start:g}{_after(wait)}, but {other} runs until {last.end:g}",
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
            if arrivals and _is_before(p.start, min(arrivals) + wait):  # missing ones are reported above
                other = graph.tasks[earlier].name
                yield Violation(
                    "precedence",
                    name,
                    f"{name} starts at {p.start:g}{_after(wait)}, but the result of {other} arrives at "
                    f"{min(arrivals):g}",
                    other,
                )


def _after(wait: float) -> str:
    return f" after a wait of {wait:g}" if wait else ""
