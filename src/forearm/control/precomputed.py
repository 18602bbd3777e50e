"""Torques from pairs D, E computed along one motion in advance, F = D qdd + E with the nearest pair. Waters
IV, Paul.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forearm.arm.arm import Arm
from forearm.control.bookkeeping import (
    Spending,
    check_motion,
    corrected,
    in_spans,
    pull_operations,
    states_along,
    times_along,
)
from forearm.control.controller import Pair, Sample
from forearm.control.gains import BANDWIDTH
from forearm.control.reference import Motion
from forearm.kernels import Kernel
from forearm.kernels.kept import kernel_of
from forearm.spatial import Floats
from forearm.values import check_number


@dataclass(frozen=True, eq=False)
class Pairs:
    """Paul's pairs at m points of a motion: times (m,), q, qd (m, n), D (m, n, n), E (m, n), and the
    operations spent on them.
    """

    t: Floats
    q: Floats
    qd: Floats
    D: Floats
    E: Floats
    operations: int

    @property
    def numbers(self) -> int:
        """Stored numbers: n^2 + n per pair, Waters' 42 for six joints, and 2n for its position."""
        return self.D.size + self.E.size + self.q.size + self.qd.size


def pairs_at(kernel: Kernel, q: Floats, qd: Floats, qdd: Floats) -> Pair:
    """D = M(q) and E = F(q, qd, qdd) - D qdd, drives and friction included, at states (m, n).

    E is the bias, independent of acceleration; with load-dependent friction only approximately, near this
    qdd.
    """
    D = kernel.inertia_matrix(q)
    E: Floats = kernel.inverse_dynamics(q, qd, qdd) - np.einsum("mij,mj->mi", D, qdd)
    return D, E


def pairs_along(arm: Arm, motion: Motion, interval: float) -> Pairs:
    """Pairs along a motion, evenly spaced at most `interval` seconds apart."""
    t, kernel = times_along(check_motion(arm, motion), interval, "interval"), kernel_of(arm)
    q, qd, qdd = states_along(arm, motion, t)
    D, E = pairs_at(kernel, q, qd, qdd)
    each = kernel.counts["inertia_matrix"].operations + kernel.counts["bias"].operations
    return Pairs(t, q, qd, D, E, len(t) * each)


class Precomputed:
    """F = D (qdd_wanted + w^2 (q_wanted - q) + 2 w (qd_wanted - qd)) + E with the pair nearest to the
    measured q, qd.

    Errors are corrected through the accelerations. Distances are scaled by the spans of the motion, and the
    search walks from the last pair to its neighbours while they are nearer. The cost of computing the pairs
    is `pairs.operations`, not included in `operations`. Waters IV, Paul.

    Args:
        arm: the controller's model of the arm.
        motion: the reference motion.
        interval: time between pairs, s, possibly reduced slightly.
        bandwidth: w, rad/s; None: errors are not corrected.
    """

    name = "precomputed"

    def __init__(
        self, arm: Arm, motion: Motion, *, interval: float = 0.02, bandwidth: float | None = BANDWIDTH
    ) -> None:
        self.pairs = pairs_along(arm, motion, interval)
        self._w = 0.0 if bandwidth is None else check_number(bandwidth, "bandwidth", above=0.0)
        states = np.concatenate([self.pairs.q, self.pairs.qd], axis=1)
        self._scale = in_spans(states)
        self._scaled = states * self._scale
        self.reset()

    @property
    def operations(self) -> float:
        """Mean operations per sample since the start of the motion."""
        return self._spent.average

    def reset(self) -> None:
        """Return to the first pair."""
        self._spent, self._at = Spending(), 0

    def command(self, sample: Sample) -> Floats:
        """Torques from the nearest pair."""
        n = len(sample.q)
        self._at, looked_at = walked(
            self._scaled, np.concatenate([sample.q, sample.qd]) * self._scale, self._at
        )
        self._spent.note(2 * n + looked_at * 6 * n + (pull_operations() * n if self._w else 0) + 2 * n * n)
        force: Floats = self.pairs.D[self._at] @ corrected(sample, self._w) + self.pairs.E[self._at]
        return force


def walked(places: Floats, x: Floats, start: int) -> tuple[int, int]:
    """The point (m, p) nearest to x (p,) found by walking to a neighbour while it is nearer, and the number
    of points visited.
    """

    def distance(k: int) -> float:
        away = places[k] - x
        return float(away @ away)

    at, least, looked_at = start, distance(start), 1
    for way in (1, -1):
        while 0 <= at + way < len(places):
            looked_at += 1
            there = distance(at + way)
            if not there < least:
                break
            at, least = at + way, there
    return at, looked_at
