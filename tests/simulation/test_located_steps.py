"""Fixed steps in which something switches: joints that come to stand and break loose, flanks that meet and
part, each at its instant, so that the order of the method holds; and the same step as C.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from arms import posture, random_arm, speed
from codegen.running import runner
from numpy.typing import NDArray
from one_joint import MASS, MOTOR_MASS, ROTOR, beam, block, two_masses
from simulation.making import FIXED, RUBBING, everything, kinds

import forearm as fa
from forearm.codegen.generate import step_program
from forearm.kernels.rollout import State
from forearm.simulation import Accuracy, Schedule, Simulation
from forearm.simulation.machine import simulator_of
from forearm.simulation.start import loaded

Floats = NDArray[np.float64]
TRUTH: dict[str, Any] = {"method": "dp87", "accuracy": Accuracy(1e-12, 1e-13)}
LEAST = {"rk3": 2.8, "rk4": 3.6, "gill": 3.6}
# Errors depend on where within a step things happen: several lengths of it, and their mean.
LENGTHS = (1.0, 1.1, 1.2, 1.32)


class Case(NamedTuple):
    """A run in which things happen several steps apart, and how many of the coarsest steps it has."""

    arm: fa.Arm
    q: list[float]
    qd: list[float]
    duration: float
    coarse: int
    given: dict[str, Any]
    happens: list[str]


def ramp(first: list[float], last: list[float], duration: float) -> Schedule:
    return Schedule(times=np.array([0.0, duration]), values=np.array([first, last]), how="linear")


def two_joints() -> fa.Arm:
    """Both with Coulomb's friction, and each feels what the other does."""
    arm = random_arm(5, 2, prismatic=False, fixed=False, drives=False).replace(gravity=(0.0, 0.0, -2.0))
    return arm.with_drives(friction=fa.Friction(coulomb=(2.0, -2.5), viscous=0.3))


def on_the_motor(**given: float) -> fa.Friction:
    """Friction on the motor's side that is so much on the joint's."""
    N = abs(ROTOR.gear_ratio)
    return fa.Friction(side="motor", coulomb=given["coulomb"] / N, viscous=given["viscous"] / N**2)


def cases() -> dict[str, Case]:
    stribeck = fa.Friction(coulomb=(2.0, -3.0), static=(2.6, -3.5), stribeck_speed=0.3, viscous=0.4)
    rubs = {"friction": on_the_motor(coulomb=2.5, viscous=0.1)}
    return {
        "Stribeck's friction": Case(
            beam(friction=stribeck),
            [-1.9],
            [1.3],
            2.0,
            240,
            {"torque": ramp([0.0], [9.0], 2.0)},
            ["stick", "slip"],
        ),
        "two joints": Case(
            two_joints(),
            [0.3, -0.2],
            [1.2, -0.9],
            0.9,
            240,
            {"torque": ramp([0.0, 0.0], [6.75, -6.0], 0.9)},
            ["stick", "stick", "slip", "slip"],
        ),
        "a rotor that stands": Case(
            two_masses(stiffness=60.0, damping=0.5, drive=rubs),
            [0.1],
            [0.0],
            2.0,
            240,
            {"torque": ramp([0.0], [5.0], 2.0), "motor0": ([0.1], [0.5])},
            ["stick", "slip", "stick", "slip"],
        ),
        "flanks": Case(
            two_masses(stiffness=250.0, damping=2.0, half_gap=0.02),
            [0.0],
            [0.0],
            0.9,
            480,
            {"torque": [3.0], "motor0": ([0.0], [0.5])},
            ["contact", "release"] * 2 + ["contact"],
        ),
        "flanks and a rotor that stands": Case(
            two_masses(stiffness=60.0, damping=0.5, half_gap=0.02, drive=rubs),
            [0.1],
            [0.0],
            2.0,
            480,
            {"torque": ramp([0.0], [6.0], 2.0), "motor0": ([0.1], [0.5])},
            ["contact", "stick", "release", "contact", "slip", "release", "contact"],
        ),
    }


CASES = cases()


def off(one: Simulation, truth: Simulation) -> float:
    """How far the ends of two runs are apart, in positions and velocities of links and motors."""
    names = ("motor_q", "motor_qd")
    ends = [
        np.concatenate([run.q[-1], run.qd[-1], *(run.drives[n][-1] for n in names if n in run.drives)])
        for run in (one, truth)
    ]
    return float(np.abs(ends[0] - ends[1]).max())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "method"),
    [*((name, "rk4") for name in CASES), *((list(CASES)[-1], method) for method in FIXED if method != "rk4")],
)
def test_the_order_holds_where_things_switch(name: str, method: str) -> None:
    """Against dp87, which ends its steps at events; from steps of one length to an eighth of it."""
    case = CASES[name]
    start = case.q, case.qd, case.duration
    truth = fa.simulate(case.arm, *start, **(TRUTH | case.given))
    assert [event.kind for event in truth.events if event.kind != "limit"] == case.happens
    apart = np.diff([0.0, *(event.t for event in truth.events), case.duration]).min()
    sizes = []
    for finer in (1.0, 8.0):
        errors = []
        for longer in LENGTHS:
            steps = round(finer * case.coarse / longer)
            given = case.given | {"method": method, "step": case.duration / steps}
            run = fa.simulate(case.arm, *start, **given)
            errors.append(math.log(off(run, truth)))
            assert apart > 4.0 * case.duration / steps, "the case has its events apart"
        sizes.append(float(np.mean(errors)))
    assert (sizes[0] - sizes[1]) / math.log(8.0) >= LEAST[method]


