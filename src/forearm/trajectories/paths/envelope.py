"""Deviation of a path from its polygon, and splines that stay within an envelope around it. Waters III."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from forearm.errors import InputError
from forearm.spatial import Floats, Indices
from forearm.trajectories.paths.joint_path import JointPath
from forearm.trajectories.paths.splines import MOST, checked_points, distinct, spline
from forearm.trajectories.polygon import from_segment, largest_distances
from forearm.trajectories.roots import to_bernstein
from forearm.values import check_kind, check_number, frozen

HALVINGS = 60  # bisections per side
NEAREST = 1e-9  # of the length: no points are added to shorter sections


@frozen
class PathDeviation:
    """Deviation of a path from each of the k sides of its polygon.

    Attributes:
        largest: largest distance, (k,), rad or m.
        places: the s at which it is reached, (k,).
    """

    largest: Floats
    places: Floats

    def __float__(self) -> float:
        return float(self.largest.max())


def path_deviation(path: JointPath) -> PathDeviation:
    """Largest distance between each side of a path's polygon and the part of the path that follows it.

    Both directions count: the distance of the path from the side, and that of the side's ends from the path.
    Squared distances are polynomials in s, evaluated at their stationary points: exact to rounding.

    Args:
        path: a path with a polygon, from `spline`, `blended` or `within_envelope`.
    """
    check_kind(path, JointPath, "path_deviation, path")
    polygon, marks = _followed(path)
    V, side = _from_sides(path, polygon, marks)
    distances, x = largest_distances(V, np.diff(polygon, axis=0)[side])
    missed = np.linalg.norm(polygon - path.at(marks)[0], axis=1)
    sides = np.arange(len(missed) - 1)
    found = np.concatenate([missed[:-1], missed[1:], distances])
    order = np.argsort(found, kind="stable")  # of several entries for one side, the last counts
    at = np.concatenate([marks[:-1], marks[1:], path.breaks[:-1] + x * np.diff(path.breaks)])[order]
    of = np.concatenate([sides, sides, side])[order]
    largest, places = np.empty((2, len(sides)))
    largest[of], places[of] = found[order], at
    return PathDeviation(largest, places)


def within_envelope(
    points: ArrayLike, tolerance: float, continuity: int = 2, name: str = "within envelope"
) -> tuple[JointPath, int]:
    """A spline through points that stays within a distance of the straight lines between them, and the number
    of points added.

    Where it leaves the envelope, a point on the straight line halves the section, until the tolerance holds.
    `blended` rounds corners instead and passes them at the distance.

    Args:
        points: joint coordinates (m, n), rad or m.
        tolerance: largest distance from the lines, rad or m.
        continuity: as in `spline`.
        name: of the path, for messages.
    """
    given = checked_points(points, "points")
    tolerance = check_number(tolerance, "tolerance", above=0.0)
    p, passed = distinct(given)
    through, first = p, np.arange(len(p))  # `first`: indices of the given points in `through`
    for _ in range(HALVINGS):
        path = spline(through, continuity, name=name)
        path = replace(path, polygon=given, marks=path.breaks[first][passed])
        k = _pieces_beyond(path, tolerance)
        if not len(k):
            return path, len(through) - len(p)
        apart = np.linalg.norm(through[k + 1] - through[k], axis=1)
        if len(through) + len(k) > MOST or apart.min() < NEAREST * path.length:
            break
        through = np.insert(through, k + 1, 0.5 * (through[k] + through[k + 1]), axis=0)
        first = first + np.searchsorted(k, first, side="left")
    raise InputError(
        f"{tolerance:g} is too small for a spline through up to {MOST} points; use a larger "
        "one, or blended(points, tolerance), which rounds the corners.",
        "tolerance",
    )


def _followed(path: JointPath) -> tuple[Floats, Floats]:
    if path.polygon is None or path.marks is None:
        raise InputError(
            f"{path.name!r} has no polygon and marks; spline, blended and within_envelope make paths that do."
        )
    return path.polygon, path.marks


def _from_sides(path: JointPath, polygon: Floats, marks: Floats) -> tuple[Floats, Indices]:
    """Pieces (k, d+1, n) in powers of x from 0 to 1, relative to the first end of the side that each follows,
    and the index of that side, (k,).
    """
    h = np.diff(path.breaks)
    side = np.searchsorted(marks, path.breaks[:-1] + 0.5 * h, side="right") - 1
    V = path.coefficients * (h[:, None] ** np.arange(path.coefficients.shape[1]))[:, :, None]
    V[:, 0] -= polygon[side]
    return V, side


def _pieces_beyond(path: JointPath, tolerance: float) -> Indices:
    """Which pieces deviate from their sides by more than the tolerance.

    A piece lies in the convex hull of its Bernstein coefficients, and the points within a distance of a line
    are convex:
    only pieces whose coefficients leave the envelope need a closer check.
    """
    polygon, marks = _followed(path)
    V, side = _from_sides(path, polygon, marks)
    chord = np.diff(polygon, axis=0)[side]
    length = np.linalg.norm(chord, axis=1)[:, None, None]
    hull = np.einsum("ij,kjn->kin", to_bernstein(V.shape[1]), V)
    k = np.flatnonzero((from_segment(hull, chord[:, None] / length, length) > tolerance).any(axis=1))
    return k[largest_distances(V[k], chord[k])[0] > tolerance]
