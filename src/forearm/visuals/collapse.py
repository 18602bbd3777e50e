"""Mesh simplification by single edge collapses, cheapest first, with Garland and Heckbert's cost; the
topology is preserved.
"""

from __future__ import annotations

import heapq
import math

import numpy as np

from forearm.visuals.mesh import TriangleMesh, cleaned
from forearm.visuals.quadrics import LONG, Quadric, least_point, of_vertices, value
from forearm.visuals.thinning import edges_of

STAY_NEAR = 1.5  # of an edge's length from its middle: optimal points beyond are not used
FLIP = 0.2  # cosine of the largest rotation of a face
SLIVER = 0.02  # twice the area over the longest side squared: triangles below this may not get much worse
WORSE = 0.25  # of the previous value: much worse

Point = tuple[float, float, float]
Candidate = tuple[float, int, int, int, int, Point]


def collapsed(mesh: TriangleMesh, triangles: int) -> TriangleMesh:
    """The mesh with edges collapsed until it has few enough triangles, or no valid collapse is left."""
    state = _Collapsing(mesh)
    state.run(triangles)
    return state.result()


class _Collapsing:
    """A mesh in lists: points, their quadrics and triangles, and a heap of candidate edges."""

    def __init__(self, mesh: TriangleMesh) -> None:
        self.points: list[Point] = [(x, y, z) for x, y, z in mesh.vertices.tolist()]
        self.quadrics: list[Quadric] = [tuple(row) for row in of_vertices(mesh).tolist()]
        self.triangles: list[list[int] | None] = mesh.triangles.tolist()
        self.count = len(self.triangles)
        self.at: list[set[int]] = [set() for _ in self.points]
        for index, corners in enumerate(mesh.triangles.tolist()):
            for point in corners:
                self.at[point].add(index)
        self.version = [0] * len(self.points)
        self.heap: list[Candidate] = []

    def candidate(self, u: int, v: int) -> Candidate:
        """An edge with its cost and the point that it would become."""
        q: Quadric = tuple(a + b for a, b in zip(self.quadrics[u], self.quadrics[v], strict=True))  # type: ignore[assignment]
        a, b = self.points[u], self.points[v]
        middle = (0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1]), 0.5 * (a[2] + b[2]))
        length = _distance2(a, b)
        best = least_point(q)
        if best is None or _distance2(best, middle) > STAY_NEAR * STAY_NEAR * length:
            best = min((value(q, *p), p) for p in (middle, a, b))[1]
        cost = value(q, *best) + LONG * length * (q[0] + q[3] + q[5])
        return cost, u, v, self.version[u], self.version[v], best

    def run(self, wanted: int) -> None:
        """Collapse edges until `wanted` triangles are left; rejected edges are retried after others."""
        before = self.count + 1
        while wanted < self.count < before:
            before = self.count
            left = [corners for corners in self.triangles if corners is not None]
            edges, _ = edges_of(np.array(left, dtype=np.intp))
            self.heap = [self.candidate(u, v) for u, v in edges.tolist()]
            heapq.heapify(self.heap)
            self.sweep(wanted)

    def sweep(self, wanted: int) -> None:
        """Process the heap, cheapest edge first."""
        while self.count > wanted and self.heap:
            _, u, v, seen_u, seen_v, point = heapq.heappop(self.heap)
            if self.version[u] != seen_u or self.version[v] != seen_v:
                continue
            if self.may_go(u, v, point):
                self.collapse(u, v, point)

    def neighbours(self, u: int) -> set[int]:
        """Points that share a triangle with a point."""
        found = {point for t in self.at[u] for point in self.triangles[t] or ()}
        found.discard(u)
        return found

    def may_go(self, u: int, v: int, point: Point) -> bool:
        """Whether the topology is preserved: no hole closes, no sheet folds, no face flips."""
        shared = self.at[u] & self.at[v]
        if not 1 <= len(shared) <= 2:
            return False
        common = self.neighbours(u) & self.neighbours(v)
        if len(common) != len(shared) or len(self.at[u]) + len(self.at[v]) - 2 * len(shared) < 2:
            return False
        if len(shared) == 2 and self.is_open(u) and self.is_open(v):  # would merge two boundary loops
            return False
        return all(self.stays_upright(t, u, v, point) for t in (self.at[u] | self.at[v]) - shared)

    def is_open(self, u: int) -> bool:
        """Whether a point lies on an open edge."""
        return len(self.neighbours(u)) != len(self.at[u])

    def stays_upright(self, t: int, u: int, v: int, point: Point) -> bool:
        """Whether a triangle neither flips nor degenerates to a needle when its vertex moves."""
        corners = self.triangles[t]
        assert corners is not None
        old = [self.points[i] for i in corners]
        new = [point if i in (u, v) else p for i, p in zip(corners, old, strict=True)]
        n, m = _cross(*old), _cross(*new)
        length_n, length_m = _length(n), _length(m)
        if n[0] * m[0] + n[1] * m[1] + n[2] * m[2] < FLIP * length_n * length_m or length_m == 0.0:
            return length_n == 0.0
        longest = max(_distance2(new[0], new[1]), _distance2(new[1], new[2]), _distance2(new[2], new[0]))
        if length_m >= SLIVER * longest:
            return True
        before = max(_distance2(old[0], old[1]), _distance2(old[1], old[2]), _distance2(old[2], old[0]))
        return length_m * before >= WORSE * length_n * longest

    def collapse(self, u: int, v: int, point: Point) -> None:
        """Merge v into u, and move u to its new place."""
        for t in self.at[u] & self.at[v]:
            for corner in self.triangles[t] or ():
                self.at[corner].discard(t)
            self.triangles[t] = None
            self.count -= 1
        for t in self.at[v]:
            self.triangles[t] = [u if i == v else i for i in self.triangles[t] or ()]
        self.at[u] |= self.at[v]
        self.at[v] = set()
        self.points[u] = point
        self.quadrics[u] = tuple(a + b for a, b in zip(self.quadrics[u], self.quadrics[v], strict=True))  # type: ignore[assignment]
        self.version[u] += 1
        self.version[v] += 1
        for w in sorted(self.neighbours(u)):
            heapq.heappush(self.heap, self.candidate(min(u, w), max(u, w)))

    def result(self) -> TriangleMesh:
        """The remaining mesh."""
        left = [corners for corners in self.triangles if corners is not None]
        return cleaned(TriangleMesh(np.array(self.points), np.array(left, dtype=np.intp).reshape(-1, 3)))


def _distance2(a: Point, b: Point) -> float:
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return x * x + y * y + z * z


def _cross(a: Point, b: Point, c: Point) -> Point:
    ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    vx, vy, vz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    return uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx


def _length(n: Point) -> float:
    return math.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
