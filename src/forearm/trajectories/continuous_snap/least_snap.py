"""States at the points of a motion: those of minimum snap, with or without tension, and those that keep every
joint between its points.
"""

from __future__ import annotations

import numpy as np

from forearm.spatial import Flags, Floats
from forearm.trajectories.continuous_snap.motion import ORDERS
from forearm.trajectories.paths.banded import solve_symmetric
from forearm.trajectories.paths.splines import bending_form

LEAST = 4  # order of the derivative whose square is integrated
# of the mean velocity of a segment: up to this at both ends, a joint does not reverse within it
STEEPEST = 9.0 / 8.0


def least_snap_states(
    points: Floats, given: Floats, segments: Floats, tension: Floats | None = None
) -> Floats:
    """q and four derivatives at points (k + 1, n), (k + 1, 5, n), that minimise the integral of |qdddd|^2 +
    tension^6 |qd|^2.

    It is a quadratic form of the states at the points, coupling neighbours only. With tension, joints move at
    constant velocity except within about 1 / tension of the points.

    Args:
        points: joint coordinates (k + 1, n), approximate where they are open.
        given: q relative to these, qd, qdd, qddd, qdddd (k + 1, 5, n), NaN where open.
        segments: durations (k,), s.
        tension: of each segment (k,), 1/s; None: no tension.
    """
    K = snap_form(segments, tension)
    left, right = slice(0, ORDERS), slice(ORDERS, 2 * ORDERS)
    D = np.zeros((len(points), ORDERS, ORDERS))
    D[:-1] += K[:, left, left]
    D[1:] += K[:, right, right]
    U = K[:, left, right]
    rise = np.diff(points, axis=0)[:, None, :]  # only differences of points matter
    wanted = np.zeros(given.shape)
    wanted[:-1] -= K[:, left, ORDERS, None] * rise
    wanted[1:] -= K[:, right, ORDERS, None] * rise
    states = given.copy()
    patterns, group = np.unique(np.isnan(given).reshape(-1, given.shape[2]), axis=1, return_inverse=True)
    for i, pattern in enumerate(patterns.T):
        joints = np.flatnonzero(group == i)
        is_open = pattern.reshape(len(points), ORDERS)
        if is_open.any():
            states[..., joints] = _solved(D, U, wanted[..., joints], given[..., joints], is_open)
    states[:, 0] += points
    return states


def snap_form(segments: Floats, tension: Floats | None = None) -> Floats:
    """Quadratic forms of the integral over each segment, in the states at both ends, (k, 10, 10)."""
    form = bending_form(segments, LEAST, ORDERS)
    if tension is not None:
        form = form + (tension**6)[:, None, None] * bending_form(segments, 1, ORDERS)
    return form


def _solved(D: Floats, U: Floats, wanted: Floats, given: Floats, is_open: Flags) -> Floats:
    """States of joints that have the same open entries."""
    known = np.where(is_open[..., None], 0.0, given)
    rest = wanted - D @ known
    rest[:-1] -= U @ known[1:]
    rest[1:] -= np.swapaxes(U, 1, 2) @ known[:-1]
    rest = np.where(is_open[..., None], rest, 0.0)
    both = is_open[:, :, None] & is_open[:, None, :]
    # given entries are decoupled from the rest
    D = np.where(both, D, np.eye(ORDERS) * np.einsum("mii->mi", D)[:, :, None])
    U = np.where(is_open[:-1, :, None] & is_open[1:, None, :], U, 0.0)
    return np.where(is_open[..., None], solve_symmetric(D, U, rest), known)


def calm_states(points: Floats, given: Floats, segments: Floats) -> Floats:
    """States (k + 1, 5, n) with which no joint reverses between two points, unless given velocities force it.

    Beyond velocity, all open derivatives are 0. The polynomial of the velocity then lies between those at the
    points and 9 times the mean velocity minus 4 times both.
    """
    mean = np.diff(points, axis=0) / segments[:, None]
    before, after = mean[:-1], mean[1:]
    onward = before * after > 0.0
    total = np.where(onward, before + after, 1.0)
    slope = np.where(onward, 2.0 * before * after / total, 0.0)
    most = STEEPEST * np.minimum(np.abs(before), np.abs(after))
    states = np.zeros(given.shape)
    states[1:-1, 1] = np.clip(slope, -most, most)
    states = np.where(np.isnan(given), states, given)
    states[:, 0] += points
    return states
