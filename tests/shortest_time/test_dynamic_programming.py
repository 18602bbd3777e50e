"""Durations against dynamic programming over speeds at places of the path, by inverse dynamics alone.

Between two places d2s/dt2 is constant, so every pair of speeds at them is a motion; those whose torques,
currents, voltages and velocities are allowed at both ends remain. The least time from each speed to the end
is found backwards. Speeds are taken from a band about the best ones so far, which moves as long as they lie
at its edges and then gets narrower (Luus' iterative dynamic programming).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from numpy.typing import NDArray
from sweeps import long
from timed_paths import drive_limits, random_way, timed

import forearm as fa
from forearm.drives import voltage_of
from forearm.drives.motor import constants_of
from forearm.trajectories.paths import JointPath, spline

Array = NDArray[np.float64]
PLACES = 80  # intervals of the coarse grid; the fine one has twice as many
BAND_LEVELS = 13  # speeds at each place
SLOW = 0.05  # of the fastest: speeds to begin with
WIDEST = ((1, 0.4), (2, 0.1))  # how many times as fine a grid is, and half its first band, of the speed
NARROWER, NARROWEST = 0.4, 0.25  # each band than the last; the last one, over the number of places
MOST_BANDS = 40  # of a grid; a band is as wide as the last where speeds lay at its edge
RELAXED = 0.4  # times half a band: by how much limits may be exceeded, as a speed is one of few
SLOWEST = 1e-7  # of the fastest speed: one at which friction has its direction
ROUNDED = 2e-3  # relative: the error of a duration by speeds of the last band, and by limits relaxed there
AGREED = 8e-3  # relative: of durations


@dataclass(frozen=True, eq=False)
class Limited:
    """An arm on a path with limits (n,) of torque, current and voltage; those of velocities are its own."""

    arm: fa.Arm
    path: JointPath
    torque: Array
    current: Array
    voltage: Array

    def use(self, s: Array, v: Array, u: Array) -> Array:
        """The largest needed / allowed at places s (m,), speeds v and d2s/dt2 u, (m, ...)."""
        shape = u.shape
        q, dq, ddq = (x.reshape(len(s), *(1,) * (u.ndim - 1), -1) for x in self.path.at(s))
        qd = dq * v[..., None]
        qdd = dq * u[..., None] + ddq * v[..., None] ** 2
        q, qd, qdd = (np.broadcast_to(x, (*shape, self.arm.n)).reshape(-1, self.arm.n) for x in (q, qd, qdd))
        tau = fa.compile(self.arm).inverse_dynamics(q, qd, qdd)
        volts, c = voltage_of(self.arm, tau, qd), constants_of(self.arm)
        parts = [tau / self.torque, tau / (c.K * self.current), volts / self.voltage, qd / self.speed]
        largest = np.abs(parts[0])
        for part in parts[1:]:
            np.maximum(largest, np.abs(part), out=largest)
        return np.asarray(largest.max(axis=1).reshape(shape))

    @property
    def speed(self) -> Array:
        return np.array([joint.max_speed for joint in self.arm.joints], dtype=np.float64)


def grid(path: JointPath, finer: int) -> Array:
    """Places, with those at which joints turn back; intervals are shorter beside these and the ends."""
    fixed = np.concatenate([[0.0], path.reversals(), [path.length]])
    counts = finer * np.ceil(PLACES * np.diff(fixed) / path.length).astype(int)
    pieces = [
        a + (b - a) * 0.5 * (1.0 - np.cos(np.pi * np.arange(k) / k))
        for a, b, k in zip(fixed[:-1], fixed[1:], counts, strict=True)
    ]
    return np.append(np.concatenate(pieces), path.length)


def least_time(case: Limited, s: Array, v: Array, relaxed: float) -> tuple[float, Array]:
    """The least time from rest to rest over speeds v (N + 1, m) at places s (N + 1,), and the best speeds
    (N + 1,); limits may be exceeded by a share.
    """
    D, x = np.diff(s)[:, None, None], v * v
    u = (x[1:, None, :] - x[:-1, :, None]) / (2.0 * D)
    beside = 1e-9 * case.path.length
    slow = SLOWEST * v.max()
    left, right = (np.maximum(end, slow) + 0.0 * u for end in (v[:-1, :, None], v[1:, None, :]))
    use = np.maximum(case.use(s[:-1] + beside, left, u), case.use(s[1:] - beside, right, u))
    # at rest no friction brakes
    use[0] = np.maximum(use[0], case.use(s[:1], 0.0 * u[:1], u[:1])[0])
    use[-1] = np.maximum(use[-1], case.use(s[-1:], 0.0 * u[-1:], u[-1:])[0])
    with np.errstate(divide="ignore"):
        taken = 2.0 * D / (v[:-1, :, None] + v[1:, None, :])
    taken[~(use <= 1.0 + relaxed)] = np.inf
    left_time, chosen = np.zeros(v.shape[1]), np.empty(u.shape[:2], dtype=np.intp)
    for k in range(len(u) - 1, -1, -1):
        total = taken[k] + left_time
        chosen[k] = total.argmin(axis=1)
        left_time = total.min(axis=1)
    best = [0]
    for row in chosen:
        best.append(int(row[best[-1]]))
    return float(left_time[0]), v[np.arange(len(v)), best]


def of_band(middle: Array, half: float) -> Array:
    """Speeds (N + 1, BAND_LEVELS) about those in the middle, 0 at both ends."""
    v = middle[:, None] * (1.0 + half * np.linspace(-1.0, 1.0, BAND_LEVELS))
    v[[0, -1]] = 0.0
    return np.asarray(v)


def shortest(case: Limited) -> tuple[float, float]:
    """The duration, extrapolated from two grids, and its error."""
    s = grid(case.path, 1)
    slopes = np.abs(case.path.at(s)[1])
    most = float((case.speed / np.maximum(slopes, 1e-9)).min(axis=1).max())
    # slow, and with constant accelerations beside the ends, where intervals are short
    best = SLOW * most * np.sqrt(np.minimum(1.0, 4.0 * np.minimum(s, s[-1] - s) / s[-1]))
    found = []
    for finer, half in WIDEST:
        fine = grid(case.path, finer)
        best, s = np.sqrt(np.interp(fine, s, best * best)), fine
        for _ in range(MOST_BANDS):
            middle = best
            duration, best = least_time(case, s, of_band(middle, half), RELAXED * half)
            if not np.isfinite(duration):  # too fast for limits that are less relaxed
                best = (1.0 - half) * middle
                continue
            at_edge = np.abs(best[1:-1] / middle[1:-1] - 1.0) > 0.99 * half
            if not at_edge.any():
                half *= NARROWER
                if half < NARROWEST / len(s):
                    break
        else:
            pytest.fail("speeds have not settled")
        found.append(duration)
    # of first order in the length of intervals
    left = found[0] - found[1]
    return found[1] - left, 0.5 * abs(left) + ROUNDED * found[1]


KINDS: dict[str, dict[str, Any]] = {"turning": {"prismatic": False}, "sliding": {}, "mimic": {"mimic": True}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "seed"),
    [("sliding", 1), ("mimic", 6), *long((kind, k) for kind in KINDS for k in range(10, 13))],
)
def test_durations_are_those_of_dynamic_programming(kind: str, seed: int) -> None:
    """Friction by Coulomb, Stribeck and speed, gears by load, bearings, motors."""
    arm = random_arm(seed, 2, **KINDS[kind])
    path = spline(random_way(arm, seed, 4))
    given = drive_limits(arm, path, seed)
    plan = timed(arm, path, **given)
    known, error = shortest(Limited(arm, path, **given))
    assert error < AGREED * known
    assert known - error <= plan.duration <= known * (1.0 + AGREED)
