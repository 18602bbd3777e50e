"""A motion along a path: the path, and the parameter s over time as polynomials between knots."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from forearm.spatial import Floats, Indices
from forearm.trajectories.paths.joint_path import JointPath
from forearm.trajectories.sampling import States, piece_at, sampled, times_within
from forearm.trajectories.shortest_time.profile import Profile
from forearm.values import check_ending, frozen

FINER = 10  # samples per interval for extremes


@frozen
class PathMotion:
    """A motion along a path; made by `fa.time_optimal`.

    Attributes:
        path: the path.
        knots: s at the ends of the intervals, (k + 1,).
        times: times at the knots, (k + 1,), from 0.
        coefficients: of s in ascending powers of the time since the interval began, (k, d + 1).
        pieces: index of the path's piece in each interval, (k,).
    """

    path: JointPath
    knots: Floats
    times: Floats
    coefficients: Floats
    pieces: Indices

    @staticmethod
    def of(path: JointPath, profile: Profile) -> PathMotion:
        """The motion of a profile, with constant s'' in each interval.

        Args:
            path: the path.
            profile: its speeds.
        """
        start = np.sqrt(profile.x[:-1])
        coefficients = np.stack([profile.grid.s[:-1], start, 0.5 * profile.u], axis=1)
        return PathMotion(path, profile.grid.s, profile.times, coefficients, profile.grid.piece)

    @property
    def n(self) -> int:
        """The number of joints."""
        return self.path.n

    @property
    def duration(self) -> float:
        """Duration, s."""
        return float(self.times[-1])

    @property
    def switches(self) -> Floats:
        """All times at which accelerations may jump, increasing, the ends included."""
        return self.times

    def along(self, t: ArrayLike) -> States:
        """s, ds/dt and d2s/dt2 at a time, or at times (m,)."""
        return sampled(self, t, lambda times: self.details(times)[1:])

    def at(self, t: ArrayLike) -> States:
        """q, qd, qdd at a time, (n,) each, or at times (m,), (m, n) each; at a switch qdd is the value after
        it.
        """
        return sampled(self, t, self._states)

    def _states(self, times: Floats) -> States:
        k, s, rate, second = self.details(times)
        q, dq, ddq = self.path.at(s, self.pieces[k])
        return q, dq * rate[:, None], ddq * (rate * rate)[:, None] + dq * second[:, None]

    def jerk(self, t: ArrayLike) -> Floats:
        """Joint jerks at a time, (n,), or at times (m,), (m, n); without impulses at jumps of the
        acceleration.
        """
        single, times = times_within(t, self.duration)
        k, s, rate, second = self.details(times)
        _, dq, ddq = self.path.at(s, self.pieces[k])
        third = self.third(times)
        made: Floats = self.path.third(s, self.pieces[k]) * (rate**3)[:, None]
        made += ddq * (3.0 * rate * second)[:, None] + dq * third[:, None]
        return np.asarray(made[0]) if single else made

    def third(self, times: Floats) -> Floats:
        """d3s/dt3 at times (m,) within the motion."""
        k, since = self._since(times)
        found = np.zeros_like(since)
        for power in range(self.coefficients.shape[1] - 1, 2, -1):
            found = found * since + power * (power - 1) * (power - 2) * self.coefficients[k, power]
        return found

    def details(self, times: Floats) -> tuple[Indices, Floats, Floats, Floats]:
        """The interval, s, ds/dt and d2s/dt2 at times (m,) within the motion."""
        k, since = self._since(times)
        c = self.coefficients[k].T
        s, rate, half = c[-1], np.zeros_like(since), np.zeros_like(since)
        for power in c[-2::-1]:
            half = half * since + rate
            rate = rate * since + s
            s = s * since + power
        return k, np.clip(s, self.knots[k], self.knots[k + 1]), np.maximum(rate, 0.0), 2.0 * half

    def _since(self, times: Floats) -> tuple[Indices, Floats]:
        k = piece_at(self.times, times)
        return k, times - self.times[k]

    def slowed(self, factor: float) -> PathMotion:
        """The same motion slowed down by a factor."""
        powers = factor ** -np.arange(self.coefficients.shape[1], dtype=np.float64)
        return replace(self, times=self.times * factor, coefficients=self.coefficients * powers)

    @cached_property
    def fine_times(self) -> Floats:
        """Several times in every interval, both of its ends included."""
        shares = np.linspace(0.0, 1.0, FINER, endpoint=False)
        even = self.times[:-1, None] + shares * np.diff(self.times)[:, None]
        return np.append(even.ravel(), self.duration)

    def extremes(self) -> States:
        """Minimum q, maximum q and maximum |qd|, (n,) each, over ten samples per interval."""
        q, qd, _ = self.at(self.fine_times)
        return q.min(axis=0), q.max(axis=0), np.abs(qd).max(axis=0)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as .json, atomically; `fa.plan` accepts the file."""
        from forearm.trajectories.motion_files import write_motion

        check_ending(path, (".json",), "a motion along a path (fa.plan(arm, motion).save writes samples)")
        write_motion(self, path)

    def __repr__(self) -> str:
        return f"<PathMotion of {self.n} joints along {self.path.name!r} in {self.duration:g} s>"
