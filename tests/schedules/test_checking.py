"""The check of schedules: silent where nothing is wrong, and right about what is,
for schedules broken on purpose.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from schedules.brute import faults, random_graph

from forearm.errors import InputError
from forearm.schedules.checking import ScheduleEntry, check_schedule, violations, violations_of_entries
from forearm.schedules.priority import schedule_by_priority
from forearm.schedules.rule import schedule_by_rule
from forearm.schedules.schedule import TaskSchedule
from forearm.schedules.tasks import Task, TaskGraph

COSTS = (1.0, 2.0, 0.5, 0.1)


def good(seed: int, communication: float = 0.0) -> TaskSchedule:
    graph = random_graph(seed, 24, density=0.15, costs=COSTS)
    return schedule_by_priority(graph, 3, communication)


def moved(
    schedule: TaskSchedule, k: int, start: float | None = None, processor: int | None = None
) -> TaskSchedule:
    starts, processors = list(schedule.start), list(schedule.processor)
    if start is not None:
        starts[k] = start
    if processor is not None:
        processors[k] = processor
    return dataclasses.replace(schedule, start=tuple(starts), processor=tuple(processors))


def kinds(schedule: TaskSchedule) -> set[str]:
    return {violation.kind for violation in violations(schedule)}


def entries_of(schedule: TaskSchedule) -> list[ScheduleEntry]:
    tasks = schedule.graph.tasks
    return [
        ScheduleEntry(t.name, p, s) for t, p, s in zip(tasks, schedule.processor, schedule.start, strict=True)
    ]


@pytest.mark.parametrize("seed", range(2))
def test_it_agrees_with_another_check_on_schedules_shaken_at_random(seed: int) -> None:
    """Shaken a little, half of them stay schedules: both answers occur."""
    rng = np.random.default_rng(seed)
    seen = set()
    for trial in range(40):
        schedule = good(trial, 0.3 * (trial % 2))
        assert violations(schedule) == ()
        assert violations_of_entries(schedule.graph, entries_of(schedule), 3, schedule.communication) == ()
        stretched = dataclasses.replace(schedule, start=tuple(1.2 * s for s in schedule.start))
        k = int(rng.integers(len(schedule.graph)))
        shaken = moved(stretched, k, max(0.0, stretched.start[k] + float(rng.normal())), int(rng.integers(3)))
        broken = bool(faults(shaken))
        assert bool(violations(shaken)) == broken
        seen.add(broken)
    assert seen == {True, False}


def test_each_kind_of_fault_is_named() -> None:
    tasks = (Task("a"), Task("b", 2.0), Task("c"))
    graph = TaskGraph(tasks, ((), (0,), (0,)))
    schedule = TaskSchedule(graph, 2, (0.0, 1.0, 1.0), (0, 0, 1), "by hand")
    assert violations(schedule) == ()
    early = violations(moved(schedule, 1, 0.5, 1))
    assert {v.kind for v in early} == {"precedence", "overlap"}
    assert "b starts at 0.5, but the result of a arrives at 1" in [v.message for v in early]
    (overlap,) = violations(moved(schedule, 2, 2.0, 0))
    assert (overlap.kind, overlap.task, overlap.other) == ("overlap", "c", "b")
    assert overlap.message == "c starts at 2, but b runs until 3"
    for processor in (2, -1, 0.5):
        assert kinds(moved(schedule, 2, processor=processor)) == {"processor"}  # type: ignore[arg-type]
    for start in (-1.0, -1e-6, math.nan, math.inf, "soon"):
        assert kinds(moved(schedule, 0, start)) == {"time"}  # type: ignore[arg-type]
    late = dataclasses.replace(schedule, communication=0.5)  # of c, which is on another processor than a
    assert [(v.kind, v.task) for v in violations(late)] == [("precedence", "c")]
    assert violations(moved(late, 2, 1.5)) == ()
    long = TaskSchedule(
        TaskGraph((Task("long", 9.0), *tasks[::2]), ((),) * 3), 1, (0.0, 1.0, 5.0), (0,) * 3, ""
    )
    assert [(v.kind, v.task, v.other) for v in violations(long)] == [
        ("overlap", "a", "long"),
        ("overlap", "c", "long"),
    ]
    assert kinds(dataclasses.replace(schedule, start=(0.0, 1.0), processor=(0, 0))) == {"missing"}
    assert kinds(dataclasses.replace(schedule, start=(0.0, 1.0, 1.0, 5.0), processor=(0, 0, 1, 1))) == {
        "unknown"
    }


def test_lists_may_lack_repeat_and_invent_tasks() -> None:
    schedule = schedule_by_rule(random_graph(3, 12, density=0.2), 2)
    entries = entries_of(schedule)
    end = schedule.length

    def found(listed: list[ScheduleEntry]) -> list[tuple[str, str]]:
        return [(v.kind, v.task) for v in violations_of_entries(schedule.graph, listed, 2)]

    last = max(entries, key=lambda e: e.start)
    assert found([e for e in entries if e is not last]) == [("missing", last.task)]
    assert found([*entries, ScheduleEntry("t3", 0, end)]) == [("repeated", "t3")]
    assert found([*entries, ScheduleEntry("t99", 0, end)]) == [("unknown", "t99")]


def test_of_a_task_that_comes_twice_the_earlier_result_counts() -> None:
    graph = TaskGraph((Task("a"), Task("b")), ((), (0,)))
    listed = [ScheduleEntry("a", 0, 5.0), ScheduleEntry("a", 1, 0.0), ScheduleEntry("b", 1, 1.0)]
    assert [v.kind for v in violations_of_entries(graph, listed, 2)] == ["repeated"]
    assert [v.kind for v in violations_of_entries(graph, listed, 2, 0.5)] == ["repeated"], (
        "it is on the same processor"
    )
    moved_away = [*listed[:2], ScheduleEntry("b", 0, 1.0)]
    assert [v.kind for v in violations_of_entries(graph, moved_away, 2, 0.5)] == ["repeated", "precedence"]


def test_rounding_is_no_fault() -> None:
    """Ten tenths end a little before 1; the next task starts at 1."""
    tasks = tuple(Task(str(k), 0.1) for k in range(11))
    starts, now = [], 0.0
    for _ in tasks:
        starts.append(now)
        now += 0.1
    starts[10] = 1.0
    chain = TaskGraph(tasks, ((), *((k,) for k in range(10))))
    assert violations(TaskSchedule(chain, 1, tuple(starts), (0,) * 11, "by hand")) == ()
    starts[0] = -3.6e-15  # rounded below nothing
    assert violations(TaskSchedule(chain, 1, tuple(starts), (0,) * 11, "by hand")) == ()
    starts[10] = 1e10  # a task far away gives the others no more slack
    starts[1] = 0.1 - 1e-6
    assert kinds(TaskSchedule(chain, 1, tuple(starts), (0,) * 11, "by hand")) == {"overlap", "precedence"}
    starts[1], starts[10] = 0.1, 1.0 - 1e-6
    assert kinds(TaskSchedule(chain, 1, tuple(starts), (0,) * 11, "by hand")) == {"overlap", "precedence"}


def test_what_is_no_time_of_communication_is_a_fault() -> None:
    graph = TaskGraph((Task("a"), Task("b")), ((), (0,)))
    right = TaskSchedule(graph, 2, (0.0, 1.0), (0, 1), "by hand")
    for communication in (math.nan, -1.0, math.inf):
        early = moved(dataclasses.replace(right, communication=communication), 1, 0.5)
        assert [v.kind for v in violations(early)] == ["time", "precedence"]


@pytest.mark.parametrize("cost", [math.nan, -1.0, "1", True])
def test_costs_are_times(cost: object) -> None:
    with pytest.raises(InputError, match=r"task 'a', cost: .*, got"):
        Task("a", cost)  # type: ignore[arg-type]


def test_what_is_no_schedule_is_refused_with_its_first_fault() -> None:
    graph = TaskGraph((Task("a"), Task("b")), ((), (0,)))
    with pytest.raises(
        InputError, match=r"here: invalid schedule: b starts at 0, but a runs until 1 \(and 1 more\)"
    ):
        check_schedule(TaskSchedule(graph, 1, (0.0, 0.0), (0, 0), "by hand"), graph, "here")
    check_schedule(TaskSchedule(graph, 1, (0.0, 1.0), (0, 0), "by hand"), graph, "here")
