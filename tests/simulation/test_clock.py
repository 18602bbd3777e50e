"""When steps are supported and when the converter samples: at whole periods from 0,
however a run is cut into parts.
"""

from __future__ import annotations

import math
import signal
from typing import Any

import numpy as np
import pytest
from arms import posture, random_arm, speed
from numpy.typing import NDArray
from one_joint import MASS, block
from simulation.making import spelt

import forearm as fa
from forearm.drives import DAC
from forearm.simulation import Ending, Sampling, Schedule, Simulation, adaptive_run, without_inductance
from forearm.simulation.start import MOST_STEPS, Clock, from_zero, whole_steps

Floats = NDArray[np.float64]
ROUNDING = 1e-12
METHODS = ("rk3", "rk4", "dp45", "radau")
PERIOD = 5e-3
DRIVES = without_inductance(random_arm(1, 2))


def in_parts(parts: list[float], steps: list[float], method: str, **given: Any) -> list[Simulation]:
    """A block at rest, simulated part after part."""
    runs: list[Simulation] = []
    for part, step in zip(parts, steps, strict=True):
        before = runs[-1] if runs else None
        runs.append(
            fa.simulate(
                block(), [0.0], [0.0], part, method=method, step=step, continued=before, **spelt(**given)
            )
        )
    return runs


@pytest.mark.parametrize("method", METHODS)
def test_a_short_last_step_does_not_ask_the_controller_again(method: str) -> None:
    asked: list[float] = []

    def controller(t: float, q: Floats, qd: Floats) -> Floats:
        asked.append(t)
        return np.array([1.0 + 1e3 * t])

    run = fa.simulate(
        block(),
        [0.0],
        [0.0],
        0.0133,
        controller=controller,
        sampling=Sampling(dac=DAC(PERIOD)),
        method=method,
    )
    assert asked == pytest.approx([0.0, 0.005, 0.010], abs=ROUNDING)
    assert run.tau[-1] == pytest.approx([11.0])
    assert run.qd[-1, 0] * MASS == pytest.approx(0.005 * (1.0 + 6.0) + 0.0033 * 11.0, rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["schedule", "function"])
@pytest.mark.sweep
def test_parts_of_any_length_are_driven_as_one_run(kind: str, method: str) -> None:
    """The velocity of a block is the sum of what was held, and that is known:
    the value at each whole period from 0.
    """
    rng = np.random.default_rng([len(kind), METHODS.index(method)])
    table = Schedule(times=np.array([0.0, 0.0049, 0.010, 0.017, 0.031]), values=rng.normal(size=(5, 1)))
    given: Any = table if kind == "schedule" else table.value
    for _ in range(3):
        parts = rng.uniform(0.0002, 0.013, 5).tolist()
        steps = (PERIOD / rng.integers(1, 12, 5)).tolist()
        runs = in_parts(parts, steps, method, torque=given, dac=DAC(PERIOD))
        end = sum(parts)
        held = [(table.value(PERIOD * k)[0], PERIOD * k) for k in range(10)]
        impulse = sum(u * max(min(end - t, PERIOD), 0.0) for u, t in held)
        assert runs[-1].t[-1] == pytest.approx(end, abs=ROUNDING)
        assert runs[-1].qd[-1, 0] * MASS == pytest.approx(impulse, abs=1e-12)
        for run in runs:
            inside = np.abs(run.t / PERIOD - np.round(run.t / PERIOD)) > 1e-6  # not where it changes
            wanted = [table.value(PERIOD * math.floor(t / PERIOD))[0] for t in run.t[inside]]
            assert np.array_equal(run.tau[inside, 0], wanted)


@pytest.mark.parametrize("method", ["rk3", "dp45"])
def test_a_controller_is_asked_where_a_run_begins_and_at_whole_periods(method: str) -> None:
    asked: list[float] = []

    def controller(t: float, q: Floats, qd: Floats) -> Floats:
        asked.append(t)
        return np.ones(1)

    runs = in_parts(
        [0.0033, 0.0003, 0.0114], [1e-3, 1e-3, 5e-4], method, controller=controller, dac=DAC(PERIOD)
    )
    assert asked == pytest.approx([0.0, 0.0033, 0.0036, 0.005, 0.010], abs=ROUNDING)
    assert runs[-1].t[-1] == pytest.approx(0.015, abs=ROUNDING)


