"""Solids as triangles: volumes and areas by the formulas of their polygons, and their normals."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from nearness import assert_near
from visuals.shapes_made import euler, is_closed

from forearm.visuals import solids
from forearm.visuals.mesh import corner_normals, split_at_creases

EXACT = 1e-12  # rounding of sums over a few hundred triangles
N = 20
# What a polygon of N corners has of a circle's area and of its length.
AREA, ROUND = N / (2 * math.pi) * math.sin(2 * math.pi / N), N / math.pi * math.sin(math.pi / N)
R, r, H = 0.37, 0.21, 0.83


def side(bottom: float, top: float, height: float) -> float:
    """The area of N flat trapezoids between two polygons."""
    middle = math.cos(math.pi / N)  # from the centre to the middle of a side
    slant = math.hypot(height, (bottom - top) * middle)
    return N * math.sin(math.pi / N) * (bottom + top) * slant


DISC = math.pi * AREA
CASES = {
    "box": (solids.box(0.2, 0.3, 0.5), 0.03, 2 * (0.06 + 0.15 + 0.1)),
    "cylinder": (solids.cylinder(R, H, N), DISC * R**2 * H, 2 * DISC * R**2 + side(R, R, H)),
    "frustum": (
        solids.frustum(R, r, H, N),
        DISC * H / 3 * (R**2 + R * r + r**2),
        DISC * (R**2 + r**2) + side(R, r, H),
    ),
    "cone": (solids.frustum(0.0, r, H, N), DISC * H / 3 * r**2, DISC * r**2 + side(0, r, H)),
    "tube": (
        solids.tube(R, r, H, N),
        DISC * H * (R**2 - r**2),
        2 * DISC * (R**2 - r**2) + side(R, R, H) + side(r, r, H),
    ),
    "half cylinder": (
        solids.half_cylinder(R, H, N),
        DISC * R**2 * H / 2,
        DISC * R**2 + side(R, R, H) / 2 + 2 * R * H,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_volume_and_area_are_those_of_the_polygons(name: str) -> None:
    mesh, volume, area = CASES[name]
    assert mesh.volume == pytest.approx(volume, rel=EXACT)
    assert mesh.area == pytest.approx(area, rel=EXACT)
    assert is_closed(mesh)
    assert euler(mesh) == (0 if name == "tube" else 2)


def stacked(profile: list[tuple[float, float]]) -> float:
    """The volume of a body of revolution of N corners, frustum by frustum."""
    return sum(DISC * (z2 - z1) / 3 * (a * a + a * b + b * b) for (a, z1), (b, z2) in pairwise(profile))


def test_round_solids_are_stacks_of_frustums() -> None:
    ball = [(R * math.cos(t), R * math.sin(t)) for t in np.linspace(-math.pi / 2, math.pi / 2, 9)]
    assert solids.sphere(R, N, 8).volume == pytest.approx(stacked(ball), rel=1e-9)
    assert solids.half_ball(R, N, 8).volume == pytest.approx(stacked(ball) / 2, rel=1e-9)
    whole = stacked(ball) + DISC * R**2 * H
    assert solids.capsule(R, H, N, 8).volume == pytest.approx(whole, rel=1e-9)
    assert solids.capsule(R, 0.0, N, 8).volume == pytest.approx(stacked(ball), rel=1e-9)
    for mesh in (solids.sphere(R), solids.half_ball(R), solids.capsule(R, H)):
        assert is_closed(mesh)
        assert euler(mesh) == 2


def test_normals_are_smooth_round_and_creased_at_edges() -> None:
    mesh = solids.cylinder(R, H)
    normals = corner_normals(mesh)
    points = mesh.corners
    own = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
    is_cap = np.abs(own[:, 2]) > np.linalg.norm(own[:, :2], axis=1)
    assert_near(np.abs(normals[is_cap][..., 2]), 1.0, 1e-12)
    on_side = normals[~is_cap].reshape(-1, 3)
    radial = points[~is_cap].reshape(-1, 3) * [1 / R, 1 / R, 0.0]
    assert float((on_side * radial).sum(axis=1).min()) > math.cos(math.pi / solids.SEGMENTS)
    assert_near(np.linalg.norm(normals, axis=-1), 1.0, 1e-12)


def test_a_box_has_its_corners_three_times_and_a_ball_once() -> None:
    points, normals, triangles = split_at_creases(solids.box(1.0, 2.0, 3.0))
    assert (len(points), len(normals), triangles.shape) == (24, 24, (12, 3))
    ball = solids.sphere(R)
    points, normals, triangles = split_at_creases(ball)
    assert len(points) == len(ball.vertices)
    assert float((points / R * normals).sum(axis=1).min()) > 0.99
    np.testing.assert_array_equal(points[triangles], ball.corners)
