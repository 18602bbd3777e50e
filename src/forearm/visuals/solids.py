"""Solids as triangles: bodies of revolution, extruded outlines, and the ten shapes of parts files."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from forearm.portable import cos_sin
from forearm.spatial import Floats
from forearm.visuals.mesh import Indices, TriangleMesh, cleaned

SEGMENTS = 32  # segments of a circle
RINGS = 12  # segments from pole to pole of a sphere

Outline = Sequence[tuple[float, float]]


@cache
def _circle(segments: int) -> tuple[tuple[float, float], ...]:
    return tuple(cos_sin(2.0 * math.pi * k / segments) for k in range(segments))


def revolved(profile: Outline, segments: int = SEGMENTS, closed: bool = False) -> TriangleMesh:
    """The solid swept about z by a profile of (radius, z), which runs upwards on the outside.

    Args:
        profile: points from a radius of 0 to a radius of 0, or a ring where `closed`.
        segments: corners of the polygon that approximates a circle.
        closed: whether the last point is joined to the first.
    """
    circle = np.array(_circle(segments))
    points, rings = [], []
    count = 0
    for radius, z in profile:
        if radius == 0.0:
            points.append(np.array([[0.0, 0.0, z]]))
            rings.append(np.full(segments, count, dtype=np.intp))
            count += 1
        else:
            points.append(np.column_stack([radius * circle, np.full(segments, z)]))
            rings.append(np.arange(count, count + segments, dtype=np.intp))
            count += segments
    following = [*rings[1:], rings[0]] if closed else rings[1:]
    faces = []
    for a, b in zip(rings, following, strict=False):
        ahead_a, ahead_b = np.roll(a, -1), np.roll(b, -1)
        faces += [np.column_stack([a, ahead_a, ahead_b]), np.column_stack([a, ahead_b, b])]
    return cleaned(TriangleMesh(np.concatenate(points), np.concatenate(faces)))


def extruded(outline: Outline, low: float, high: float) -> TriangleMesh:
    """The prism over an outline of (x, y), of either orientation, from z = low to z = high."""
    flat = np.array(outline, dtype=float)
    x, y = flat[:, 0], flat[:, 1]
    if float((x * np.roll(y, -1) - np.roll(x, -1) * y).sum()) < 0.0:
        flat = flat[::-1]
    n = len(flat)
    caps = _ears(flat)
    ring = np.arange(n, dtype=np.intp)
    ahead = np.roll(ring, -1)
    sides = [np.column_stack([ring, ahead, ahead + n]), np.column_stack([ring, ahead + n, ring + n])]
    points = np.concatenate([np.column_stack([flat, np.full(n, z)]) for z in (low, high)])
    return cleaned(TriangleMesh(points, np.concatenate([caps[:, ::-1], caps + n, *sides])))


def _ears(flat: Floats) -> Indices:
    """Triangles of a simple counter-clockwise polygon, by ear clipping."""
    left = list(range(len(flat)))
    made = []
    while len(left) > 3:
        turns = range(len(left))
        cut = next((k for k in turns if _is_ear(flat, left, k)), None)
        if cut is None:  # rounding may hide every ear: a fan does the least harm
            break
        made.append((left[cut - 1], left[cut], left[(cut + 1) % len(left)]))
        del left[cut]
    made += [(left[0], left[k], left[k + 1]) for k in range(1, len(left) - 1)]
    return np.array(made, dtype=np.intp)


def _is_ear(flat: Floats, left: list[int], k: int) -> bool:
    a, b, c = flat[left[k - 1]], flat[left[k]], flat[left[(k + 1) % len(left)]]
    if _turn(a, b, c) <= 0.0:
        return False
    others = flat[[i for i in left if i not in (left[k - 1], left[k], left[(k + 1) % len(left)])]]
    inside = (_turn(a, b, others) >= 0.0) & (_turn(b, c, others) >= 0.0) & (_turn(c, a, others) >= 0.0)
    return not bool(np.any(inside))


def _turn(a: Floats, b: Floats, c: Floats) -> Any:
    c = np.asarray(c).T
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def arc(radius: float, z: float, start: float, end: float, steps: int) -> list[tuple[float, float]]:
    """Points (radius, z) of a circle about (0, z), from one latitude in rad to another."""
    made = []
    for k in range(steps + 1):
        c, s = cos_sin(start + (end - start) * k / steps)
        made.append((0.0 if abs(c) < 1e-12 else radius * c, z + radius * s))
    return made


def box(x: float, y: float, z: float) -> TriangleMesh:
    """A box centred at the origin."""
    a, b = 0.5 * x, 0.5 * y
    return extruded([(-a, -b), (a, -b), (a, b), (-a, b)], -0.5 * z, 0.5 * z)


def cylinder(radius: float, length: float, segments: int = SEGMENTS) -> TriangleMesh:
    """A cylinder along z centred at the origin."""
    h = 0.5 * length
    return revolved([(0.0, -h), (radius, -h), (radius, h), (0.0, h)], segments)


def frustum(bottom: float, top: float, height: float, segments: int = SEGMENTS) -> TriangleMesh:
    """A truncated circular cone, from z = 0 to z = height; one radius may be 0."""
    profile = [(0.0, 0.0), (bottom, 0.0), (top, height), (0.0, height)]
    return revolved(list(dict.fromkeys(profile)), segments)


def sphere(radius: float, segments: int = SEGMENTS, rings: int = RINGS) -> TriangleMesh:
    """A ball about the origin."""
    return revolved(arc(radius, 0.0, -0.5 * math.pi, 0.5 * math.pi, rings), segments)


def capsule(radius: float, length: float, segments: int = SEGMENTS, rings: int = RINGS) -> TriangleMesh:
    """A cylinder along z of this length with a hemisphere on each end, centred at the origin."""
    h, half = 0.5 * length, rings // 2
    bottom = arc(radius, -h, -0.5 * math.pi, 0.0, half)
    top = arc(radius, h, 0.0, 0.5 * math.pi, half)
    return revolved([*bottom, *(top if h > 0.0 else top[1:])], segments)


def tube(outer: float, inner: float, length: float, segments: int = SEGMENTS) -> TriangleMesh:
    """A hollow cylinder along z from z = 0 to z = length."""
    return revolved([(outer, 0.0), (outer, length), (inner, length), (inner, 0.0)], segments, closed=True)


def half_cylinder(radius: float, length: float, segments: int = SEGMENTS) -> TriangleMesh:
    """The half x >= 0 of a cylinder about z, from z = 0 to z = length."""
    steps = segments // 2
    around = [cos_sin(math.pi * k / steps - 0.5 * math.pi) for k in range(steps + 1)]
    return extruded([(radius * c, radius * s) for c, s in around], 0.0, length)


def half_ball(radius: float, segments: int = SEGMENTS, rings: int = RINGS) -> TriangleMesh:
    """Half a ball: flat face in z = 0, dome towards +z."""
    return revolved([(0.0, 0.0), *arc(radius, 0.0, 0.0, 0.5 * math.pi, rings // 2)], segments)


def _raised(mesh: TriangleMesh, z: float) -> TriangleMesh:
    return TriangleMesh(mesh.vertices + np.array([0.0, 0.0, z]), mesh.triangles)


def _wedge(x: float, y: float, z: float) -> TriangleMesh:
    """The right-angled triangle (0, 0), (x, 0), (0, z) of the xz plane, from -y/2 to y/2."""
    made = extruded([(0.0, 0.0), (x, 0.0), (0.0, z)], -0.5 * y, 0.5 * y)
    return TriangleMesh(made.vertices[:, [0, 2, 1]] * np.array([1.0, -1.0, 1.0]), made.triangles)


def around(radius: float) -> int:
    """Number of segments of a circle of a part: small circles need fewer."""
    return 32 if radius > 0.1 else 24 if radius > 0.03 else 16


OF_PARTS: dict[str, Callable[[Mapping[str, Any]], TriangleMesh]] = {
    "cylinder": lambda d: _raised(cylinder(d["radius"], d["length"]), 0.5 * d["length"]),
    "semi-cylinder": lambda d: half_cylinder(d["radius"], d["length"], around(d["radius"])),
    "tube": lambda d: tube(d["outer_radius"], d["inner_radius"], d["length"], around(d["outer_radius"])),
    "cone": lambda d: frustum(d["radius"], 0.0, d["height"], around(d["radius"])),
    "frustum": lambda d: frustum(
        d["bottom_radius"], d["top_radius"], d["height"], around(max(d["bottom_radius"], d["top_radius"]))
    ),
    "sphere": lambda d: sphere(d["radius"]),
    "hemisphere": lambda d: half_ball(d["radius"]),
    "box": lambda d: _raised(box(d["x"], d["y"], d["z"]), 0.5 * d["z"]),
    "wedge": lambda d: _wedge(d["x"], d["y"], d["z"]),
    "prism": lambda d: extruded([(x, y) for x, y in d["points"]], 0.0, d["length"]),
}
