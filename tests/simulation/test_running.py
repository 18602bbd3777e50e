"""Simulations against closed forms, single steps, and each other; what is refused."""

from __future__ import annotations

import math
import sys
from types import FrameType
from typing import Any

import numpy as np
import pytest
from arms import posture, random_arm, speed
from one_joint import MASS, beam, block
from simulation.making import FIXED, METHODS, RIGID, Floats, spelt
from simulation.stepping_once import explicit_step

import forearm as fa
from forearm.drives import DAC, torque_of
from forearm.simulation import Accuracy, Sampling, Schedule, without_inductance
from forearm.simulation.methods import tableau_of

ROUNDING = 1e-12
MOTOR = fa.Motor(gear_ratio=9.0, rotor_inertia=1e-4, torque_constant=0.12, resistance=1.5, max_voltage=24.0)


# Shapes and ends


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_everything_has_a_row_a_sample(method: str) -> None:
    run = fa.simulate(RIGID, posture(RIGID, 1), speed(RIGID, 1), 0.05, method=method)
    samples = len(run.t)
    assert run.t[0] == 0.0
    assert run.t[-1] == pytest.approx(0.05, abs=1e-15)
    assert {v.shape for v in (run.q, run.qd, run.qdd, run.tau, *run.lost.values())} == {(samples, 3)}
    assert {v.shape for v in run.energy.values()} == {(samples,)}
    assert (run.method, run.message, run.voltage) == (method, "the end was reached", None)
    assert (run.step is None) == (method not in FIXED)
    assert np.allclose(
        run.qdd, [fa.dynamics.forward(RIGID, *v) for v in zip(run.q, run.qd, run.tau, strict=True)], rtol=1e-9
    )


@pytest.mark.parametrize("method", METHODS)
def test_no_time_gives_the_start(method: str) -> None:
    run = fa.simulate(
        RIGID, [0.1, 0.2, 0.3], [1.0, 0.0, -1.0], 0.0, method=method, controller=lambda t, q, qd: q
    )
    assert np.array_equal(run.q, [[0.1, 0.2, 0.3]])
    assert np.array_equal(run.tau, run.q)
    assert run.energy["supplied"][0] == 0.0


@pytest.mark.parametrize("given", [{"controller": lambda t, q, qd: np.ones(3)}, {"torque": np.ones(3)}])
def test_every_so_manieth_step_and_the_last_are_kept(given: dict[str, Any]) -> None:
    start = posture(RIGID, 1), speed(RIGID, 1), 0.010
    whole, *parts = (fa.simulate(RIGID, *start, sampling=Sampling(record=k), **given) for k in (1, 4, 99))
    for part, shown in zip(parts, ([0, 4, 8, 10], [0, 10]), strict=True):
        assert np.array_equal(part.t, whole.t[shown])
        assert np.array_equal(part.q, whole.q[shown])


def test_the_last_step_is_as_long_as_what_is_left() -> None:
    ramp = Schedule(times=np.array([0.0, 1.0]), values=np.array([[0.0], [1.0]]), how="linear")
    run = fa.simulate(block(), [0.0], [0.0], 0.25, step=0.1, method="rk4", torque=ramp)
    assert run.t == pytest.approx([0.0, 0.1, 0.2, 0.25], abs=1e-15)
    assert run.q[:, 0] == pytest.approx(run.t**3 / 6.0 / MASS, rel=ROUNDING)
    assert run.tau[:, 0] == pytest.approx(run.t, rel=ROUNDING)


# What drives it


def by_hand(arm: fa.Arm, q: Floats, qd: Floats, h: float, torques: list[Any]) -> Floats:
    """The positions after steps of RK4, each with its own torque(qd)."""
    for torque in torques:

        def f(t: float, q: Floats, qd: Floats, torque: Any = torque) -> Any:
            return fa.dynamics.forward(arm, q, qd, torque(qd))

        q, qd = explicit_step(tableau_of("rk4"), f, 0.0, q, qd, h)
    return q


