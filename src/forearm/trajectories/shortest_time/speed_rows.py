"""Limits along a path as linear inequalities in the numbers b of its intervals, around an iterate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forearm.trajectories.shortest_time.speed_elements import SpeedElements, SpeedShape

Array = NDArray[np.float64]
HalfPlanes = Callable[[Array, Array], tuple[Array, Array, Array]]
TINY = 1e-150
FREE = np.array([0.0, 0.0, 0.0, -1.0])  # a row that always holds


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


def speed_rows(
    limits: PathLimits, lengths: Array, shape: SpeedShape, elements: SpeedElements, x: Array, u: Array
) -> Array:
    """Rows (4, R, N): coefficients of b around each interval and a constant, whose sum must not exceed 0.

    Each is scaled so that the constant is about -1. Limits hold at both ends of an interval and in the middle
    of its time.

    Args:
        limits: the limits.
        lengths: of the intervals, (N,).
        shape, elements: what the iterate gives.
        x, u: the iterate at the ends of the intervals, (N, 2).
    """
    made = [_node_bounds(limits.top, elements, x), _inner_bounds(limits.top, shape, elements.fixed)]
    if np.isfinite(limits.path_jerk):
        made.append(_path_jerk(limits.path_jerk, shape, elements))
    share = shape.way(0.5) / lengths
    if np.isfinite(limits.jerk).any():
        made.append(_joint_jerks(limits, lengths, share, shape, elements))
    made.append(_half_planes(limits.rows, share, elements, x, u))
    return np.concatenate(made, axis=1)


def row_name(limits: PathLimits, row: int) -> str:
    """What a row of `speed_rows` limits, in words."""
    names = ["the speed", "a speed of at least 0", "the speed"]
    if np.isfinite(limits.path_jerk):
        names += ["the path jerk"] * 2
    if np.isfinite(limits.jerk).any():
        names += [f"the jerk of joint {k + 1}" for k in range(limits.jerk.shape[1])] * 6
    return names[row] if row < len(names) else "a limit given by rows"


def _half_planes(rows: HalfPlanes, share: Array, elements: SpeedElements, x: Array, u: Array) -> Array:
    """The limits that are linear in x and u where the iterate is."""
    gu, gx, h = (np.asarray(a, float).transpose(1, 2, 0) for a in rows(np.append(x[:, 0], x[-1, 1]), u))
    scale = np.abs(gu * u.T[:, None]) + np.abs(gx * x.T[:, None]) + np.abs(h)
    bounded = np.isfinite(h) & (scale > 0)
    scale = np.where(bounded, 1 / np.where(bounded, scale, 1.0), 0.0)
    gu, gx, h = (
        _with_middle(a * scale, share) for a in (gu, gx, np.where(bounded, h, 0.0))
    )
    bounded = np.stack([bounded[0], bounded.all(axis=0), bounded[1]])
    made = elements.u[:, :, None] * gu + elements.x[:, :, None] * gx
    made[3] -= h
    made = np.where(bounded, made, FREE.reshape(4, 1, 1, 1))
    return made.reshape(4, -1, made.shape[-1])


def _with_middle(ends: Array, share: Array) -> Array:
    """Values (2, ..., N) at the ends, with what is between them at a share of the way."""
    return np.stack([ends[0], ends[0] + share * (ends[1] - ends[0]), ends[1]])


def _hermite(ends: Array, slopes: Array, lengths: Array, share: Array) -> Array:
    """The same by the cubic that has given slopes at the ends."""
    made = _with_middle(ends, share)
    k = 1 - share
    chord = ends[1] - ends[0]
    made[1] += share * k * (k * (lengths * slopes[0] - chord) - share * (lengths * slopes[1] - chord))
    return made


def _node_bounds(top: Array, elements: SpeedElements, x: Array) -> Array:
    """0 <= x <= top, at the right end of each interval."""
    at = elements.x[:, 2]
    upper = at / np.where(np.isfinite(top[1:]), np.maximum(top[1:], TINY), np.inf)
    upper[3] -= 1.0
    lower = -at / np.maximum(x[:, 1], TINY)
    given = ~at[:3].any(axis=0)
    upper[:, given] = lower[:, given] = FREE[:, None]
    return np.stack([upper, lower], axis=1)


def _inner_bounds(top: Array, shape: SpeedShape, fixed: NDArray[np.bool_]) -> Array:
    """x <= top between the nodes: b is where the tangents at both ends meet, and x is not above them."""
    bounded = np.isfinite(top[:-1]) & np.isfinite(top[1:]) & ~fixed
    left, right = np.where(bounded, top[:-1], 1.0), np.where(bounded, top[1:], 1.0)
    made = np.zeros((4, 1, len(left)))
    made[1, 0] = bounded / np.maximum(left + (1 - shape.theta) * (right - left), TINY)
    made[3, 0] = -1.0
    return made


def _joint_jerks(
    limits: PathLimits, lengths: Array, share: Array, shape: SpeedShape, elements: SpeedElements
) -> Array:
    """Jerks of the joints, both signs: q''' x + 3 q'' u + q' w <= J / sqrt(x), where the tangent replaces what
    is on the right, and all is multiplied by the speed of the iterate.
    """
    v = np.stack([shape.v0, shape.speed(0.5), shape.v1])
    room = -0.5 * elements.x / np.maximum(v, TINY) ** 2
    room[3] += 1.5
    for i in (0, 2):
        still = v[i] == 0
        room[:, i, still] = room[:, 1, still]
    inverse = _with_middle(np.where(np.isfinite(limits.jerk), 1 / limits.jerk, 0.0), share)
    q1 = _hermite(limits.ends1, limits.ends2, lengths, share)
    q2 = _hermite(limits.ends2, limits.ends3, lengths, share)
    q3 = _with_middle(limits.ends3, share)
    slope = (elements.u[:, 2] - elements.u[:, 0]) / shape.times
    value = (
        elements.x[:, :, None] * (q3 * inverse * v[:, None])
        + elements.u[:, :, None] * (3 * q2 * inverse * v[:, None])
        + slope[:, None, None] * (q1 * inverse)
    )
    room = np.where(inverse > 0, room[:, :, None], -FREE.reshape(4, 1, 1, 1))
    made = np.stack([value - room, -value - room], axis=1)
    return made.reshape(4, -1, made.shape[-1])


def _path_jerk(bound: float, shape: SpeedShape, elements: SpeedElements) -> Array:
    """The change of u over the duration of the interval, whose tangent is below it."""
    room = -0.25 * (elements.inner / elements.expected).sum(axis=1)
    room[3] += 1.5
    slope = (elements.u[:, 2] - elements.u[:, 0]) / (shape.times * bound)
    return np.stack([slope - room, -slope - room], axis=1)
