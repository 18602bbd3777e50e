"""A periodic motion: an initial configuration, and for each joint a series in time."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from forearm.spatial import Floats
from forearm.trajectories.continuous_snap.motion import Derivatives
from forearm.trajectories.sampling import States, motion_columns, sampled, save_motion
from forearm.trajectories.series.basis import series_derivatives, spline_knots
from forearm.values import frozen

FINEST = 1e-3  # s between samples for extremes
MOST = 200_000  # limit of these samples
LEAST = 2_000
BLOCK = 16_384  # times per block


@frozen
class SeriesMotion:
    """A motion of n joints that begins and ends at rest in one configuration; made by `fa.excite` or
    `load_motion`.

    q(t) = start + sum of coefficients times functions of time. Fourier coefficients are those of cos(h w t) -
    1, then those of sin(h w t), h = 1..H, w = 2 pi / duration; spline coefficients are those of quintic
    B-splines.

    Attributes:
        basis: "fourier" or "spline".
        duration: in s.
        start: the initial configuration (n,), rad (m).
        coefficients: (k, n), rad (m).
    """

    basis: str
    duration: float
    start: Floats
    coefficients: Floats

    @property
    def n(self) -> int:
        """The number of joints."""
        return int(self.coefficients.shape[1])

    @property
    def times(self) -> Floats:
        """The start and the end."""
        return np.array([0.0, self.duration])

    @property
    def switches(self) -> Floats:
        """The ends of its pieces in time: those of the polynomials of a spline."""
        return self.times if self.basis == "fourier" else self.duration * spline_knots(len(self.coefficients))

    def at(self, t: ArrayLike) -> States:
        """q, qd, qdd at a time, (n,) each, or at times (m,), (m, n) each."""
        found: States = sampled(self, t, partial(self._evaluated, orders=3))
        return found

    def derivatives(self, t: ArrayLike) -> Derivatives:
        """q, qd, qdd, qddd, qdddd at a time, (n,) each, or at times (m,), (m, n) each; at both ends jerks and
        snaps are their one-sided limits.

        Args:
            t: the time or times, s.
        """
        found: Derivatives = sampled(self, t, partial(self._evaluated, orders=5))
        return found

    def _evaluated(self, times: Floats, orders: int) -> Any:
        """q and its derivatives, (orders, m, n)."""
        made = np.empty((orders, len(times), self.n))
        count = len(self.coefficients)
        for first in range(0, len(times), BLOCK):
            some = slice(first, first + BLOCK)
            functions = series_derivatives(self.basis, count, self.duration, times[some], orders)
            for order, f in enumerate(functions):
                made[order, some] = f @ self.coefficients
        made[0] += self.start
        return made

    def scaled(self, factor: float, about: ArrayLike | None = None) -> SeriesMotion:
        """The same motion with its amplitude scaled.

        Args:
            factor: of the amplitude.
            about: the configuration (n,) that stays fixed; None: that at both ends.
        """
        if about is None:
            return replace(self, coefficients=self.coefficients * factor)
        middle = np.asarray(about, dtype=np.float64)
        start = middle + factor * (self.start - middle)
        return replace(self, start=start, coefficients=self.coefficients * factor)

    def slowed(self, factor: float) -> SeriesMotion:
        """The same motion slowed down by a factor."""
        return replace(self, duration=self.duration * factor)

    def extremes(self) -> States:
        """Minimum q, maximum q and maximum |qd|, (n,) each, over a thousand samples per second."""
        count = int(np.clip(self.duration / FINEST, LEAST, MOST))
        q, qd, _ = self.at(np.linspace(0.0, self.duration, count + 1))
        return q.min(axis=0), q.max(axis=0), np.abs(qd).max(axis=0)

    def columns(self, step: float = 1e-3) -> dict[str, Floats]:
        """The motion as a table t, q1.., qd1.., qdd1..: every `step` seconds and at the end."""
        return motion_columns(self, step)

    def save(self, path: str | os.PathLike[str], step: float = 1e-3) -> None:
        """Write it atomically.

        Args:
            path: .json stores its parameters, .csv and .parquet its table.
            step: between rows of the table, s.
        """
        save_motion(self, path, step)

    def __repr__(self) -> str:
        return f"<SeriesMotion of {self.n} joints: {self.basis}, {self.duration:g} s>"
