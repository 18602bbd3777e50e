"""One step of a simulation: the same over floats, as machine code and as C, through sticking and slipping."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from drives.making import loaded_arm

import forearm as fa
from forearm.codegen.generate import step_program
from forearm.codegen.program import Program
from forearm.codegen.simulation_step import TracedPlant
from forearm.drives.joint import held_freedoms
from forearm.dynamics.explicit_methods import ExplicitMethod
from forearm.dynamics.fixed_step import StepState, breaking_loose
from forearm.dynamics.located_step import step
from forearm.kernels.rollout import PlantOptions, Simulator
from forearm.simulation.methods import tableau_of

STEPS, H = 40, 2e-3
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
    strong = 40.0 if k % 20 < 2 else 0.02
    return [strong * (-1.0) ** (j + k // 30) for j in range(arm.n)]


def in_machine_code(arm: fa.Arm, method: ExplicitMethod, q: Any, qd: Any) -> tuple[Any, Any, int]:
    made = Simulator(arm, PlantOptions(False), method.c, method.a, method.b)
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


@cache
def by_rk4(name: str) -> tuple[Any, int]:
    """States in machine code, and how often a joint stood."""
    rows, _, stood = in_machine_code(ARMS[name], method_of("rk4"), *start(ARMS[name]))
    return rows, stood


def opened(arm: fa.Arm) -> list[str]:
    """Parameters to leave open: inertias, gravity and friction."""
    return [arm.moving.bodies[-1].joint.child, "gravity.z", f"{arm.joints[0].name}.friction"]


@cache
def program_of(name: str, is_open: bool) -> Program:
    """For all languages."""
    arm = ARMS[name]
    parameters = opened(arm)[: 3 if any(held_freedoms(arm)) else 2] if is_open else []
    return step_program(arm, "rk4", "torque", parameters, f"step of {name}")


@pytest.mark.slow
def test_a_step_is_written_once_however_often_it_is_taken() -> None:
    """Accelerations of four stages are one routine, to which open parameters are known before."""
    source = fa.generate(ARMS["dry"], "integration_step", parameters=opened(ARMS["dry"]))
    name = f"{source.name}_accelerations("
    assert source.text.count(f"static void {name}") == 1
    assert source.text.count(f"    {name}") == 10  # at stages, at instants, for joints that stand
    assert ", k, " in source.text
    latex = fa.generate(ARMS["rigid"], "integration_step", language="latex")
    assert "accelerations" not in latex.text


def test_volts_drive_a_step() -> None:
    arm = ARMS["dry"]
    source = fa.generate(arm, "integration_step", drive="voltage", method="rk3")
    assert "const double voltage[2]" in source.header
    assert "by the method rk3" in source.header
    for wrong in ({"drive": "current"}, {"method": "radau"}):
        with pytest.raises(fa.ForearmError, match=next(iter(wrong))):
            fa.generate(arm, "integration_step", **wrong)  # type: ignore[arg-type]
    assert [breaking_loose(x, 1.5, -1.0) for x in (2.0, -2.0, 1.5, np.nan)] == [1.0, -1.0, 0.0, 0.0]
