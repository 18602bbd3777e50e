"""States at the points of a motion: those with the least snap, under a tension or not, and those that keep
every joint between its points.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.trajectories.continuous_snap.motion import ORDERS
from forearm.trajectories.paths.banded import solve_symmetric
from forearm.trajectories.paths.splines import bending_form

Array = NDArray[np.float64]
LEAST = 4  # the derivative whose square is integrated
STEEPEST = 9.0 / 8.0  # of the mean velocity of a segment: up to it, at both ends, no joint turns round in it


def least_snap_states(points: Array, given: Array, segments: Array, tension: Array | None = None) -> Array:
    """q and four derivatives at points (k + 1, n), (k + 1, 5, n), with which the integral of |qdddd|^2 +
    tension^6 |qd|^2 is least.

    It is a quadratic form of the states at the points, which couples neighbours only. Under a tension joints
    go at even velocities but for a time of about 1 / tension beside points.

    Args:
        points: joint coordinates (k + 1, n), about where those lie that are open.
        given: q less these, qd, qdd, qddd, qdddd (k + 1, 5, n), NaN where open.
        segments: durations (k,), s.
        tension: of each segment (k,), 1/s; None: none.
    """
    K = snap_form(segments, tension)
    left, right = slice(0, ORDERS), slice(ORDERS, 2 * ORDERS)
    D = np.zeros((len(points), ORDERS, ORDERS))
    D[:-1] += K[:, left, left]
    D[1:] += K[:, right, right]
    U = K[:, left, right]
    rise = np.diff(points, axis=0)[:, None, :]  # only differences of points count
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


def snap_form(segments: Array, tension: Array | None = None) -> Array:
    """The quadratic forms of the integral over each segment, of the states at both its ends, (k, 10, 10)."""
    form = bending_form(segments, LEAST, ORDERS)
    if tension is not None:
        form = form + (tension**6)[:, None, None] * bending_form(segments, 1, ORDERS)
    return form


def _solved(D: Array, U: Array, wanted: Array, given: Array, is_open: NDArray[np.bool_]) -> Array:
    """The states of joints of which the same is open."""
    known = np.where(is_open[..., None], 0.0, given)
    rest = wanted - D @ known
    rest[:-1] -= U @ known[1:]
    rest[1:] -= np.swapaxes(U, 1, 2) @ known[:-1]
    rest = np.where(is_open[..., None], rest, 0.0)
    both = is_open[:, :, None] & is_open[:, None, :]
    # what is given stands for itself, apart from the rest
    D = np.where(both, D, np.eye(ORDERS) * np.einsum("mii->mi", D)[:, :, None])
    U = np.where(is_open[:-1, :, None] & is_open[1:, None, :], U, 0.0)
    return np.where(is_open[..., None], solve_symmetric(D, U, rest), known)


def calm_states(points: Array, given: Array, segments: Array) -> Array:
    """States likewise, (k + 1, 5, n), with which no joint turns round between two points, where no velocity
    given makes it.

    Beyond the velocity all that is open is 0. The velocity's own polynomial then lies between those at the
    points and 9 times the mean velocity less 4 times both.
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
