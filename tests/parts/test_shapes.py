"""Closed forms against Gauss-Legendre quadrature over each body's own parametrisation, and identities."""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from forearm.errors import InputError
from forearm.parts.shapes import (
    LONGEST,
    MOST_POINTS,
    SHAPES,
    SHORTEST,
    Moments,
    box,
    cone,
    cylinder,
    frustum,
    hemisphere,
    prism,
    semi_cylinder,
    sphere,
    tube,
    wedge,
)
from forearm.parts.stl import mesh_moments
from forearm.spatial import inertia_from_pseudo

Array = NDArray[np.float64]
Body = Callable[[Array, Array, Array], tuple[Array, Array, Array, Array]]  # (u, v, w) in 0..1 -> x, y, z, dV

QUADRATURE = 1e-10  # 24 nodes integrate the trigonometric polynomials of degree 4 below to rounding
ROUNDING = 1e-12  # both sides are closed forms
HALF_PI = math.pi / 2

NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)


@cache
def unit_cube() -> tuple[Array, Array, Array, Array]:
    """Places and weights of the quadrature."""
    t, dt = (NODES + 1) / 2, WEIGHTS / 2
    u, v, w = (axis.ravel() for axis in np.meshgrid(t, t, t, indexing="ij"))
    return u, v, w, np.einsum("i,j,k->ijk", dt, dt, dt).ravel()


def integrate(body: Body) -> tuple[Moments, Array]:
    """Moments and inertia about the centroid by quadrature over the unit cube."""
    u, v, w, weight = unit_cube()
    x, y, z, jacobian = body(u, v, w)
    r = np.stack(np.broadcast_arrays(x, y, z), axis=-1)
    dv = weight * jacobian
    volume = float(dv.sum())
    centroid = dv @ r / volume
    d = r - centroid
    inertia = (dv @ (d * d).sum(axis=1)) * np.eye(3) - (dv * d.T) @ d
    return Moments(volume, centroid, (dv * d.T) @ d), inertia


def assert_equal(found: Moments, truth: Moments, tolerance: float) -> None:
    size = math.sqrt(float(np.trace(truth.second)) / truth.volume)
    assert found.volume == pytest.approx(truth.volume, rel=tolerance)
    np.testing.assert_allclose(found.centroid, truth.centroid, rtol=0, atol=tolerance * size)
    np.testing.assert_allclose(found.second, truth.second, rtol=0, atol=tolerance * truth.volume * size**2)


def joined(*bodies: Moments) -> Moments:
    """One body from several, by the parallel-axis rule."""
    volume = sum(b.volume for b in bodies)
    centroid = sum((b.volume * b.centroid for b in bodies), np.zeros(3)) / volume
    second = np.zeros((3, 3))
    for b in bodies:
        second += b.second + b.volume * np.outer(b.centroid - centroid, b.centroid - centroid)
    return Moments(volume, centroid, second)


def turned(body: Moments, rotation: Array, shift: Array) -> Moments:
    return Moments(body.volume, rotation @ body.centroid + shift, rotation @ body.second @ rotation.T)


def sector(radius: Callable[[Array], Array], h: float, start: float, end: float, inner: float = 0.0) -> Body:
    """Round body about z of radius(t) at z = t h, between two angles and outside inner."""

    def body(u: Array, v: Array, w: Array) -> tuple[Array, Array, Array, Array]:
        width = radius(w) - inner
        rho, angle = inner + u * width, start + (end - start) * v
        return rho * np.cos(angle), rho * np.sin(angle), h * w, rho * width * (end - start) * h

    return body


def ball(radius: float, lowest: float) -> Body:
    """Part of a ball where the sine of the latitude is above lowest."""

    def body(u: Array, v: Array, w: Array) -> tuple[Array, Array, Array, Array]:
        rho, angle, sine = radius * u, 2 * math.pi * v, lowest + (1 - lowest) * w
        flat = rho * np.sqrt(1 - sine**2)
        jacobian = rho**2 * radius * 2 * math.pi * (1 - lowest)
        return flat * np.cos(angle), flat * np.sin(angle), rho * sine, jacobian

    return body


