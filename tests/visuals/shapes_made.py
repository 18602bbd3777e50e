"""What tests of visuals share: files of meshes made by hand, counts of edges, distances from surfaces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from parts.meshes import binary_stl

from forearm.visuals.mesh import TriangleMesh

Array = NDArray[np.float64]


def write_stl(path: Path, mesh: TriangleMesh) -> Path:
    path.write_bytes(binary_stl(mesh.corners))
    return path


def write_obj(path: Path, mesh: TriangleMesh) -> Path:
    points = "".join(f"v {x!r} {y!r} {z!r}\n" for x, y, z in mesh.vertices.tolist())
    faces = "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in mesh.triangles.tolist())
    path.write_text(points + faces, encoding="ascii")
    return path


def euler(mesh: TriangleMesh) -> int:
    """Vertices - edges + faces: 2 for a ball, 0 for a ring."""
    return len(mesh.vertices) - len(edge_counts(mesh)) + len(mesh.triangles)


def edge_counts(mesh: TriangleMesh) -> Counter[tuple[int, int]]:
    """How often each edge occurs, whichever way."""
    sides = ((0, 1), (1, 2), (2, 0))
    return Counter(tuple(sorted((t[i], t[k]))) for t in mesh.triangles.tolist() for i, k in sides)


def is_closed(mesh: TriangleMesh) -> bool:
    """Whether every directed edge has exactly one opposite partner."""
    sides = ((0, 1), (1, 2), (2, 0))
    directed = Counter((t[i], t[k]) for t in mesh.triangles.tolist() for i, k in sides)
    return all(count == 1 and directed[edge[::-1]] == 1 for edge, count in directed.items())


def distance_to_triangles(points: Array, corners: Array) -> Array:
    """The distance of each point (m, 3) from the nearest of triangles (T, 3, 3), by its three regions."""
    found = np.full(len(points), np.inf)
    for a, b, c in corners:
        n = np.cross(b - a, c - a)
        size = np.linalg.norm(n)
        if size > 0.0:
            n = n / size
            inside = np.ones(len(points), dtype=bool)
            for start, end in ((a, b), (b, c), (c, a)):
                inside &= (points - start) @ np.cross(n, end - start) >= 0.0
            found[inside] = np.minimum(found[inside], np.abs((points - a) @ n)[inside])
        for start, end in ((a, b), (b, c), (c, a)):
            way = end - start
            t = np.clip((points - start) @ way / max(way @ way, 1e-300), 0.0, 1.0)
            found = np.minimum(found, np.linalg.norm(points - start - t[:, None] * way, axis=1))
    return found


def same_points(one: Array, other: Array, atol: float) -> None:
    """Both are the same set of points, in any order."""
    for a, b in ((one, other), (other, one)):
        assert len(a)
        assert max(float(np.linalg.norm(b - p, axis=1).min()) for p in a) <= atol


def triangle_set(corners: Array, digits: int = 9) -> Counter[tuple[tuple[float, ...], ...]]:
    """Triangles as rounded corners, the least first, so that turns of the same one are equal."""
    rounded: Iterable[list[list[float]]] = (np.round(corners, digits) + 0.0).tolist()
    made = []
    for triangle in rounded:
        points = [tuple(p) for p in triangle]
        k = points.index(min(points))
        made.append(tuple(points[k:] + points[:k]))
    return Counter(made)