@pytest.mark.parametrize("method", FIXED)
def test_a_block_stands_and_breaks_loose_at_its_instants(method: str) -> None:
    """In closed form, within steps of a twentieth of a second: it stands after v m / Fc, in a place that no
    step is at, and a ramp moves it on from where it has enough.
    """
    v, slope, T = 1.3, 2.5, 2.0
    table = Schedule(
        times=np.array([0.0, 1.2, 3.2]), values=np.array([[0.0], [0.0], [2.0 * slope]]), how="linear"
    )
    run = fa.simulate(block(friction=RUBBING), [0.0], [v], 3.2, torque=table, method=method, step=0.05)
    stands = 0.5 * v**2 * MASS / 2.0
    moves = T - 2.0 / slope
    assert kinds(run) == [("stick", "way"), ("slip", "way")]
    assert run.q[-1, 0] == pytest.approx(stands + slope * moves**3 / 6.0 / MASS, abs=1e-12)
    assert run.qd[-1, 0] == pytest.approx(slope * moves**2 / 2.0 / MASS, abs=1e-12)


@pytest.mark.parametrize("method", FIXED)
def test_a_flank_is_met_within_a_step_however_long(method: str) -> None:
    """A free flight is followed exactly, so that what is left is the method's error on the flank."""
    arm = two_masses(stiffness=0.4, half_gap=0.02)
    truth = fa.simulate(arm, [0.0], [0.0], 1.0, motor0=([0.0], [0.9]), **TRUTH)
    run = fa.simulate(arm, [0.0], [0.0], 1.0, motor0=([0.0], [0.9]), method=method, step=0.1)
    assert off(run, truth) <= 3e-5
    assert kinds(run) == [("contact", "way")]


@pytest.mark.slow
def test_several_things_happen_within_one_step() -> None:
    """Joints that stop one after the other in a single step, each at its instant: what is left of the motion
    is nothing.
    """
    arm = two_joints().replace(gravity=(0.0, 0.0, 0.0))
    start = [0.3, -0.2], [0.02, -0.03], 0.2
    truth = fa.simulate(arm, *start, **TRUTH)
    run = fa.simulate(arm, *start, method="rk4", step=0.2)
    assert not truth.qd[-1].any()
    assert not run.qd[-1].any()
    assert run.q[-1] == pytest.approx(truth.q[-1], abs=1e-7)


@pytest.mark.parametrize("method", ["rk4"])
def test_a_rattle_in_long_steps_gains_nothing(method: str) -> None:
    """Masses that cross a small gap and are back from its flank within a step or two: the momentum stays, and
    energy is only lost.
    """
    arm = two_masses(stiffness=1e3, half_gap=1e-5)
    run = fa.simulate(arm, [0.0], [0.0], 2.0, motor0=([0.0], [1.0]), method=method, step=0.03)
    momentum = MASS * run.qd + MOTOR_MASS * run.drives["motor_qd"]
    assert momentum == pytest.approx(np.full_like(momentum, MOTOR_MASS), rel=1e-12)
    held = run.energy["kinetic"] + run.energy["spring"]
    assert (held <= held[0] * (1.0 + 1e-9)).all()


@pytest.mark.slow
def test_the_same_step_in_c(tmp_path: Path) -> None:
    """Over 200 steps through impacts and sticking; roundings in another order are all that differs."""
    arm, h = everything(), 1e-3
    q, qd = posture(arm, 2), speed(arm, 2)
    table = Schedule(times=np.array([0.0, 0.1]), values=np.array([[-20.0, -2.0], [30.0, -24.0]]))
    truth = fa.simulate(arm, q, qd, 0.2, torque=table, method="rk4", step=h)
    assert {"contact", "release", "stick", "slip"} <= {event.kind for event in truth.events}
    program = step_program(arm, "rk4", "torque", [], "sim_step")
    call = runner(program, "c", tmp_path)  # skips without gcc
    simulator = simulator_of(arm, False, "rk4")
    first: State = simulator.at_rest_or_moving(*loaded(simulator, q[None], qd[None]))
    state = {name: value[0] for name, value in vars(first).items() if value.size}
    for k in range(200):
        given = {"tau": np.array(table.value(k * h)), "h": np.array([h])}
        after = call({a.name: (state | given)[a.name] for a in program.inputs}, None)
        state = {name.removesuffix("_next"): value for name, value in after.items()}
        assert state["q"][:2] == pytest.approx(truth.q[k + 1], abs=1e-9), k
        assert state["qd"][:2] == pytest.approx(truth.qd[k + 1], abs=1e-7), k
        assert state["q"][2] == pytest.approx(truth.drives["motor_q"][k + 1, 1], abs=1e-9), k
        assert state["qd"][3] == pytest.approx(truth.drives["bristle"][k + 1, 1], abs=1e-9), k
