"""Limits of the motion along a path, at the ends of its intervals and between them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from forearm.spatial import Floats
from forearm.trajectories.smooth_speed.speed_elements import SpeedShape
from forearm.values import frozen

HalfPlanes = Callable[[Floats, Floats], tuple[Floats, Floats, Floats]]
BETWEEN = np.arange(1, 10) / 10  # fractions of an interval's time at which jerks are checked


@frozen
class SmoothLimits:
    """Limits of the motion along a path of N intervals.

    Attributes:
        ends1, ends2, ends3: q', q'', q''' at the left and right end of each interval, (2, n, N) each.
        lengths: of the intervals, (N,).
        jerk: of the joints, (2, n, N); inf: unlimited.
        path_jerk: d3s/dt3; inf: unlimited.
        top: largest x at the nodes, (N + 1,); inf: unlimited.
        rows: half-planes gu u + gx x <= h, (N, 2, R) each, of x at the nodes and u at the ends.
    """

    ends1: Floats
    ends2: Floats
    ends3: Floats
    lengths: Floats
    jerk: Floats
    path_jerk: float
    top: Floats
    rows: HalfPlanes

    @property
    def inverse_jerk(self) -> Floats:
        """1 / jerk, (2, n, N)."""
        return np.where(np.isfinite(self.jerk), 1 / self.jerk, 0.0)

    def path_within(self, share: Floats) -> tuple[Floats, Floats, Floats]:
        """q', q'' and q''' at a fraction of each interval, (n, N) each: q' is the polynomial of degree 5 with
        the values at the ends.
        """
        D = self.lengths
        f, f1, f2 = self.ends1, D * self.ends2, D**2 * self.ends3
        d = f[1] - f[0] - f1[0] - f2[0] / 2
        e = f1[1] - f1[0] - f2[0]
        g = (f2[1] - f2[0]) / 2
        c3, c4, c5 = 10 * d - 4 * e + g, -15 * d + 7 * e - 2 * g, 6 * d - 3 * e + g
        r = share
        value = f[0] + r * (f1[0] + r * (f2[0] / 2 + r * (c3 + r * (c4 + r * c5))))
        slope = f1[0] + r * (f2[0] + r * (3 * c3 + r * (4 * c4 + r * 5 * c5)))
        bend = f2[0] + r * (6 * c3 + r * (12 * c4 + r * 20 * c5))
        return value, slope / D, bend / D**2

    def jerks_within(self, shape: SpeedShape, u: Floats) -> Floats:
        """The largest jerk of each joint between the ends of each interval, over its limit, (n, N).

        Args:
            shape: of the motion.
            u: path accelerations at the ends, (N, 2).
        """
        largest = np.zeros(self.ends1.shape[1:])
        change = u[:, 1] - u[:, 0]
        inverse = self.inverse_jerk
        for r in BETWEEN:
            share, v = shape.way(r) / self.lengths, shape.speed(r)
            q1, q2, q3 = self.path_within(share)
            jerk = q3 * v**3 + 3 * q2 * (v * (u[:, 0] + r * change)) + q1 * (change / shape.times)
            largest = np.maximum(largest, np.abs(jerk) * between(inverse, share))
        return largest


def between(ends: Floats, share: Floats) -> Floats:
    """Linear interpolation between values at both ends of intervals, (2, ..., N), at a fraction of each."""
    value: Floats = ends[0] + share * (ends[1] - ends[0])
    return value
