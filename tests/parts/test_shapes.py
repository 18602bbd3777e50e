"""Closed forms against Gauss-Legendre quadrature over each body's own parametrisation, and identities."""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nearness import assert_near
from numpy.typing import NDArray
from refusals import refused

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
from forearm.visuals.solids import extruded

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
    assert_near(found.centroid, truth.centroid, tolerance * size)
    assert_near(found.second, truth.second, tolerance * truth.volume * size**2)


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
    assert_near(inertia_from_pseudo(found.second), inertia, QUADRATURE)


@given(k=st.floats(1e-3, 1e3))
@settings(max_examples=12)
def test_scaling_law(k: float) -> None:
    for name, (dimensions, _) in TRUTHS.items():
        assert set(dimensions) == set(SHAPES[name].dimensions)
        unit = SHAPES[name].function(**dimensions)
        scaled = SHAPES[name].function(**{key: k * value for key, value in dimensions.items()})
        assert_equal(scaled, Moments(k**3 * unit.volume, k * unit.centroid, k**5 * unit.second), ROUNDING)


ABOUT_X, ABOUT_Y, ABOUT_Z = (np.diag(np.roll([1.0, -1.0, -1.0], i)) for i in range(3))
lengths = st.floats(1e-3, 1e3)


@pytest.mark.slow
@given(a=lengths, b=lengths, c=lengths, ratio=st.floats(0.01, 0.99))
@settings(max_examples=25)
def test_bodies_are_parts_and_special_cases_of_each_other(a: float, b: float, c: float, ratio: float) -> None:
    shift = np.array([a, 0.0, c])
    whole = cylinder(radius=a, length=c)
    hollow = tube(outer_radius=a, inner_radius=ratio * a, length=c)
    assert_equal(joined(hollow, cylinder(radius=ratio * a, length=c)), whole, ROUNDING)
    assert_equal(frustum(bottom_radius=a, top_radius=a, height=c), whole, ROUNDING)
    assert_equal(frustum(bottom_radius=a, top_radius=0, height=c), cone(radius=a, height=c), ROUNDING)
    over = turned(frustum(bottom_radius=a, top_radius=b, height=c), ABOUT_X, shift * [0, 0, 1])
    assert_equal(over, frustum(bottom_radius=b, top_radius=a, height=c), ROUNDING)
    half, dome = semi_cylinder(radius=a, length=c), hemisphere(radius=a)
    assert_equal(joined(half, turned(half, ABOUT_Z, 0 * shift)), whole, ROUNDING)
    assert_equal(joined(dome, turned(dome, ABOUT_X, 0 * shift)), sphere(radius=a), ROUNDING)
    block = box(x=a, y=b, z=c)
    ramp = wedge(x=a, y=b, z=c)
    assert_equal(
        joined(ramp, turned(ramp, ABOUT_Y, shift)), turned(block, np.eye(3), shift * [0.5, 0, 0]), ROUNDING
    )
    corners = [(-a / 2, -b / 2), (a / 2, -b / 2), (a / 2, b / 2), (-a / 2, b / 2)]
    for points in (corners, corners[::-1]):
        assert_equal(prism(points=points, length=c), block, ROUNDING)


def test_concave_prism_is_two_boxes() -> None:
    angle = [(0.1, 0.2), (0.8, 0.2), (0.8, 0.5), (0.4, 0.5), (0.4, 1.1), (0.1, 1.1)]
    lower = turned(box(x=0.7, y=0.3, z=0.9), np.eye(3), np.array([0.45, 0.35, 0]))
    upper = turned(box(x=0.3, y=0.6, z=0.9), np.eye(3), np.array([0.25, 0.8, 0]))
    for points in (angle, angle[::-1], np.array(angle)):
        assert_equal(prism(points=points, length=0.9), joined(lower, upper), ROUNDING)


def test_prism_with_many_sides_converges_to_the_cylinder_with_order_two() -> None:
    truth = cylinder(radius=0.37, length=1.3)

    def error(sides: int) -> float:
        angles = np.linspace(0, 2 * math.pi, sides, endpoint=False)
        ring = [(0.37 * math.cos(a), 0.37 * math.sin(a)) for a in angles]
        flat = prism(points=ring, length=1.3)
        assert_equal(mesh_moments(extruded(ring, 0.0, 1.3).corners), flat, ROUNDING)
        return float(truth.second[0, 0] - flat.second[0, 0])

    assert error(50) / error(100) == pytest.approx(4, rel=0.01)


