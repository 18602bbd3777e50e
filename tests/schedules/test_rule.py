"""The document's rule: schedules that are valid, no shorter than can be, and those of appendix C."""

from __future__ import annotations

import numpy as np
import pytest
from schedules.brute import faults, random_graph, shortest
from schedules.square_arms import agree, built_in, square_arm, state_of, truth

import forearm as fa
from forearm.schedules.assembly import run_tasks, subtask_work
from forearm.schedules.bounds import lower_bound
from forearm.schedules.checking import violations
from forearm.schedules.printed import as_printed, load
from forearm.schedules.rule import by_layers, schedule_by_rule
from forearm.schedules.tasks import Task, TaskGraph


@pytest.mark.parametrize("seed", range(5))
def test_small_graphs_against_trying_everything(seed: int) -> None:
    """Valid, not shorter than the shortest, and within Graham's 2 - 1/p of it,
    as no processor idles beside a ready task.
    """
    graph = random_graph(seed, 7, density=0.35)
    for processors in (1, 2, 3):
        schedule = schedule_by_rule(graph, processors)
        assert faults(schedule) == []
        assert violations(schedule) == ()
        best = shortest(graph, processors)
        assert best <= schedule.length <= (2.0 - 1.0 / processors) * best + 1e-9


def test_layer_first_then_what_can_be_done_of_the_next() -> None:
    """Two processors: a, b, c are layer 1, d waits for a. c is put off, d comes beside
    it, e (layer 3) after d.
    """
    tasks = tuple(Task(name) for name in "abcde")
    graph = TaskGraph(tasks, ((), (), (), (0,), (3,)))
    schedule = schedule_by_rule(graph, 2)
    assert schedule.start == (0.0, 0.0, 1.0, 1.0, 2.0)
    assert schedule.processor == (0, 1, 0, 1, 0)
    assert graph.layers == (1, 1, 1, 2, 3)
    put_off = by_layers(graph, [1, 2, 2, 1, 1], 2)  # the same tasks in other layers: the chain goes first
    assert put_off.start == (0.0, 0.0, 1.0, 1.0, 2.0)
    assert by_layers(graph, [1, 9, 9, 2, 3], 1).start == (0.0, 3.0, 4.0, 1.0, 2.0)
    with pytest.raises(fa.InputError, match="expected one layer per task, 5, got 2"):
        by_layers(graph, [1, 2], 2)


@pytest.mark.slow
@pytest.mark.parametrize("table", ["4.3", "4.7"])
def test_schedules_of_the_document_are_valid_and_between_the_bounds(table: str) -> None:
    layered = load(table)
    lengths = []
    for processors in (1, 2, 5, 9, 13):
        schedule = schedule_by_rule(layered, processors)
        assert violations(schedule) == ()
        assert schedule.length >= lower_bound(layered.graph, processors)
        assert schedule.speedup <= processors
        assert schedule.efficiency == pytest.approx(schedule.speedup / processors)
        lengths.append(schedule.length)
    assert lengths[0] == len(layered.graph)
    assert lengths[-1] <= max(layered.layers), (
        "with a processor for every task of a layer, no more levels than layers"
    )
    assert lengths == sorted(lengths, reverse=True)


def test_levels_of_appendix_c() -> None:
    """In the printed layers the rule gives what is printed, but for C.2, C.11 and C.13 to
    C.15, which do not keep it.
    """
    general = [schedule_by_rule(as_printed("4.3"), p).length for p in range(2, 10)]
    assert general == [116, 77, 58, 47, 39, 34, 31, 30]
    stanford = [schedule_by_rule(as_printed("4.7"), p).length for p in range(2, 9)]
    assert stanford == [79, 52, 40, 32, 28, 26, 26]


@pytest.mark.parametrize(
    "arm",
    [built_in("puma560-dhanaraj6"), built_in("stanford-dhanaraj6"), square_arm(11, 5)],
    ids=lambda a: a.name,
)
def test_tasks_done_as_scheduled_give_the_torques(arm: fa.Arm) -> None:
    """Level by level, the processors of a level in any order: none of them waits for another."""
    work = subtask_work(arm)
    rng = np.random.default_rng(5)
    state = state_of(arm, 5)
    for processors in (1, 5):
        schedule = schedule_by_rule(work.layered, processors)
        assert violations(schedule) == ()
        shuffled = rng.permutation(len(work.graph))
        order = sorted(shuffled.tolist(), key=lambda k: schedule.start[k])
        assert agree(run_tasks(work, *state, order=order), truth(arm, state))
