"""FMUs run by FMPy against `fa.simulate`: co-simulation is the same method, model exchange another solver."""

from __future__ import annotations

import numpy as np
import pytest
from arms import random_arm
from fmi.simulators import (
    KINDS,
    Floats,
    co_simulated,
    driven,
    exchanged,
    instance,
    joint_names,
    made,
    rigid,
    rubbing,
    runs_here,
    start_of,
)
from sweeps import long

import forearm as fa
from forearm.simulation import Accuracy

pytestmark = [runs_here, pytest.mark.slow]

SAME = 1e-12  # the same operations, but for multiply-adds that a processor may fuse; relative to the largest
CVODE = 1e-9  # relative tolerance that CVode is given
APART = 3e-6  # rad or m: what solvers with such tolerances may differ by after events
EACH = pytest.mark.parametrize(
    ("version", "name"), [(2, "rigid"), (3, "rubbing"), *long([(3, "rigid"), (2, "rubbing")])]
)
EXACT = Accuracy(rtol=1e-11, atol=1e-11)


def held_still(arm: fa.Arm, pushes: list[list[float]]) -> Floats:
    """Torques that hold the arm against gravity where it starts, and more."""
    q, _ = start_of(arm)
    return np.array(fa.dynamics.inverse(arm.rigid(), q, 0.0 * q, 0.0 * q) + np.array(pushes))


def torques_of(name: str) -> tuple[fa.Arm, Floats]:
    """An arm, and torques for each half second."""
    if name == "rigid":
        return rigid(), held_still(rigid(), [[2.0, -3.0, 1.5], [-1.0, 2.0, 0.5]])
    return rubbing(), held_still(rubbing(), [[1.0, 1.0, 1.0], [14.0, -16.0, 12.0]])


def schedule_of(u: Floats, part: float) -> fa.Schedule:
    """Held for so long each."""
    return fa.Schedule(part * np.arange(len(u), dtype=np.float64), u)


def stepped(arm: fa.Arm, u: Floats, part: float, drive: str = "torque") -> tuple[Floats, Floats]:
    """The same by fa.simulate, run after run."""
    q0, qd0 = start_of(arm)
    run, rows = None, []
    for row in u:
        run = fa.simulate(arm, q0, qd0, part, method="rk4", continued=run, **{drive: row})
        rows.append((run.q[-1], run.qd[-1]))
    return np.array([q for q, _ in rows]), np.array([qd for _, qd in rows])


@EACH
def test_co_simulation_is_simulate(version: int, name: str) -> None:
    arm, u = torques_of(name)
    u = np.repeat(u, 5, axis=0)
    q, qd = co_simulated(arm, u, 0.1, version=version)
    expected, rates = stepped(arm, u, 0.1)
    assert np.abs(q - expected).max() <= SAME * np.abs(expected).max()
    assert np.abs(qd - rates).max() <= SAME * max(1.0, np.abs(rates).max())


@EACH
def test_model_exchange_goes_where_an_adaptive_run_goes(version: int, name: str) -> None:
    arm, u = torques_of(name)
    q0, qd0 = start_of(arm)
    schedule = schedule_of(u, 0.5)
    run = fa.simulate(arm, q0, qd0, 1.0, torque=schedule, method="dp87", accuracy=EXACT)
    kinds = {event.kind for event in run.events}
    assert name == "rigid" or kinds >= {"stick", "slip"}
    assert np.abs(exchanged(arm, u, 0.5, CVODE, version=version) - run.q[-1]).max() <= APART


def test_voltages_drive_motors() -> None:
    arm, volts_of = driven(), 1.5 / (20.0 * 0.2)
    u = volts_of * held_still(arm, [[1.0, 1.0, 1.0], [14.0, -16.0, 12.0]])
    steps = np.repeat(u, 5, axis=0)
    q, _ = co_simulated(arm, steps, 0.1, drive="voltage")
    expected, _ = stepped(arm, steps, 0.1, "voltage")
    assert np.abs(q - expected).max() <= SAME * np.abs(expected).max()
    q0, qd0 = start_of(arm)
    run = fa.simulate(arm, q0, qd0, 1.0, voltage=schedule_of(u, 0.5), method="dp87", accuracy=EXACT)
    found = exchanged(arm, u, 0.5, CVODE, drive="voltage")
    assert np.abs(found - run.q[-1]).max() <= APART


