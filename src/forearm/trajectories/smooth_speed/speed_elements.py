"""Speeds along a path in intervals of constant path jerk, as a linear function of one number per interval.

In an interval of length D and duration T, x = (ds/dt)^2 and u = d2s/dt2. The iterate defines the shape of the
motion: the elapsed share of time at each place. With that shape kept, a constant path jerk implies
    x1 - x0 = 2 D ((1 - theta) u0 + theta u1), theta = 1 - (mean of s over time) / D,
thus b = x0 + 2 D (1 - theta) u0 = x1 - 2 D theta u1 is the same from either end. The numbers b of all
intervals determine x and u at all nodes: no equality constraint is left. Next to rest theta is 3/4, in
uniform motion 1/2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forearm.spatial import Flags, Floats
from forearm.values import frozen

GAUSS = ((0.5 - np.sqrt(1 / 12), 0.5), (0.5 + np.sqrt(1 / 12), 0.5))  # points and weights, on [0, 1]


@dataclass(frozen=True)
class GivenNode:
    """A node with given speed: an end of the path or a stop.

    Attributes:
        x: squared path speed.
        before, after: path acceleration at the end of the interval before it and at the start of the one
            after it; None: free.
    """

    x: float
    before: float | None
    after: float | None


@frozen
class SpeedShape:
    """The shape of a motion in N intervals: at the share r of its time the path speed is v0 (1 - r)^2 + 2 v r
    (1 - r) + v1 r^2.

    Attributes:
        v0, v, v1: path speeds, (N,).
        times: durations of the intervals (N,), s.
        theta: (N,).
    """

    v0: Floats
    v: Floats
    v1: Floats
    times: Floats
    theta: Floats

    def speed(self, r: float) -> Floats:
        """The path speed at a share of the time, (N,)."""
        return self.v0 * (1 - r) ** 2 + 2 * self.v * r * (1 - r) + self.v1 * r**2

    def way(self, r: float) -> Floats:
        """Distance covered in the interval, (N,)."""
        k = 1 - r
        three = self.v0 * (3 * k * k + 3 * k * r + r * r) + self.v * r * (3 * k + r) + self.v1 * r * r
        return self.times * r * three / 3

    def lag(self, r: float) -> Floats:
        """The integral over the share of time up to r of the remaining distance, (N,)."""
        k = 1 - r
        twelve = (
            self.v0 * (6 * k * k + 8 * k * r + 3 * r * r) + self.v * r * (4 * k + 2 * r) + self.v1 * r * r
        )
        return r * self.way(r) - self.times * r * r * twelve / 12


def speed_shape(lengths: Floats, x: Floats, u: Floats) -> SpeedShape:
    """The motion of constant path jerk between given speeds, nearest to the accelerations at the ends.

    Its duration makes the motion of degree 5 with these speeds and accelerations one of degree 4, and of
    degree 3 if they are those of a constant jerk.

    Args:
        lengths: of the intervals, (N,).
        x, u: at the ends of each, (N, 2).
    """
    v0, v1 = np.sqrt(x).T
    both = v0 + v1
    root = np.sqrt(np.maximum(9 * both**2 - 12 * lengths * (u[:, 1] - u[:, 0]), 0.0))
    v = np.maximum((root - both) / 4, 0.0)
    total = both + v
    return SpeedShape(v0, v, v1, 3 * lengths / total, (v0 + 2 * v + 3 * v1) / (4 * total))


@frozen
class SpeedElements:
    """x and u in each interval as affine functions of b: coefficients of b of the previous, the present and
    the next interval, and a constant.

    Attributes:
        fixed: which b are given, (N,); they are in the constants.
        x, u: at the left end, in the middle of the time and at the right end, (4, 3, N).
        inner: x at the quadrature points, (4, G, N).
        weights: the duration is the sum of weights / sqrt(inner), (G, N).
        expected: `inner` of the motion that defined the shape, (G, N).
    """

    fixed: Flags
    x: Floats
    u: Floats
    inner: Floats
    weights: Floats
    expected: Floats


def speed_elements(lengths: Floats, shape: SpeedShape, nodes: dict[int, GivenNode]) -> SpeedElements:
    """The affine functions of a shape."""
    x, u, fixed = _ends(lengths, shape, nodes)
    speeds = np.stack([shape.speed(r) for r, _ in GAUSS])
    return SpeedElements(
        fixed,
        np.stack([x[:, 0], _x_within(shape, x, u, 0.5), x[:, 1]], axis=1),
        np.stack([u[:, 0], 0.5 * (u[:, 0] + u[:, 1]), u[:, 1]], axis=1),
        np.stack([_x_within(shape, x, u, r) for r, _ in GAUSS], axis=1),
        speeds * np.outer([weight for _, weight in GAUSS], shape.times),
        speeds**2,
    )


def _ends(lengths: Floats, shape: SpeedShape, nodes: dict[int, GivenNode]) -> tuple[Floats, Floats, Flags]:
    """x and u at the ends of the intervals, (4, 2, N), and which b are given."""
    N = len(lengths)
    left, right = 2 * lengths * (1 - shape.theta), 2 * lengths * shape.theta
    x, u = np.zeros((4, 2, N)), np.zeros((4, 2, N))
    both = right[:-1] + left[1:]
    x[0, 0, 1:], x[1, 0, 1:] = left[1:] / both, right[:-1] / both
    u[0, 0, 1:], u[1, 0, 1:] = -1 / both, 1 / both
    x[1:3, 1, :-1], u[1:3, 1, :-1] = x[:2, 0, 1:], u[:2, 0, 1:]
    fixed, given = np.zeros(N, bool), np.zeros(N)
    for k, node in nodes.items():
        if k < N:
            x[:, 0, k], u[:, 0, k] = (0, 0, 0, node.x), (0, 1 / left[k], 0, -node.x / left[k])
            if node.after is not None:
                fixed[k], given[k] = True, node.x + left[k] * node.after
        if k > 0:
            x[:, 1, k - 1] = (0, 0, 0, node.x)
            u[:, 1, k - 1] = (0, -1 / right[k - 1], 0, node.x / right[k - 1])
            if node.before is not None:
                fixed[k - 1], given[k - 1] = True, node.x - right[k - 1] * node.before
    values, is_free = windows(given), windows(np.where(fixed, 0.0, 1.0))
    for array in (x, u):
        array[3] += np.einsum("ken,kn->en", array[:3], values)
        array[:3] *= is_free[:, None]
    return x, u, fixed


def _x_within(shape: SpeedShape, x: Floats, u: Floats, r: float) -> Floats:
    """x at a share of the time of each interval, (4, N)."""
    return x[:, 0] + 2 * shape.way(r) * u[:, 0] + 2 * shape.lag(r) * (u[:, 1] - u[:, 0])


def values_at(functions: Floats, b: Floats) -> Floats:
    """Affine functions (4, K, N) at b, (K, N)."""
    values: Floats = np.einsum("ken,kn->en", functions[:3], windows(b)) + functions[3]
    return values


def windows(b: Floats) -> Floats:
    """b of the previous, the present and the next interval, (3, N); 0 beyond the ends."""
    around = np.zeros((3, len(b)))
    around[0, 1:], around[1], around[2, :-1] = b[:-1], b, b[1:]
    return around


def spread(values: Floats) -> Floats:
    """The transpose of `windows`: (3, N) to (N,)."""
    total: Floats = values[1].copy()
    total[:-1] += values[0, 1:]
    total[1:] += values[2, :-1]
    return total
