"""Volume, centroid and second moments of simple solids of unit density.

Common frame: z is the length axis, the origin is the centre of the base face, and the body extends from z = 0
upwards. Only the sphere differs: its origin is its centre. Lengths are in metres.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError, shorten
from forearm.portable import total, weighted, weighted_squares
from forearm.spatial import Floats
from forearm.values import is_number

Triple = tuple[float, float, float]

SHORTEST = 1e-12  # m; within these bounds the fifth powers below neither underflow nor overflow
LONGEST = 1e12  # m
MOST_POINTS = 200  # of a prism: its crossing test compares every pair of edges
FLAT = 1e-12  # of the squared extent: smaller areas are rounding, not a shape


@dataclass(frozen=True)
class Moments:
    """Moments of a solid of unit density, S = integral of (r - c)(r - c)^T dV."""

    volume: float
    centroid: Floats  # (3,), in the shape's own frame
    second: Floats  # (3, 3), about the centroid, along the axes of the shape's own frame


@dataclass(frozen=True)
class Shape:
    """An entry of SHAPES: the function and the data a parts file needs to call it."""

    name: str
    function: Callable[..., Moments]
    dimensions: tuple[str, ...]
    summary: str


SHAPES: dict[str, Shape] = {}


def shape(summary: str) -> Callable[[Callable[..., Moments]], Callable[..., Moments]]:
    """Enter a shape into SHAPES, with its dimensions checked."""

    def registered(function: Callable[..., Moments]) -> Callable[..., Moments]:
        name = function.__name__.replace("_", "-")

        @wraps(function)
        def checked(**given: Any) -> Moments:
            sizes = {key: _size(name, key, value) for key, value in given.items() if key != "points"}
            return function(**(given | sizes))

        dimensions = tuple(key for key in signature(function).parameters if key != "points")
        SHAPES[name] = Shape(name, checked, dimensions, summary)
        return checked

    return registered


def _size(shape_: str, name: str, value: object) -> float:
    """A dimension; one radius of a frustum may be 0."""
    may_be_0 = shape_ == "frustum" and name != "height"
    return 0.0 if may_be_0 and is_number(value) and value == 0 else positive(shape_, name, value)


def positive(where: str, name: str, value: object) -> float:
    """Return a number from SHORTEST to LONGEST, refuse everything else."""
    if is_number(value) and SHORTEST <= value <= LONGEST:
        return float(value)
    allowed = f"a number > 0, from {SHORTEST:g} to {LONGEST:g} (lengths in metres)"
    raise InputError(f"{name} is {shorten(value)}; expected {allowed}.", where)


@shape("z = 0..length about z, origin at the base centre")
def cylinder(*, radius: float, length: float) -> Moments:
    """Solid cylinder about z from z = 0 to z = length."""
    r, h = radius, length
    # mean of x^2 over a disc: r^2/4; mean of (z - h/2)^2 over 0..h: h^2/12
    return _aligned(math.pi * r * r * h, (0.0, 0.0, h / 2), (r * r / 4, r * r / 4, h * h / 12))


@shape("half x >= 0 of the cylinder about z, flat face in the yz plane, origin on that face at z = 0")
def semi_cylinder(*, radius: float, length: float) -> Moments:
    """Half x >= 0 of a cylinder about z; flat face in the yz plane, origin on that face at z = 0."""
    r, h = radius, length
    # integral of x dA = 2r^3/3 over the area pi r^2/2 gives c = 4r/(3 pi); x^2 has the mean r^2/4 of the disc
    c = 4 * r / (3 * math.pi)
    x2 = r * r * (1 / 4 - 16 / (9 * (math.pi * math.pi)))  # r^2/4 - c^2
    return _aligned(math.pi * r * r * h / 2, (c, 0.0, h / 2), (x2, r * r / 4, h * h / 12))


@shape("z = 0..length about z, origin at the base centre")
def tube(*, outer_radius: float, inner_radius: float, length: float) -> Moments:
    """Hollow cylinder about z from z = 0 to z = length, open at both ends."""
    b, a, h = outer_radius, inner_radius, length
    if not a < b:
        raise InputError(
            f"inner_radius {a:g} m must be less than outer_radius {b:g} m; give inner < outer.", "tube"
        )
    # pi (b^4 - a^4)/4 over the area pi (b^2 - a^2) leaves (b^2 + a^2)/4
    x2 = (b * b + a * a) / 4
    return _aligned(math.pi * (b - a) * (b + a) * h, (0.0, 0.0, h / 2), (x2, x2, h * h / 12))


@shape("base disc in z = 0 about the origin, apex at z = height")
def cone(*, radius: float, height: float) -> Moments:
    """Cone about z: base disc in z = 0, apex at z = height."""
    r, h = radius, height
    # slice at z = t h has radius r (1 - t) and weight 3 (1 - t)^2 dt:
    # mean z = h/4, mean x^2 = (3/4) r^2 integral of (1 - t)^4 = 3r^2/20,
    # mean z^2 - (mean z)^2 = h^2/10 - h^2/16 = 3h^2/80
    x2 = 3 * r * r / 20
    return _aligned(math.pi * r * r * h / 3, (0.0, 0.0, h / 4), (x2, x2, 3 * h * h / 80))


@shape("bottom disc in z = 0 about the origin, top disc in z = height")
def frustum(*, bottom_radius: float, top_radius: float, height: float) -> Moments:
    """Truncated cone about z: bottom disc in z = 0, top disc in z = height; one radius may be 0."""
    a, b, h = bottom_radius, top_radius, height
    if a == b == 0:
        raise InputError("bottom_radius and top_radius are both 0; give at least one > 0.", "frustum")
    # slice at z = t h has radius a (1-t) + b t; integral of t^i (1-t)^j over 0..1 is i! j! / (i+j+1)!
    # V = pi h d/3                        d = a^2 + ab + b^2
    # mean z   = h (a^2 + 2ab + 3b^2) / (4 d)
    # mean x^2 = 3 (a^4 + a^3 b + a^2 b^2 + a b^3 + b^4) / (20 d)
    # mean z^2 = h^2 (a^2 + 3ab + 6b^2) / (10 d); less (mean z)^2 the numerator over 80 d^2 becomes
    # 8 d (a^2 + 3ab + 6b^2) - 5 (a^2 + 2ab + 3b^2)^2 = 3 (a^4 + 4a^3 b + 10a^2 b^2 + 4a b^3 + b^4)
    aa, ab, bb = a * a, a * b, b * b
    d = aa + ab + bb
    x2 = 3 * (aa * aa + aa * ab + aa * bb + ab * bb + bb * bb) / (20 * d)
    z2 = 3 * h * h * (aa * aa + 4 * aa * ab + 10 * aa * bb + 4 * ab * bb + bb * bb) / (80 * d * d)
    z = h * (aa + 2 * ab + 3 * bb) / (4 * d)
    return _aligned(math.pi * h * d / 3, (0.0, 0.0, z), (x2, x2, z2))


@shape("origin at the centre")
def sphere(*, radius: float) -> Moments:
    """Sphere with the origin at its centre."""
    r = radius
    # mean r^2 = 3 R^2/5, a third of it along each axis
    return _aligned(4 * math.pi * r * r * r / 3, (0.0, 0.0, 0.0), (r * r / 5,) * 3)


@shape("flat face in z = 0 about the origin, dome towards +z")
def hemisphere(*, radius: float) -> Moments:
    """Hemisphere: flat face in z = 0 with its centre at the origin, dome towards +z."""
    r = radius
    # mean z = (3/(2 r^3)) integral of z (r^2 - z^2) = 3r/8; z^2 has the mean r^2/5 of the ball
    z2 = r * r * 19 / 320  # r^2/5 - (3r/8)^2
    return _aligned(2 * math.pi * r * r * r / 3, (0.0, 0.0, 3 * r / 8), (r * r / 5, r * r / 5, z2))


@shape("origin at the centre of the bottom face, z = 0..z")
def box(*, x: float, y: float, z: float) -> Moments:
    """Cuboid aligned with the axes: origin at the centre of the bottom face, extending to z."""
    a, b, c = x, y, z
    return _aligned(a * b * c, (0.0, 0.0, c / 2), (a * a / 12, b * b / 12, c * c / 12))


@shape("triangle (0, 0), (x, 0), (0, z) of the xz plane, -y/2..y/2 in y, right-angle edge on y")
def wedge(*, x: float, y: float, z: float) -> Moments:
    """Right-triangular prism: triangle (0, 0), (x, 0), (0, z) of the xz plane, from -y/2 to y/2.

    The origin is the midpoint of the right-angle edge, which lies along y.
    """
    a, b, c = x, y, z
    # integral of x^i z^j over the unit triangle is i! j! / (i+j+2)!, over its area 1/2:
    # mean x = a/3, mean x^2 = a^2/6, mean xz = ac/12; less the centroid: a^2/18 and -ac/36
    volume = a * b * c / 2
    moments = _aligned(volume, (a / 3, 0.0, c / 3), (a * a / 18, b * b / 12, c * c / 18))
    moments.second[0, 2] = moments.second[2, 0] = -volume * a * c / 36
    return moments


@shape("polygon points (x, y) of the xy plane, z = 0..length")
def prism(*, points: Sequence[Sequence[float]] | Floats, length: float) -> Moments:
    """Simple polygon (x, y), ... in the xy plane, in either orientation, extruded from z = 0 to z = length.

    The origin is that of the polygon's coordinates; the last point is joined to the first.
    """
    corners = _polygon(points)
    middle = corners.mean(axis=0)
    u = corners - middle
    v = np.roll(u, -1, axis=0)
    # signed triangles (0, u, v) of area w = (u x v)/2: integral r = w (u + v)/3,
    # integral r r^T = w/12 (u u^T + v v^T + (u + v)(u + v)^T)
    w = _cross(u, v) / 2
    area = float(w.sum())
    extent = positive("prism", "extent of the points", float(np.ptp(corners, axis=0).max()))
    if not abs(area) > FLAT * (extent * extent):
        raise InputError(
            "the points are collinear and enclose no area; give the outline of a polygon.", "prism"
        )
    centre = weighted(w, u + v) / (3 * area)
    plane = total(weighted_squares(w, p) for p in (u, v, u + v)) / 12 - area * np.outer(centre, centre)
    second = np.zeros((3, 3))
    second[:2, :2] = math.copysign(length / 2, area) * (plane + plane.T)
    second[2, 2] = abs(area) * length * length * length / 12
    return Moments(abs(area) * length, np.array([*(middle + centre), length / 2]), second)


def _aligned(volume: float, centroid: Triple, mean_squares: Triple) -> Moments:
    """Moments of a body with principal axes along its frame: S = V diag(mean squares about c)."""
    return Moments(volume, np.array(centroid), volume * np.diag(mean_squares))


def _polygon(points: object) -> Floats:
    """Corners (n, 2) of a simple polygon; invalid points and intersecting edges are refused."""
    listed = points.tolist() if isinstance(points, np.ndarray) else points
    if not isinstance(listed, Sequence) or not 3 <= len(listed) <= MOST_POINTS:
        count = len(listed) if isinstance(listed, Sequence) else shorten(listed)
        raise InputError(
            f"points: expected a list of 3 to {MOST_POINTS} points (x, y), got {count}.", "prism"
        )
    for number, point in enumerate(listed, 1):
        pair = isinstance(point, Sequence) and len(point) == 2
        if not pair or not all(is_number(value) and abs(value) <= LONGEST for value in point):
            raise InputError(
                f"point {number} is {shorten(point)}; give two numbers (x, y) from "
                f"{-LONGEST:g} to {LONGEST:g} in metres.",
                "prism",
            )
    corners = np.array(listed, dtype=np.float64)
    _refuse_folds(corners)
    _refuse_crossings(corners)
    return corners


def _refuse_folds(corners: Floats) -> None:
    """Refuse repeated points and corners where the outline reverses onto itself."""
    count = len(corners)
    leaving = np.roll(corners, -1, axis=0) - corners
    arriving = np.roll(leaving, 1, axis=0)
    repeated = ~leaving.any(axis=1)
    if repeated.any():
        i = int(repeated.argmax())
        raise InputError(
            f"points {i + 1} and {(i + 1) % count + 1} are the same; give each point once "
            "(the outline closes automatically).",
            "prism",
        )
    back = (_cross(arriving, leaving) == 0) & ((arriving * leaving).sum(axis=1) < 0)
    if back.any():
        raise InputError(
            f"the outline turns back on itself at point {int(back.argmax()) + 1}; give the "
            "points in order along the outline.",
            "prism",
        )


def _refuse_crossings(corners: Floats) -> None:
    """Refuse edges that cross or touch an edge with which they share no corner."""
    count = len(corners)
    i, j = np.triu_indices(count, k=2)
    apart = (i > 0) | (j < count - 1)  # the last edge ends where the first begins
    i, j = i[apart], j[apart]
    a, b = corners[i], corners[(i + 1) % count]
    c, d = corners[j], corners[(j + 1) % count]
    # two segments intersect if their bounding boxes do and neither lies on one side of the other
    boxes = (np.maximum(a, b) >= np.minimum(c, d)) & (np.maximum(c, d) >= np.minimum(a, b))
    meet = boxes.all(axis=1) & _straddles(a, b, c, d) & _straddles(c, d, a, b)
    if meet.any():
        first, second = int(i[meet][0]), int(j[meet][0])
        raise InputError(
            f"the edge from point {first + 1} to {first + 2} intersects the edge from point "
            f"{second + 1} to {(second + 1) % count + 1}; give the points in order along the "
            "outline.",
            "prism",
        )


def _straddles(a: Floats, b: Floats, c: Floats, d: Floats) -> NDArray[np.bool_]:
    """Whether c and d lie on different sides of the line a b, or on it."""
    return np.sign(_cross(b - a, c - a)) * np.sign(_cross(b - a, d - a)) <= 0


def _cross(u: Floats, v: Floats) -> Floats:
    return np.asarray(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0])
