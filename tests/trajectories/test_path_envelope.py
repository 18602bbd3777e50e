"""Rounded corners and envelopes: distances against fine samples and closed forms."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from forearm.errors import InputError
from forearm.trajectories.paths import (
    JointPath,
    blended,
    from_function,
    path_deviation,
    spline,
    within_envelope,
)

Array = NDArray[np.float64]
ROUNDING = 1e-12
FINE = 2001  # places for each side: what a sample misses of a distance is a square of its spacing


def points(count: int = 8, n: int = 4, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(count, n))


def from_side(q: Array, a: Array, b: Array) -> Array:
    """Distances of q (m, n) from the line between a and b."""
    share = np.clip((q - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0)
    return np.asarray(np.linalg.norm(q - a - share[:, None] * (b - a), axis=1))


def sampled(path: JointPath) -> Array:
    """The largest distance of each side by fine samples, in both directions at its ends."""
    found = []
    assert path.polygon is not None
    assert path.marks is not None
    for k in range(len(path.polygon) - 1):
        a, b = path.polygon[k : k + 2]
        q = path.at(np.linspace(path.marks[k], path.marks[k + 1], FINE))[0]
        missed = max(float(np.linalg.norm(q[0] - a)), float(np.linalg.norm(q[-1] - b)))
        found.append(max(missed, float(from_side(q, a, b).max())))
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [0.04, 5.0])
def test_blends_are_smooth_and_leave_the_corner_by_the_tolerance(tolerance: float) -> None:
    p = points()
    path = blended(p, tolerance)
    assert path.corners == ()
    k = np.arange(len(path.breaks) - 2)
    inside = path.breaks[1:-1]
    before, after = path.at(inside, k), path.at(inside, k + 1)
    largest = float(np.abs(path.at(path.breaks)[2]).max())
    for order in range(3):
        assert after[order] == pytest.approx(before[order], abs=ROUNDING * max(largest, 1.0))
    assert path.marks is not None
    missed = np.linalg.norm(path.at(path.marks[1:-1])[0] - p[1:-1], axis=1)
    sides = np.linalg.norm(np.diff(p, axis=0), axis=1)
    u = np.diff(p, axis=0) / sides[:, None]
    # what the corner's blend leaves where it takes half of the shorter side
    most = 3.0 / 16.0 * 0.5 * np.minimum(sides[1:], sides[:-1]) * np.linalg.norm(np.diff(u, axis=0), axis=1)
    assert missed == pytest.approx(np.minimum(tolerance, most), rel=1e-9)
    nearest = np.array([
        np.linalg.norm(path.at(np.linspace(0.0, path.length, 10_001))[0] - x, axis=1).min() for x in p[1:-1]
    ])  # fmt: skip
    assert (nearest >= missed * (1.0 - 1e-9)).all(), "no place of the path is nearer than the blend's middle"
    assert path_deviation(path).largest == pytest.approx(sampled(path), abs=1e-6)
    assert float(path_deviation(path)) <= tolerance * (1.0 + 1e-9)


def test_between_blends_it_is_the_line_itself() -> None:
    """From a corner's blend on, half the way to the middle of a side that is long enough."""
    path = blended([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], 0.03)
    d = 16.0 / 3.0 * 0.03 / np.sqrt(2.0)
    assert path.breaks == pytest.approx([0.0, 1.0 - d, 1.0, 1.0 + d, 2.0])
    assert path.at(1.0 - d)[0] == pytest.approx([1.0 - d, 0.0])
    assert path.at(1.0 + d)[0] == pytest.approx([1.0, d])
    assert path.at(1.0)[0] == pytest.approx([1.0 - 0.03 / np.sqrt(2.0), 0.03 / np.sqrt(2.0)])
    assert path_deviation(path).largest == pytest.approx([0.03, 0.03])
    assert path_deviation(path).places == pytest.approx([1.0, 1.0])


def test_special_polygons_turning_back_going_straight_and_without_tolerance() -> None:
    assert len(blended(points(), 0.0).corners) == 6
    straight = blended([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]], 0.1)
    assert (len(straight.coefficients), straight.corners) == (2, ())
    path = blended([[0.0, 0.0], [1.0, 0.0], [0.2, 0.0]], 0.02)
    assert path.corners == ()
    assert path.reversals() == pytest.approx([1.0])
    assert path.at(1.0)[0] == pytest.approx([0.98, 0.0])
    assert float(path_deviation(path)) == pytest.approx(0.02)


@pytest.mark.parametrize("continuity", [0, 1, 2, 4])
def test_deviation_is_the_largest_of_a_fine_sample(continuity: int) -> None:
    path = spline(points(7, 3, seed=3), continuity)
    found = path_deviation(path)
    assert found.largest == pytest.approx(sampled(path), abs=1e-5)
    assert (found.largest >= sampled(path) - 1e-7).all()
    assert path.polygon is not None
    for k, s in enumerate(found.places):
        assert from_side(path.at([s])[0], *path.polygon[k : k + 2])[0] == pytest.approx(
            found.largest[k], abs=1e-7
        )
    assert (float(found) > 0.05) == (continuity > 0)


def test_deviation_of_a_parabola() -> None:
    """From (0, 0) to (1, 1) with q2 = x + 4 x (1 - x): 4 x (1 - x) / sqrt 2 is the distance from the line."""
    c = np.array([[[0.0, 0.0], [1.0, 5.0], [0.0, -4.0]]])
    path = JointPath(
        np.array([0.0, 1.0]), c, "parabola", np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0.0, 1.0])
    )
    # beyond the second point the distance is that from it, but the largest is in the middle
    assert path_deviation(path).largest == pytest.approx([1.0 / np.sqrt(2.0)], rel=1e-12)
    assert path_deviation(path).places == pytest.approx([0.5])


@pytest.mark.slow
@pytest.mark.parametrize("continuity", [1, 2, 4])
def test_points_are_added_until_the_envelope_holds(continuity: int) -> None:
    p = points(5, 3, seed=5)
    added = []
    for tolerance in (1.0, 0.05, 0.005):
        path, count = within_envelope(p, tolerance, continuity)
        added.append(count)
        assert sampled(path).max() <= tolerance * (1.0 + 1e-9)
        assert path.marks is not None
        assert path.at(path.marks)[0] == pytest.approx(p, abs=ROUNDING)
        assert len(path.breaks) == len(p) + count
        nearest = np.min([from_side(path.at(path.breaks)[0], a, b) for a, b in pairwise(p)], axis=0)
        assert nearest.max() < 1e-9, "what was added lies on the polygon"
    assert added[0] <= added[1] < added[2]
    assert added[1] > 0


@pytest.mark.slow
def test_what_has_no_polygon_or_no_tolerance_is_refused() -> None:
    def f(s: float) -> tuple[list[float], list[float], list[float]]:
        return [s, s * s], [1.0, 2.0 * s], [0.0, 2.0]

    with pytest.raises(InputError, match="'function' has no polygon and marks; spline, blended"):
        path_deviation(from_function(f, 1.0))
    with pytest.raises(InputError, match="tolerance: must be above 0, got 0"):
        within_envelope(points(), 0.0)
    with pytest.raises(InputError, match="tolerance: must be at least 0, got -1"):
        blended(points(), -1.0)
    with pytest.raises(
        InputError, match="tolerance: 1e-13 is too small for a spline through up to 100000 points"
    ):
        within_envelope(points(3), 1e-13)