@pytest.mark.parametrize("name", TRUTHS)
def test_a_bad_dimension_is_named(name: str) -> None:
    dimensions, _ = TRUTHS[name]
    for dimension in dimensions:
        for value in (-0.1, math.nan, -math.inf, "0.2", None, True, 1e13, 1e-13, 10**5000):
            with refused(f"InputError: {name}: {dimension} is .*; expected a number > 0, from 1e-12"):
                SHAPES[name].function(**{**dimensions, dimension: value})


def test_radii_that_make_no_body_are_refused() -> None:
    with refused(r"InputError: tube: inner_radius is 0; expected a number > 0"):
        tube(outer_radius=0.3, inner_radius=0, length=1.1)
    with refused("InputError.*bottom_radius and top_radius are both 0; give at least one > 0"):
        frustum(bottom_radius=0, top_radius=0, height=0.4)
    for inner in (0.5, 0.7):
        with refused(f"InputError.*inner_radius {inner} m must be less than outer_radius 0.5 m"):
            tube(outer_radius=0.5, inner_radius=inner, length=1.1)


@pytest.mark.parametrize("name", TRUTHS)
def test_the_bounds_neither_vanish_nor_overflow(name: str) -> None:
    dimensions, _ = TRUTHS[name]
    least, most = min(dimensions.values()), max(dimensions.values())
    for factor in (SHORTEST / least * 1.001, LONGEST / most * 0.999):
        second = SHAPES[name].function(**{key: factor * value for key, value in dimensions.items()}).second
        assert np.isfinite(second).all()
        assert (np.diag(second) > 0).all()


@pytest.mark.parametrize("size", [1e-4, 1e4])
def test_a_prism_may_be_thin_or_have_many_points(size: float) -> None:
    # thinness is a ratio: the extent squared, not cubed
    sliver = [(0.0, 0.0), (size, 0.0), (size, 1e-9 * size), (0.0, 1e-9 * size)]
    assert prism(points=sliver, length=0.3).volume == pytest.approx(0.3e-9 * size**2, rel=1e-6)
    turns = np.linspace(0, 2 * math.pi, MOST_POINTS, endpoint=False)
    area = MOST_POINTS / 2 * math.sin(2 * math.pi / MOST_POINTS) * size**2
    ring = size * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    assert prism(points=ring, length=0.3).volume == pytest.approx(0.3 * area, rel=ROUNDING)


SQUARE = [(0.1, 0.2), (0.9, 0.2), (0.9, 1.3), (0.1, 1.3)]


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (SQUARE[:2], r"points: expected a list of 3 to 200 points \(x, y\), got 2"),
        ([(math.cos(i), math.sin(i)) for i in range(MOST_POINTS + 1)], "points: expected .*, got 201"),
        ([*SQUARE, (0.1, "0.7")], "point 5 is .*give two numbers"),
        ([*SQUARE, (0.1, 2e12)], "point 5 is"),
        ([(0.1, 0.2, 0.3), *SQUARE], "point 1 is"),
        ([*SQUARE, (0.1, 1.7)], "turns back on itself at point 5"),
        ([(0.1, 0.3), (0.2, 0.6), (0.7, 2.1)], "turns back on itself|enclose no area"),
        # edges that cross, touch at a corner, and lie on each other
        (np.array(SQUARE)[[0, 2, 1, 3]], "from point 1 to 2 intersects the edge from point 3 to 4"),
        ([(0, 0), (2, 0), (2, 2), (1, 0), (0, 2)], "from point 1 to 2 intersects the edge from point 3 to 4"),
        (
            [(0, 0), (3, 0), (3, 2), (2, 2), (2, 0), (0, 2)],
            "from point 1 to 2 intersects the edge from point 4 to 5",
        ),
        ([(1e-14, 0), (2e-14, 0), (0, 3e-14)], "extent of the points is 3e-14"),
    ],
)
def test_a_bad_outline_is_refused(points: list[tuple[float, float]], message: str) -> None:
    with refused(f"InputError: prism: .*({message})"):
        prism(points=points, length=0.4)


def test_a_point_amid_an_edge_changes_nothing_and_edges_on_one_line_do_not_meet() -> None:
    more = [SQUARE[0], (0.4, 0.2), *SQUARE[1:]]
    assert_equal(prism(points=more, length=0.4), prism(points=SQUARE, length=0.4), ROUNDING)
    comb = [(0, 0), (3, 0), (3, 2), (2, 2), (2, 1), (1, 1), (1, 2), (0, 2)]
    assert prism(points=comb, length=0.5).volume == pytest.approx(2.5, rel=ROUNDING)


def test_registry_names_match_its_keys() -> None:
    names = "cylinder semi-cylinder tube cone frustum sphere hemisphere box wedge prism"
    assert " ".join(SHAPES) == names
    assert all(shape.name == key and shape.summary for key, shape in SHAPES.items())
    assert SHAPES["prism"].dimensions == ("length",)
