"""A motion stored as the states at its points, with polynomials of ninth degree between them."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cached_property, partial
from math import factorial, perm
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from forearm.spatial import Floats, Indices
from forearm.trajectories.paths.hermite import hermite_by_share
from forearm.trajectories.roots import roots_within, values_within
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

Derivatives = tuple[Floats, Floats, Floats, Floats, Floats]
ORDERS = 5  # q, qd, qdd, qddd, qdddd
BLOCK = 8192  # times per block


@frozen
class SmoothMotion:
    """Motion of n joints through points with continuous snap; made by `smooth`, `fa.plan(..., snap=)` or
    `load_motion`.

    Between two states every joint follows the polynomial of ninth degree that interpolates both, so that q to
    qdddd are continuous for any states.

    Attributes:
        states: q, qd, qdd, qddd, qdddd where polynomials meet, (m + 1, 5, n), rad or m, and s.
        segments: durations of the polynomials, (m,), s; 0 between equal states.
        passed: indices of the states at the requested points, (k + 1,).
    """

    states: Floats
    segments: Floats
    passed: Indices

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def n(self) -> int:
        """The number of joints."""
        return int(self.states.shape[2])

    @property
    def points(self) -> Floats:
        """Joint coordinates at the points, (k + 1, n)."""
        return np.asarray(self.states[self.passed, 0])

    @property
    def times(self) -> Floats:
        """Times at the points, (k + 1,), from 0."""
        return self.switches[self.passed]

    @cached_property
    def switches(self) -> Floats:
        """Times at which polynomials meet, (m + 1,), the ends included."""
        return from_zero(self.segments)

    @property
    def duration(self) -> float:
        """From the first point to the last, s."""
        return float(self.switches[-1])

    def at(self, t: ArrayLike) -> States:
        """q, qd, qdd at a time, (n,) each, or at times (m,), (m, n) each: exactly the points at their times,
        to the last bit.
        """
        found: States = sampled(self, t, partial(self._evaluated, orders=3))
        return found

    def derivatives(self, t: ArrayLike) -> Derivatives:
        """q, qd, qdd, qddd, qdddd at a time, (n,) each, or at times (m,), (m, n) each.

        Args:
            t: the time or times, s.
        """
        found: Derivatives = sampled(self, t, partial(self._evaluated, orders=ORDERS))
        return found

    def slowed(self, factor: float) -> SmoothMotion:
        """The same motion slowed down by a factor."""
        powers = factor ** -np.arange(ORDERS, dtype=np.float64)
        return replace(self, states=self.states * powers[:, None], segments=self.segments * factor)

    def extremes(self) -> States:
        """Minimum q, maximum q and maximum |qd| along the motion, (n,) each, exact."""
        least, most = self.reach
        low, high = self._bounds(1)
        return least, most, np.maximum(-low, high).max(axis=0)

    @cached_property
    def reach(self) -> tuple[Floats, Floats]:
        """Minimum and maximum q along the motion, (n,) each, exact."""
        low, high = self._bounds(0)
        return low.min(axis=0), high.max(axis=0)

    @cached_property
    def peaks(self) -> Floats:
        """Maximum |qd|, |qdd|, |qddd| and |qdddd| along the motion, (4, n), exact."""
        bounds = (self._bounds(order) for order in range(1, ORDERS))
        return np.stack([np.maximum(-low, high).max(axis=0) for low, high in bounds])

    def passages(self, velocities: Floats) -> Floats:
        """Times at which a joint has one of its velocities (s, n), unsorted; NaN means none.

        Args:
            velocities: of each joint, (s, n).
        """
        h = self.segments[:, None, None]
        rows = np.repeat(_rates(self._pieces[0], 1)[:, None], len(velocities), axis=1)  # (k, s, n, 9)
        rows[..., 0] -= velocities * h
        rows = rows.reshape(-1, rows.shape[-1])
        known = np.isfinite(rows).all(axis=1)
        roots = np.full((len(rows), rows.shape[1] - 1), np.nan)
        roots[known] = roots_within(rows[known])
        times = self.switches[:-1, None, None] + roots.reshape(*h.shape[:1], -1, roots.shape[1]) * h
        return times[np.isfinite(times)]

    def columns(self, step: float) -> dict[str, Floats]:
        """The motion as a table t, q1.., qd1.., qdd1..: every `step` seconds and at the end."""
        return motion_columns(self, step)

    def save(self, path: str | os.PathLike[str], step: float = 1e-3) -> None:
        """Write it atomically.

        Args:
            path: .json stores the states and can be loaded, .csv and .parquet the table.
            step: time between rows of the table, s.
        """
        save_motion(self, path, step)

    def __repr__(self) -> str:
        return f"<SmoothMotion of {self.n} joints through {len(self.points)} points in {self.duration:g} s>"

    @cached_property
    def _lengths(self) -> Floats:
        """Durations of the polynomials, 1 where they are 0, for division."""
        return np.where(self.segments > 0.0, self.segments, 1.0)

    @cached_property
    def _pieces(self) -> Floats:
        """Coefficients by powers of the elapsed fraction of a polynomial, and of the remaining fraction, (2,
        m, 10, n).
        """
        turned = self.states * (-1.0) ** np.arange(ORDERS)[:, None]
        return np.stack(
            [
                hermite_by_share(self.segments, self.states[:-1], self.states[1:]),
                hermite_by_share(self.segments, turned[1:], turned[:-1]),
            ]
        )

    def _evaluated(self, times: Floats, orders: int) -> Any:
        """q and its derivatives, (orders, m, n)."""
        made = np.empty((orders, len(times), self.n))
        for first in range(0, len(times), BLOCK):
            rows = slice(first, first + BLOCK)
            self._fill(times[rows], made[:, rows])
        return made

    def _fill(self, times: Floats, made: Floats) -> None:
        """The first half of a polynomial is evaluated from its start and the second from its end."""
        k = piece_at(self.switches, times)
        since = times - self.switches[k]
        # The end of a polynomial is decided by its stored time, not by a sum of rounded durations.
        until = np.where(times == self.switches[k + 1], 0.0, self.segments[k] - since)
        late = (2.0 * since > self.segments[k]).astype(np.intp)
        rate = np.where(late, -1.0, 1.0) / self._lengths[k]
        x = np.where(late, until, since) / self._lengths[k]
        _horner(self._pieces[late, k], x[:, None], made)
        for order in range(1, len(made)):
            made[order] *= (factorial(order) * rate**order)[:, None]
        met = np.flatnonzero(x == 0.0)
        made[:, met] = np.moveaxis(self.states[k[met] + late[met], : len(made)], 1, 0)

    def _bounds(self, order: int) -> tuple[Floats, Floats]:
        """Minimum and maximum of a derivative in each polynomial, (m, n) each, exact."""
        size = (len(self.segments), self.n)
        begin, end = (_rates(pieces, order).reshape(-1, 2 * ORDERS - order) for pieces in self._pieces)
        rising = np.arange(1.0, begin.shape[1])
        x = roots_within(begin[:, 1:] * rising)
        early = values_within(begin, np.where(x > 0.5, np.nan, x))
        late = values_within(end, np.where(x > 0.5, 1.0 - x, np.nan)) * (-1.0) ** order
        inside = np.where(x > 0.5, late, early).reshape(*size, -1)
        inside = inside / self._lengths[:, None, None] ** order
        nodes = self.states[:, order]
        low, high = np.minimum(nodes[:-1], nodes[1:]), np.maximum(nodes[:-1], nodes[1:])
        return np.fmin.reduce(inside, axis=2, initial=np.inf, where=~np.isnan(inside)).clip(max=low), (
            np.fmax.reduce(inside, axis=2, initial=-np.inf, where=~np.isnan(inside)).clip(min=high)
        )


def _rates(pieces: Floats, order: int) -> Floats:
    """Coefficients of a derivative with respect to the fraction, (k, n, 10 - order)."""
    factors = np.array([perm(i, order) for i in range(order, 2 * ORDERS)], dtype=np.float64)
    return np.ascontiguousarray(np.moveaxis(pieces[:, order:], 1, 2)) * factors


def _horner(c: Floats, x: Floats, made: Floats) -> None:
    """Polynomials (m, 10, n) at x (m, 1), and their derivatives over factorials, into (orders, m, n)."""
    made[0], made[1:] = c[:, -1], 0.0
    for i in range(c.shape[1] - 2, -1, -1):
        for order in range(len(made) - 1, 0, -1):
            made[order] *= x
            made[order] += made[order - 1]
        made[0] *= x
        made[0] += c[:, i]
