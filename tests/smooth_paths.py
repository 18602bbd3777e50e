"""Paths with limits, and closed forms, for the tests of smooth speed profiles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import perm, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.trajectories.smooth_speed.smooth_limits import SmoothLimits
from forearm.trajectories.smooth_speed.smooth_profile import SmoothProfile, smooth_profile

Array = NDArray[np.float64]


@dataclass(frozen=True)
class WavyPath:
    """q = slope s + sum of amplitude sin(frequency s + phase), (m, n) each, with limits of the joints (n,).

    `warp` runs along the same curve by another parameter: s is replaced by s + warp sin(s).
    """

    slope: Array
    amplitude: Array
    frequency: Array
    phase: Array
    velocity: Array
    acceleration: Array
    jerk: Array
    warp: float = 0.0

    def derivatives(self, s: Array) -> tuple[Array, Array, Array, Array]:
        """q and its first three derivatives at s, (..., n) each."""
        g = s + self.warp * np.sin(s)
        g1, g2, g3 = 1 + self.warp * np.cos(s), -self.warp * np.sin(s), -self.warp * np.cos(s)
        wave = [
            (
                self.amplitude * self.frequency**k * np.sin(self.frequency * at + self.phase + k * np.pi / 2)
            ).sum(-2)
            for at in (g[..., None, None],)
            for k in range(4)
        ]
        f0, f1, f2, f3 = wave[0] + self.slope * g[..., None], wave[1] + self.slope, wave[2], wave[3]
        g1, g2, g3 = g1[..., None], g2[..., None], g3[..., None]
        return f0, f1 * g1, f2 * g1**2 + f1 * g2, f3 * g1**3 + 3 * f2 * g1 * g2 + f1 * g3

    def profile(self, s: Array, **changes: Any) -> SmoothProfile:
        """The smooth profile along nodes s within the limits, or others."""
        q1, q2, q3 = (np.stack([d[:-1], d[1:]], axis=1) for d in self.derivatives(s)[1:])
        first, second = (np.concatenate([e, -e], axis=2) for e in (q1, q2))
        bound = np.broadcast_to(np.tile(self.acceleration, 2), first.shape)
        with np.errstate(divide="ignore"):
            top = ((self.velocity / np.abs(self.derivatives(s)[1])) ** 2).min(axis=1)
            bent = (self.acceleration / np.abs(self.derivatives(s)[2])).min(axis=1)
        jerk = np.broadcast_to(self.jerk, q1.shape)
        e1, e2, e3 = (np.ascontiguousarray(x.transpose(1, 2, 0)) for x in (q1, q2, q3))
        rows = changes.pop("rows", lambda x, u: (first, second, bound))
        limits = SmoothLimits(e1, e2, e3, np.diff(s), jerk.transpose(1, 2, 0), np.inf, top, rows)
        return smooth_profile(s, limits, np.minimum(np.minimum(top, bent), 1e3), **changes)

    def joints(self, profile: SmoothProfile, t: Array) -> Array:
        """q at times t, (m, n)."""
        return self.derivatives(states_of(profile, t)[0])[0]

    def uses(self, profile: SmoothProfile, between: int = 10) -> tuple[float, float, float]:
        """The largest velocity, acceleration and jerk of a joint over its limit, `between` to an interval."""
        share = np.linspace(0, 1, between + 1)[:, None]
        steps = np.diff(profile.times) * share * (1 - 1e-9)
        s, v, a, j = (value[..., None] for value in states_of(profile, profile.times[:-1] + steps))
        _, q1, q2, q3 = self.derivatives(s[..., 0])
        qd, qdd, qddd = q1 * v, q1 * a + q2 * v**2, q1 * j + 3 * q2 * v * a + q3 * v**3
        limits = (self.velocity, self.acceleration, self.jerk)
        used = [float((np.abs(x) / limit).max()) for x, limit in zip((qd, qdd, qddd), limits, strict=True)]
        return used[0], used[1], used[2]


def states_of(profile: SmoothProfile, t: Array) -> tuple[Array, ...]:
    """s, ds/dt, d2s/dt2 and d3s/dt3 at times, the last on the right of jumps."""
    i = np.clip(np.searchsorted(profile.times, t, side="right") - 1, 0, len(profile.coefficients) - 1)
    c, r = np.moveaxis(profile.coefficients[i], -1, 0), t - profile.times[i]
    return tuple(sum(perm(k, d) * c[k] * r ** (k - d) for k in range(d, 6)) for d in range(4))


def straight(velocity: float, acceleration: float, jerk: float) -> WavyPath:
    """One joint, q = s."""
    none = np.zeros((1, 1))
    return WavyPath(
        np.ones(1), none, none, none, np.array([velocity]), np.array([acceleration]), np.array([jerk])
    )


def generic(n: int, seed: int) -> WavyPath:
    """A curved path for s from 0 to 1."""
    rng = np.random.default_rng(seed)
    return WavyPath(
        slope=rng.uniform(-1, 1, n),
        amplitude=rng.uniform(0.3, 1, (3, n)),
        frequency=rng.uniform(2, 6, (3, n)),
        phase=rng.uniform(0, 6, (3, n)),
        velocity=rng.uniform(1, 2, n),
        acceleration=rng.uniform(3, 8, n),
        jerk=rng.uniform(20, 60, n),
    )


def warped(path: WavyPath, warp: float) -> WavyPath:
    """The same curve by another parameter."""
    return replace(path, warp=warp)


def ramp(change: float, acceleration: float, jerk: float) -> float:
    """The time in which a velocity changes by so much, with no acceleration at either end."""
    change = abs(change)
    if change >= acceleration**2 / jerk:
        return change / acceleration + acceleration / jerk
    return 2 * sqrt(change / jerk)


def seven_phases(
    length: float, velocity: float, acceleration: float, jerk: float, v0: float = 0.0, v1: float = 0.0
) -> float:
    """The shortest duration of one joint from v0 to v1, at both of which it does not accelerate."""

    def way(peak: float) -> float:
        return sum((peak + v) / 2 * ramp(peak - v, acceleration, jerk) for v in (v0, v1))

    low, high = max(v0, v1), velocity
    if way(high) > length:
        for _ in range(100):
            peak = (low + high) / 2
            low, high = (peak, high) if way(peak) < length else (low, peak)
    times = sum(ramp(high - v, acceleration, jerk) for v in (v0, v1))
    return times + (length - way(high)) / high
