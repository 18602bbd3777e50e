"""Mesh simplification: edge collapses, many at a time, then one by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from forearm.parts.stl import components
from forearm.values import check_whole
from forearm.visuals.collapse import collapsed
from forearm.visuals.mesh import TriangleMesh, cleaned, face_vectors, lengths, welded
from forearm.visuals.thinning import thinned

ONE_BY_ONE = 3  # times the target: below this, edges are collapsed one by one, within these bounds
LEAST_ONE_BY_ONE, MOST_ONE_BY_ONE = 3_000, 24_000
LEAST_TRIANGLES = 40  # of a mesh that takes part in a budget


def reduced(mesh: TriangleMesh, triangles: int = 2000) -> TriangleMesh:
    """The mesh simplified by quadric-error edge collapse (Garland and Heckbert 1997).

    A mesh with few enough triangles is only welded. In large meshes, many edges are first collapsed at a
    time. If no further collapse is possible, as with many small closed pieces, the smallest pieces are
    removed.

    Args:
        mesh: the mesh to simplify.
        triangles: largest number of triangles, at least 4.
    """
    check_whole(triangles, "reduced, triangles", 4)
    if not len(mesh.triangles):
        return mesh
    mesh = welded(mesh.corners)
    if len(mesh.triangles) <= triangles:
        return mesh
    bound = min(max(ONE_BY_ONE * triangles, LEAST_ONE_BY_ONE), MOST_ONE_BY_ONE)
    if len(mesh.triangles) > bound:
        mesh = thinned(mesh, max(bound, triangles))
    return largest_pieces(collapsed(mesh, triangles), triangles)


def largest_pieces(mesh: TriangleMesh, triangles: int) -> TriangleMesh:
    """The mesh, or its largest pieces by area within the limit; always at least the largest piece."""
    if len(mesh.triangles) <= triangles:
        return mesh
    start, end = mesh.triangles.ravel(), np.roll(mesh.triangles, -1, axis=1).ravel()
    piece = components(len(mesh.vertices), start, end)[mesh.triangles[:, 0]]
    area = np.bincount(piece, lengths(face_vectors(mesh)))
    count = np.bincount(piece)
    chosen: list[int] = []
    left = triangles
    for label in np.lexsort((np.arange(len(area)), -area)).tolist():
        if count[label] and (not chosen or count[label] <= left):
            chosen.append(label)
            left -= int(count[label])
    return cleaned(TriangleMesh(mesh.vertices, mesh.triangles[np.isin(piece, chosen)]))


def shares(meshes: Sequence[TriangleMesh], triangles: int) -> list[int]:
    """The share of each mesh in a common budget of triangles: by area, none more than it has.

    The unused share of small meshes goes to the others.
    """
    counts = [len(mesh.triangles) for mesh in meshes]
    areas = [mesh.area for mesh in meshes]
    given = [0] * len(meshes)
    open_, left = set(range(len(meshes))), triangles
    while open_:
        whole = float(np.sum([areas[i] for i in sorted(open_)])) or 1.0
        wanted = {i: max(LEAST_TRIANGLES, int(left * areas[i] / whole)) for i in sorted(open_)}
        full = [i for i in sorted(open_) if counts[i] <= wanted[i]]
        for i in full or sorted(open_):
            given[i] = min(counts[i], wanted[i])
        left = max(0, left - int(np.sum([given[i] for i in full], dtype=int)))
        open_ = open_ - set(full) if full else set()
    return given
