"""One step of a simulation: the same over floats, as machine code and as C, through sticking and slipping."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from codegen.running import written
from drives.making import loaded_arm

import forearm as fa
from forearm.codegen.program import program_of
from forearm.codegen.simulation_step import STATES, TracedPlant, traced_step
from forearm.dynamics.explicit_methods import ExplicitMethod
from forearm.dynamics.fixed_step import StepState, breaking_loose, step
from forearm.kernels.rollout import Simulator
from forearm.simulation.methods import tableau_of

STEPS, H = 60, 2e-3
SAME = 1e-9  # of the largest value: roundings of all steps in another order of operations
ARMS = {
    "rigid": random_arm(3, 2, drives=False),
    "dry": random_arm(5, 2, prismatic=False).replace(gravity=(0.0, 0.0, -2.0)),
    "followers": random_arm(2, 2, mimic=True),
    "gears and bearings": loaded_arm("turning", 4, 2),
}


def method_of(name: str) -> ExplicitMethod:
    c, a, b = tableau_of(name).floats
    return ExplicitMethod(tuple(c), tuple(map(tuple, a)), tuple(b))


def pushed(arm: fa.Arm, k: int) -> list[float]:
    """Torques that move joints, leave them, and move them again."""
    strong = 40.0 if (k // 15) % 2 == 0 else 0.02
    return [strong * (-1.0) ** (j + k // 30) for j in range(arm.n)]


def in_machine_code(arm: fa.Arm, method: ExplicitMethod, q: Any, qd: Any) -> tuple[Any, Any, int]:
    made = Simulator(arm, False, method.c, method.a, method.b)
    state = made.at_rest_or_moving(np.array([q]), np.array([qd]))
    rows, stood = [np.concatenate([q, qd])], 0
    for k in range(STEPS):
        made.run(state, np.array(pushed(arm, k)), 1, H, 1, linear=False)
        rows.append(np.concatenate([state.q[0], state.qd[0]]))
        stood += int((state.is_free[0] == 0.0).sum())
    return np.array(rows), made, stood


def start(arm: fa.Arm) -> tuple[Any, Any]:
    rng = np.random.default_rng(arm.n)
    return rng.uniform(-0.5, 0.5, arm.n), np.where(np.arange(arm.n) % 2, 0.0, 0.3)


def first_state(arm: fa.Arm, plant: TracedPlant) -> StepState:
    q, qd = start(arm)
    free = [0.0 if dry and v == 0.0 else 1.0 for dry, v in zip(plant.dry, qd, strict=True)]
    return StepState(q.tolist(), qd.tolist(), np.sign(qd).tolist(), free, [0.0] * (2 * plant.loads))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rk3", "rk4", "gill"])
@pytest.mark.parametrize("name", ARMS)
@pytest.mark.sweep(first=4)
def test_over_floats_as_in_machine_code(name: str, method: str) -> None:
    arm = ARMS[name]
    plant, chosen = TracedPlant(arm, voltage=False), method_of(method)
    truth, _, stood = in_machine_code(arm, chosen, *start(arm))
    state, rows = first_state(arm, plant), [np.concatenate(start(arm))]
    for k in range(STEPS):
        state = step(plant, chosen, state, pushed(arm, k), [0.0] * arm.n, H)
        rows.append(np.array([*state.q, *state.qd]))
    assert np.abs(np.array(rows) - truth).max() <= SAME * np.abs(truth).max()
    assert (stood > 0) == any(plant.dry), "the case must have joints that stand"
    assert not any(plant.dry) or stood < STEPS * arm.n


@pytest.mark.slow
@pytest.mark.parametrize("language", ["c", "cpp", "fortran"])
@pytest.mark.sweep(first=1)
def test_as_generated_code(language: str, tmp_path: Path) -> None:
    arm = ARMS["gears and bearings"]
    plant, chosen = TracedPlant(arm, voltage=False), method_of("rk4")
    traced = traced_step(plant, chosen)
    made = {f"{a.name}_next": traced.results[a.name] for a in traced.outputs}
    outputs = tuple(type(a)(f"{a.name}_next", a.shape, a.meaning) for a in traced.outputs)
    program = program_of(traced.graph, made, "sim_step", ("One step.",), traced.inputs, outputs)
    call = written(program, language, tmp_path)
    truth, _, stood = in_machine_code(arm, chosen, *start(arm))
    first = first_state(arm, plant)
    state = {name: np.array(getattr(first, name)) for name in STATES}
    for k in range(STEPS):
        given = {**state, "u": np.array(pushed(arm, k)), "change": np.zeros(arm.n), "h": np.array([H])}
        after = {name: np.full(len(old), np.nan) for name, old in state.items()}
        call("sim_step", [*(given[a.name] for a in program.inputs), *after.values()])
        state = after
        found = np.concatenate([state["q"], state["qd"]])
        assert np.abs(found - truth[k + 1]).max() <= SAME * np.abs(truth).max()
    assert stood


def test_a_joint_breaks_loose_towards_what_is_exceeded() -> None:
    assert breaking_loose(2.0, 1.5, -1.0) == 1.0
    assert breaking_loose(-2.0, 1.5, -1.0) == -1.0
    assert breaking_loose(1.5, 1.5, -1.0) == 0.0
    assert breaking_loose(np.nan, 1.5, -1.0) == 0.0