def fan(points: Array, h: float, kernel: Array) -> list[Body]:
    """Triangles from a point that sees the whole outline, each pushed along z."""

    def triangle(a: Array, b: Array) -> Body:
        def body(u: Array, v: Array, w: Array) -> tuple[Array, Array, Array, Array]:
            p = kernel + u[:, None] * ((1 - v)[:, None] * (a - kernel) + v[:, None] * (b - kernel))
            double = (a - kernel)[0] * (b - kernel)[1] - (a - kernel)[1] * (b - kernel)[0]
            return p[:, 0], p[:, 1], h * w, u * abs(double) * h

        return body

    return [triangle(a, b) for a, b in zip(points, np.roll(points, -1, axis=0), strict=True)]


def constant(radius: float) -> Callable[[Array], Array]:
    return lambda t: np.full_like(t, radius)


TRUTHS: dict[str, tuple[dict[str, float], Body]] = {
    "cylinder": ({"radius": 0.37, "length": 1.3}, sector(constant(0.37), 1.3, 0, 2 * math.pi)),
    "semi-cylinder": ({"radius": 0.43, "length": 0.9}, sector(constant(0.43), 0.9, -HALF_PI, HALF_PI)),
    "tube": (
        {"outer_radius": 0.61, "inner_radius": 0.47, "length": 0.83},
        sector(constant(0.61), 0.83, 0, 2 * math.pi, inner=0.47),
    ),
    "cone": ({"radius": 0.53, "height": 0.71}, sector(lambda t: 0.53 * (1 - t), 0.71, 0, 2 * math.pi)),
    "frustum": (
        {"bottom_radius": 0.29, "top_radius": 0.67, "height": 0.59},
        sector(lambda t: 0.29 + 0.38 * t, 0.59, 0, 2 * math.pi),
    ),
    "sphere": ({"radius": 0.79}, ball(0.79, -1.0)),
    "hemisphere": ({"radius": 0.73}, ball(0.73, 0.0)),
    "box": (
        {"x": 0.31, "y": 0.57, "z": 0.97},
        lambda u, v, w: (0.31 * (u - 0.5), 0.57 * (v - 0.5), 0.97 * w, np.full_like(u, 0.31 * 0.57 * 0.97)),
    ),
    "wedge": (
        {"x": 0.41, "y": 0.83, "z": 0.67},
        lambda u, v, w: (0.41 * u, 0.83 * (v - 0.5), 0.67 * (1 - u) * w, 0.41 * 0.83 * 0.67 * (1 - u)),
    ),
}


@pytest.mark.parametrize("name", TRUTHS)
def test_closed_form_is_the_integral(name: str) -> None:
    dimensions, body = TRUTHS[name]
    shape = SHAPES[name]
    truth, inertia = integrate(body)
    found = shape.function(**dimensions)
    assert_equal(found, truth, QUADRATURE)
    np.testing.assert_allclose(inertia_from_pseudo(found.second), inertia, rtol=0, atol=QUADRATURE)


@pytest.mark.parametrize("name", TRUTHS)
def test_every_dimension_matters(name: str) -> None:
    dimensions, _ = TRUTHS[name]
    before = SHAPES[name].function(**dimensions)
    assert set(dimensions) == set(SHAPES[name].dimensions)
    for dimension in dimensions:
        after = SHAPES[name].function(**{**dimensions, dimension: dimensions[dimension] * 1.01})
        assert abs(after.volume / before.volume - 1) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("name", TRUTHS)
@given(k=st.floats(1e-3, 1e3))
def test_scaling_law(name: str, k: float) -> None:
    dimensions, _ = TRUTHS[name]
    unit = SHAPES[name].function(**dimensions)
    scaled = SHAPES[name].function(**{key: k * value for key, value in dimensions.items()})
    assert_equal(scaled, Moments(k**3 * unit.volume, k * unit.centroid, k**5 * unit.second), ROUNDING)


lengths = st.floats(1e-3, 1e3)


@pytest.mark.slow
@given(outer=lengths, ratio=st.floats(0.01, 0.99), length=lengths)
def test_tube_fills_up_to_a_cylinder(outer: float, ratio: float, length: float) -> None:
    hollow = tube(outer_radius=outer, inner_radius=ratio * outer, length=length)
    filled = joined(hollow, cylinder(radius=ratio * outer, length=length))
    assert_equal(filled, cylinder(radius=outer, length=length), ROUNDING)


