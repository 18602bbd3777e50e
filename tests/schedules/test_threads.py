"""Schedules really run: the kernel's bits from several threads, and nobody waits for ever."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from drives.making import loaded_arm
from schedules.square_arms import quietly

import forearm as fa
from forearm.arm.arm import Arm
from forearm.benchmarks import schedules
from forearm.codegen.functions import Traced
from forearm.errors import ForearmError, InputError
from forearm.schedules.automatic import Costs, operations, traced_function
from forearm.schedules.automatic import evaluated as evaluated_tasks
from forearm.schedules.duplicating import apart
from forearm.schedules.grouping import grouped
from forearm.schedules.priority import schedule_by_priority
from forearm.schedules.threaded import Threaded, compiled_threads, cores
from forearm.schedules.threaded_plan import Threads, planned_threads
from forearm.schedules.threaded_text import LINE

AGREEMENT = 1e-13  # of the largest result: fused multiply-adds chosen elsewhere
FUNCTIONS = (
    "inverse_dynamics",
    "forward_dynamics",
    "inertia_matrix",
    "jacobian",
    "inverse_dynamics_derivatives",
)
ROWS = 8


@cache
def arm_of(name: str) -> Arm:
    return quietly(name).rigid()


@cache
def threaded(
    arm: Arm, function: str = "inverse_dynamics", processors: int = 2, size: float = 4.0, waits: float = 0.0
) -> Threaded:
    division = grouped(operations(traced_function(arm, function), fused=True), size)
    schedule = schedule_by_priority(division.graph, processors, waits)
    return compiled_threads(planned_threads(division, schedule))


def work_of(threads: Threads) -> list[float]:
    """What each thread computes for one evaluation, by the costs of its operations."""
    graph = threads.traced.graph
    return [sum(Costs().of(graph, place) for step in lane for place in step.places) for lane in threads.steps]


def states(arm: Arm, function: str, rows: int = ROWS) -> list[np.ndarray]:
    rng = np.random.default_rng(4)
    count = len(traced_function(arm, function).inputs)
    return [rng.uniform(-3.0, 3.0, (rows, arm.n)) for _ in range(count)]


def expected(arm: Arm, function: str, given: list[np.ndarray]) -> dict[str, np.ndarray]:
    """One state at a time, as the threads do it."""
    kernel = fa.compile(arm).fused([function])
    rows = [kernel(*(a[k] for a in given)) for k in range(len(given[0]))]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.sweep(first=2)
def test_results_have_the_bits_of_the_kernel(function: str) -> None:
    arm = arm_of("puma560")
    given = states(arm, function)
    right = expected(arm, function, given)
    for size, waits in ((1.0, 0.0), (20.0, 3.0)):
        made = threaded(arm, function, 2, size, waits)
        assert len(made.lanes) == 2
        assert made.threads.waits > 0
        for name, values in made(*given).items():
            assert values.tobytes() == right[name].tobytes(), (size, name)


@pytest.mark.slow
def test_what_iterates_is_one_task() -> None:
    """Forward dynamics under load on two threads: a loop stays whole, and costs a round of it."""
    arm = loaded_arm("chain", 6, 2)
    given = states(arm, "forward_dynamics", 4)
    right = expected(arm, "forward_dynamics", given)["qdd"]
    found = threaded(arm, "forward_dynamics")(*given)["qdd"]
    assert np.abs(found - right).max() <= 1e-9 * np.abs(right).max()
    traced = traced_function(arm, "forward_dynamics")
    loops = [region for region, _ in traced.graph.calls.values()]
    division = operations(traced)
    longest = sorted((task.cost for task in division.graph.tasks), reverse=True)[: len(loops)]
    assert len(loops) == 2
    assert min(longest) > 50.0
    qdd = evaluated_tasks(division, schedule_by_priority(division.graph, 2), named(traced, given, 0))["qdd"]
    assert np.abs(qdd - right[0]).max() <= 1e-9 * np.abs(right[0]).max()


def named(traced: Traced, given: list[np.ndarray], row: int) -> dict[str, float]:
    """A row of states by the names of the graph's inputs."""
    return {
        f"{a.name}[{i}]": float(x)
        for a, rows in zip(traced.inputs, given, strict=True)
        for i, x in enumerate(rows[row])
    }


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.sweep(first=2)
def test_threads_that_share_nothing_agree(function: str) -> None:
    arm = arm_of("puma560")
    given = states(arm, function)
    right = expected(arm, function, given)
    whole = operations(traced_function(arm, function)).graph.total
    for processors in (1, 3):
        plan = apart(traced_function(arm, function), processors)
        assert plan.waits == 0
        assert max(work_of(plan)) <= whole <= sum(work_of(plan))
        for name, values in compiled_threads(plan)(*given).items():
            assert np.abs(values - right[name]).max() <= AGREEMENT * np.abs(right[name]).max()
    assert max(work_of(apart(traced_function(arm, "inertia_matrix"), 3))) < max(
        work_of(apart(traced_function(arm, "inertia_matrix"), 1))
    )


