"""The search and the solver against all schedules of small graphs, and the printed
arms solved without help.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from schedules.brute import random_graph, shortest

from forearm.errors import ForearmError
from forearm.schedules import exact
from forearm.schedules.bounds import lower_bound
from forearm.schedules.checking import violations
from forearm.schedules.comparison import compared, printed_levels
from forearm.schedules.exact import has_solver, schedule_exact
from forearm.schedules.printed import GENERAL, STANFORD, load
from forearm.schedules.priority import schedule_by_priority
from forearm.schedules.search import is_proven, reversed_graph, schedule_by_search

needs_solver = pytest.mark.skipif(
    not has_solver(), reason="OR-Tools is not installed: pip install 'forearm[schedule]'"
)
CASES = [((1.0,), 0.0), ((1.0,), 1.0), ((1.0, 2.0, 3.5), 0.0), ((1.0, 2.0, 3.5), 1.5)]


@pytest.mark.slow
@pytest.mark.parametrize(("costs", "communication"), CASES)
@pytest.mark.sweep(first=1)
def test_search_lies_between_the_shortest_and_the_first_list(
    costs: tuple[float, ...], communication: float
) -> None:
    met = 0
    for seed in range(8):
        graph = random_graph(seed, 7, 0.3, costs)
        processors = 2 + seed % 2
        best = shortest(graph, processors, communication)
        made = schedule_by_search(graph, processors, communication)
        assert not violations(made)
        assert best - 1e-9 <= made.length <= schedule_by_priority(graph, processors, communication).length
        assert made.bound == lower_bound(graph, processors)
        if is_proven(made):
            assert made.length == pytest.approx(best, abs=1e-9)
        met += made.length <= best + 1e-9
    assert met >= 6, "most of such small graphs are found"


def test_search_gives_the_same_from_run_to_run() -> None:
    graph = random_graph(4, 16, 0.1, (1.0, 3.0))
    first, second = (schedule_by_search(graph, 3, 2.0) for _ in range(2))
    assert (first.start, first.processor) == (second.start, second.processor)


def test_a_graph_reversed_twice_is_itself() -> None:
    graph = random_graph(2, 9, 0.4, (1.0, 2.0))
    twice = reversed_graph(reversed_graph(graph))
    assert (twice.tasks, twice.before) == (graph.tasks, graph.before)
    assert reversed_graph(graph).critical_path == graph.critical_path


@pytest.mark.slow
def test_every_printed_arm_is_scheduled_in_the_least_levels() -> None:
    """What the search reaches is what is proven, on 2 to 9 processors;
    no printed schedule of right tasks is shorter.
    """
    general = compared(load(GENERAL), range(2, 10), printed_levels(GENERAL))
    stanford = compared(load(STANFORD), range(2, 10), printed_levels(STANFORD))
    assert all(line.is_proven and line.best == line.bound for line in (*general, *stanford))
    assert [line.best for line in general] == [115, 77, 58, 47, 39, 34, 30, 28]
    assert [line.best for line in stanford] == [78, 52, 39, 32, 27, 25, 25, 25]
    assert [line.printed for line in general] == [116, 78, 58, 47, 39, 34, 31, 30]
    assert [line.printed for line in stanford] == [79, 52, 39, 32, 29, 27, 27, None]
    for line in (*general, *stanford):
        assert line.best <= line.priority
        assert line.best <= line.rule
        assert line.printed is None or line.best <= line.printed


def test_without_a_solver_the_answer_is_the_searchs_and_says_what_is_proven(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exact, "has_solver", lambda: False)
    graph = random_graph(6, 20, 0.1, (1.0, 3.0))
    made, searched = schedule_exact(graph, 3, 4.0), schedule_by_search(graph, 3, 4.0)
    assert (made.start, made.bound, made.method) == (searched.start, searched.bound, "exact")
    assert made.bound is not None
    assert made.bound <= made.length


@pytest.mark.slow
def test_where_the_solver_has_no_model_the_answer_is_the_searchs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirds are no thousandths, waits are not in it, and there may be too many tasks."""
    monkeypatch.setattr(exact, "has_solver", lambda: True)
    monkeypatch.setattr(exact, "_solved", lambda *_: pytest.fail("the solver was asked"))
    graph = random_graph(6, 9, 0.1, (1.0, 3.0))
    for communication, synchronisation in ((1.0 / 3.0, 0.0), (1e-7, 0.0), (4.0, 1.0), (1e13, 0.0)):
        searched = schedule_by_search(graph, 3, communication, synchronisation)
        made = schedule_exact(graph, 3, communication, synchronisation)
        assert (made.start, made.bound) == (searched.start, searched.bound)
    monkeypatch.setattr(exact, "MOST_TASKS", 5)
    assert schedule_exact(graph, 3, 4.0).start == schedule_by_search(graph, 3, 4.0).start
    for effort in (0.0, float("nan")):
        with pytest.raises(ForearmError, match="effort"):
            schedule_exact(graph, 2, effort=effort)


def test_tasks_without_cost_take_no_processor() -> None:
    """Three that start at once on two processors, one of which takes no time; times as large as they come."""
    huge = 10**9
    owner = exact._dealt([huge, huge, huge, huge + 1], [1, 1, 0, 5], 2)
    assert sorted(owner[:2]) == [0, 1]
    assert 0 <= owner[2] < 2


@needs_solver
@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_solver_with_tasks_without_cost(scale: float) -> None:
    for seed in range(6):
        graph = random_graph(seed, 7, 0.3, (0.0, 1.0 * scale, 2.5 * scale))
        start = replace(schedule_by_priority(graph, 2), bound=0.0)
        made = exact._solved(start, 5.0)
        assert not violations(made)
        assert made.length == pytest.approx(shortest(graph, 2), rel=1e-9)


@needs_solver
@pytest.mark.parametrize(("costs", "communication"), CASES)
def test_solver_finds_the_shortest_and_proves_it(costs: tuple[float, ...], communication: float) -> None:
    for seed in range(10):
        graph = random_graph(seed, 7, 0.3, costs)
        processors = 2 + seed % 2
        made = schedule_exact(graph, processors, communication)
        assert not violations(made)
        assert made.length == pytest.approx(shortest(graph, processors, communication), abs=1e-9)
        assert is_proven(made)


@needs_solver
@pytest.mark.slow
@pytest.mark.parametrize(("processors", "levels"), [(4, 39), (6, 27)])
def test_solver_alone_agrees_with_the_bound_where_chains_and_sums_do_not_decide(
    processors: int, levels: int
) -> None:
    """From the first list, and from no bound at all: 39 is possible on four processors, 26 is not on six."""
    start = replace(schedule_by_priority(load(STANFORD).graph, processors), bound=0.0)
    made = exact._solved(start, 60.0)
    assert not violations(made)
    assert (made.length, made.bound) == (levels, levels)