@pytest.mark.slow
@given(radius=lengths, height=lengths)
def test_cone_and_cylinder_are_frustums(radius: float, height: float) -> None:
    pointed = frustum(bottom_radius=radius, top_radius=0, height=height)
    straight = frustum(bottom_radius=radius, top_radius=radius, height=height)
    assert_equal(cone(radius=radius, height=height), pointed, ROUNDING)
    assert_equal(cylinder(radius=radius, length=height), straight, ROUNDING)


@given(a=lengths, b=lengths, height=lengths)
def test_frustum_upside_down(a: float, b: float, height: float) -> None:
    flip = np.diag([1.0, -1.0, -1.0])
    over = turned(frustum(bottom_radius=a, top_radius=b, height=height), flip, np.array([0, 0, height]))
    assert_equal(over, frustum(bottom_radius=b, top_radius=a, height=height), ROUNDING)


def test_a_frustum_is_a_cone_without_its_tip() -> None:
    tip = turned(cone(radius=0.2, height=0.5), np.eye(3), np.array([0, 0, 0.75]))
    whole = joined(frustum(bottom_radius=0.5, top_radius=0.2, height=0.75), tip)
    assert_equal(whole, cone(radius=0.5, height=1.25), ROUNDING)


@pytest.mark.slow
@given(radius=lengths, length=lengths)
def test_two_halves_make_a_whole(radius: float, length: float) -> None:
    about_z, about_x = np.diag([-1.0, -1.0, 1.0]), np.diag([1.0, -1.0, -1.0])
    half = semi_cylinder(radius=radius, length=length)
    whole = cylinder(radius=radius, length=length)
    assert_equal(joined(half, turned(half, about_z, np.zeros(3))), whole, ROUNDING)
    dome = hemisphere(radius=radius)
    assert_equal(joined(dome, turned(dome, about_x, np.zeros(3))), sphere(radius=radius), ROUNDING)


@given(x=lengths, y=lengths, z=lengths)
def test_two_wedges_make_a_box(x: float, y: float, z: float) -> None:
    half = wedge(x=x, y=y, z=z)
    other = turned(half, np.diag([-1.0, 1.0, -1.0]), np.array([x, 0, z]))
    whole = turned(box(x=x, y=y, z=z), np.eye(3), np.array([x / 2, 0, 0]))
    assert_equal(joined(half, other), whole, ROUNDING)


@pytest.mark.slow
@given(x=lengths, y=lengths, z=lengths)
def test_prism_of_a_rectangle_is_a_box(x: float, y: float, z: float) -> None:
    corners = [(-x / 2, -y / 2), (x / 2, -y / 2), (x / 2, y / 2), (-x / 2, y / 2)]
    assert_equal(prism(points=corners, length=z), box(x=x, y=y, z=z), ROUNDING)
    assert_equal(prism(points=corners[::-1], length=z), box(x=x, y=y, z=z), ROUNDING)


def test_concave_prism_is_two_boxes() -> None:
    angle = [(0.1, 0.2), (0.8, 0.2), (0.8, 0.5), (0.4, 0.5), (0.4, 1.1), (0.1, 1.1)]
    lower = turned(box(x=0.7, y=0.3, z=0.9), np.eye(3), np.array([0.45, 0.35, 0]))
    upper = turned(box(x=0.3, y=0.6, z=0.9), np.eye(3), np.array([0.25, 0.8, 0]))
    for points in (angle, angle[::-1], np.array(angle)):
        assert_equal(prism(points=points, length=0.9), joined(lower, upper), ROUNDING)


