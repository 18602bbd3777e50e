"""When fixed steps are, and how many: whole steps from an origin, 0 where a converter counts its periods."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError

Floats = NDArray[np.float64]
MOST_STEPS = 10**12  # of one run: weeks of computing, and each still has a time of its own
MOST_COUNTED = 2**53  # up to here floats are whole numbers
ROUNDING = 1e-9  # of a step: times this near are the same


@dataclass
class Clock:
    """Fixed steps are at origin + done step, also of the run that this one continues."""

    origin: float
    step: float
    done: int = 0

    def times(self, steps: int, held: int = 1) -> Floats:
        """Of this step and those to come, (steps + 1,); with `held`, of when what is held there was set."""
        ks = np.arange(self.done, self.done + steps + 1)
        return np.asarray(
            self.origin + np.asarray(ks if held == 1 else ks // held * held, dtype=np.float64) * self.step
        )


def from_zero(clock: Clock) -> tuple[Clock, float]:
    """The same steps counted from 0, as a converter's periods are, and how much of a step it
    is to the next of them.

    Where something is missing, the clock that comes stands at the step that is under way.
    """
    if clock.origin == 0.0:
        return clock, 0.0
    t, step = float(clock.times(0)[0]), clock.step
    if not abs(t / step) <= MOST_COUNTED:
        raise InputError(
            f"simulate, step: {step:g} s is too short to be counted from 0 to {t:g} s; take a longer one."
        )
    nearest = round(t / step)
    if is_same(nearest * step, t, step):
        return Clock(0.0, step, nearest), 0.0
    under_way = math.floor(t / step)
    return Clock(0.0, step, under_way), (under_way + 1) * step - t


def is_same(time: float, t: float, step: float) -> bool:
    """Whether two times differ by rounding alone."""
    return abs(time - t) <= max(ROUNDING * step, 4.0 * float(np.spacing(abs(t))))


def whole_steps(duration: float, step: float) -> tuple[int, float]:
    """How many whole steps, and what is left of the duration after them;
    more than can be made are refused.
    """
    count = duration / step
    if not count <= MOST_STEPS:
        raise InputError(
            f"simulate: {duration:g} s in steps of {step:g} s are {count:.3g} steps; at most {MOST_STEPS:g} "
            "are made. Take longer steps, or a shorter time."
        )
    steps = math.floor(count + min(1e-12 * count, 1e-3) + ROUNDING)
    rest = duration - steps * step
    return steps, rest if rest > ROUNDING * step else 0.0


def held_steps(period: float, step: float) -> int:
    """For how many steps a converter holds."""
    held = round(min(period / step, MOST_COUNTED))
    if held < 1 or abs(held * step - period) > 1e-9 * period:
        raise InputError(
            f"simulate: the DAC's period {period:g} s must be a whole number of steps of {step:g} s."
        )
    return held
