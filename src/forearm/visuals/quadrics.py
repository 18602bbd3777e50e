"""Garland and Heckbert's quadrics: squared distances from planes as ten numbers, and their minimum.

Q(x) = x^T A x + 2 b^T x + c, stored as (xx, xy, xz, yy, yz, zz, bx, by, bz, c). All arithmetic is
elementwise, so that every machine gets the same result.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.spatial import Floats
from forearm.visuals.mesh import Indices, TriangleMesh, face_vectors, lengths, unit

BOUNDARY = 10.0  # weight of the planes that preserve an open edge, relative to faces
LONG = 1e-5  # cost of an edge's length: short edges of flat regions go first
FLAT = 1e-4  # of the trace cubed: for smaller determinants the minimum is not unique

Quadric = tuple[float, float, float, float, float, float, float, float, float, float]


def of_planes(normals: Floats, points: Floats, weights: Floats) -> Floats:
    """The quadrics (m, 10) of planes with unit normals through points."""
    x, y, z = normals[:, 0], normals[:, 1], normals[:, 2]
    d = -(x * points[:, 0] + y * points[:, 1] + z * points[:, 2])
    rows = [x * x, x * y, x * z, y * y, y * z, z * z, x * d, y * d, z * d, d * d]
    return np.stack([weights * row for row in rows], axis=1)


def of_vertices(mesh: TriangleMesh) -> Floats:
    """The quadrics (V, 10) of the points of a mesh: planes of their faces weighted by area, and of open
    edges.
    """
    double = face_vectors(mesh)
    normals = unit(double)
    planes = of_planes(normals, mesh.corners[:, 0], 0.5 * lengths(double))
    made = np.zeros((len(mesh.vertices), 10))
    for k in range(3):
        _add_rows(made, mesh.triangles[:, k], planes)
    start, end, face = open_edges(mesh.triangles)
    along = mesh.vertices[end] - mesh.vertices[start]
    size = lengths(along)
    across = unit(np.cross(along, normals[face]))
    walls = of_planes(across, mesh.vertices[start], BOUNDARY * size * size)
    for side in (start, end):
        _add_rows(made, side, walls)
    return made


def _add_rows(made: Floats, places: Indices, rows: Floats) -> None:
    for column in range(rows.shape[1]):
        made[:, column] += np.bincount(places, rows[:, column], len(made))


def open_edges(triangles: Indices) -> tuple[Indices, Indices, Indices]:
    """Edges of only one triangle: start, end and the triangle."""
    start, end = triangles.ravel(), np.roll(triangles, -1, axis=1).ravel()
    key = np.minimum(start, end) * (int(triangles.max(initial=0)) + 1) + np.maximum(start, end)
    _, first, count = np.unique(key, return_index=True, return_counts=True)
    alone = first[count == 1]
    return start[alone], end[alone], alone // 3


def value(q: Quadric, x: float, y: float, z: float) -> float:
    """The sum of weighted squared distances at a point."""
    return (
        x * (q[0] * x + 2.0 * (q[1] * y + q[2] * z + q[6]))
        + y * (q[3] * y + 2.0 * (q[4] * z + q[7]))
        + z * (q[5] * z + 2.0 * q[8])
        + q[9]
    )


def _least(q: Any) -> tuple[Any, Any, tuple[Any, Any, Any]]:
    """Whether the minimising point is unique, and by Cramer's rule its denominator and negative numerators,
    of numbers or columns.
    """
    xx, xy, xz, yy, yz, zz, bx, by, bz, _ = q
    cx, cy, cz = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    determinant = xx * cx + xy * cy + xz * cz
    trace = xx + yy + zz
    ayz, ay, az = xy * xz - xx * yz, xx * zz - xz * xz, xx * yy - xy * xy
    rows = (cx * bx + cy * by + cz * bz, cy * bx + ay * by + ayz * bz, cz * bx + ayz * by + az * bz)
    return determinant > FLAT * trace * trace * trace, determinant, rows


def least_point(q: Quadric) -> tuple[float, float, float] | None:
    """The minimising point; None if it is not unique."""
    is_unique, determinant, (x, y, z) = _least(q)
    return (-x / determinant, -y / determinant, -z / determinant) if is_unique else None


def values(q: Floats, points: Floats) -> Floats:
    """`value` of quadrics (m, 10) at points (m, 3)."""
    return np.asarray(value(tuple(q.T), *points.T))


def least_points(q: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """`least_point` of quadrics (m, 10), and where it is unique."""
    unique, determinant, rows = _least(q.T)
    return np.stack([-row / np.where(unique, determinant, 1.0) for row in rows], axis=1), unique
