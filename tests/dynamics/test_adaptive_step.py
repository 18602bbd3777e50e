"""One adaptive step over floats: against the steps of `simulation.adaptive` and a pendulum in closed form;
when a step is not taken.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan, sin
from typing import Any

import numpy as np
import pendulum
import pytest

from forearm.dynamics.adaptive_step import AdaptiveState, Attempt, StepBounds, attempt
from forearm.dynamics.step_control import FIRST_ERROR, LEAST_ERROR, MOST_ERROR, power, step_size
from forearm.simulation.adaptive import integrate
from forearm.simulation.methods import DP45, DP87, Tableau
from forearm.simulation.solution import powers_of
from forearm.simulation.stepping import Explicit, System, pair_of, tolerance

START, END = 2.3, 6.0
PAIRS = pytest.mark.parametrize("tableau", [DP45, DP87], ids=lambda tableau: tableau.name)


class Pendulum:
    """q'' = -sin q; watched is what is given."""

    def __init__(self, *levels: float) -> None:
        self.levels = levels

    def accelerations(self, t: float, q: Any, qd: Any) -> list[float]:
        return [-sin(q[0])]

    def watched(self, t: float, q: Any, qd: Any) -> list[float]:
        return [q[0] - level for level in self.levels]


def at(t: float, h: float) -> AdaptiveState:
    q, qd = pendulum.swing(START, t)
    return AdaptiveState(t, h, [q], [qd], [-sin(q)], FIRST_ERROR, 0.0)


def bounds(tol: float = 1e-8, watched: float = 0.0, shortest: float = 1e-14) -> StepBounds:
    return StepBounds(END, shortest, tol, [tol, tol], watched)


@PAIRS
def test_steps_are_those_of_the_integration(tableau: Tableau) -> None:
    tol = 1e-8
    truth = integrate(
        pendulum.acceleration,
        0.0,
        END,
        [START],
        [0.0],
        method=tableau.name,
        rtol=tol,
        atol_q=tol,
        atol_qd=tol,
        first_step=1.5,
    )
    state, times, rejected = at(0.0, 1.5), [0.0], 0
    made = attempt(pair_of(tableau), Pendulum(), state, bounds(tol))
    while True:
        rejected += int(not made.is_taken)
        if made.is_taken:
            times.append(made.state.t)
        if made.is_over:
            break
        made = attempt(pair_of(tableau), Pendulum(), made.state, bounds(tol))
    assert times[-1] == END
    assert rejected == truth.rejected > 0
    # lengths of steps follow the error, of which rounding is a part
    np.testing.assert_allclose(times, truth.t, rtol=1e-4)
    np.testing.assert_allclose([*made.state.q, *made.state.qd], pendulum.swing(START, END), rtol=0, atol=1e-6)


@PAIRS
def test_dense_output_is_that_of_the_method(tableau: Tableau) -> None:
    h, state = 0.05, at(1.1, 0.05)
    made = attempt(pair_of(tableau), Pendulum(), state, bounds())
    system = System(pendulum.acceleration)
    stepper = Explicit(tableau, system, tolerance(1e-8, 1e-8, 1e-8, 1))
    y = np.array([state.q, state.qd])
    rate = system(1.1, y)
    _, truth = stepper.finish(1.1, y, rate, stepper.attempt(1.1, y, rate, h))
    assert made.is_taken
    dense = np.array(made.dense).reshape(truth.shape)
    for theta in np.linspace(0.1, 1.0, 10):
        found = y + powers_of(dense, theta)
        np.testing.assert_allclose(found, y + powers_of(truth, theta), rtol=0, atol=1e-14)
        np.testing.assert_allclose(found[:, 0], pendulum.swing(START, 1.1 + theta * h), rtol=0, atol=1e-9)


def refused(made: Attempt, before: AdaptiveState) -> None:
    assert not made.is_taken
    assert made.is_over
    assert made.state == before


@PAIRS
def test_a_step_in_which_something_happens_is_not_taken(tableau: Tableau) -> None:
    state = replace(at(1.0, 0.3), error_before=0.01)
    end = pendulum.swing(START, 1.3)[0]
    level = 0.5 * (state.q[0] + end)  # which it passes on its way down
    made = attempt(pair_of(tableau), Pendulum(level), state, bounds(1e-3, watched=1.0))
    refused(made, state)
    assert made.is_crossed
    assert made.width == 0.3
    assert state.q[0] + sum(made.dense[::2]) == pytest.approx(end, abs=1e-3)
    assert attempt(pair_of(tableau), Pendulum(level), state, bounds(1e-3)).is_taken
    assert attempt(pair_of(tableau), Pendulum(-inf, end - 0.01), state, bounds(1e-3, watched=1.0)).is_taken
    # what is below already may stay there
    assert attempt(pair_of(tableau), Pendulum(inf, 3.0), state, bounds(1e-3, watched=1.0)).is_taken
    # at the level now: it goes down at once
    refused(attempt(pair_of(tableau), Pendulum(state.q[0]), state, bounds(1e-3, watched=1.0)), state)


def test_what_comes_and_goes_within_a_step_is_noticed() -> None:
    low = -START  # where the pendulum turns, after half a period
    times = np.linspace(3.0, 7.0, 4001)
    turn = float(times[np.argmin([pendulum.swing(START, t)[0] for t in times])])
    state = at(turn - 0.2, 0.4)
    allowed = replace(bounds(1e-2, watched=1.0), end=turn + 3.0)
    assert attempt(pair_of(DP45), Pendulum(low - 0.01), state, allowed).is_taken
    refused(attempt(pair_of(DP45), Pendulum(low + 0.01), state, allowed), state)


@PAIRS
@pytest.mark.parametrize("wrong", [nan, inf, -1e305])
def test_a_step_without_numbers_is_not_taken(tableau: Tableau, wrong: float) -> None:
    class Broken(Pendulum):
        def accelerations(self, t: float, q: Any, qd: Any) -> list[float]:
            return [wrong if t > 1.2 else -sin(q[0])]

    state = at(1.0, 0.3)
    made = attempt(pair_of(tableau), Broken(inf), state, bounds(1e-2, watched=1.0))
    refused(made, state)
    assert not made.is_crossed
    assert attempt(pair_of(tableau), Broken(), replace(state, h=0.15), bounds(1e-2)).is_taken


def test_a_step_that_is_too_short_is_not_taken_but_to_the_end() -> None:
    state = at(1.0, 0.01)
    refused(attempt(pair_of(DP45), Pendulum(), state, bounds(shortest=0.02)), state)
    last = attempt(pair_of(DP45), Pendulum(), state, replace(bounds(shortest=0.02), end=1.005))
    assert last.is_taken
    assert last.is_over
    assert last.state.t == 1.005
    assert last.state.h >= 0.01, "a step that is cut says nothing against its length"


def test_after_a_rejected_step_the_next_does_not_grow() -> None:
    long = attempt(pair_of(DP45), Pendulum(), at(1.0, 1.5), bounds(1e-6))
    assert not long.is_taken
    assert not long.is_over
    assert long.state.is_retry
    assert 0.2 * 1.5 <= long.state.h < 1.5
    easy = bounds(1e-2)
    again = attempt(pair_of(DP45), Pendulum(), replace(long.state, h=0.01), easy)
    assert again.is_taken
    assert not again.state.is_retry
    assert again.state.h == 0.01
    fresh = attempt(pair_of(DP45), Pendulum(), replace(long.state, h=0.01, is_retry=0.0), easy)
    assert fresh.state.h == pytest.approx(0.1)


def test_the_last_two_steps_share_what_is_left() -> None:
    assert step_size(0.1, 1.0) == 0.1
    assert step_size(0.1, 0.15) == 0.075
    assert step_size(0.1, 0.1) == 0.1
    assert step_size(0.1, 0.05) == 0.05


def test_powers_of_scalars_that_are_no_floats() -> None:
    x = np.geomspace(LEAST_ERROR, MOST_ERROR, 301)
    for exponent in (-0.17, 0.04, -0.095, 0.75):
        np.testing.assert_allclose(power(x, exponent), x**exponent, rtol=1e-10)