def test_a_held_schedule_switches_at_its_times_whatever_rounding_makes_of_them() -> None:
    h, count = 1e-3, 700
    times = np.array([round(0.007 * k, 3) for k in range(100)])
    values = np.random.default_rng(1).normal(size=(100, 1))
    run = fa.simulate(
        block(), [0.0], [0.0], count * h, torque=Schedule(times=times, values=values), step=h, method="rk4"
    )
    assert np.array_equal(run.tau[:-1, 0], np.repeat(values[:, 0], 7))
    assert run.qd[-1, 0] == pytest.approx(values.sum() * 7 * h / MASS, rel=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rk4", "dp45"])
def test_a_converter_holds_in_steps_within_its_span(method: str) -> None:
    arm, dac = beam(motor=MOTOR), DAC(period=4e-3, bits=5, span=2.0, gain=3.0)
    run = fa.simulate(
        arm,
        [0.3],
        [0.0],
        0.04,
        voltage=lambda t: [9.0 * math.sin(70.0 * t)],
        sampling=Sampling(dac=dac),
        method=method,
        step=1e-3,
        accuracy=Accuracy(1e-10, 1e-12),
    )
    assert run.voltage is not None
    volts = [float(dac.voltage(dac.out([9.0 * math.sin(70.0 * 4e-3 * k)])[0])[0]) for k in range(10)]
    assert max(map(abs, volts)) == 6.0 - 6.0 / 16.0  # the highest of 32 levels, one of which is 0
    if method == "rk4":
        assert np.array_equal(run.voltage[:-1, 0], np.repeat(volts, 4))
    torques = [lambda qd, V=V: torque_of(arm, [V], qd) for V in volts for _ in range(4)]
    assert run.q[-1] == pytest.approx(by_hand(arm, np.array([0.3]), np.zeros(1), 1e-3, torques), rel=1e-8)


@pytest.mark.parametrize("method", ["rk3", "dp45"])
def test_a_controller_is_asked_once_a_period_and_given_copies(method: str) -> None:
    asked: list[float] = []

    def controller(t: float, q: Floats, qd: Floats) -> Floats:
        asked.append(t)
        tau = -4.0 * q - 2.0 * qd
        q[:], qd[:] = 99.0, 99.0
        return tau

    run = fa.simulate(
        block(),
        [1.0],
        [0.0],
        0.1,
        controller=controller,
        sampling=Sampling(dac=DAC(period=0.01)),
        method=method,
    )
    assert asked == pytest.approx(0.01 * np.arange(10), abs=1e-12)
    assert np.abs(run.q).max() <= 1.0
    q, qd = 1.0, 0.0
    for _ in range(10):
        a = (-4.0 * q - 2.0 * qd) / MASS
        q, qd = q + 0.01 * qd + 0.5e-4 * a, qd + 0.01 * a
    assert run.q[-1, 0] == pytest.approx(q, rel=1e-9)
    run = fa.simulate(block(), [1.0], [0.0], 0.1, controller=controller, method=method)
    a, b = np.roots([MASS, 2.0, 4.0])
    exact = ((a * np.exp(b * 0.1) - b * np.exp(a * 0.1)) / (a - b)).real
    assert run.q[-1, 0] == pytest.approx(exact, abs=1e-7 if method == "dp45" else 1e-4), "without a converter"


@pytest.mark.parametrize("method", ["rk3", "dp45"])
def test_what_a_function_raises_comes_through(method: str) -> None:
    def fails(t: float) -> Floats:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        fa.simulate(block(), [0.0], [0.0], 0.1, torque=fails, method=method)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["torque", "voltage"])
def test_many_are_as_one_by_one(kind: str) -> None:
    arm = without_inductance(random_arm(1, 3))
    rng = np.random.default_rng(1)
    q, qd = posture(arm, 2, 21), rng.normal(size=(21, 3))
    u = rng.uniform(-9.0, 9.0, (21, 3))
    inputs: dict[str, Any] = {kind: u}
    found = fa.simulate_many(arm, q, qd, 0.0205, **inputs)
    for k in (0, 7, 20):
        given: dict[str, Any] = {kind: u[k]}
        one = fa.simulate(arm, q[k], qd[k], 0.0205, method="rk4", **given)
        assert np.array_equal(one.checkpoint["q"][0] if one.checkpoint else (), found[0][k], equal_nan=True)
        assert np.array_equal(one.checkpoint["qd"][0] if one.checkpoint else (), found[1][k], equal_nan=True)


# What is refused


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"q0": [[0.0], [1.0]], "qd0": [[0.0], [1.0]]}, "use simulate_many for many"),
        ({"q0": [math.nan]}, "finite"),
        ({"duration": -1.0}, "duration"),
        ({"continued": fa.simulate(RIGID, [0.0] * 3, [0.0] * 3, 0.0)}, "this arm with its checkpoint"),
        ({"method": "rk5"}, "got 'rk5'; did you mean"),
        (
            {"torque": [1.0], "voltage": [1.0]},
            "expected one of torque, voltage and controller, got torque and voltage",
        ),
        ({"torque": [1.0, 2.0]}, "simulate, torque: expected shape (1,), got (2,)"),
        ({"torque": ["x"]}, "simulate, torque: expected numbers"),
        ({"torque": lambda t: [math.nan]}, "simulate, torque: every number must be finite"),
        ({"controller": lambda t, q, qd: [1.0, 2.0]}, "simulate, controller: expected shape (1,), got (2,)"),
        ({"voltage": [1.0]}, "voltages need torque_constant and resistance of every motor"),
        ({"record": 0}, "sampling, record: expected a whole number from 1 to 1000000, got 0"),
        ({"record": True}, "sampling, record: expected a whole number"),
        ({"step": 0.0}, "simulate, step"),
        ({"step": 1e-12}, "too many to record; record every tenth with sampling=Sampling(record=10)"),
        ({"dac": DAC(period=1.5e-3)}, "the DAC's period 0.0015 s must be a whole number of steps of 0.001 s"),
        ({"torque": Schedule.constant([1.0], start=0.5)}, "it begins at 0.5 s"),
        ({"torque": Schedule.constant([1.0, 2.0])}, "has 1 joints"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_what_cannot_be_done_is_said(given: dict[str, Any], text: str) -> None:
    with pytest.raises(fa.ForearmError) as caught:
        fa.simulate(block(), **spelt(**({"q0": [0.0], "qd0": [0.0], "duration": 1.0} | given)))
    assert text in str(caught.value)


def test_a_run_of_fixed_steps_passes_through_few_modules() -> None:
    """So that a reader can follow it: of the second run, when everything is compiled and kept."""
    arm, entered = fa.load("puma560"), set()

    def note(frame: FrameType, event: str, _: object) -> None:
        name = str(frame.f_globals.get("__name__", ""))
        if event == "call" and name.startswith("forearm"):
            entered.add(name)

    for profile in (None, note):
        sys.setprofile(profile)
        try:
            fa.simulate(arm, np.full(6, 0.1), np.zeros(6), 0.01)
        finally:
            sys.setprofile(None)
    assert len(entered) <= 18, sorted(entered)  # four of them read the arguments