@pytest.mark.slow
def test_more_threads_than_cores_still_end_and_cores_are_given_back() -> None:
    before = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    arm, count = arm_of("stanford"), 2 * (os.cpu_count() or 1) + 1
    given = states(arm, "inverse_dynamics", 6)
    made = threaded(arm, processors=count)
    assert len(made.lanes) == count
    assert made(*given)["tau"].tobytes() == expected(arm, "inverse_dynamics", given)["tau"].tobytes()
    assert before is None or os.sched_getaffinity(0) == before


def test_one_state_many_states_and_none() -> None:
    arm = arm_of("stanford")
    made = threaded(arm)
    given = states(arm, "inverse_dynamics", 3)
    many = made(*given)["tau"]
    assert many.shape == (3, 6)
    one = made(*(a[1] for a in given))["tau"]
    assert one.shape == (6,)
    assert one.tobytes() == many[1].tobytes()
    assert made(*(a[:0] for a in given))["tau"].shape == (0, 6)


@pytest.mark.slow
def test_a_function_of_poses() -> None:
    arm = arm_of("puma560")
    q = np.random.default_rng(6).uniform(-1.0, 1.0, (4, arm.n))
    T = fa.kinematics.forward(arm, q)
    division = grouped(operations(traced_function(arm, "inverse_kinematics"), fused=True), 10.0)
    made = compiled_threads(planned_threads(division, schedule_by_priority(division.graph, 2)))
    many, one = made(T)["q_branches"], made(T[2])["q_branches"]
    assert one.tobytes() == many[2].tobytes()
    there = fa.kinematics.forward(arm, one[np.isfinite(one).all(axis=1)])
    assert len(there) > 0
    assert np.abs(there - T[2]).max() < 1e-9


@pytest.mark.parametrize("form", ["scheduled", "apart"])
def test_what_is_not_finite_gives_nan_everywhere_and_only_there(form: str) -> None:
    """The mass matrix does not look at the first joint; a state that is not known has
    no matrix all the same.
    """
    arm = arm_of("puma560")
    plan = apart(traced_function(arm, "inertia_matrix"), 2)
    made = threaded(arm, "inertia_matrix") if form == "scheduled" else compiled_threads(plan)
    (q,) = states(arm, "inertia_matrix", 5)
    q[[1, 2, 3], 0] = np.nan, np.inf, -np.inf
    M = made(q)["M"]
    assert np.isnan(M[1:4]).all()
    assert np.isfinite(M[[0, 4]]).all()


