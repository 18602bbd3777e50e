"""How far a path goes from its polygon, and splines that stay within an envelope around it. Waters III."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.errors import InputError
from forearm.trajectories.paths.joint_path import JointPath
from forearm.trajectories.paths.splines import MOST, checked_points, distinct, spline
from forearm.trajectories.polygon import largest_distances
from forearm.values import check_kind, check_number

Array = NDArray[np.float64]
HALVINGS = 60  # of a side


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
    at. Squares of distances are polynomials of s, taken where their derivatives vanish: exact to rounding,
    some 1e-15 of the largest coordinate, and to 1e-8 of it where the path is straight.

    Args:
        path: a path with a polygon, as `spline`, `blended` and `within_envelope` make.
    """
    check_kind(path, JointPath, "path_deviation, path")
    distances, places, side = _piece_distances(path)
    assert path.polygon is not None and path.marks is not None
    missed = np.linalg.norm(path.polygon - path.at(path.marks)[0], axis=1)
    largest, where = missed[:-1].copy(), path.marks[:-1].copy()
    for ends, at in ((missed[1:], path.marks[1:]),):
        where, largest = np.where(ends > largest, at, where), np.maximum(ends, largest)
    order = np.argsort(distances, kind="stable")
    farthest, at = np.zeros_like(largest), where.copy()
    farthest[side[order]], at[side[order]] = distances[order], places[order]  # the last one written counts
    where = np.where(farthest > largest, at, where)
    return PathDeviation(np.maximum(farthest, largest), where)


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
        far = _piece_distances(path)[0] > tolerance
        if not far.any():
            return path, len(through) - len(p)
        if len(through) + far.sum() > MOST:
            break
        k = np.flatnonzero(far)
        through = np.insert(through, k + 1, 0.5 * (through[k] + through[k + 1]), axis=0)
        first = first + np.searchsorted(k, first, side="left")
    raise InputError(
        f"tolerance: {tolerance:g} takes more than {MOST} points; take a larger one, or blended(points, "
        "tolerance), which rounds the corners."
    )


def _piece_distances(path: JointPath) -> tuple[Array, Array, NDArray[np.intp]]:
    """Of each piece: its largest distance from the side of the polygon that it follows, where that is
    reached, and which side it is, (k,) each.
    """
    if path.polygon is None or path.marks is None:
        raise InputError(
            f"{path.name!r} has no polygon and marks: spline, blended and within_envelope make paths with them."
        )
    h = np.diff(path.breaks)
    middles = path.breaks[:-1] + 0.5 * h
    side = np.searchsorted(path.marks, middles, side="right") - 1
    V = path.coefficients * (h[:, None] ** np.arange(path.coefficients.shape[1]))[:, :, None]
    V[:, 0] -= path.polygon[side]
    distances, x = largest_distances(V, np.diff(path.polygon, axis=0)[side])
    return distances, path.breaks[:-1] + x * h, side
