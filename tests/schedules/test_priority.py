"""Critical-path list scheduling against all schedules of small graphs, the documents' arms,
and a check of its own.
"""

from __future__ import annotations

from typing import Any

import pytest
from schedules.brute import faults, random_graph, shortest

from forearm.errors import InputError
from forearm.schedules.bounds import lower_bound
from forearm.schedules.checking import violations
from forearm.schedules.exact import schedule_exact
from forearm.schedules.printed import GENERAL, STANFORD, load
from forearm.schedules.priority import listed, schedule_by_priority
from forearm.schedules.rule import schedule_by_rule
from forearm.schedules.search import schedule_by_search
from forearm.schedules.tasks import Task, TaskGraph

COSTS = ((1.0,), (1.0, 2.0, 3.5), (0.0, 1.0, 0.3))


@pytest.mark.parametrize("communication", [0.0, 0.4, 1.5])
@pytest.mark.parametrize("costs", COSTS)
def test_no_shorter_than_the_shortest_and_never_wrong(costs: tuple[float, ...], communication: float) -> None:
    for seed in range(8):
        graph = random_graph(seed, 6, 0.35, costs)
        for processors in (2, 3):
            made = schedule_by_priority(graph, processors, communication)
            assert not faults(made)
            assert not violations(made)
            best = shortest(graph, processors, communication)
            assert best - 1e-9 <= made.length <= graph.total + 1e-9
            if communication == 0.0:  # Graham's bound for lists
                assert made.length <= (2.0 - 1.0 / processors) * best + 1e-9


@pytest.mark.slow
def test_longest_chain_first_is_the_shortest_for_trees_of_equal_tasks() -> None:
    """Hu: where each task is needed by one other at most, and all cost the same."""
    for seed in range(5):
        free = random_graph(seed, 8, 1.0)
        before: list[list[int]] = [[] for _ in free.tasks]
        for k in range(7):
            before[k + 1 + (seed * 7 + k * 5) % (7 - k)].append(k)
        tree = TaskGraph(free.tasks, tuple(map(tuple, before)))
        for processors in (2, 3):
            assert schedule_by_priority(tree, processors).length == shortest(tree, processors)


@pytest.mark.parametrize(
    ("table", "levels"),
    [(GENERAL, (115, 77, 58, 47, 39, 34, 30, 28)), (STANFORD, (78, 52, 40, 32, 27, 25, 25, 25))],
)
def test_levels_of_the_documents_arms(table: str, levels: tuple[int, ...]) -> None:
    graph = load(table).graph
    made = [schedule_by_priority(graph, p) for p in range(2, 10)]
    assert tuple(s.length for s in made) == levels
    assert not any(violations(s) for s in made)


def test_communication_that_costs_too_much_leaves_one_processor() -> None:
    graph = random_graph(5, 12, 0.6)
    made = schedule_by_priority(graph, 4, 1000.0)
    assert made.length == graph.total
    assert len(set(made.processor)) == 1


def test_large_random_graphs_are_scheduled_right() -> None:
    for seed, processors, communication in ((1, 2, 0.0), (2, 5, 0.7), (3, 16, 5.0)):
        graph = random_graph(seed, 120, 0.05, (1.0, 0.25, 4.0))
        made = schedule_by_priority(graph, processors, communication)
        assert not violations(made)
        assert graph.critical_path - 1e-9 <= made.length <= graph.total + 1e-9


def test_priority_decides_between_tasks_that_are_ready() -> None:
    graph = TaskGraph((Task("a"), Task("b"), Task("c")), ((), (), ()))
    assert listed(graph, 1, [1.0, 3.0, 2.0])[0] == [2.0, 0.0, 1.0]


METHODS: list[Any] = [schedule_by_rule, schedule_by_priority, schedule_by_search, schedule_exact, lower_bound]


@pytest.mark.parametrize("method", METHODS)
def test_processors_and_times_are_sane_numbers(method: Any) -> None:
    """And nothing to do takes no time."""
    graph, none = random_graph(1, 3), TaskGraph((), ())
    assert (method(none, 2) if method is lower_bound else method(none, 2).length) == 0.0
    for processors in (0, 1.5, True, "2", 10**6):
        with pytest.raises(InputError, match="processors: expected a whole number from 1 to 1024"):
            method(graph, processors)
    if method in METHODS[1:4]:
        for time in (-1.0, float("nan"), float("inf"), "1", True):
            with pytest.raises(InputError, match=r"communication: .*(at least 0|finite|a number), got"):
                method(graph, 2, time)
            with pytest.raises(InputError, match="synchronisation: "):
                method(graph, 2, 0.0, time)
