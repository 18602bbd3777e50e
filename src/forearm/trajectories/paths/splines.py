"""Splines through points: the polygon, monotone cubics, and curves of minimum bending."""

from __future__ import annotations

from functools import cache
from math import perm

import numpy as np
from numpy.typing import ArrayLike

from forearm.errors import InputError
from forearm.spatial import Floats, Indices
from forearm.trajectories.paths.banded import solve_symmetric
from forearm.trajectories.paths.hermite import hermite_matrix, hermite_pieces
from forearm.trajectories.paths.joint_path import JointPath
from forearm.trajectories.sampling import chord_lengths, from_zero
from forearm.values import as_floats, check_choice

MOST = 100_000  # points
CONTINUITIES = (0, 1, 2, 4)
# exponents of the distance between points in their parametrisation
PARAMETERS = {"chord": 1.0, "centripetal": 0.5, "uniform": 0.0}
SAME = 1e-12  # of the largest coordinate: closer points are equal


def spline(
    points: ArrayLike, continuity: int = 2, parameter: str = "chord", name: str = "spline"
) -> JointPath:
    """A path through points; repeated neighbours are dropped.

    Continuity 0 is the polygon, with a corner at every point. 1 is the cubic Hermite spline whose slopes keep
    every joint between its two points (Fritsch and Carlson), so nothing overshoots. 2 is the cubic spline
    that minimises the integral of |q''|^2: a natural spline, with q'' = 0 at the ends. Not-a-knot ends follow
    samples of a smooth curve more closely, but overshoot where points are few, as waypoints of an arm are;
    natural ones start straight, and through two points yield the line. 4 is the quintic spline that minimises
    the integral of |q'''|^2 among those with q'' = 0 at the ends, for limits on the rate of acceleration.

    Args:
        points: joint coordinates (m, n), rad or m, up to 100,000 of them.
        continuity: number of continuous derivatives: 0, 1, 2 or 4.
        parameter: parameter difference between neighbours, scaled to the length of the polygon: "chord",
            their distance; "centripetal", its square root, which bends less beside sharp corners; "uniform".
        name: of the path, for messages.
    """
    given = checked_points(points, "points")
    if isinstance(continuity, bool) or continuity not in CONTINUITIES:
        raise InputError(f"expected 0, 1, 2 or 4, got {continuity!r}.", "continuity")
    check_choice(parameter, PARAMETERS, "parameter")
    p, passed = distinct(given)
    chords = chord_lengths(p)
    steps = chords ** PARAMETERS[parameter]
    breaks = from_zero(steps * (chords.sum() / steps.sum()))
    if continuity == 0:
        slopes = np.diff(p, axis=0) / np.diff(breaks)[:, None]
        pieces = np.stack([p[:-1], slopes], axis=1)
        return JointPath(breaks, pieces, name, given, breaks[passed])
    if continuity == 1:
        values = np.stack([p, _monotone_slopes(breaks, p)], axis=1)
    else:
        values = _least_bending(breaks, p, 2 if continuity == 2 else 3)
    return JointPath(breaks, hermite_pieces(breaks, values), name, given, breaks[passed])


def checked_points(points: ArrayLike, what: str) -> Floats:
    """Points (m, n), finite, of an allowed number."""
    given = as_floats(points, what)
    if given.ndim != 2 or not given.shape[1]:
        raise InputError(f"expected points (m, n), one row per point, got shape {given.shape}.", what)
    if not 2 <= len(given) <= MOST:
        raise InputError(f"expected 2 to {MOST} points, got {len(given)}.", what)
    bad = np.argwhere(~np.isfinite(given))
    if bad.size:
        row, joint = bad[0]
        raise InputError(
            f"row {row} has {given[row, joint]} for joint {joint + 1}; all numbers must be finite.", what
        )
    return given


def distinct(points: Floats) -> tuple[Floats, Indices]:
    """Points without repeated neighbours, and the index of each given point among them; an error if fewer
    than two remain.
    """
    small = SAME * max(float(np.abs(points).max()), 1.0)
    keep = np.concatenate([[True], np.abs(np.diff(points, axis=0)).max(axis=1) > small])
    if keep.sum() < 2:
        raise InputError("all are equal; a path needs two different points.", "points")
    return points[keep], np.cumsum(keep) - 1


