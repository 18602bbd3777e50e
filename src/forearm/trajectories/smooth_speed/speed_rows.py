"""Limits along a path as linear inequalities in the numbers b of its intervals, linearised at an iterate."""

from __future__ import annotations

import numpy as np

from forearm.spatial import Flags, Floats
from forearm.trajectories.smooth_speed.smooth_limits import HalfPlanes, SmoothLimits, between
from forearm.trajectories.smooth_speed.speed_elements import SpeedElements, SpeedShape

TINY = 1e-150
LEAST = 1e-6  # of the largest speed or acceleration: minimum scale of a row
FREE = np.array([0.0, 0.0, 0.0, -1.0])  # a row that is always satisfied


def speed_rows(
    limits: SmoothLimits, shape: SpeedShape, elements: SpeedElements, x: Floats, u: Floats
) -> Floats:
    """The rows, (4, R, N): coefficients of b around each interval and a constant; sums must not exceed 0.

    Each is scaled so that the constant is about -1. Limits apply at both ends of an interval and in the
    middle of its time.

    Args:
        limits: the limits.
        shape, elements: from the iterate.
        x, u: the iterate at the ends of the intervals, (N, 2).
    """
    made = [_node_bounds(limits.top, elements, x), _inner_bounds(limits.top, shape, elements.fixed)]
    if np.isfinite(limits.path_jerk):
        made.append(_path_jerk(limits.path_jerk, shape, elements))
    share = shape.way(0.5) / limits.lengths
    if np.isfinite(limits.jerk).any():
        made.append(_joint_jerks(limits, share, shape, elements))
    made.append(_half_planes(limits.rows, share, elements, x, u))
    return np.concatenate(made, axis=1)


def row_name(limits: SmoothLimits, row: int) -> str:
    """The limit of a row of `speed_rows` in words."""
    names = ["the speed", "a speed of at least 0", "the speed"]
    if np.isfinite(limits.path_jerk):
        names += ["the path jerk"] * 2
    if np.isfinite(limits.jerk).any():
        names += [f"the jerk of joint {k + 1}" for k in range(limits.jerk.shape[1])] * 6
    return names[row] if row < len(names) else "a limit given by rows"


def _half_planes(rows: HalfPlanes, share: Floats, elements: SpeedElements, x: Floats, u: Floats) -> Floats:
    """Limits that are linear in x and u, at the iterate."""
    found = rows(np.append(x[:, 0], x[-1, 1]), u)
    gu, gx, h = (np.ascontiguousarray(part.transpose(1, 2, 0)) for part in found)
    # A row may be 0 = 0 at the iterate and still be meaningful.
    sizes = [np.maximum(np.abs(value.T[:, None]), LEAST * np.abs(value).max()) for value in (u, x)]
    scale = np.abs(gu) * sizes[0] + np.abs(gx) * sizes[1] + np.abs(h)
    bounded = np.isfinite(h) & (scale > 0)
    scale = np.where(bounded, 1 / np.where(bounded, scale, 1.0), 0.0)
    scaled = (gu * scale, gx * scale, np.where(bounded, h, 0.0) * scale)
    gu, gx, h = (_with_middle(ends, between(ends, share)) for ends in scaled)
    # Friction may be steep in x at rest: its linearisation is not valid in the middle.
    moves = (x > 0).all(axis=1)
    bounded = np.stack([bounded[0], bounded.all(axis=0) & moves, bounded[1]])
    made = elements.u[:, :, None] * gu + elements.x[:, :, None] * gx
    made[3] -= h
    made = np.where(bounded, made, FREE.reshape(4, 1, 1, 1))
    return made.reshape(4, -1, made.shape[-1])


def _with_middle(ends: Floats, middle: Floats) -> Floats:
    """The values at both ends, (2, ..., N), and those between them."""
    return np.stack([ends[0], middle, ends[1]])


def _node_bounds(top: Floats, elements: SpeedElements, x: Floats) -> Floats:
    """0 <= x <= top, at the right end of each interval."""
    at = elements.x[:, 2]
    upper = at / np.where(np.isfinite(top[1:]), np.maximum(top[1:], TINY), np.inf)
    upper[3] -= 1.0
    lower = -at / np.maximum(x[:, 1], TINY)
    given = ~at[:3].any(axis=0)
    upper[:, given] = lower[:, given] = FREE[:, None]
    return np.stack([upper, lower], axis=1)


def _inner_bounds(top: Floats, shape: SpeedShape, fixed: Flags) -> Floats:
    """x <= top between the nodes: b is where the tangents at both ends meet, and x is not above them."""
    bounded = np.isfinite(top[:-1]) & np.isfinite(top[1:]) & ~fixed
    left, right = np.where(bounded, top[:-1], 1.0), np.where(bounded, top[1:], 1.0)
    made = np.zeros((4, 1, len(left)))
    made[1, 0] = bounded / np.maximum(left + (1 - shape.theta) * (right - left), TINY)
    made[3, 0] = -1.0
    return made


def _joint_jerks(limits: SmoothLimits, share: Floats, shape: SpeedShape, elements: SpeedElements) -> Floats:
    """Jerks of the joints, both signs: q''' x + 3 q'' u + q' w <= J / sqrt(x), with the right-hand side
    replaced by its tangent, and everything multiplied by the speed of the iterate.
    """
    v = np.stack([shape.v0, shape.speed(0.5), shape.v1])
    room = -0.5 * elements.x / np.maximum(v, TINY) ** 2
    room[3] += 1.5
    for i in (0, 2):
        still = v[i] == 0
        room[:, i, still] = room[:, 1, still]
    inverse = _with_middle(limits.inverse_jerk, between(limits.inverse_jerk, share))
    ends = (limits.ends1, limits.ends2, limits.ends3)
    q1, q2, q3 = map(_with_middle, ends, limits.path_within(share))
    slope = (elements.u[:, 2] - elements.u[:, 0]) / shape.times
    value = (
        elements.x[:, :, None] * (q3 * inverse * v[:, None])
        + elements.u[:, :, None] * (3 * q2 * inverse * v[:, None])
        + slope[:, None, None] * (q1 * inverse)
    )
    room = np.where(inverse > 0, room[:, :, None], -FREE.reshape(4, 1, 1, 1))
    made = np.stack([value - room, -value - room], axis=1)
    return made.reshape(4, -1, made.shape[-1])


def _path_jerk(bound: float, shape: SpeedShape, elements: SpeedElements) -> Floats:
    """The change of u over the duration of the interval, bounded by its tangent."""
    room = -0.25 * (elements.inner / elements.expected).sum(axis=1)
    room[3] += 1.5
    slope = (elements.u[:, 2] - elements.u[:, 0]) / (shape.times * bound)
    return np.stack([slope - room, -slope - room], axis=1)
