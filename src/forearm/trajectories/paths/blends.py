"""Straight lines with rounded corners."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from forearm.spatial import Floats, Indices
from forearm.trajectories.paths.joint_path import CORNER, JointPath
from forearm.trajectories.paths.splines import checked_points, distinct, spline
from forearm.trajectories.sampling import chord_lengths, from_zero
from forearm.values import check_number

SHORTEST = 1e-12  # of the length: minimum length of a piece


def blended(points: ArrayLike, tolerance: float, name: str = "blended") -> JointPath:
    """Straight lines between points, with corners rounded so that q'' is continuous.

    From d before a corner to d after it q' turns from one line's direction u to the other's, v: q' = u + (v -
    u) f(x), f = 3 x^2 - 2 x^3, x from 0 to 1 over a length of 2 d. Its q'' is 0 at both ends, and in the
    middle it passes the corner at the distance 3/16 d |v - u|, the largest between path and polygon. A motion
    along it does not have to stop.

    Args:
        points: joint coordinates (m, n), rad or m.
        tolerance: distance at which corners are passed, rad or m; less if a segment is too short, since a
            blend takes at most half of it. 0: corners stay, and a motion stops there.
        name: of the path, for messages.
    """
    given = checked_points(points, "points")
    tolerance = check_number(tolerance, "tolerance", minimum=0.0)
    p, passed = distinct(given)
    if tolerance == 0.0 or len(p) == 2:
        return spline(given, continuity=0, name=name)
    chords = chord_lengths(p)
    u = np.diff(p, axis=0) / chords[:, None]
    turn = u[1:] - u[:-1]
    size = np.linalg.norm(turn, axis=1)
    bends = size > CORNER
    room = 0.5 * np.minimum(chords[:-1], chords[1:])
    d = np.minimum(16.0 * tolerance / (3.0 * np.where(bends, size, 1.0)), room)
    d = np.where(bends & (d > SHORTEST * chords.sum()), d, 0.0)
    return _joined(given, p, passed, np.concatenate([[0.0], d, [0.0]]), name)


def _joined(given: Floats, p: Floats, passed: Indices, d: Floats, name: str) -> JointPath:
    """For each segment the second half of the blend at its first point, the line, and the first half of the
    blend at its last; d (m,) is the extent of the blends.
    """
    chords = chord_lengths(p)
    u = np.diff(p, axis=0) / chords[:, None]
    turn = np.concatenate([np.zeros_like(u[:1]), u[1:] - u[:-1], np.zeros_like(u[:1])])
    reach = np.where(d > 0.0, d, 1.0)[:, None]  # not used without a blend
    pieces = np.zeros((len(u), 3, 5, p.shape[1]))
    middle = p + (3.0 / 16.0) * d[:, None] * turn
    pieces[:, 0, 0], pieces[:, 0, 1] = middle[:-1], u - 0.5 * turn[:-1]
    pieces[:, 0, 2], pieces[:, 0, 4] = (3.0 / 8.0 * turn / reach)[:-1], (-turn / (16.0 * reach**3))[:-1]
    pieces[:, 1, 0], pieces[:, 1, 1] = p[:-1] + d[:-1, None] * u, u
    pieces[:, 2, 0], pieces[:, 2, 1] = p[1:] - d[1:, None] * u, u
    pieces[:, 2, 3], pieces[:, 2, 4] = (turn / (4.0 * reach**2))[1:], (-turn / (16.0 * reach**3))[1:]
    lengths = np.stack([d[:-1], chords - d[:-1] - d[1:], d[1:]], axis=1)
    kept = lengths > SHORTEST * chords.sum()
    breaks = from_zero(lengths[kept])
    marks = breaks[np.concatenate([[0], np.cumsum(kept.sum(axis=1))])]
    return JointPath(breaks, pieces[kept], name, given, marks[passed])
