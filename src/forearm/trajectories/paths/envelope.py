"""How far a path goes from its polygon, and splines that stay within an envelope around it. Waters III."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.errors import InputError
from forearm.trajectories.paths.joint_path import JointPath
from forearm.trajectories.paths.splines import MOST, checked_points, distinct, spline
from forearm.trajectories.polygon import from_segment, largest_distances
from forearm.trajectories.roots import to_bernstein
from forearm.values import check_kind, check_number

Array = NDArray[np.float64]
HALVINGS = 60  # of a side
NEAREST = 1e-9  # of the length: points are not added to stretches that are shorter


@dataclass(frozen=True, eq=False)
class PathDeviation:
    """How far a path is from each of the k sides of its polygon.

    Attributes:
        largest: largest distance, (k,), rad or m.
        places: the s at which it is reached, (k,).
    """

    largest: Array
    places: Array

    def __float__(self) -> float:
        return float(self.largest.max())


def path_deviation(path: JointPath) -> PathDeviation:
    """The largest distance between each side of a path's polygon and the part of the path that follows it.

    It counts in both directions: how far the path goes from the side, and how far it passes the side's ends
    at. Squares of distances are polynomials of s, taken where their derivatives vanish: exact to rounding.

    Args:
        path: a path with a polygon, as `spline`, `blended` and `within_envelope` make.
    """
    check_kind(path, JointPath, "path_deviation, path")
    polygon, marks = _followed(path)
    V, side = _from_sides(path, polygon, marks)
    distances, x = largest_distances(V, np.diff(polygon, axis=0)[side])
    missed = np.linalg.norm(polygon - path.at(marks)[0], axis=1)
    sides = np.arange(len(missed) - 1)
    found = np.concatenate([missed[:-1], missed[1:], distances])
    order = np.argsort(found, kind="stable")  # of what is written to one side, the last counts
    at = np.concatenate([marks[:-1], marks[1:], path.breaks[:-1] + x * np.diff(path.breaks)])[order]
    of = np.concatenate([sides, sides, side])[order]
    largest, places = np.empty((2, len(sides)))
    largest[of], places[of] = found[order], at
    return PathDeviation(largest, places)


def within_envelope(
    points: ArrayLike, tolerance: float, continuity: int = 2, name: str = "within envelope"
) -> tuple[JointPath, int]:
    """A spline through points that stays within a distance of the straight lines between them, and how many
    points were added for that.

    Where it leaves the envelope, the stretch between two of its points is halved by one on the straight line,
    until it holds. `blended` rounds corners instead and passes them at the distance.

    Args:
        points: joint coordinates (m, n), rad or m.
        tolerance: largest distance from the lines, rad or m.
        continuity: as in `spline`.
        name: of the path, for messages.
    """
    given = checked_points(points, "points")
    tolerance = check_number(tolerance, "tolerance", above=0.0)
    p, passed = distinct(given)
    through, first = p, np.arange(len(p))  # `first`: which of `through` the given ones are
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
        f"tolerance: {tolerance:g} is too small for a spline through up to {MOST} points; take a larger one, "
        "or blended(points, tolerance), which rounds the corners."
    )


def _followed(path: JointPath) -> tuple[Array, Array]:
    if path.polygon is None or path.marks is None:
        raise InputError(
            f"{path.name!r} has no polygon and marks; spline, blended and within_envelope make paths that do."
        )
    return path.polygon, path.marks


def _from_sides(path: JointPath, polygon: Array, marks: Array) -> tuple[Array, NDArray[np.intp]]:
    """Pieces (k, d+1, n) by powers of x from 0 to 1, from the first end of the side that each of them
    follows, and which side that is, (k,).
    """
    h = np.diff(path.breaks)
    side = np.searchsorted(marks, path.breaks[:-1] + 0.5 * h, side="right") - 1
    V = path.coefficients * (h[:, None] ** np.arange(path.coefficients.shape[1]))[:, :, None]
    V[:, 0] -= polygon[side]
    return V, side


def _pieces_beyond(path: JointPath, tolerance: float) -> NDArray[np.intp]:
    """Which pieces go farther from their sides than the tolerance.

    A piece lies in the hull of its coefficients by Bernstein's polynomials, and what is within a distance of
    a line is convex: only those whose coefficients leave it have to be looked at closely.
    """
    polygon, marks = _followed(path)
    V, side = _from_sides(path, polygon, marks)
    chord = np.diff(polygon, axis=0)[side]
    length = np.linalg.norm(chord, axis=1)[:, None, None]
    hull = np.einsum("ij,kjn->kin", to_bernstein(V.shape[1]), V)
    k = np.flatnonzero((from_segment(hull, chord[:, None] / length, length) > tolerance).any(axis=1))
    return k[largest_distances(V[k], chord[k])[0] > tolerance]
