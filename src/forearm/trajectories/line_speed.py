"""Speed profiles along a straight Cartesian path: constant, trapezoidal or quintic."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from forearm.errors import InputError
from forearm.spatial import Floats
from forearm.trajectories.sampling import States
from forearm.values import check_choice

PROFILES = ("constant", "trapezoidal", "quintic")
# s = L (10 x^3 - 15 x^4 + 6 x^5), x = t / T: the largest s' is 15/8 L/T, the largest s'' 10/sqrt(3) L/T^2.
QUINTIC_SPEED, QUINTIC_ACCELERATION = 1.875, 10.0 / math.sqrt(3.0)


@dataclass(frozen=True)
class Speed:
    """Arc length s over time from 0 to `length` in `duration`; `peak` is the largest s', `ramp` the
    acceleration time of a trapezoid.
    """

    profile: str
    length: float
    duration: float
    peak: float
    ramp: float

    def at(self, t: Floats) -> States:
        """s, s', s'' at times (m,) from 0 to the duration; at a switch s'' is the value after it."""
        if self.profile == "constant":
            return self.peak * t, np.full_like(t, self.peak), np.zeros_like(t)
        return self._quintic(t) if self.profile == "quintic" else self._trapezoid(t)

    @property
    def switches(self) -> tuple[float, ...]:
        """The times at which s'' jumps."""
        return (self.ramp, self.duration - self.ramp) if self.profile == "trapezoidal" else ()

    def when(self, ways: Floats) -> Floats:
        """The times at which arc lengths (m,) are reached, by bisection: s is monotonic."""
        low, high = np.zeros_like(ways), np.full_like(ways, self.duration)
        for _ in range(60):
            middle = 0.5 * (low + high)
            before = self.at(middle)[0] < ways
            low, high = np.where(before, middle, low), np.where(before, high, middle)
        return np.where(ways <= 0.0, 0.0, np.where(ways >= self.length, self.duration, high))

    def _trapezoid(self, t: Floats) -> States:
        a = self.peak / self.ramp
        left = self.duration - t
        begins, ends = t < self.ramp, left <= self.ramp
        s = np.where(
            begins,
            0.5 * a * t**2,
            np.where(ends, self.length - 0.5 * a * left**2, self.peak * (t - 0.5 * self.ramp)),
        )
        rate = np.where(begins, a * t, np.where(ends, a * left, self.peak))
        return s, rate, np.where(begins, a, np.where(ends, -a, 0.0))

    def _quintic(self, t: Floats) -> States:
        x, T = t / self.duration, self.duration
        s = self.length * x**3 * (10.0 - 15.0 * x + 6.0 * x**2)
        rate = self.length / T * 30.0 * x**2 * (1.0 - x) ** 2
        return s, rate, self.length / T**2 * 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x)


def speed_along(length: float, speed: float, acceleration: float | None, profile: str) -> Speed:
    """The rest-to-rest profile over this length, as fast as speed (m/s) and acceleration (m/s^2) allow.

    The constant profile has its speed from the first moment to the last, as in Mata 5.2.
    """
    check_choice(profile, PROFILES, "profile")
    if profile == "constant":
        return Speed(profile, length, length / speed, speed, 0.0)
    if profile == "quintic":
        slow = 0.0 if acceleration is None else math.sqrt(QUINTIC_ACCELERATION * length / acceleration)
        duration = max(QUINTIC_SPEED * length / speed, slow)
        return Speed(profile, length, duration, QUINTIC_SPEED * length / duration, 0.0)
    if acceleration is None:
        raise InputError(
            "required for a trapezoidal profile, in m/s^2; profile='quintic' needs none.", "acceleration"
        )
    peak = min(speed, math.sqrt(acceleration * length))
    return Speed(profile, length, length / peak + peak / acceleration, peak, peak / acceleration)