def _monotone_slopes(s: Floats, p: Floats) -> Floats:
    """Slopes (m, n) at the points for which the Hermite cubics keep every joint between its two points."""
    h, d = np.diff(s)[:, None], np.diff(p, axis=0) / np.diff(s)[:, None]
    slopes = np.empty_like(p)
    if len(p) == 2:
        slopes[:] = d[0]
        return slopes
    before, after = 2.0 * h[1:] + h[:-1], h[1:] + 2.0 * h[:-1]
    same = d[:-1] * d[1:] > 0.0
    safe = [np.where(same, x, 1.0) for x in (d[:-1], d[1:])]
    # the weighted harmonic mean is at most three times the smaller of the two
    slopes[1:-1] = np.where(same, (before + after) / (before / safe[0] + after / safe[1]), 0.0)
    slopes[0] = _end_slope(h[0], h[1], d[0], d[1])
    slopes[-1] = _end_slope(h[-1], h[-2], d[-1], d[-2])
    return slopes


def _end_slope(h0: Floats, h1: Floats, d0: Floats, d1: Floats) -> Floats:
    """Slope of the parabola through three points, limited to between 0 and three times the first chord's."""
    slope = ((2.0 * h0 + h1) * d0 - h0 * d1) / (h0 + h1)
    return np.where(d0 > 0.0, np.clip(slope, 0.0, 3.0 * d0), np.clip(slope, 3.0 * d0, 0.0))


def _least_bending(s: Floats, p: Floats, order: int) -> Floats:
    """q and its derivatives below `order` at the points, (m, order, n), that minimise the integral of the
    squared derivative of that order.

    The integral is a quadratic form of the derivatives at the points, as the Hermite polynomials between them
    depend linearly on those; its matrix is positive definite and couples neighbours only. From the second on,
    even derivatives are 0 at both ends.
    """
    K = bending_form(np.diff(s), order)
    size = order - 1
    left, right = slice(1, order), slice(order + 1, 2 * order)
    D = np.zeros((len(p), size, size))
    D[:-1] += K[:, left, left]
    D[1:] += K[:, right, right]
    U = K[:, left, right].copy()
    rise = np.diff(p, axis=0)[:, None, :]  # only differences of points matter
    wanted = np.zeros((len(p), size, p.shape[1]))
    wanted[:-1] -= K[:, left, order, None] * rise
    wanted[1:] -= K[:, right, order, None] * rise
    if order == 3:
        for end in (0, -1):
            D[end, 1, :] = D[end, :, 1] = 0.0
            D[end, 1, 1], wanted[end, 1] = 1.0, 0.0
        U[0, 1, :] = 0.0
        U[-1, :, 1] = 0.0
    return np.concatenate([p[:, None], solve_symmetric(D, U, wanted)], axis=1)


def bending_form(lengths: Floats, order: int, ends: int | None = None) -> Floats:
    """Quadratic forms of the integral of the squared derivative of this order over pieces of these lengths
    (k,), in the values and derivatives at both ends, `ends` of each (None: `order`): (k, 2 ends, 2 ends).
    """
    ends = order if ends is None else ends
    scale = np.tile(lengths[:, None] ** np.arange(ends), (1, 2))
    weight = lengths[:, None, None] ** (1.0 - 2.0 * order)
    return weight * scale[:, :, None] * _unit_form(order, ends) * scale[:, None, :]


@cache
def _unit_form(order: int, ends: int) -> Floats:
    """The form over a piece of length 1."""
    size = 2 * ends
    gram = np.zeros((size, size))
    for i in range(order, size):
        for j in range(order, size):
            gram[i, j] = perm(i, order) * perm(j, order) / (i + j - 2 * order + 1)
    H = hermite_matrix(ends)
    form: Floats = H.T @ gram @ H
    form.flags.writeable = False
    return form
