"""What waits cost: in lists and in the search, by the check, and counted as the threads of
a schedule really wait.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from arms import random_arm
from schedules.brute import CLOSE, random_graph
from sweeps import long

from forearm.schedules.automatic import operations, traced_function
from forearm.schedules.checking import violations
from forearm.schedules.exact import schedule_exact
from forearm.schedules.grouping import grouped
from forearm.schedules.priority import schedule_by_priority
from forearm.schedules.schedule import TaskSchedule
from forearm.schedules.search import schedule_by_search
from forearm.schedules.tasks import Task, TaskGraph
from forearm.schedules.threaded_plan import planned_threads

COSTS = (1.0, 0.1, 3.7)
HANDING = [(0.0, 0.3), (0.7, 1.1), (0.1, 5.0)]
METHODS = [schedule_by_priority, schedule_by_search, schedule_exact]


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(2), *long([range(2, 8)])], ids=["two", "others"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("communication", "synchronisation"), HANDING)
@pytest.mark.sweep
def test_schedules_account_for_every_wait(
    method: object, communication: float, synchronisation: float, seeds: range
) -> None:
    for seed in seeds:
        graph = random_graph(seed, 25, 0.1, COSTS)
        made = method(graph, 3, communication, synchronisation)  # type: ignore[operator]
        assert made.synchronisation == synchronisation
        assert violations(made) == ()
        assert min(made.start) >= 0.0
        assert made.length <= graph.total + CLOSE, "one processor waits for nobody"


def test_a_wait_is_paid_by_the_one_that_waits_and_once_for_what_is_new() -> None:
    """b takes a from the other processor; c takes it too, later on the same one: it is there already."""
    graph = TaskGraph((Task("a"), Task("b"), Task("c"), Task("d")), ((), (0,), (0,), (1, 2)))
    right = TaskSchedule(graph, 2, (0.0, 1.5, 2.5, 3.5), (0, 1, 1, 1), "by hand", synchronisation=0.5)
    assert violations(right) == ()
    assert right.waits == 1
    (late,) = violations(replace(right, start=(0.0, 1.4, 2.5, 3.5)))
    assert (late.kind, late.task) == ("precedence", "b")
    assert "after a wait of 0.5" in late.message
    assert violations(replace(right, start=(0.0, 1.0, 2.0, 3.0), synchronisation=0.0)) == ()
    assert [v.kind for v in violations(replace(right, synchronisation=-1.0))] == ["time"]


def test_a_processor_does_nothing_else_while_it_waits() -> None:
    graph = TaskGraph((Task("a"), Task("own", 3.0), Task("b")), ((), (), (0,)))
    busy = TaskSchedule(graph, 2, (0.0, 0.0, 3.0), (0, 1, 1), "by hand", synchronisation=0.5)
    (found,) = violations(busy)
    assert (found.kind, found.task, found.other) == ("overlap", "b", "own")
    assert violations(replace(busy, start=(0.0, 0.0, 3.5))) == ()


def test_shaken_schedules_that_lose_a_wait_are_found() -> None:
    found = 0
    for seed in range(20):
        made = schedule_by_priority(random_graph(seed, 25, 0.15, COSTS), 3, 0.2, 0.6)
        if made.waits:
            assert violations(replace(made, synchronisation=0.6 + 1e-3))
            found += 1
    assert found >= 10


@pytest.mark.slow
@pytest.mark.parametrize(("processors", "synchronisation"), [(2, 2.0), (5, 0.0)])
def test_waits_are_counted_as_threads_wait(processors: int, synchronisation: float) -> None:
    division = grouped(operations(traced_function(random_arm(4, n=3), "inverse_dynamics")), 12.0)
    schedule = schedule_by_search(division.graph, processors, 1.0, synchronisation)
    assert schedule.waits == planned_threads(division, schedule).waits > 0


def test_dear_waits_make_fewer_of_them_until_one_processor_does_all() -> None:
    graph = random_graph(7, 60, 0.06, COSTS)
    made = [schedule_by_priority(graph, 4, 0.0, cost) for cost in (0.0, 1.0, 1e6)]
    lengths = [s.length for s in made]
    assert lengths == sorted(lengths)
    assert (made[-1].waits, len(set(made[-1].processor))) == (0, 1)
    assert made[0].waits > made[1].waits > 0


@pytest.mark.slow
def test_starts_are_never_before_the_beginning() -> None:
    """Lists from the end were turned by differences, and those of tenths can fall below 0 by rounding."""
    rng = np.random.default_rng(3)
    for seed in range(3):
        graph = random_graph(seed, 23, 0.15, (1.1, 0.1, 2.7, 8.0))
        made = schedule_by_search(graph, 3, float(rng.uniform(0.05, 0.5)))
        assert min(made.start) >= 0.0
        assert violations(made) == ()
