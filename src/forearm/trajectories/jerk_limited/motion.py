"""A motion stored as phases of constant jerk."""

from __future__ import annotations

import os
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from forearm.spatial import Floats
from forearm.trajectories.jerk_limited.joint import extremes
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

NAMES = ("points", "velocities", "accelerations", "phases", "jerks", "segments")


@frozen
class JerkMotion:
    """Motion of n joints through k + 1 points in k segments, each joint in p phases of constant jerk; made by
    `jerk_limited` or `load_motion`.

    All joints pass each point at the same time.

    Attributes:
        points: joint coordinates (k + 1, n), rad or m.
        velocities: joint velocities (k + 1, n) at the points.
        accelerations: joint accelerations (k + 1, n) at the points.
        phases: durations of the phases of each joint in each segment, (k, n, p), s; some are 0.
        jerks: joint jerks (k, n, p) in them.
        segments: durations of the segments, (k,), s.
    """

    points: Floats
    velocities: Floats
    accelerations: Floats
    phases: Floats
    jerks: Floats
    segments: Floats

    def __post_init__(self) -> None:
        freeze(self)

    @classmethod
    def frozen(cls, *arrays: Floats) -> JerkMotion:
        """The motion from arrays that are read-only already, in the order of the attributes."""
        motion = object.__new__(cls)
        motion.__dict__.update(zip(NAMES, arrays, strict=True))
        return motion

    @property
    def n(self) -> int:
        """The number of joints."""
        return int(self.points.shape[1])

    @cached_property
    def times(self) -> Floats:
        """Times at the points, (k + 1,), from 0."""
        return from_zero(self.segments)

    @property
    def duration(self) -> float:
        """From the first point to the last, s."""
        return float(self.segments[0] if len(self.segments) == 1 else self.times[-1])

    @cached_property
    def switches(self) -> Floats:
        """All times at which a jerk may change, increasing, the ends included."""
        ends = np.cumsum(self.phases, axis=2)
        inside = (self.phases > 0.0) & (ends < self.segments[:, None, None])
        return np.unique(np.concatenate([self.times, (self.times[:-1, None, None] + ends)[inside]]))

    @cached_property
    def _from_start(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Time since the start of the segment and q, qd, qdd where phases begin, and at the end, (k, n, p +
        1) each.
        """
        return self._nodes(self.points[:-1], self.velocities[:-1], self.accelerations[:-1], 1.0)

    @cached_property
    def _from_end(self) -> tuple[Floats, Floats, Floats, Floats]:
        """The same with the time until the end of the segment, summed backwards from there."""
        return self._nodes(self.points[1:], self.velocities[1:], self.accelerations[1:], -1.0)

    def _nodes(self, q: Floats, qd: Floats, qdd: Floats, way: float) -> tuple[Floats, Floats, Floats, Floats]:
        order = slice(None, None, int(way))
        rows = [(np.zeros(q.shape), q, qd, qdd)]
        for i in range(self.phases.shape[2])[order]:
            t, j = self.phases[..., i], self.jerks[..., i]
            s = way * t
            rows.append((rows[-1][0] + t, *_moved(q, qd, qdd, j, s)))
            _, q, qd, qdd = rows[-1]
        time, q, qd, qdd = (np.stack(x, axis=2) for x in zip(*rows[order], strict=True))
        return time, q, qd, qdd

    def at(self, t: ArrayLike) -> States:
        """q, qd, qdd at a time, (n,) each, or at times (m,), (m, n) each: exactly the points at their times,
        to the last bit.

        The first half of a segment is evaluated from its start and the second from its end.
        """
        q, qd, qdd, _ = sampled(self, t, self._states)
        return q, qd, qdd

    def jerk_at(self, t: ArrayLike) -> Floats:
        """qddd at a time, (n,), or at times (m,), (m, n); at a switch the value after it."""
        return sampled(self, t, self._states)[3]

    def _states(self, times: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        k = piece_at(self.times, times)
        since = (times - self.times[k])[:, None]
        # The end of a segment is decided by its stored time, not by a sum of rounded durations.
        until = np.where(times == self.times[k + 1], 0.0, self.segments[k] - since[:, 0])[:, None]
        late = 2.0 * since > self.segments[k][:, None]
        columns = np.arange(self.n)
        p = self.phases.shape[2]
        started = (self._from_start[0][k, :, 1:] <= since[..., None]).sum(axis=2)
        left = (self._from_end[0][k, :, 1:] >= until[..., None]).sum(axis=2)
        phase = np.minimum(np.where(late, left, started), p - 1)
        jerk = self.jerks[k[:, None], columns, phase]
        made = []
        for nodes, place, elapsed, way in (
            (self._from_start, phase, since, 1.0),
            (self._from_end, phase + 1, until, -1.0),
        ):
            time, q, qd, qdd = (x[k[:, None], columns, place] for x in nodes)
            made.append(_moved(q, qd, qdd, jerk, way * (elapsed - time)))
        q, qd, qdd = (np.where(late, b, a) for a, b in zip(*made, strict=True))
        return q, qd, qdd, jerk

    def extremes(self) -> States:
        """Minimum q, maximum q and maximum |qd|, (n,) each."""
        p = self.phases.shape[2]
        times, jerks = ([x[..., i] for i in range(p)] for x in (self.phases, self.jerks))
        with np.errstate(all="ignore"):
            least, most = extremes(
                self.points[:-1], self.velocities[:-1], self.accelerations[:-1], times, jerks
            )
        least, most = (np.vstack([x, self.points]) for x in (least, most))
        _, _, qd, qdd = self._from_start
        j = np.where(self.jerks == 0.0, 1.0, self.jerks)
        turns = qdd[..., :-1] * qdd[..., 1:] < 0.0
        top = np.where(turns, qd[..., :-1] - 0.5 * qdd[..., :-1] ** 2 / j, 0.0)
        fastest = np.maximum(np.abs(qd).max(axis=(0, 2)), np.abs(top).max(axis=(0, 2)))
        return least.min(axis=0), most.max(axis=0), fastest

    def columns(self, step: float) -> dict[str, Floats]:
        """The motion as a table t, q1.., qd1.., qdd1..: every `step` seconds and at the end."""
        return motion_columns(self, step)

    def save(self, path: str | os.PathLike[str], step: float = 1e-3) -> None:
        """Write it atomically.

        Args:
            path: .json stores the phases and can be loaded, .csv and .parquet the table.
            step: time between rows of the table, s.
        """
        save_motion(self, path, step)

    def __repr__(self) -> str:
        return f"<JerkMotion of {self.n} joints through {len(self.points)} points in {self.duration:g} s>"


def _moved(q: Floats, qd: Floats, qdd: Floats, j: Floats, s: Floats) -> States:
    """The state a time s later, or earlier if it is negative."""
    return q + s * (qd + s * (0.5 * qdd + s * j / 6.0)), qd + s * (qdd + 0.5 * j * s), qdd + j * s