def test_a_run_that_begins_between_steps_leads_to_the_converter_s_times() -> None:
    first, second = in_parts([0.0033, 0.0047], [1e-3, 1e-3], "rk4", torque=lambda t: [t], dac=DAC(2e-3))
    assert first.t == pytest.approx([0.0, 0.001, 0.002, 0.003, 0.0033], abs=ROUNDING)
    assert second.t == pytest.approx([0.0033, 0.004, 0.005, 0.006, 0.007, 0.008], abs=ROUNDING)
    assert second.t[0] == first.t[-1]


def test_rounding_of_the_time_makes_no_steps() -> None:
    for t in (0.3, 7.7, 123.456, 1e5 + 0.1):
        clock, missing = from_zero(Clock(t, 1e-3))
        assert missing == 0.0
        assert clock.times(0)[0] == pytest.approx(t, rel=1e-15)
    clock, missing = from_zero(Clock(0.3004, 1e-3))
    assert clock.done == 300
    assert missing == pytest.approx(0.0006)
    with pytest.raises(
        fa.InputError, match=r"simulate, step: 1e-09 s is too short to be counted from 0 to 1e\+09 s"
    ):
        from_zero(Clock(1e9, 1e-9))


def test_a_condition_met_by_a_short_step_leaves_the_right_time() -> None:
    first = fa.simulate(
        block(), [0.0], [1.0], 0.25, step=0.1, ending=Ending(until=lambda t, q, qd: q[0] - 0.24)
    )
    assert first.t[-1] == pytest.approx(0.25)
    second = fa.simulate(block(), [0.0], [0.0], 0.2, step=0.1, continued=first)
    assert second.t == pytest.approx([0.25, 0.35, 0.45])
    assert second.q[:, 0] == pytest.approx(second.t)


# How many


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["schedule", "held schedule"])
def test_jumps_are_looked_up_piece_by_piece(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Schedule(times=np.linspace(0.0, 0.05, 23), values=np.random.default_rng(2).normal(size=(23, 2)))
    dac = None if kind == "schedule" else DAC(2e-3)
    start = posture(DRIVES, 1), speed(DRIVES, 1), 0.06
    whole = fa.simulate(DRIVES, *start, torque=table, sampling=Sampling(dac=dac), method="dp45")
    monkeypatch.setattr(adaptive_run, "MOST_BREAKS", 3)
    again = fa.simulate(DRIVES, *start, torque=table, sampling=Sampling(dac=dac), method="dp45")
    assert len(whole.t) > 25
    # a step after a breakpoint may be chosen more carefully
    assert whole.q[-1] == pytest.approx(again.q[-1], abs=1e-7)
    assert set(np.round(table.times[table.times < 0.06], 12)) <= set(np.round(again.t, 12)) or dac is not None


def test_more_periods_than_can_be_kept_are_refused() -> None:
    with pytest.raises(fa.InputError, match=r"1e\+06 s contain 1e\+13 converter periods of 1e-07 s"):
        fa.simulate(
            block(),
            [0.0],
            [0.0],
            1e6,
            torque=lambda t: [1.0],
            sampling=Sampling(dac=DAC(1e-7)),
            method="dp45",
        )
    held = fa.simulate(
        block(), [0.0], [0.0], 1e6, torque=[1.0], sampling=Sampling(dac=DAC(1e-7)), method="dp45"
    )
    assert held.qd[-1, 0] == pytest.approx(1e6 / MASS), "what never changes needs none of them"


def test_absurd_counts_of_steps_are_refused() -> None:
    assert whole_steps(MOST_STEPS * 1e-3, 1e-3) == (MOST_STEPS, 0.0)
    with pytest.raises(
        fa.InputError, match=r"3e\+16 s in steps of 0\.001 s are 3e\+19 steps; at most 1e\+12 are supported"
    ):
        fa.simulate_many(block(), [[0.0]], [[1.0]], 3e16)
    with pytest.raises(fa.InputError, match="are inf steps"):
        fa.simulate_many(block(), [[0.0]], [[1.0]], 1e30, step=1e-300)
    with pytest.raises(
        fa.InputError, match="expected a whole number from 1 to 1000000, got 10000000000000000000000"
    ):
        fa.simulate(block(), [0.0], [1.0], 1e19, sampling=Sampling(record=10**22))
    with pytest.raises(fa.InputError, match="steps; at most"):
        fa.simulate(block(), [0.0], [1.0], 1e19, sampling=Sampling(record=10**6))


def test_many_can_be_interrupted() -> None:
    class Rung(Exception):
        pass

    def ring(*_: object) -> None:
        raise Rung

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Rung):
            fa.simulate_many(block(), [[0.0]], [[1.0]], 1e9)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
