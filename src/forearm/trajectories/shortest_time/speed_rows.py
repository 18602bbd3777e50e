"""Limits along a path as linear inequalities in the numbers b of its intervals, around an iterate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forearm.trajectories.shortest_time.speed_elements import SpeedElements, SpeedShape

Array = NDArray[np.float64]
HalfPlanes = Callable[[Array, Array], tuple[Array, Array, Array]]
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class PathLimits:
    """What bounds the motion along a path of N intervals.

    Attributes:
        ends1, ends2, ends3: q', q'', q''' at the ends of each interval, (3 arrays (2, n, N)).
        jerk: of the joints, (2, n, N); inf: none.
        path_jerk: d3s/dt3.
        top: largest x at the nodes, (N + 1,).
        rows: half-planes gu u + gx x <= h, (N, 2, R) each, of x at the nodes and u at the ends.
    """

    ends1: Array
    ends2: Array
    ends3: Array
    jerk: Array
    path_jerk: float
    top: Array
    rows: HalfPlanes


def speed_rows(limits: PathLimits, shape: SpeedShape, elements: SpeedElements, x: Array, u: Array) -> Array:
    """Rows (4, R, N): coefficients of b around each interval and a constant, whose sum must not exceed 0.

    Each is scaled so that the constant is about -1.

    Args:
        limits: the limits.
        shape, elements: what the iterate gives.
        x, u: the iterate at the ends of the intervals, (N, 2).
    """
    made = [_node_bounds(limits.top, elements, x), _inner_bounds(limits.top, shape, elements.fixed)]
    if np.isfinite(limits.path_jerk):
        made.append(_path_jerk(limits.path_jerk, shape, elements))
    if np.isfinite(limits.jerk).any():
        made.append(_joint_jerks(limits, shape, elements))
    made.append(_half_planes(limits.rows, elements, x, u))
    return np.concatenate(made, axis=1)


def row_name(limits: PathLimits, row: int) -> str:
    """What a row of `speed_rows` limits, in words."""
    names = ["the speed", "a speed of at least 0", "the speed"]
    if np.isfinite(limits.path_jerk):
        names += ["the path jerk"] * 2
    if np.isfinite(limits.jerk).any():
        names += [f"the jerk of joint {k + 1}" for k in range(limits.jerk.shape[1])] * 4
    return names[row] if row < len(names) else "a limit given by rows"


def _half_planes(rows: HalfPlanes, elements: SpeedElements, x: Array, u: Array) -> Array:
    """The limits that are linear in x and u where the iterate is."""
    gu, gx, h = (np.asarray(a, float).transpose(1, 2, 0) for a in rows(np.append(x[:, 0], x[-1, 1]), u))
    scale = np.abs(gu * u.T[:, None]) + np.abs(gx * x.T[:, None]) + np.abs(h)
    bounded = np.isfinite(h) & (scale > 0)
    scale = np.where(bounded, 1 / np.where(bounded, scale, 1.0), 0.0)
    made = elements.u[:, :, None] * (gu * scale) + elements.x[:, :, None] * (gx * scale)
    made[3] -= np.where(bounded, np.where(bounded, h, 0.0) * scale, 1.0)
    return made.reshape(4, -1, made.shape[-1])


def _node_bounds(top: Array, elements: SpeedElements, x: Array) -> Array:
    """0 <= x <= top, at the right end of each interval."""
    at = elements.x[:, 1]
    upper = at / np.where(np.isfinite(top[1:]), np.maximum(top[1:], TINY), np.inf)
    upper[3] -= 1.0
    lower = -at / np.maximum(x[:, 1], TINY)
    given = ~at[:3].any(axis=0)
    upper[:, given] = lower[:, given] = np.array([0, 0, 0, -1.0])[:, None]
    return np.stack([upper, lower], axis=1)


def _inner_bounds(top: Array, shape: SpeedShape, fixed: NDArray[np.bool_]) -> Array:
    """x <= top between the nodes: b is where the tangents at both ends meet, and x is not above them."""
    between = top[:-1] + (1 - shape.theta) * (top[1:] - top[:-1])
    bound = np.isfinite(between) & ~fixed
    made = np.zeros((4, 1, len(between)))
    made[1, 0], made[3, 0] = np.where(bound, 1 / np.where(bound, np.maximum(between, TINY), 1.0), 0.0), -1.0
    return made


def _joint_jerks(limits: PathLimits, shape: SpeedShape, elements: SpeedElements) -> Array:
    """Jerks of the joints at both ends, both signs: q''' x + 3 q'' u + q' w <= J / sqrt(x), where the tangent
    replaces what is on the right.
    """
    v = np.sqrt(shape.x.T)
    room = np.stack([_tangent(shape.x[:, i], elements.x[:, i]) for i in (0, 1)], axis=1)
    for i in (0, 1):
        still = shape.x[:, i] == 0
        room[:, i, still] = room[:, 1 - i, still]
    inverse = np.where(np.isfinite(limits.jerk), 1 / limits.jerk, 0.0)
    slope = (elements.u[:, 1] - elements.u[:, 0]) / shape.times
    value = (
        elements.x[:, :, None] * (limits.ends3 * inverse * v[:, None])
        + elements.u[:, :, None] * (3 * limits.ends2 * inverse * v[:, None])
        + slope[:, None, None] * (limits.ends1 * inverse)
    )
    free = np.array([0, 0, 0, 1.0]).reshape(4, 1, 1, 1)
    room = np.where(inverse > 0, room[:, :, None], free)
    return np.stack([value - room, -value - room]).transpose(1, 0, 2, 3, 4).reshape(4, -1, value.shape[-1])


def _tangent(x: Array, row: Array) -> Array:
    """The tangent of sqrt(x_iterate / x), 1.5 - x / (2 x_iterate), as a row."""
    room = -row / np.maximum(2 * x, TINY)
    room[3] += 1.5
    return room


def _path_jerk(bound: float, shape: SpeedShape, elements: SpeedElements) -> Array:
    """The change of u over the duration of the interval, whose tangent is below it."""
    room = -0.25 * (elements.inner / elements.expected).sum(axis=1)
    room[3] += 1.5
    slope = (elements.u[:, 1] - elements.u[:, 0]) / (shape.times * bound)
    return np.stack([slope - room, -slope - room], axis=1)
