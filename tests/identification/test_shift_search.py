"""Steps of a time shift: straight to where they lead, and back where they leave more."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from identification.true_arms import Floats

from forearm.identification.shift_search import MOST_SHIFT, ShiftSearch

PERIOD = 0.002


def followed(step: Callable[[float], float], cost: Callable[[float], float], passes: int = 12) -> list[float]:
    """The shifts of the passes, from 0 on."""
    search, shifts = ShiftSearch([PERIOD]), [0.0]
    for _ in range(passes):
        now = shifts[-1]
        wanted: Floats = search.after(np.array([now]), np.array([step(now)]), np.array([1e-4]), cost(now))
        if wanted[0] == now:
            return shifts
        shifts.append(float(wanted[0]))
    return shifts


def test_a_shift_is_reached_in_steps_that_grow() -> None:
    for true in (0.0051, -0.03, 0.0):

        def away(now: float, true: float = true) -> float:
            return true - now

        passed = followed(away, lambda now: 0.0)
        assert abs(passed[-1] - true) < 1e-5
        assert len(passed) <= 6


def test_a_step_that_leaves_more_is_taken_back() -> None:
    """The slope asks for -8 ms wherever it is, but noise is twice as large beyond -2 ms."""
    passed = followed(lambda now: -0.008, lambda now: 0.0 if now > -0.002 else 0.7)
    assert -0.002 < passed[-1] <= 0.0
    assert min(passed) < -0.004


def test_shifts_end_somewhere() -> None:
    passed = followed(lambda now: 1.0, lambda now: 0.0)
    assert passed[-1] == MOST_SHIFT * PERIOD


def test_the_first_pass_may_be_the_last() -> None:
    assert followed(lambda now: 1e-6, lambda now: 0.0) == [0.0]
