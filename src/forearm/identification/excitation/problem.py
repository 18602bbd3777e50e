"""Excitation as a numerical optimisation problem: criterion and barrier with gradients, as functions of
coefficients.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from forearm.identification.excitation.criteria import CRITERIA
from forearm.identification.excitation.limits import ExcitationLimits
from forearm.identification.excitation.torque_columns import TorqueColumns
from forearm.identification.requests import ExcitationSearch
from forearm.spatial import Floats
from forearm.trajectories.series.basis import function_count, resting, series_functions
from forearm.trajectories.series.motion import SeriesMotion
from forearm.values import frozen

PER_HARMONIC = 40  # times per harmonic at which limits are evaluated
SMOOTH = 0.05  # of the largest velocity: width of the smoothed Coulomb friction in the search
States = tuple[Floats, Floats, Floats]


@frozen
class ExcitationProblem:
    """Coefficients x (n, f) in units of half a joint's range define a motion; the first of each joint is its
    configuration, unless `start` gives that.

    Attributes:
        columns: the torque columns.
        limits: limits of the motion.
        search: functions of the motion, and what is optimised.
        duration: of the motion, s.
        start: the configuration (n,) at both ends; None: part of x.
        noise: of torques (n,).
        scale: of the parameters (p,).
        samples: number of samples over which information is counted.
        earlier: scaled information of earlier motions (p, p).
    """

    columns: TorqueColumns
    limits: ExcitationLimits
    search: ExcitationSearch
    duration: float
    start: Floats | None
    noise: Floats
    scale: Floats
    samples: int
    earlier: Floats

    @cached_property
    def middle(self) -> Floats:
        """The middle of the ranges (n,)."""
        return 0.5 * (self.limits.lower + self.limits.upper)

    @cached_property
    def unit(self) -> Floats:
        """Half the ranges (n,)."""
        return 0.5 * (self.limits.upper - self.limits.lower)

    @cached_property
    def count(self) -> int:
        """Basis functions."""
        return function_count(self.search.basis, self.search.harmonics)

    @cached_property
    def at_rest(self) -> Floats:
        """Combinations of basis functions that are at rest at both ends."""
        return resting(self.search.basis, self.count)

    @cached_property
    def functions(self) -> tuple[Floats, Floats, Floats]:
        """Matrices that map x to values and two derivatives at all times: (m, f) each."""
        m = PER_HARMONIC * self.search.harmonics
        t = self.duration * (np.arange(m) + 0.5) / m
        made = [f @ self.at_rest for f in series_functions(self.search.basis, self.count, self.duration, t)]
        if self.start is None:
            first = (np.ones((m, 1)), np.zeros((m, 1)), np.zeros((m, 1)))
            made = [np.column_stack(pair) for pair in zip(first, made, strict=True)]
        return made[0], made[1], made[2]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of coefficients."""
        return len(self.unit), self.functions[0].shape[1]

    def states(self, x: Floats) -> States:
        """q, qd, qdd at all times, (m, n) each."""
        q, qd, qdd = (np.ascontiguousarray(f @ (x * self.unit[:, None]).T) for f in self.functions)
        return q + (self.middle if self.start is None else self.start), qd, qdd

    def motion(self, x: Floats) -> SeriesMotion:
        """The motion of these coefficients."""
        y = x * self.unit[:, None]
        start, y = (self.middle + y[:, 0], y[:, 1:]) if self.start is None else (self.start, y)
        return SeriesMotion(self.search.basis, self.duration, start, self.at_rest @ y.T)

    def scaled(self, x: Floats, factor: float) -> Floats:
        """Coefficients of the same motion with scaled amplitude about its configuration."""
        made = x * factor
        if self.start is None:
            made[:, 0] = x[:, 0]
        return made

    def worth(self, x: Floats) -> tuple[float, Floats]:
        """The criterion, smaller is better, and its gradient (n, f)."""
        q, qd, qdd = self.states(x)
        smooth = SMOOTH * self.limits.velocity
        W = self.columns.rows(q, qd, qdd, smooth)
        W *= self.scale / self.noise[:, None]
        A = W.reshape(-1, W.shape[-1])
        value, by_G = CRITERIA[self.search.criterion](A.T @ A / len(q) + self.earlier / self.samples)
        V = (A @ by_G).reshape(W.shape)
        V *= 2.0 / len(q) * self.scale / self.noise[:, None]
        return value, self.chained(self.columns.slopes(q, qd, qdd, V, smooth))

    def chained(self, by: States) -> Floats:
        """The gradient (n, f) by x from gradients by q, qd, qdd (m, n)."""
        made = sum(block.T @ f for block, f in zip(by, self.functions, strict=True))
        return made * self.unit[:, None]

    def barrier(self, x: Floats) -> float:
        """Mean over time of -log(distance) from every limit; infinite if one is exceeded."""
        total = 0.0
        for some in self.limits.bounded(*self.states(x)):
            for room, _ in some.rooms():
                if not (room > 0.0).all():
                    return np.inf
                total -= float(np.log(room).sum())
        return total / len(self.functions[0])

    def barrier_slopes(self, x: Floats) -> tuple[Floats, Floats]:
        """The gradient (n, f) of the barrier, and an approximate Hessian (n f, n f): second derivatives of
        torques and hand position are neglected.
        """
        n, f = self.shape
        m = len(self.functions[0])
        gradient, matrix = np.zeros((n, f)), np.zeros((n, f, n, f))
        for some in self.limits.bounded(*self.states(x), slopes=True):
            (up, by_up), (down, by_down) = some.rooms()
            above, below = -by_up / up, -by_down / down
            second = np.square(above) + np.square(below)
            if some.order is not None:
                F = self.functions[some.order]
                gradient += ((above + below).T @ F) * self.unit[:, None]
                for i in range(n):
                    matrix[i, :, i] += self.unit[i] ** 2 * (F.T * second[:, i]) @ F
                continue
            assert some.pulled is not None
            gradient += self.chained(some.pulled(above, below))
            J = np.zeros((*some.above.shape, n, f))
            for block, F in zip(some.slopes, self.functions, strict=True):
                if block is not None:
                    J += (block * self.unit)[..., None] * F[:, None, None, :]
            rows = J.reshape(-1, n * f)
            matrix += ((rows.T * second.ravel()) @ rows).reshape(n, f, n, f)
        return gradient / m, matrix.reshape(n * f, n * f) / m

    def largest_share(self, x: Floats) -> float:
        """The largest use of any limit; above 1 it is exceeded."""
        return max(float(some.shares().max()) for some in self.limits.bounded(*self.states(x)))
