"""Rotations against the exponential series, attitudes through the pole, bodies
against sums of point masses.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from forearm.spatial import (
    combine_bodies,
    cross,
    inverse_pose,
    is_rotation,
    move_body,
    parallel_axis,
    pose,
    pose_xyz_rpy,
    rotation_about,
    rotation_from_z,
    rotation_rpy,
    rotation_x,
    rotation_z,
    rpy_of,
    tilde,
    turn_inertia,
)

Array = NDArray[np.float64]

ROUND_TRIP = 2e-15  # rpy -> R -> rpy -> R: a handful of roundings of numbers up to 1
ROUNDING = 1e-13  # sums of tens of terms of order 1 to 10
SERIES = 1e-14  # the series is summed to below rounding

angles = st.floats(-math.pi, math.pi)
turns = st.tuples(angles, angles, angles)
DISTANCES = [0.0, *(10.0**-k for k in range(3, 17))]


def series(K: Array) -> Array:
    """The matrix exponential of a quarter by its series, to the fourth power."""
    term, total = np.eye(3), np.eye(3)
    for k in range(1, 25):
        term = term @ K / (4.0 * k)
        total = total + term
    squared = total @ total
    fourth: Array = squared @ squared
    return fourth


@pytest.mark.slow
@given(turns)
@settings(max_examples=100)
@example((0.0, 0.0, 0.0))
@example((math.pi, math.pi, math.pi))
@example((-math.pi, 0.0, math.pi))
def test_roll_pitch_yaw_come_back(rpy: tuple[float, float, float]) -> None:
    R = rotation_rpy(rpy)
    assert np.abs(rotation_rpy(rpy_of(R)) - R).max() <= ROUND_TRIP


@pytest.mark.slow
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_roll_pitch_yaw_come_back_through_the_pole(side: float) -> None:
    rng = np.random.default_rng(3)
    for distance in DISTANCES:
        for roll, yaw in [(0.0, 0.0), *rng.uniform(-math.pi, math.pi, (20, 2))]:
            for sign in (1.0, -1.0):
                R = rotation_rpy((roll, side * (math.pi / 2 + sign * distance), yaw))
                assert np.abs(rotation_rpy(rpy_of(R)) - R).max() <= ROUND_TRIP
    # Rz(yaw) Ry(+-90 deg) Rx(roll) written with exact zeros in the column and row of the pole.
    for angle in np.linspace(-math.pi, math.pi, 41):
        c, s = math.cos(angle), math.sin(angle)
        R = np.array([[0.0, side * s, side * c], [0.0, c, -s], [-side, 0.0, 0.0]])
        rpy = rpy_of(R)
        assert rpy[1] == side * math.pi / 2
        assert np.abs(rotation_rpy(rpy) - R).max() <= ROUND_TRIP


@given(turns)
@settings(max_examples=100)
def test_rpy_is_the_product_that_urdf_says_and_its_angles_come_back(rpy: tuple[float, float, float]) -> None:
    roll, pitch, yaw = rpy[0], rpy[1] * 0.45, rpy[2]  # |pitch| <= 81 deg: away from the pole
    c, s = math.cos(pitch), math.sin(pitch)
    about_y = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
    R = rotation_rpy((roll, pitch, yaw))
    assert np.abs(rotation_z(yaw) @ about_y @ rotation_x(roll) - R).max() <= 1e-15
    assert np.abs(np.exp(1j * rpy_of(R)) - np.exp(1j * np.array([roll, pitch, yaw]))).max() <= 1e-14


@pytest.mark.slow
@given(turns, st.floats(-20.0, 20.0))
@settings(max_examples=100)
@example((0.3, 0.2, 0.1), 0.0)
@example((0.3, 0.2, 0.1), 5e-324)
@example((0.3, 0.2, 0.1), math.pi)
def test_turn_about_an_axis_is_the_exponential(direction: tuple[float, float, float], angle: float) -> None:
    axis = rotation_rpy(direction)[:, 0]
    R = rotation_about(axis, angle)
    assert np.abs(R - series(tilde(axis) * math.remainder(angle, 2.0 * math.pi))).max() <= SERIES
    assert is_rotation(R)
    assert np.abs(R @ R.T - np.eye(3)).max() <= 1e-14
    assert np.abs(R @ axis - axis).max() <= 1e-15
    for turn, unit in ((rotation_x, np.eye(3)[0]), (rotation_z, np.eye(3)[2])):
        assert np.abs(turn(angle) - rotation_about(unit, angle)).max() <= 1e-15
    many = rotation_about(axis, np.array([[0.1, angle, 3.0]]))
    assert many.shape == (1, 3, 3, 3)
    assert np.array_equal(many[0, 1], R)


@given(turns)
@settings(max_examples=100)
@example((0.0, 0.0, 0.0))
@example((math.pi, 0.0, 0.0))
@example((math.pi - 0.044, 0.3, 0.2))  # z = -0.999, where the formula changes
@example((math.pi - 0.045, 0.3, 0.2))
def test_the_turn_from_z_to_an_axis(rpy: tuple[float, float, float]) -> None:
    axis = rotation_rpy(rpy)[:, 2]
    R = rotation_from_z(axis)
    # Rounding is divided by 1 + z, which is 0.001 where the formula changes.
    assert np.abs(R[:, 2] - axis).max() <= 3e-13
    assert np.abs(R @ R.T - np.eye(3)).max() <= 6e-13
    assert np.linalg.det(R) > 0


@pytest.mark.parametrize("axis", [s * e for e in np.eye(3) for s in (1.0, -1.0)])
def test_the_turn_from_z_to_the_axes_is_exact(axis: Array) -> None:
    R = rotation_from_z(axis)
    assert np.array_equal(R[:, 2], axis)
    assert set(np.abs(R).ravel().tolist()) == {0.0, 1.0}


def test_cross_is_that_of_numpy_to_the_bit_and_tilde_its_matrix() -> None:
    a, b = np.random.default_rng(2).normal(size=(2, 5, 4, 3))
    for one, other in ((a, b), (a[0, 0], b[0, 0]), (a, b[0, 0])):
        assert np.array_equal(cross(one, other), np.cross(one, other))
    one, other = a[0, 0], b[0, 0]
    assert np.abs(tilde(one) @ other - np.cross(one, other)).max() <= 1e-15
    assert np.array_equal(tilde(one), -tilde(one).T)


@given(turns, turns)
@settings(max_examples=50)
def test_inverse_pose(rpy: tuple[float, float, float], xyz: tuple[float, float, float]) -> None:
    T = pose_xyz_rpy(xyz, rpy)
    assert np.abs(T @ inverse_pose(T) - np.eye(4)).max() <= ROUNDING
    assert np.abs(inverse_pose(T) - np.linalg.inv(T)).max() <= ROUNDING


def test_pose_fills_what_is_not_given() -> None:
    assert np.array_equal(pose(), np.eye(4))
    assert np.array_equal(pose(p=(1.0, 2.0, 3.0))[:3, 3], [1.0, 2.0, 3.0])
    assert np.array_equal(pose(rotation_x(0.3))[:3, :3], rotation_x(0.3))


@pytest.mark.parametrize(
    ("R", "expected"),
    [
        (np.eye(3), True),
        (rotation_rpy((0.3, -0.9, 2.0)), True),
        (np.diag([1.0, 1.0, -1.0]), False),
        (np.diag([1.0, 1.0, 1.0 + 2e-9]), False),
        (np.diag([1.0, 1.0, 1.0 + 2e-10]), True),
        (np.zeros((3, 3)), False),
        (np.full((3, 3), math.nan), False),
    ],
)
def test_what_a_rotation_is(R: Array, expected: bool) -> None:
    assert is_rotation(R) is expected


def point_inertia(masses: Array, points: Array, about: Array) -> Array:
    """The tensor of point masses by its definition: the integral of (r .
    r) 1 - r r^T, one point at a time.
    """
    total = np.zeros((3, 3))
    for m, p in zip(masses, points, strict=True):
        x, y, z = p - about
        xy, xz, yz = -x * y, -x * z, -y * z
        total += m * np.array([[y * y + z * z, xy, xz], [xy, x * x + z * z, yz], [xz, yz, x * x + y * y]])
    return total


def body_of(masses: Array, points: Array) -> tuple[float, Array, Array]:
    com = masses @ points / masses.sum()
    return float(masses.sum()), com, point_inertia(masses, points, com)


@given(st.integers(0, 10_000), st.integers(1, 5))
@settings(max_examples=60)
def test_bodies_combine_like_the_points_that_they_are(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    clouds = [(rng.uniform(0.1, 2.0, 4), rng.uniform(-1.0, 1.0, (4, 3))) for _ in range(count)]
    mass, com, inertia = combine_bodies([body_of(*cloud) for cloud in clouds])
    truth = body_of(np.concatenate([c[0] for c in clouds]), np.concatenate([c[1] for c in clouds]))
    assert mass == pytest.approx(truth[0], rel=ROUNDING)
    assert np.abs(com - truth[1]).max() <= ROUNDING
    assert np.abs(inertia - truth[2]).max() <= ROUNDING * np.abs(truth[2]).max()
    assert np.array_equal(inertia, inertia.T)


def test_a_cloud_about_another_point_and_turned() -> None:
    rng = np.random.default_rng(7)
    masses, points = rng.uniform(0.1, 2.0, 9), rng.uniform(-1.0, 1.0, (9, 3))
    mass, com, inertia = body_of(masses, points)
    about_origin = point_inertia(masses, points, np.zeros(3))
    assert np.abs(inertia + parallel_axis(mass, com) - about_origin).max() <= ROUNDING
    assert np.abs(parallel_axis(2.5, com) - 2.5 * tilde(com).T @ tilde(com)).max() <= 1e-15
    assert not parallel_axis(0.0, com).any()
    R = rotation_rpy((0.4, -1.0, 2.5))
    turned = turn_inertia(R, inertia)
    assert np.abs(turned - body_of(masses, points @ R.T)[2]).max() <= ROUNDING
    assert np.array_equal(turned, turned.T)


def test_one_body_comes_back_bit_for_bit() -> None:
    body = (0.1 + 0.2, np.array([0.3, -0.5, 0.7]) / 3.0, np.diag([0.1, 0.2, 0.25]) / 7.0)
    nothing = (0.0, np.array([9.0, 9.0, 9.0]), np.zeros((3, 3)))
    for bodies in ([body], [nothing, body], [body, nothing, nothing]):
        mass, com, inertia = combine_bodies(bodies)
        assert mass == body[0]
        assert np.array_equal(com, body[1])
        assert np.array_equal(inertia, body[2])


def test_bodies_without_mass() -> None:
    mass, com, inertia = combine_bodies([])
    assert mass == 0.0
    assert not com.any()
    assert not inertia.any()
    nothing = (0.0, np.array([0.1, 0.2, 0.3]), np.zeros((3, 3)))
    assert combine_bodies([nothing, nothing])[1] is nothing[1]
    # Inertia without mass adds up wherever it sits.
    spins = [(0.0, np.array([0.1, 0.2, 0.3]), np.eye(3)), (0.0, np.array([5.0, 0.0, 0.0]), 2.0 * np.eye(3))]
    mass, _, inertia = combine_bodies(spins)
    assert mass == 0.0
    assert np.array_equal(inertia, 3.0 * np.eye(3))


@given(turns, st.integers(0, 10_000))
@settings(max_examples=50)
def test_a_body_moved_is_its_points_moved(rpy: tuple[float, float, float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights, points = rng.uniform(0.1, 2.0, 5), rng.uniform(-1.0, 1.0, (5, 3))
    T = pose(rotation_rpy(rpy), rng.uniform(-1.0, 1.0, 3))
    zero = np.zeros((3, 3))
    body = combine_bodies([(m, x, zero) for m, x in zip(weights, points, strict=True)])
    truth = combine_bodies(
        [(m, T[:3, :3] @ x + T[:3, 3], zero) for m, x in zip(weights, points, strict=True)]
    )
    mass, com, inertia = move_body(T, *body)
    assert mass == truth[0]
    assert np.abs(com - truth[1]).max() <= ROUNDING
    assert np.abs(inertia - truth[2]).max() <= ROUNDING
    assert all(a is b for a, b in zip(move_body(np.eye(4), *body), body, strict=True))
