"""A speed profile along a path within limits of jerk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forearm.progress import Progress
from forearm.trajectories.shortest_time.interior_point import shortest
from forearm.trajectories.shortest_time.speed_elements import GivenNode, speed_elements, speed_shape, windows
from forearm.trajectories.shortest_time.speed_rows import HalfPlanes, PathLimits, speed_rows

Array = NDArray[np.float64]
Boundary = tuple[tuple[float, float | None], tuple[float, float | None]]
MAX_ITERATIONS = 12


@dataclass(frozen=True, eq=False)
class SmoothProfile:
    """A motion along a path in N intervals."""

    x: Array
    u: Array
    times: Array
    coefficients: Array
    iterations: int
    gap: float


def smooth_profile(
    s: Array,
    ends1: Array,
    ends2: Array,
    ends3: Array,
    jerk: Array,
    path_jerk: float,
    top: Array,
    rows: HalfPlanes,
    start: Array,
    boundary: Boundary,
    stops: Sequence[int] = (),
    report: Progress | None = None,
) -> SmoothProfile:
    N = len(s) - 1
    lengths = np.diff(s)
    first, second, third = (np.ascontiguousarray(e.transpose(1, 2, 0)) for e in (ends1, ends2, ends3))
    limit = np.broadcast_to(jerk, ends1.shape).transpose(1, 2, 0)
    limits = PathLimits(first, second, third, limit, path_jerk, top, rows)
    nodes = {0: GivenNode(boundary[0][0], None, boundary[0][1]), N: GivenNode(boundary[1][0], boundary[1][1], None)}
    nodes |= {k: GivenNode(0.0, 0.0, 0.0) for k in stops}
    x, u = _reference(s, limits, start, nodes)
    multipliers = None
    before = np.inf
    for iteration in range(1, MAX_ITERATIONS + 1):
        shape = speed_shape(lengths, x, u)
        elements = speed_elements(lengths, shape, nodes)
        b = 0.5 * (x[:, 0] + 2 * lengths * (1 - shape.theta) * u[:, 0] + x[:, 1] - 2 * lengths * shape.theta * u[:, 1])
        b = np.where(elements.fixed, 0.0, b)
        made = speed_rows(limits, shape, elements, x, u)
        found = shortest(elements, made, b, multipliers, 1e-5 )
        around = windows(found.b)
        x = (np.einsum("ken,kn->en", elements.x[:3], around) + elements.x[3]).T
        u = (np.einsum("ken,kn->en", elements.u[:3], around) + elements.u[3]).T
        x = np.maximum(x, 0)
        multipliers = found.multipliers
        shape = speed_shape(lengths, x, u)
        duration = shape.times.sum()
        if report is not None:
            report(iteration, MAX_ITERATIONS, f"{duration:.6g} s inner {found.iterations} excess {found.excess:.1e}")
        if abs(before - duration) < 1e-5 * duration:
            break
        before = duration
    times = np.append(0.0, np.cumsum(shape.times))
    return SmoothProfile(
        np.append(x[:, 0], x[-1, 1]), np.append(u[:, 0], u[-1, 1]), times,
        _coefficients(s[:-1], lengths, shape.times, np.sqrt(x), u), iteration, found.gap
    )


def _reference(s: Array, limits: PathLimits, start: Array, nodes: dict[int, GivenNode]) -> tuple[Array, Array]:
    """A first guess."""
    with np.errstate(divide="ignore"):
        j = np.minimum(limits.path_jerk, (limits.jerk / np.abs(limits.ends1)).min(axis=(0, 1)))
    x = np.minimum(start, limits.top)
    node_jerk = np.append(j[0], np.append(np.minimum(j[1:], j[:-1]), j[-1]))
    for k, node in nodes.items():
        if node.x == 0:
            x = np.minimum(x, 6 ** (4 / 3) / 4 * (node_jerk * (s - s[k]) ** 2) ** (2 / 3) if True else x)
        x[k] = node.x
    x = np.where(x > 0, x, 0)
    u = np.gradient(x, s) / 2
    for k, node in nodes.items():
        u[k] = 0
    return np.stack([x[:-1], x[1:]], axis=1), np.stack([u[:-1], u[1:]], axis=1)


def _coefficients(s: Array, D: Array, T: Array, v: Array, u: Array) -> Array:
    """Quintics."""
    v0, v1, u0, u1 = v[:, 0], v[:, 1], u[:, 0], u[:, 1]
    c3 = (20 * D - (8 * v1 + 12 * v0) * T - (3 * u0 - u1) * T**2) / (2 * T**3)
    c4 = (-30 * D + (14 * v1 + 16 * v0) * T + (3 * u0 - 2 * u1) * T**2) / (2 * T**4)
    c5 = (12 * D - 6 * (v0 + v1) * T + (u1 - u0) * T**2) / (2 * T**5)
    return np.stack([s, v0, u0 / 2, c3, c4, c5], axis=1)