def test_a_thread_left_alone_gives_up() -> None:
    """Only the second of two threads runs: it says so after so many looks,
    and the word for all to stop is set.
    """
    arm = arm_of("stanford")
    made = threaded(arm)
    given = states(arm, "inverse_dynamics", 2)
    out = np.zeros((2, arm.n))
    shared, numbers = np.zeros(made.threads.size + 64), np.zeros(LINE // 8 * 3, dtype=np.int64)
    waits_first = [any(step.waits for step in lane) for lane in made.threads.steps]
    assert all(waits_first), "each of them waits for the other somewhere"
    pointers = [a.ctypes.data for a in (*given, out)]
    for lane in made.lanes:
        numbers[:] = 0
        assert lane(*pointers, shared.ctypes.data, numbers.ctypes.data, 2, 5000, None) == 1
        assert numbers[LINE // 8 * 2] == 1
    # Who looks at the word stops at once, however much patience is left.
    assert (
        made.lanes[1](
            *pointers, shared.ctypes.data, numbers.ctypes.data, 2, ctypes.c_int64(2**60).value, None
        )
        == 1
    )


def raising(error: BaseException) -> Callable[..., int]:
    def lane(*_: object) -> int:
        raise error

    return lane


@pytest.mark.parametrize(
    ("dying", "lane", "kind", "said"),
    [
        (1, lambda *_: 0, ForearmError, r"one of 2 timed out .* Use fewer processors"),
        (0, raising(RuntimeError("no such core")), ForearmError, r"one of 2 failed: .*no such core"),
        (1, raising(RuntimeError("no such core")), ForearmError, r"one of 2 failed: .*no such core"),
        (0, raising(KeyboardInterrupt("^C")), KeyboardInterrupt, r"\^C"),
    ],
)
def test_a_thread_that_fails_stops_the_others_and_is_the_cause(
    dying: int, lane: Any, kind: type[BaseException], said: str
) -> None:
    """Patience for hours: the word to stop ends the wait, not the number of looks; an interrupt stays one."""
    arm = arm_of("stanford")
    made, patience = threaded(arm), 1000 if "timed out" in said else 2**60
    lanes = tuple(lane if k == dying else own for k, own in enumerate(made.lanes))
    with pytest.raises(kind, match=said) as caught:
        Threaded(made.threads, lanes, made.memory)(*states(arm, "inverse_dynamics", 2), patience=patience)
    assert "failed" not in said or isinstance(caught.value.__cause__, RuntimeError)


def test_what_cannot_be_run_is_said() -> None:
    arm = arm_of("stanford")
    made, q = threaded(arm), np.zeros(6)
    wide = apart(traced_function(arm, "inertia_matrix"), 1)
    wide = Threads(wide.traced, wide.steps * 70, wide.writer, {}, 0, 1)
    division = operations(traced_function(arm, "gravity"))
    schedule = schedule_by_priority(division.graph, 2)
    broken = replace(schedule, start=(0.0,) * len(division.graph))
    other = schedule_by_priority(grouped(division, 5.0).graph, 2)
    refusals: list[tuple[Callable[[], object], str]] = [
        (lambda: made(q), "expected the arguments q, qd, qdd, got 1"),
        (lambda: made(q, q[1:], q), r"qd: expected shape \(6,\), got \(5,\)"),
        (lambda: made(["a"] * 6, q, q), "expected numbers"),
        (lambda: planned_threads(division, other), "got one of another task graph"),
        (lambda: planned_threads(division, broken), "threads: invalid schedule"),
        (lambda: compiled_threads(wide), "threads: expected at most 64"),
    ]
    looks: tuple[Any, ...] = (0, 1.5, True, "9", 2**63)
    for patience in looks:
        ask: Any = partial(made, q, q, q, patience=patience)
        refusals.append((ask, "patience: expected a whole number from 1 to"))
    for refused, said in refusals:
        with pytest.raises(InputError, match=said):
            refused()


def test_what_is_unknown_in_both_agrees_and_in_one_does_not() -> None:
    right = [np.array([1.0, np.nan, -4.0]), np.array([np.inf])]
    assert schedules.apart_by([a.copy() for a in right], right) == 0.0
    assert schedules.apart_by([np.array([1.0, np.nan, -3.0]), right[1]], right) == 0.25
    assert schedules.apart_by([np.array([1.0, 2.0, -4.0]), right[1]], right) == np.inf
    assert schedules.apart_by([np.array([np.nan, np.nan, -4.0]), right[1]], right) == np.inf
    assert schedules.apart_by([np.full(2, np.nan)], [np.full(2, np.nan)]) == 0.0


@pytest.mark.slow
def test_calls_from_several_threads_do_not_meet() -> None:
    arm = arm_of("stanford")
    made = threaded(arm)
    given = states(arm, "inverse_dynamics", 5)
    right = expected(arm, "inverse_dynamics", given)["tau"]
    found: list[bytes] = []
    callers = [threading.Thread(target=lambda: found.append(made(*given)["tau"].tobytes())) for _ in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert found == [right.tobytes()] * 3


@pytest.mark.slow
def test_waits_are_those_that_others_do_not_include() -> None:
    """Each number that is said is waited for, each wait is for a number that is said,
    and waits of a thread only grow.
    """
    made = threaded(arm_of("puma560"), "inverse_dynamics", 3, 1.0).threads
    said = {
        (thread, step.done)
        for thread, lane in enumerate(made.steps)
        for step in lane
        if step.done is not None
    }
    waited = {wait for lane in made.steps for step in lane for wait in step.waits}
    assert said == waited
    for lane in made.steps:
        reached: dict[int, int] = {}
        for step in lane:
            for other, number in step.waits:
                assert number > reached.get(other, 0)
                reached[other] = number


@pytest.mark.slow
def test_rows_of_the_benchmark_have_times_and_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedules, "FUNCTIONS", {"inertia_matrix": ("stanford",)})
    monkeypatch.setattr(schedules, "REPEATS", 2)
    monkeypatch.setattr(schedules, "SHORT", 1e-5)
    made = list(schedules.rows(False))
    if cores() < 2:
        assert made == []
        return
    assert len(made) in (4, 5), "one more where the schedule waits"
    assert all(row.seconds > 0.0 for row in made)
    assert all(row.agreement is None or row.agreement <= AGREEMENT for row in made)
