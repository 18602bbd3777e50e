"""Tasks made of generated code: all operations once, nothing in a circle, and values as
the function has them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from schedules.brute import faults
from schedules.square_arms import quietly

import forearm as fa
from forearm.codegen.functions import Traced
from forearm.errors import InputError
from forearm.schedules.automatic import (
    Costs,
    Division,
    divided,
    evaluated,
    operations,
    profile,
    traced_function,
)
from forearm.schedules.grouping import grouped
from forearm.schedules.priority import schedule_by_priority
from forearm.symbols import evaluate
from forearm.symbols.graph import MUL

AGREEMENT = 1e-13  # of the largest result: the same operations, on Python floats instead of arrays
ONE_EACH = Costs(1.0, 1.0, 1.0, 1.0, 1.0, 0.0)
FUNCTIONS = (
    "inverse_dynamics",
    "forward_dynamics",
    "inertia_matrix",
    "jacobian",
    "inverse_dynamics_derivatives",
)
SIZES = (1.0, 3.0, 10.0, 40.0, 1e6)


def state(traced: Traced, seed: int) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    return {f"{a.name}[{i}]": float(rng.uniform(-3.0, 3.0)) for a in traced.inputs for i in range(a.size)}


def covered(division: Division) -> list[int]:
    return sorted(place for group in division.places for place in group)


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.sweep
def test_every_operation_is_in_one_task(function: str, fused: bool) -> None:
    traced = traced_function(quietly("puma560").rigid(), function)
    made = operations(traced, costs=ONE_EACH, fused=fused)
    needed = [place for place in traced.graph.needed(traced.results) if traced.graph.kinds[place] >= MUL]
    assert covered(made) == needed
    assert made.graph.total == sum(astuple(traced.graph.counts(traced.results)))
    assert sum(profile(made.graph)) == len(made.graph)
    if not fused:
        assert made.graph.critical_path <= len(profile(made.graph))
    for size in SIZES:
        larger = grouped(made, size, ONE_EACH)
        assert covered(larger) == needed
        assert larger.graph.total == made.graph.total
        most = max(task.cost for task in made.graph.tasks)
        assert max(task.cost for task in larger.graph.tasks) <= max(size, most)
    assert len(larger.graph) == 1, "there is no reason left for a second task"


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS)
def test_tasks_of_a_schedule_in_its_order_give_the_function(function: str) -> None:
    # under load it may have no answer
    arm = random_arm(3, n=3, tree=True, drives=function != "forward_dynamics")
    traced = traced_function(arm, function)
    given = state(traced, 1)
    expected = evaluate(traced.graph, traced.results, given)
    for fused in (False, True):
        for size in (1.0, 10.0):
            made = grouped(operations(traced, fused=fused), size)
            for processors, communication in ((3, 0.0), (2, 25.0)):
                schedule = schedule_by_priority(made.graph, processors, communication)
                assert not faults(schedule)
                for name, values in evaluated(made, schedule, given).items():
                    assert np.abs(values - expected[name]).max() <= AGREEMENT * np.abs(expected[name]).max()


def test_torques_are_those_of_the_reference() -> None:
    arm = random_arm(8, n=5)
    traced = traced_function(arm, "inverse_dynamics")
    given = state(traced, 2)
    q, qd, qdd = (np.array([given[f"{name}[{i}]"] for i in range(arm.n)]) for name in ("q", "qd", "qdd"))
    made = grouped(operations(traced), 12.0)
    tau = evaluated(made, schedule_by_priority(made.graph, 4), given)["tau"]
    expected = fa.dynamics.inverse(arm, q, qd, qdd)
    assert np.abs(tau - expected).max() <= 1e-10 * np.abs(expected).max()


@pytest.mark.slow
def test_friction_and_motors_are_more_tasks() -> None:
    arm = quietly("puma560")
    driven, rigid = (operations(traced_function(a, "inverse_dynamics")).graph for a in (arm, arm.rigid()))
    assert len(driven) > len(rigid)
    bearing = fa.Bearing(kind="journal", mu=0.05, radius=0.03, distance=0.1)
    geared = arm.replace(tree=tuple(replace(j, bearings=(bearing,)) for j in arm.tree))
    borne = operations(traced_function(geared, "inverse_dynamics")).graph
    assert len(borne) > len(driven)
    # Friction of bearings hangs on forces across the joints, so chains get longer;
    # that of motors hangs on velocities alone.
    assert borne.critical_path > driven.critical_path


def test_levels_and_chains_by_another_way() -> None:
    """The longest chain by walking all arrows again and again until nothing changes."""
    graph = operations(traced_function(random_arm(5, n=3), "inverse_dynamics")).graph
    ends = np.array([task.cost for task in graph.tasks])
    arrows = [(e, k) for k, earlier in enumerate(graph.before) for e in earlier]
    changed = True
    while changed:
        changed = False
        for e, k in reversed(arrows):
            if ends[e] + graph.tasks[k].cost > ends[k]:
                ends[k], changed = ends[e] + graph.tasks[k].cost, True
    assert graph.critical_path == ends.max()


def test_costs_decide_what_is_long() -> None:
    traced = traced_function(quietly("puma560").rigid(), "forward_dynamics")
    usual, slow = operations(traced), operations(traced, costs=Costs(div=100.0))
    divisions = traced.graph.counts(traced.results).div
    assert divisions > 0
    assert slow.graph.total == usual.graph.total + 96.0 * divisions
    assert slow.graph.critical_path > usual.graph.critical_path


@pytest.mark.slow
def test_what_cannot_be_scheduled_is_said() -> None:
    arm = quietly("stanford")
    traced = traced_function(arm, "inverse_dynamics")
    made, given = operations(traced), state(traced, 3)
    schedule = schedule_by_priority(made.graph, 2)
    late = max(range(len(made.graph)), key=lambda k: schedule.start[k])
    early = replace(schedule, start=tuple(0.0 if k == late else s for k, s in enumerate(schedule.start)))
    other = schedule_by_priority(operations(traced).graph, 2)
    fewer = {name: value for name, value in given.items() if name not in ("q[1]", "qd[3]")}
    fixed = arm.lock({f"joint{i}": 0.4 for i in range(1, 7)})
    refusals: list[tuple[Callable[[], object], str]] = [
        (lambda: evaluated(made, early, given), "evaluated: invalid schedule"),
        (lambda: evaluated(made, other, given), r"evaluated: expected a schedule of division\.graph, got"),
        (lambda: evaluated(made, schedule, fewer), r"every input; missing: 'q\[1\]', 'qd\[3\]'"),
        (lambda: traced_function(arm, "inverse_dynamic"), "function: .*did you mean 'inverse_dynamics'"),
        (lambda: Costs(trig=-1.0), "costs, trig: must be at least 0 and at most"),
        (lambda: traced_function(fixed, "inverse_dynamics"), "no movable joint"),
    ]
    sizes: tuple[Any, ...] = (0.0, float("nan"), float("inf"), True, "4")
    for size in sizes:
        ask: Any = partial(grouped, made, size)
        refusals.append((ask, "size: expected a number above 0, the largest cost of a task"))
    for refused, said in refusals:
        with pytest.raises(InputError, match=said):
            refused()


def test_groups_in_a_circle_are_refused() -> None:
    traced = traced_function(quietly("stanford"), "inverse_dynamics")
    places, before = operations(traced).places, operations(traced).graph.before
    last = max(k for k, earlier in enumerate(before) if any(before[e] for e in earlier))
    middle = max(before[last], key=lambda e: len(before[e]))
    chosen = [places[k] for k in (before[middle][0], last, middle)]
    rest = [group for group in places if group not in chosen]
    with pytest.raises(AssertionError, match="in a cycle"):
        divided(traced, [(*chosen[0], *chosen[1]), chosen[2], *rest], "wrong", Costs())