@given(
    radii=st.lists(st.floats(0.3, 2.0), min_size=5, max_size=9),
    shift=st.tuples(st.floats(-30, 30), st.floats(-30, 30)),
    length=st.floats(0.1, 10),
    backwards=st.booleans(),
)
@pytest.mark.long
def test_star_shaped_prism_is_the_integral(
    radii: list[float], shift: tuple[float, float], length: float, backwards: bool
) -> None:
    angles = np.linspace(0.3, 0.3 + 2 * math.pi, len(radii), endpoint=False)
    points = np.array(shift) + np.array(radii)[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    truth = joined(*(integrate(body)[0] for body in fan(points, length, np.array(shift))))
    assert_equal(prism(points=points[::-1] if backwards else points, length=length), truth, QUADRATURE)


def test_prism_with_many_sides_converges_to_the_cylinder_with_order_two() -> None:
    truth = cylinder(radius=0.37, length=1.3)

    def error(sides: int) -> float:
        angles = np.linspace(0, 2 * math.pi, sides, endpoint=False)
        ring = 0.37 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        skin = prism_mesh(ring, 1.3)
        flat = prism(points=ring, length=1.3)
        assert_equal(mesh_moments(skin), flat, ROUNDING)
        return float(truth.second[0, 0] - flat.second[0, 0])

    assert error(50) / error(100) == pytest.approx(4, rel=0.01)


def prism_mesh(ring: Array, length: float) -> Array:
    """Skin of a convex prism: fans at both ends, two triangles to a side."""
    low, top = (
        np.column_stack([ring, np.zeros(len(ring))]),
        np.column_stack([ring, np.full(len(ring), length)]),
    )
    triangles = []
    for i in range(len(ring)):
        j = (i + 1) % len(ring)
        triangles += [[low[i], low[j], top[j]], [low[i], top[j], top[i]]]
    for i in range(1, len(ring) - 1):
        triangles += [[low[0], low[i + 1], low[i]], [top[0], top[i], top[i + 1]]]
    return np.array(triangles)


@pytest.mark.parametrize("name", TRUTHS)
@pytest.mark.parametrize(
    "value",
    [-0.1, math.nan, math.inf, -math.inf, "0.2", None, True, 1e13, 1e-13, pytest.param(10**5000, id="huge")],
)
def test_a_bad_dimension_is_named(name: str, value: object) -> None:
    dimensions, _ = TRUTHS[name]
    for dimension in dimensions:
        with pytest.raises(
            InputError, match=f"^{name}: {dimension} is .*; expected a number > 0, from 1e-12"
        ):
            SHAPES[name].function(**{**dimensions, dimension: value})


def test_zero_is_refused_except_for_one_radius_of_a_frustum() -> None:
    with pytest.raises(InputError, match=r"^sphere: radius is 0; expected a number > 0"):
        sphere(radius=0)
    with pytest.raises(InputError, match="inner_radius is 0"):
        tube(outer_radius=0.3, inner_radius=0, length=1.1)
    with pytest.raises(InputError, match="bottom_radius and top_radius are both 0; give at least one > 0"):
        frustum(bottom_radius=0, top_radius=0, height=0.4)
    assert frustum(bottom_radius=0, top_radius=0.3, height=0.4).volume > 0


@pytest.mark.parametrize("inner", [0.5, 0.7])
def test_tube_needs_a_wall(inner: float) -> None:
    with pytest.raises(InputError, match=f"inner_radius {inner} m must be less than outer_radius 0.5 m"):
        tube(outer_radius=0.5, inner_radius=inner, length=1.1)


@pytest.mark.parametrize("name", TRUTHS)
def test_the_bounds_neither_vanish_nor_overflow(name: str) -> None:
    dimensions, _ = TRUTHS[name]
    least, most = min(dimensions.values()), max(dimensions.values())
    for factor in (SHORTEST / least * 1.001, LONGEST / most * 0.999):
        second = SHAPES[name].function(**{key: factor * value for key, value in dimensions.items()}).second
        assert np.isfinite(second).all()
        assert (np.diag(second) > 0).all()


def test_the_bounds_themselves_are_allowed() -> None:
    for radius in (SHORTEST, LONGEST):
        assert sphere(radius=radius).volume == pytest.approx(4 / 3 * math.pi * radius**3, rel=ROUNDING)
    ring = [(math.cos(a), math.sin(a)) for a in np.linspace(0, 2 * math.pi, MOST_POINTS, endpoint=False)]
    area = MOST_POINTS / 2 * math.sin(2 * math.pi / MOST_POINTS)
    assert prism(points=ring, length=0.3).volume == pytest.approx(0.3 * area, rel=ROUNDING)
    giant = [(-LONGEST / 2, 0.0), (LONGEST / 2, 0.0), (0.0, LONGEST)]
    assert prism(points=giant, length=0.3).volume == pytest.approx(0.15 * LONGEST**2, rel=ROUNDING)


def test_a_thin_prism_is_allowed_at_any_size() -> None:
    for size in (1e-4, 1.0, 1e4):  # thinness is a ratio: the extent squared, not cubed
        sliver = [(0.0, 0.0), (size, 0.0), (size, 1e-9 * size), (0.0, 1e-9 * size)]
        assert prism(points=sliver, length=0.3).volume == pytest.approx(0.3e-9 * size**2, rel=1e-6)


SQUARE = [(0.1, 0.2), (0.9, 0.2), (0.9, 1.3), (0.1, 1.3)]


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (SQUARE[:2], r"points: expected a list of 3 to 200 points \(x, y\), got 2"),
        ([(math.cos(i), math.sin(i)) for i in range(MOST_POINTS + 1)], "points: expected .*, got 201"),
        (None, "points: expected .*, got None"),
        (np.array(0.3), "points: expected .*, got 0.3"),
        ([*SQUARE, (0.1, "0.7")], "point 5 is .*give two numbers"),
        ([*SQUARE, (0.1, math.nan)], "point 5 is"),
        ([*SQUARE, (0.1, 2e12)], "point 5 is"),
        ([(0.1, 0.2, 0.3), *SQUARE], "point 1 is"),
        ([*SQUARE, SQUARE[0]], "points 5 and 1 are the same"),
        ([SQUARE[0], *SQUARE], "points 1 and 2 are the same"),
        ([*SQUARE, (0.1, 1.7)], "turns back on itself at point 5"),
        (
            [(0.1, 0.2), (0.9, 1.3), (0.9, 0.2), (0.1, 1.3)],
            "from point 1 to 2 intersects the edge from point 3 to 4",
        ),
        ([(0, 0), (2, 0), (2, 2), (1, 0), (0, 2)], "from point 1 to 2 intersects the edge from point 3 to 4"),
        (
            [(0, 0), (3, 0), (3, 3), (1, 1), (2, 1), (0, 3)],
            "from point 3 to 4 intersects the edge from point 5 to 6",
        ),
        ([(0, 0), (2, 0), (-1, 1), (0.5, 2)], "from point 2 to 3 intersects the edge from point 4 to 1"),
        (
            [(0, 0), (3, 0), (3, 2), (2, 2), (2, 0), (0, 2)],
            "from point 1 to 2 intersects the edge from point 4 to 5",
        ),
        ([(1e3, 0), (1e3 + 1e-14, 0), (1e3, 1e-14)], "points 1 and 2 are the same"),
        ([(0, 1e-14), (1e-14, 1e-13), (0, 5e-13)], "extent of the points is 4.9e-13"),
        ([(0.1, 0.3), (0.2, 0.6), (0.7, 2.1)], "turns back on itself|enclose no area"),
        ([(1e-14, 0), (2e-14, 0), (0, 3e-14)], "extent of the points is 3e-14"),
    ],
)
def test_a_bad_outline_is_refused(points: list[tuple[float, float]], message: str) -> None:
    with pytest.raises(InputError, match=f"^prism: .*({message})"):
        prism(points=points, length=0.4)


def test_edges_on_one_line_do_not_meet() -> None:
    comb = [(0, 0), (5, 0), (5, 2), (4, 2), (4, 1), (3, 1), (3, 2), (2, 2), (2, 1), (1, 1), (1, 2), (0, 2)]
    assert prism(points=comb, length=0.5).volume == pytest.approx(4.0, rel=ROUNDING)


def test_a_point_amid_an_edge_changes_nothing() -> None:
    more = [SQUARE[0], (0.4, 0.2), *SQUARE[1:]]
    assert_equal(prism(points=more, length=0.4), prism(points=SQUARE, length=0.4), ROUNDING)


def test_registry_names_match_its_keys() -> None:
    names = "cylinder semi-cylinder tube cone frustum sphere hemisphere box wedge prism"
    assert " ".join(SHAPES) == names
    assert all(shape.name == key and shape.summary for key, shape in SHAPES.items())
    assert SHAPES["prism"].dimensions == ("length",)
