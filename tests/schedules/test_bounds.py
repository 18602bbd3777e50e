"""Lower bounds never exceed the shortest schedule, and the window bound sees what chains and sums do not."""

from __future__ import annotations

import pytest
from schedules.brute import random_graph, shortest

from forearm.schedules.bounds import ROUNDING, lower_bound, proof
from forearm.schedules.printed import GENERAL, STANFORD, load
from forearm.schedules.tasks import Task, TaskGraph


@pytest.mark.slow
@pytest.mark.parametrize("costs", [(1.0,), (1.0, 2.0, 3.5), (0.1, 0.0, 7.3), (2.0, 5.0)])
@pytest.mark.sweep(first=2)
def test_never_above_the_shortest(costs: tuple[float, ...]) -> None:
    met = 0
    for seed in range(12):
        graph = random_graph(seed, 6, 0.3, costs)
        for processors in (1, 2, 3):
            best, bound = shortest(graph, processors), lower_bound(graph, processors)
            assert bound <= best + 1e-12
            assert bound >= max(graph.critical_path, graph.total / processors) * (1.0 - ROUNDING)
            met += bound > best * (1.0 - 1e-6)
    assert met > 15, "a bound that is seldom met says little"


def diamond(width: int) -> TaskGraph:
    """A chain of three, then many tasks at once, then a chain of three."""
    tasks = tuple(Task(f"t{k}") for k in range(width + 6))
    middle = tuple(range(3, 3 + width))
    before = [(), (0,), (1,), *((2,) for _ in middle), middle, (3 + width,), (4 + width,)]
    return TaskGraph(tasks, tuple(before))


def test_window_between_a_narrow_start_and_a_narrow_end() -> None:
    graph = diamond(9)
    found = proof(graph, 2)
    # 9 tasks on 2 processors between two chains of 3
    assert (found.length, found.reason) == (3 + 5 + 3, "window")
    assert (found.head, found.tail, found.work) == (3.0, 3.0, 9.0)
    assert graph.critical_path == 7.0
    assert graph.total / 2 == 7.5


def test_a_task_longer_than_the_window_counts_only_within_it() -> None:
    """One task of 10 on one processor: windows inside of it must not ask for more than it has."""
    graph = TaskGraph((Task("a", 10.0), Task("b", 2.0), Task("c", 2.0)), ((), (), (1,)))
    assert lower_bound(graph, 2) == 10.0
    assert lower_bound(graph, 1) == 14.0


def test_bounds_of_the_documents_arms() -> None:
    general, stanford = load(GENERAL).graph, load(STANFORD).graph
    assert [lower_bound(general, p) for p in range(2, 10)] == [115, 77, 58, 47, 39, 34, 30, 28]
    # Chains and sums alone give 26 on six processors.
    assert [lower_bound(stanford, p) for p in range(2, 9)] == [78, 52, 39, 32, 27, 25, 25]


def test_more_processors_never_need_longer() -> None:
    graph = random_graph(3, 60, 0.08, (1.0, 2.5, 0.7))
    bounds = [lower_bound(graph, p) for p in range(1, 12)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] == pytest.approx(graph.total, rel=2 * ROUNDING)
    assert bounds[-1] >= graph.critical_path * (1.0 - ROUNDING)
