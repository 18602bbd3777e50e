"""Fewer triangles: how far the surface moves, what topology stays, and that it is the same every time."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import refused
from visuals.shapes_made import distance_to_triangles, edge_counts, euler, is_closed

from forearm.visuals import reduced, solids
from forearm.visuals.mesh import TriangleMesh, welded
from forearm.visuals.reduction import shares
from forearm.visuals.thinning import thinned


def bumpy(segments: int, rings: int) -> TriangleMesh:
    """A ball with bumps, of radius about 1."""
    ball = solids.sphere(1.0, segments, rings)
    x, y, z = ball.vertices.T
    height = 1.0 + 0.15 * np.sin(4.0 * x + 1.0) * np.cos(5.0 * z) + 0.05 * np.sin(3.0 * y)
    return TriangleMesh(ball.vertices * height[:, None], ball.triangles)


def hausdorff(one: TriangleMesh, other: TriangleMesh) -> float:
    """The larger of the distances from the points of each to the surface of the other."""
    there = distance_to_triangles(one.vertices[::5], other.corners).max()
    back = distance_to_triangles(other.vertices[::3], one.corners).max()
    return float(max(there, back))


@pytest.mark.slow
def test_a_bumpy_ball_keeps_its_surface_and_its_topology() -> None:
    mesh = bumpy(32, 18)
    small = reduced(mesh, 500)
    assert len(small.triangles) == 500
    assert hausdorff(mesh, small) < 0.03  # chords of 500 triangles over bumps of 0.15 leave about 0.02
    assert is_closed(small)
    assert euler(small) == 2
    assert small.volume == pytest.approx(mesh.volume, rel=0.02)
    assert small.area == pytest.approx(mesh.area, rel=0.02)


@pytest.mark.slow
def test_many_edges_at_a_time_keep_the_surface_too() -> None:
    mesh = bumpy(56, 28)
    small = thinned(mesh, 1200)
    assert 1100 <= len(small.triangles) <= 1200
    assert is_closed(small)
    assert euler(small) == 2
    assert float(distance_to_triangles(mesh.vertices[::40], small.corners).max()) < 0.02


def test_a_ring_stays_a_ring_and_edges_stay_sharp() -> None:
    mesh = solids.tube(1.0, 0.5, 1.0, 72)
    small = reduced(mesh, 140)
    assert len(small.triangles) <= 140
    assert euler(small) == 0
    assert is_closed(small)
    assert hausdorff(mesh, small) < 0.03
    assert {-0.0 + round(float(z), 6) for z in small.vertices[:, 2]} == {0.0, 1.0}


def test_flat_faces_go_down_to_their_corners() -> None:
    """A box whose triangles were split in four, three times over, becomes the box of twelve, exactly."""
    box = solids.box(1.0, 2.0, 3.0)
    mesh = box.corners
    for _ in range(3):
        a, b, c = mesh.transpose(1, 0, 2)
        ab, bc, ca = (a + b) / 2, (b + c) / 2, (c + a) / 2
        fours = ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))
        mesh = np.concatenate([np.stack(four, axis=1) for four in fours])
    small = reduced(welded(mesh), 12)
    assert len(small.triangles) == 12
    assert small.volume == pytest.approx(6.0, rel=1e-9)
    found, wanted = ({tuple(p) for p in np.round(m.vertices, 9).tolist()} for m in (small, box))
    assert found == wanted


def test_an_open_sheet_keeps_its_rim() -> None:
    n = 12
    grid = np.array(
        [[x, y, 0.05 * np.sin(3 * x)] for x in np.linspace(0, 1, n) for y in np.linspace(0, 2, n)]
    )
    cells = [i * n + k for i in range(n - 1) for k in range(n - 1)]
    faces = [t for c in cells for t in ((c, c + n, c + n + 1), (c, c + n + 1, c + 1))]
    small = reduced(TriangleMesh(grid, np.array(faces)), 40)
    assert len(small.triangles) <= 40
    assert euler(small) == 1
    assert set(edge_counts(small).values()) == {1, 2}
    for corner in ((0, 0), (0, 2), (1, 0), (1, 2)):
        assert np.linalg.norm(small.vertices[:, :2] - corner, axis=1).min() < 1e-3  # the sheet is bent


def test_many_small_pieces_give_way_to_the_large_one() -> None:
    ball = solids.sphere(1.0)
    rng = np.random.default_rng(5)
    bits = [solids.box(0.02, 0.03, 0.04).corners + rng.normal(size=3) for _ in range(60)]
    small = reduced(welded(np.concatenate([*bits, ball.corners])), 300)
    assert len(small.triangles) <= 300
    assert small.volume == pytest.approx(ball.volume, rel=0.06)


def test_duplicates_and_degenerate_triangles_go_and_small_meshes_stay() -> None:
    box = solids.box(1.0, 2.0, 3.0)
    line = np.array([[[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]])
    shaken = box.corners + np.random.default_rng(1).uniform(-1e-8, 1e-8, (12, 3, 3))
    soup = np.concatenate([shaken, box.corners, line]).reshape(-1, 3)
    small = reduced(TriangleMesh(soup, np.arange(75).reshape(-1, 3)))
    assert len(small.triangles) == 12
    assert is_closed(small)
    assert small.volume == pytest.approx(6.0, rel=1e-6)
    empty = TriangleMesh(np.zeros((0, 3)), np.zeros((0, 3), dtype=np.intp))
    assert len(reduced(empty).triangles) == 0


def test_the_same_mesh_gives_the_same_bytes() -> None:
    first, second = (reduced(bumpy(30, 16), 200) for _ in range(2))
    assert first.vertices.tobytes() == second.vertices.tobytes()
    assert first.triangles.tobytes() == second.triangles.tobytes()


def test_a_budget_is_shared_by_area_and_what_small_ones_leave_is_given_on() -> None:
    large, twin, tiny = solids.sphere(2.0, 60, 20), solids.sphere(1.0, 60, 20), solids.box(1.0, 1.0, 1.0)
    first, second, third = shares([large, twin, tiny], 1012)
    assert third == 12
    assert first + second <= 1000
    assert first == pytest.approx(4 * second, rel=0.02)
    assert shares([tiny, tiny], 1000) == [12, 12]
    assert shares([], 1000) == []


@pytest.mark.parametrize("wrong", [3, True, 20.5, "many"])
def test_a_number_of_triangles_that_is_none(wrong: object) -> None:
    with refused("InputError.*expected a whole number of at least 4"):
        reduced(solids.box(1.0, 1.0, 1.0), wrong)  # type: ignore[arg-type]
