"""A motion stored as its switching points: states, and phases of constant acceleration between them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from forearm.spatial import Floats
from forearm.symbols.scalars import Scalar, choose, minimum
from forearm.trajectories.sampling import (
    States,
    freeze,
    from_zero,
    motion_columns,
    piece_at,
    sampled,
    save_motion,
)
from forearm.values import frozen


@frozen
class Switching:
    """Motion of n joints through k + 1 points in k segments; made by the planners or `load_switching`.

    All joints pass each point at the same time. Waters III: the switching points specify the trajectory.

    Attributes:
        points: joint coordinates (k + 1, n), rad or m.
        velocities: joint velocities (k + 1, n) at the points.
        phases: durations of the three phases of each joint in each segment, (k, n, 3), s.
        accelerations: joint accelerations (k, n, 3) in them.
    """

    points: Floats
    velocities: Floats
    phases: Floats
    accelerations: Floats

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def n(self) -> int:
        """The number of joints."""
        return int(self.points.shape[1])

    @cached_property
    def segments(self) -> Floats:
        """The durations of the segments, (k,)."""
        taken: Floats = np.maximum.reduce(np.add.reduce(self.phases, axis=2), axis=1)
        return taken

    @cached_property
    def times(self) -> Floats:
        """Times at the points, (k + 1,), from 0."""
        return from_zero(self.segments)

    @property
    def duration(self) -> float:
        """From the first point to the last, s."""
        return float(self.times[-1])

    @cached_property
    def switches(self) -> Floats:
        """All times at which an acceleration may change, increasing, the ends included."""
        T = self.segments[:, None]
        inside = np.concatenate(
            [self.phases[..., 0], np.maximum(T - self.phases[..., 2], self.phases[..., 0])], axis=1
        )
        return np.unique(
            np.concatenate([self.times, (self.times[:-1, None] + np.minimum(inside, T)).ravel()])
        )

    @cached_property
    def held(self) -> Floats:
        """The velocity of the middle phase, (k, n)."""
        return self.velocities[:-1] + self.accelerations[..., 0] * self.phases[..., 0]

    def at(self, t: ArrayLike) -> States:
        """q, qd, qdd at a time, (n,) each, or at times (m,), (m, n) each: exactly the points at their times,
        to the last bit.

        The first phases are evaluated from the start of a segment and the last one from its end. At a switch
        qdd is the value after it.
        """
        return sampled(self, t, self._states)

    def _states(self, times: Floats) -> States:
        k = piece_at(self.times, times)
        since = (times - self.times[k])[:, None]
        # The end of a segment is decided by its stored time, not by a sum of rounded durations.
        until = np.where(times == self.times[k + 1], 0.0, self.segments[k] - since[:, 0])[:, None]
        ends = self.points[k], self.velocities[k], self.points[k + 1], self.velocities[k + 1]
        times_of = self.phases[k, :, 0], self.phases[k, :, 2]
        rates = self.accelerations[k, :, 0], self.accelerations[k, :, 2]
        return segment_state(since, until, ends, times_of, rates)

    def extremes(self) -> States:
        """Minimum q, maximum q and maximum |qd|, (n,) each."""
        places = np.vstack([self.points, *self.turning()])
        least, most = np.nanmin(places, axis=0), np.nanmax(places, axis=0)
        return least, most, np.maximum(np.abs(self.velocities).max(axis=0), np.abs(self.held).max(axis=0))

    def turning(self) -> tuple[Floats, Floats]:
        """Where joints reverse in the first and in the last phase of each segment, (k, n) each, NaN if they
        do not.
        """
        v0, v1, held = self.velocities[:-1], self.velocities[1:], self.held
        a1, a3 = (
            np.where(a == 0.0, 1.0, a) for a in (self.accelerations[..., 0], self.accelerations[..., 2])
        )
        first = np.where(v0 * held < 0.0, self.points[:-1] - 0.5 * v0 * v0 / a1, np.nan)
        last = np.where(v1 * held < 0.0, self.points[1:] - 0.5 * v1 * v1 / a3, np.nan)
        return first, last

    def columns(self, step: float) -> dict[str, Floats]:
        """The motion as a table t, q1.., qd1.., qdd1..: every `step` seconds and at the end."""
        return motion_columns(self, step)

    def save(self, path: str | os.PathLike[str], step: float = 1e-3) -> None:
        """Write it atomically.

        Args:
            path: .json stores the switching points and can be loaded, .csv and .parquet the table.
            step: time between rows of the table, s.
        """
        save_motion(self, path, step)

    def __repr__(self) -> str:
        return f"<Switching of {self.n} joints through {len(self.points)} points in {self.duration:g} s>"


def segment_state(
    since: Scalar, until: Scalar, ends: Sequence[Scalar], times: Sequence[Scalar], rates: Sequence[Scalar]
) -> tuple[Scalar, Scalar, Scalar]:
    """q, qd, qdd of a joint in a segment, over any scalar, at the time `since` its start and `until` its end.

    `ends` are q and qd at its start and at its end, `times` and `rates` those of its first and last phase.
    """
    (x0, v0, x1, v1), (t1, t3), (a1, a3) = ends, times, rates
    first = minimum(since, t1)
    held = v0 + a1 * first
    q = x0 + 0.5 * (v0 + held) * first + held * (since - first)
    ending = choose(t3, until, 0.0, 1.0)  # in the last phase; at the start only if the segment is over
    last = choose(0.0, since, ending, choose(0.0, until, 0.0, ending))
    qd = choose(0.0, last, v1 - a3 * until, held)
    q = choose(0.0, last, x1 - 0.5 * (v1 + qd) * until, q)
    braking = choose(t3, until, 0.0, a3)
    return q, qd, choose(since, t1, choose(0.0, until, a1, braking), braking)
