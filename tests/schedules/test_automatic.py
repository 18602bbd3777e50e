"""Tasks made of generated code: all operations once, nothing in a circle, and values as
the function has them.
"""

from __future__ import annotations

import warnings
from dataclasses import astuple, replace

import numpy as np
import pytest
from arms import random_arm
from schedules.brute import faults

import forearm as fa
from forearm.arm.arm import Arm
from forearm.codegen.functions import Traced
from forearm.errors import InputError, NameNotFound
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


def arm_of(name: str) -> Arm:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fa.load(name)


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
    traced = traced_function(arm_of("puma560").rigid(), function)
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
        for size in SIZES[:-1]:
            made = grouped(operations(traced, fused=fused), size)
            for processors, communication in ((1, 0.0), (3, 0.0), (2, 25.0)):
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
def test_a_task_done_too_early_is_refused() -> None:
    traced = traced_function(arm_of("stanford"), "inverse_dynamics")
    made = operations(traced)
    schedule = schedule_by_priority(made.graph, 2)
    late = max(range(len(made.graph)), key=lambda k: schedule.start[k])
    early = replace(schedule, start=tuple(0.0 if k == late else s for k, s in enumerate(schedule.start)))
    with pytest.raises(InputError, match="evaluated: invalid schedule"):
        evaluated(made, early, state(traced, 3))
    with pytest.raises(InputError, match=r"evaluated: expected a schedule of division\.graph, got"):
        evaluated(made, schedule_by_priority(operations(traced).graph, 2), state(traced, 3))


@pytest.mark.slow
def test_inputs_that_are_missing_are_named() -> None:
    traced = traced_function(arm_of("stanford"), "inverse_dynamics")
    made = operations(traced)
    given = {name: value for name, value in state(traced, 3).items() if name not in ("q[1]", "qd[3]")}
    with pytest.raises(InputError, match=r"expected a number for every input; missing: 'q\[1\]', 'qd\[3\]'"):
        evaluated(made, schedule_by_priority(made.graph, 2), given)


@pytest.mark.slow
def test_friction_and_motors_are_more_tasks() -> None:
    arm = arm_of("puma560")
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
    traced = traced_function(arm_of("puma560").rigid(), "forward_dynamics")
    usual, slow = operations(traced), operations(traced, costs=Costs(div=100.0))
    divisions = traced.graph.counts(traced.results).div
    assert divisions > 0
    assert slow.graph.total == usual.graph.total + 96.0 * divisions
    assert slow.graph.critical_path > usual.graph.critical_path


def test_groups_in_a_circle_are_refused() -> None:
    traced = traced_function(arm_of("stanford"), "inverse_dynamics")
    fine = operations(traced)
    depth = len(profile(fine.graph))
    chain = [max(range(len(fine.graph)), key=lambda k: fine.graph.heads[k])]
    while len(chain) < depth and fine.graph.before[chain[-1]]:
        chain.append(max(fine.graph.before[chain[-1]], key=lambda e: fine.graph.heads[e]))
    last, middle, first = (fine.places[k][0] for k in chain[:3])
    rest = [group for group in fine.places if group[0] not in (last, middle, first)]
    with pytest.raises(AssertionError, match="in a cycle"):
        divided(traced, [(first, last), (middle,), *rest], "wrong", Costs())


@pytest.mark.parametrize("size", [0.0, -2.0, float("nan"), float("inf"), True, "4"])
def test_a_size_is_a_number_above_nothing(size: object) -> None:
    division = operations(traced_function(arm_of("stanford"), "gravity"))
    with pytest.raises(InputError, match="size: expected a number above 0, the largest cost of a task"):
        grouped(division, size)  # type: ignore[arg-type]


def test_what_cannot_be_scheduled_is_said() -> None:
    with pytest.raises(
        NameNotFound,
        match=r"function: expected one of .*, got 'inverse_dynamic'; did you mean 'inverse_dynamics'",
    ):
        traced_function(arm_of("stanford"), "inverse_dynamic")
    with pytest.raises(InputError, match="costs, trig: must be at least 0 and at most"):
        Costs(trig=-1.0)
    fixed = arm_of("stanford").lock({f"joint{i}": 0.4 for i in range(1, 7)})
    with pytest.raises(InputError, match="no movable joint"):
        traced_function(fixed, "inverse_dynamics")
