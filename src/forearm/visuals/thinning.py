"""Mesh simplification by many simultaneous edge collapses, for large meshes; the topology is preserved.

Each round collapses a set of edges no two of which touch the same triangle, so the conditions can be checked
for each alone: Garland and Heckbert's cost, the link condition, no flipped face.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.spatial import Floats
from forearm.visuals.mesh import Indices, TriangleMesh, cleaned, lengths, whole
from forearm.visuals.quadrics import LONG, least_points, of_vertices, values

CHEAPEST = 0.6  # fraction of the edges considered in a round
FLIP = 0.3  # cosine of the largest rotation of a face
LEAST_PROGRESS = 0.01  # of the triangles; a round that removes fewer is the last

Flags = NDArray[np.bool_]


def thinned(mesh: TriangleMesh, triangles: int) -> TriangleMesh:
    """The mesh with edges collapsed, round by round, to about the given number of triangles."""
    points, faces, q = mesh.vertices.copy(), mesh.triangles, of_vertices(mesh)
    count = len(points)
    refused = np.zeros(0, dtype=np.intp)
    while len(faces) > triangles:
        edges, shared = edges_of(faces)
        target, cost = _targets(points, q, edges)
        cost[_is_refused(faces, edges, shared, refused, count)] = np.inf
        order = np.argsort(cost, kind="stable")[: int(CHEAPEST * len(edges)) + 1]
        order = order[np.isfinite(cost[order])]
        order = order[_apart(faces, edges[order], count)][: (len(faces) - triangles) // 2 + 1]
        sound = _keeps_topology(edges, order, count) & _keeps_sides(
            points, faces, edges[order], target[order]
        )
        refused = np.union1d(refused, edges[order[~sound], 0] * count + edges[order[~sound], 1])
        u, v = edges[order[sound]].T
        points[u], q[u] = target[order[sound]], q[u] + q[v]
        onto = np.arange(count)
        onto[v] = u
        before, faces = len(faces), whole(onto[faces])
        if before - len(faces) < LEAST_PROGRESS * before:
            break
    return cleaned(TriangleMesh(points, faces))


def edges_of(faces: Indices) -> tuple[Indices, Indices]:
    """The edges (E, 2) of triangles, smaller index first, and the number of triangles of each."""
    start, end = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    width = int(faces.max(initial=0)) + 1
    key, count = np.unique(np.minimum(start, end) * width + np.maximum(start, end), return_counts=True)
    return np.stack([key // width, key % width], axis=1), count


def _targets(points: Floats, q: Floats, edges: Indices) -> tuple[Floats, Floats]:
    """The merged point of each edge, and the cost."""
    a, b = points[edges[:, 0]], points[edges[:, 1]]
    both = q[edges[:, 0]] + q[edges[:, 1]]
    length = lengths(b - a)
    middle = 0.5 * (a + b)
    best, is_sound = least_points(both)
    far = ~is_sound | ~(lengths(best - middle) <= length)
    best[far] = middle[far]
    trace = both[:, 0] + both[:, 3] + both[:, 5]
    cost = values(both, best) + LONG * length * length * trace
    # Scattered: otherwise only one of a row of edges of equal cost could be collapsed per round.
    scatter = (edges[:, 0] * 7919 + edges[:, 1] * 104729) % 1021
    return best, cost * (1.0 + scatter / 2042.0)


def _is_refused(faces: Indices, edges: Indices, shared: Indices, refused: Indices, count: int) -> Flags:
    """Edges that were rejected before, and those at open edges: they are left to single collapses."""
    open_point = np.zeros(count, dtype=bool)
    open_point[edges[shared != 2].ravel()] = True
    is_open = open_point[edges[:, 0]] | open_point[edges[:, 1]]
    return np.asarray(np.isin(edges[:, 0] * count + edges[:, 1], refused) | is_open)


def _keeps_topology(edges: Indices, chosen: Indices, count: int) -> Flags:
    """The link condition: the ends of an edge have no more than two neighbours in common."""
    neighbours = np.concatenate([edges, edges[:, ::-1]])
    neighbours = neighbours[np.lexsort((neighbours[:, 1], neighbours[:, 0]))]
    degree = np.bincount(neighbours[:, 0], minlength=count)
    first = np.concatenate([[0], np.cumsum(degree)])
    u, v = edges[chosen].T
    common = np.zeros(len(chosen), dtype=np.intp)
    known = edges[:, 0] * count + edges[:, 1]  # sorted, like the edges
    for k in range(int(degree[u].max(initial=0))):  # the k-th neighbour of u: is it one of v?
        at = np.flatnonzero(k < degree[u])
        w = neighbours[first[u[at]] + k, 1]
        key = np.minimum(w, v[at]) * count + np.maximum(w, v[at])
        place = np.minimum(np.searchsorted(known, key), len(known) - 1)
        common[at] += (known[place] == key) & (w != v[at])
    return np.asarray((common == 2) & (degree[u] + degree[v] > 7))


def _keeps_sides(points: Floats, faces: Indices, edges: Indices, target: Floats) -> Flags:
    """Whether no triangle at an edge's ends flips when the edge becomes a point.

    No two of the edges touch the same triangle, so each triangle is affected by at most one.
    """
    edge_at = np.full(len(points), -1)
    for end in (0, 1):
        edge_at[edges[:, end]] = np.arange(len(edges))
    has = edge_at >= 0
    ends = has[faces[:, 0]].astype(np.int8) + has[faces[:, 1]] + has[faces[:, 2]]
    touched = ends == 1  # triangles with both ends vanish
    corners = faces[touched]
    which = edge_at[corners]
    old = points[corners]
    new = np.where((which >= 0)[:, :, None], target[which], old)
    n, m = (np.cross(c[:, 1] - c[:, 0], c[:, 2] - c[:, 0]) for c in (old, new))
    upright = n[:, 0] * m[:, 0] + n[:, 1] * m[:, 1] + n[:, 2] * m[:, 2]
    sound = np.ones(len(edges), dtype=bool)
    sound[which.max(axis=1)[~(upright > FLIP * lengths(n) * lengths(m))]] = False
    return sound


def _apart(faces: Indices, edges: Indices, count: int) -> Flags:
    """Edges, cheapest first, no two of which touch the same triangle; found in a few sweeps."""
    chosen = np.zeros(len(edges), dtype=bool)
    waiting = np.ones(len(edges), dtype=bool)
    taken = np.zeros(count, dtype=bool)
    for _ in range(3):
        rank = np.flatnonzero(waiting)
        least = np.full(count, len(edges))
        for end in (0, 1):
            np.minimum.at(least, edges[rank, end], rank)
        around = least.copy()  # the smallest rank among a point and its neighbours
        a, b, c = least[faces[:, 0]], least[faces[:, 1]], least[faces[:, 2]]
        of_face = np.minimum(np.minimum(a, b), c)
        for k in range(3):
            np.minimum.at(around, faces[:, k], of_face)
        wins = waiting & (around[edges[:, 0]] == np.arange(len(edges)))
        wins &= around[edges[:, 1]] == np.arange(len(edges))
        chosen |= wins
        taken[edges[wins].ravel()] = True
        near = taken[faces[:, 0]] | taken[faces[:, 1]] | taken[faces[:, 2]]
        touched = np.zeros(count, dtype=bool)
        touched[faces[near].ravel()] = True
        waiting &= ~(touched[edges[:, 0]] | touched[edges[:, 1]])
    return chosen