@pytest.mark.long
@pytest.mark.parametrize("seed", [3, 7, 9, 11, 13, 17, 19, 20, 22])  # others jam under these torques
def test_arms_with_every_kind_of_drive(seed: int) -> None:
    arm = random_arm(seed, 4, tree=bool(seed % 2), mimic=seed % 3 == 0)
    u = held_still(arm, [[3.0, -4.0, 5.0, 2.0], [-20.0, 30.0, 12.0, -25.0]])
    steps = np.repeat(u, 5, axis=0)
    q, _ = co_simulated(arm, steps, 0.01)
    expected, _ = stepped(arm, steps, 0.01)
    assert np.abs(q - expected).max() <= SAME * np.abs(expected).max()
    q0, qd0 = start_of(arm)
    schedule = schedule_of(u, 0.05)
    run = fa.simulate(arm, q0, qd0, 0.1, torque=schedule, method="dp87", accuracy=EXACT)
    assert np.abs(exchanged(arm, u, 0.05, CVODE) - run.q[-1]).max() <= APART


@pytest.mark.long
def test_a_solver_that_finds_events_late_converges_too() -> None:
    """FMPy's forward Euler sees an event at the end of the step that has it: its error is of first order."""
    arm, u = torques_of("rubbing")
    q0, qd0 = start_of(arm)
    run = fa.simulate(arm, q0, qd0, 1.0, torque=schedule_of(u, 0.5), method="dp87", accuracy=EXACT)
    coarse, fine = (
        np.abs(exchanged(arm, u, 0.5, CVODE, solver="Euler", interval=h) - run.q[-1]).max()
        for h in (1e-3, 1e-4)
    )
    assert 5.0 < coarse / fine < 20.0
    assert fine < 1e-3


def test_communication_steps_of_any_length() -> None:
    arm, (u, _) = torques_of("rubbing")
    lengths = [0.01, 0.0004, 0.0253, 0.05, 1e-3]
    q0, qd0 = start_of(arm)
    with instance(arm) as one:
        written = made(arm)[0]
        one.begin(dict(zip(written.inputs, u, strict=True)))
        t = 0.0
        for length in lengths:
            one.fmu.doStep(t, length)
            t += length
        found, (time,) = one.get(*joint_names(written, "q")), one.get("time")
    fine = fa.simulate(arm, q0, qd0, t, torque=u, method="dp87", accuracy=EXACT)
    assert time == pytest.approx(sum(lengths), rel=1e-15)
    assert np.abs(found - fine.q[-1]).max() <= 2e-4  # what steps of 1 ms are wrong by where joints stop


@pytest.mark.parametrize("kind", KINDS)
def test_what_stands_and_what_moves_is_told(kind: str) -> None:
    """At rest within friction all joints stand; driven harder each moves in its direction."""
    arm = rubbing()
    u = held_still(arm, [[0.0, 0.0, 0.0], [90.0, -30.0, 30.0]])
    written = made(arm)[0]
    stands, signs = joint_names_of(written, "is_free"), joint_names_of(written, "friction_sign")
    rest = dict.fromkeys((name for name in written.parameters if name.endswith(".qd0")), 0.0)
    with instance(arm, kind) as one:
        one.begin(rest | dict(zip(written.inputs, u[0], strict=True)))
        for row, moves in zip(u, ([0.0] * 3, [1.0, -1.0, 1.0]), strict=True):
            one.set(dict(zip(written.inputs, row, strict=True)))
            if kind == KINDS[0]:
                one.fmu.doStep(0.0, 1e-4)
            else:
                while one.fmu.updateDiscreteStates()[0]:
                    pass
            assert one.get(*signs).tolist() == moves
            assert one.get(*stands).tolist() == np.abs(moves).tolist()


def joint_names_of(written: fa.Fmu, what: str) -> list[str]:
    """Local variables of the joints, which an Fmu does not list."""
    return [f"{name.removesuffix('.tau')}.{what}" for name in written.inputs]
