"""Triangles with shared vertices: welding, areas, volumes, and normals with creases."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.parts.shapes import SHORTEST
from forearm.parts.stl import WELD, diagonal, weld_equal, weld_near
from forearm.portable import cos
from forearm.spatial import Floats
from forearm.values import frozen

Indices = NDArray[np.intp]

CREASE = 0.5235987755982988  # rad, 30 degrees: faces at larger angles keep a sharp edge
MOST_FACES_AT_POINT = 128  # faces at a point: beyond this, as in the fan of a cap, each keeps its own normal


@frozen
class TriangleMesh:
    """A triangle mesh with shared vertices.

    Args:
        vertices: points (V, 3), m.
        triangles: indices (T, 3) of their corners, counter-clockwise seen from outside.
    """

    vertices: Floats
    triangles: Indices

    @property
    def corners(self) -> Floats:
        """The corners of each triangle (T, 3, 3)."""
        return np.asarray(self.vertices[self.triangles])

    @property
    def area(self) -> float:
        """The area of all triangles, m^2."""
        return 0.5 * float(lengths(face_vectors(self)).sum())

    @property
    def volume(self) -> float:
        """Enclosed volume, m^3; meaningless for a mesh that is not closed."""
        a, b, c = (self.corners[:, k] - self.middle for k in range(3))
        return float((a * np.cross(b - a, c - a)).sum()) / 6.0

    @property
    def middle(self) -> Floats:
        """Centre of the bounding box (3,), m."""
        used = self.vertices[self.triangles].reshape(-1, 3)
        return np.asarray(0.5 * (used.min(axis=0) + used.max(axis=0)))

    def moved(self, T: Floats) -> TriangleMesh:
        """The mesh moved by an affine transform (4, 4); a mirroring one also reverses the triangles."""
        points = transformed(T, self.vertices)
        return TriangleMesh(points, self.triangles[:, ::-1] if mirrors(T) else self.triangles)

    def scaled(self, factors: Floats) -> TriangleMesh:
        """The mesh scaled along each axis."""
        flips = float(factors[0]) * float(factors[1]) * float(factors[2]) < 0.0
        return TriangleMesh(self.vertices * factors, self.triangles[:, ::-1] if flips else self.triangles)


def mirrors(T: Floats) -> bool:
    """Whether an affine transform turns right-handed axes into left-handed ones."""
    return float((np.cross(T[:3, 0], T[:3, 1]) * T[:3, 2]).sum()) < 0.0


NOTHING = TriangleMesh(np.zeros((0, 3)), np.zeros((0, 3), dtype=np.intp))


def transformed(T: Floats, points: Floats) -> Floats:
    """Points (m, 3) moved by an affine transform (4, 4), summed in the same order on every machine."""
    x, y, z = points[:, 0], points[:, 1], points[:, 2]
    return np.stack([T[i, 0] * x + T[i, 1] * y + T[i, 2] * z + T[i, 3] for i in range(3)], axis=1)


def lengths(vectors: Floats) -> Floats:
    """The lengths of vectors (m, 3)."""
    x, y, z = vectors[:, 0], vectors[:, 1], vectors[:, 2]
    return np.asarray(np.sqrt(x * x + y * y + z * z))


def unit(vectors: Floats) -> Floats:
    """The vectors (m, 3) normalised; zero vectors stay 0."""
    size = lengths(vectors)
    return np.asarray(vectors / np.where(size > 0.0, size, 1.0)[:, None])


def face_vectors(mesh: TriangleMesh) -> Floats:
    """Normal vectors (T, 3) of the triangles, of twice the area in length."""
    a, b, c = mesh.corners[:, 0], mesh.corners[:, 1], mesh.corners[:, 2]
    return np.asarray(np.cross(b - a, c - a))


def welded(corners: Floats) -> TriangleMesh:
    """The mesh of triangles (T, 3, 3) with nearly coincident corners merged.

    Degenerate and duplicate triangles are removed; a mesh below the smallest allowed size becomes empty.
    """
    size = diagonal(corners)
    if size < SHORTEST:
        return NOTHING
    points, labels = weld_equal(corners.reshape(-1, 3))
    near = weld_near(points, WELD * size)
    return cleaned(TriangleMesh(points, near[labels].reshape(-1, 3)))


def cleaned(mesh: TriangleMesh) -> TriangleMesh:
    """The mesh without triangles of fewer than three points, repeated triangles and unused points."""
    triangles = whole(mesh.triangles)
    if not len(triangles):
        return NOTHING
    # smallest index first, so that equal triangles have one representation
    turn = (triangles.argmin(axis=1)[:, None] + np.arange(3)) % 3
    same = np.take_along_axis(triangles, turn, axis=1)
    _, first = np.unique(same, axis=0, return_index=True)
    triangles = triangles[np.sort(first)]
    used, labels = np.unique(triangles, return_inverse=True)
    return TriangleMesh(mesh.vertices[used], labels.reshape(-1, 3).astype(np.intp))


def whole(triangles: Indices) -> Indices:
    """The triangles (T, 3) of three points."""
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    return np.asarray(triangles[(a != b) & (b != c) & (c != a)])


def corner_normals(mesh: TriangleMesh, crease: float = CREASE) -> Floats:
    """Normals (T, 3, 3) per corner: the area-weighted mean of the faces at its point within `crease` of its
    own.

    Args:
        mesh: the triangles.
        crease: the largest angle between two smoothly shaded faces, rad.
    """
    weighted = face_vectors(mesh)
    own = unit(weighted)
    limit = cos(crease)
    points = mesh.triangles.ravel()
    order = np.argsort(points, kind="stable")
    counts = np.bincount(points, minlength=len(mesh.vertices))
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    normals = np.zeros((len(points), 3))
    at = np.arange(len(points))
    few = counts[points] <= MOST_FACES_AT_POINT
    for k in range(int(counts[counts <= MOST_FACES_AT_POINT].max(initial=0))):
        here = at[few & (k < counts[points])]
        other = order[starts[points[here]] + k] // 3
        mine = here // 3
        a, b = own[mine], own[other]
        near = a[:, 0] * b[:, 0] + a[:, 1] * b[:, 1] + a[:, 2] * b[:, 2] >= limit
        normals[here[near]] += weighted[other[near]]
    normals = unit(normals)
    lost = ~normals.any(axis=1)
    normals[lost] = own[at[lost] // 3]
    return normals.reshape(-1, 3, 3)


def split_at_creases(mesh: TriangleMesh, crease: float = CREASE) -> tuple[Floats, Floats, Indices]:
    """Points (V, 3), normals (V, 3) and triangles (T, 3) for a renderer: points are duplicated per normal.

    Args:
        mesh: the triangles.
        crease: the largest angle between two smoothly shaded faces, rad.
    """
    normals = corner_normals(mesh, crease).reshape(-1, 3)
    points = mesh.triangles.ravel()
    key = np.column_stack([points, np.rint(normals * 1024.0).astype(np.intp)])
    _, first, labels = np.unique(key, axis=0, return_index=True, return_inverse=True)
    return mesh.vertices[points[first]], normals[first], labels.reshape(-1, 3).astype(np.intp)
