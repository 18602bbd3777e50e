"""Forms of an orientation: definitions by elementary turns, round trips where angles lock
and at half turns, rates.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

import forearm as fa
from forearm.kinematics import (
    angular_velocity,
    orientation_forms,
    orientation_of,
    orientation_rates,
    rotation_from,
)
from forearm.spatial import rotation_about, rotation_rpy, rotation_x, rotation_z

Floats = NDArray[np.float64]
FORMS = orientation_forms()
ROUND_TRIP = 4e-15  # a handful of roundings of numbers of size 1
LOCKED = 2e-12  # within 1e-12 of a lock an angle is set to 0
STEP = 1e-5
# central differences: truncation 1e-10 times a third derivative of some hundreds, rounding 1e-11
DIFFERENCE = 1e-7
EULER = ("rpy", "zyz")


def rotations(seed: int, count: int = 200) -> Floats:
    q = np.random.default_rng(seed).normal(size=(count, 4))
    return rotation_from(q / np.linalg.norm(q, axis=1)[:, None], "quaternion_wxyz")


def rotation_y(angle: float) -> Floats:
    return rotation_about(np.array([0.0, 1.0, 0.0]), angle)


@pytest.mark.parametrize("form", FORMS)
def test_round_trip(form: str) -> None:
    R = rotations(1, 2000)
    back = rotation_from(orientation_of(R, form), form)
    # Waters' angles divide by D, which is 1e-3 in some of these attitudes.
    assert np.abs(back - R).max() < (1e-11 if form == "waters" else ROUND_TRIP)
    assert np.array_equal(orientation_of(R[7], form), orientation_of(R, form)[7])
    assert orientation_of(R.reshape(40, 50, 3, 3), form).shape[:2] == (40, 50)
    assert orientation_of(np.zeros((0, 3, 3)), form).shape[0] == 0


def test_angles_are_the_turns_they_are_defined_by() -> None:
    for a, b, c in np.random.default_rng(2).uniform(-3.0, 3.0, (20, 3)):
        size = math.hypot(a, b, c)
        axis, cos, sin = np.array([a, b, c]) / size, math.cos(0.5 * size), math.sin(0.5 * size)
        turn = rotation_about(axis, size)
        for form, values, truth in (
            ("rpy", [a, b, c], rotation_rpy([a, b, c])),
            ("zyz", [a, b, c], rotation_z(a) @ rotation_about(np.eye(3)[1], b) @ rotation_z(c)),
            ("rotation_vector", [a, b, c], turn),
            ("quaternion_wxyz", [cos, *sin * axis], turn),
            ("quaternion_xyzw", [*sin * axis, cos], turn),
        ):
            assert np.abs(rotation_from(values, form) - truth).max() < ROUND_TRIP, form


def test_waters_angles_are_those_of_projected_axes() -> None:
    """Measured with a protractor: the hand's axis projected across the base axis,
    the angle from the base axis to it.
    """
    base = np.eye(3)
    for R in rotations(3, 100):
        for k, angle in enumerate(orientation_of(R, "waters")):
            i = (k + 1) % 3
            shadow = R[:, i] - R[k, i] * base[k]
            shadow /= np.linalg.norm(shadow)
            assert math.cos(angle) == pytest.approx(shadow @ base[i], abs=1e-12)
            assert math.sin(angle) == pytest.approx(np.cross(base[i], shadow) @ base[k], abs=1e-12)


def test_three_waters_angles_belong_to_a_rotation_where_the_determinant_is_positive() -> None:
    angles = np.random.default_rng(4).uniform(-math.pi, math.pi, (2000, 3))
    D = np.cos(angles).prod(axis=1) + np.sin(angles).prod(axis=1)
    R = rotation_from(angles, "waters")
    assert np.array_equal(np.isnan(R).any(axis=(1, 2)), D <= 0.0)
    clear = D > 1e-2
    away = np.remainder(orientation_of(R[clear], "waters") - angles[clear] + math.pi, 2.0 * math.pi) - math.pi
    assert np.abs(away).max() < 1e-11
    assert np.abs(R[clear] @ np.swapaxes(R[clear], 1, 2) - np.eye(3)).max() < 1e-11


@pytest.mark.parametrize("off", [0.0, 1e-16, 1e-13, 1e-11, 1e-8, 1e-4])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_locked_angles_give_the_rotation_back(off: float, sign: float) -> None:
    around = np.random.default_rng(5).uniform(-math.pi, math.pi, (50, 2))
    for form, lock in (("rpy", sign * 0.5 * math.pi), ("zyz", 0.5 * math.pi * (1.0 - sign))):
        R = rotation_from(np.insert(around, 1, lock + off, axis=1), form)
        angles = orientation_of(R, form)
        assert np.abs(rotation_from(angles, form) - R).max() < LOCKED
        if off < 1e-15:
            assert not angles[:, 0].any()
            assert angles[:, 1] == pytest.approx(np.full(50, lock), abs=1e-15)
        assert (angles[:, 1] >= (0.0 if form == "zyz" else -0.5 * math.pi)).all()
        assert (angles[:, 1] <= math.pi).all()


def test_waters_angle_of_a_vanished_projection_is_zero_and_leaves_the_rotation_open() -> None:
    R = rotation_y(-0.5 * math.pi) @ rotation_x(0.3)  # X_H stands on Z_0
    angles = orientation_of(R, "waters")
    assert angles[2] == 0.0
    assert np.isnan(rotation_from(angles, "waters")).all()


@pytest.mark.parametrize("off", [0.0, 1e-15, 1e-9, 1e-5])
def test_half_turns_have_one_answer(off: float) -> None:
    axes = np.random.default_rng(6).normal(size=(20, 3))
    axes = np.concatenate([axes / np.linalg.norm(axes, axis=1)[:, None], np.eye(3), -np.eye(3)])
    R = np.array([rotation_about(axis, math.pi - off) for axis in axes])
    q, r = orientation_of(R, "quaternion_wxyz"), orientation_of(R, "rotation_vector")
    assert np.abs(rotation_from(q, "quaternion_wxyz") - R).max() < LOCKED
    assert np.abs(rotation_from(r, "rotation_vector") - R).max() < LOCKED
    assert (q[:, 0] >= 0.0).all()
    assert (np.linalg.norm(r, axis=1) <= math.pi + 1e-15).all()
    if off == 0.0:
        first = [next(v for v in axis if abs(v) > 1e-12) for axis in axes]
        assert np.abs(r - math.pi * np.sign(first)[:, None] * axes).max() < LOCKED
        assert np.array_equal(q[:, 1:], orientation_of(R, "quaternion_xyzw")[:, :3])


@pytest.mark.parametrize("size", [1e-9, 1e-3, 0.03, 0.0999, 0.1001, 0.4, 1.0])
def test_rates_of_a_rotation_vector_by_the_series_of_the_exponential(size: float) -> None:
    """w = (1 + K/2! + K^2/3! + ...) r', whatever the length of r."""
    r, rate = size * np.array([0.36, -0.48, 0.8]), np.array([0.7, 0.2, -0.5])
    term, w = rate, rate.copy()
    for k in range(2, 25):
        term = np.cross(r, term) / k
        w += term
    assert np.abs(angular_velocity(r, rate, "rotation_vector") - w).max() < 1e-15
    assert np.abs(orientation_rates(r, w, "rotation_vector") - rate).max() < 1e-15


@pytest.mark.parametrize("form", FORMS)
def test_rates_are_the_derivative_and_give_the_angular_velocity_back(form: str) -> None:
    rng = np.random.default_rng(7)
    tested = 0
    for R in rotations(8, 60):
        w = rng.normal(size=3)
        turn = rotation_about(w / np.linalg.norm(w), STEP * float(np.linalg.norm(w)))
        before, at, after = (orientation_of(x, form) for x in (turn.T @ R, R, turn @ R))
        rates = orientation_rates(at, w, form)
        if np.abs(rates).max() > 5.0 or np.abs(after - before).max() > 1.0:
            continue  # near a lock, or across the end of a range: differences do not tell there
        tested += 1
        assert np.abs(rates - (after - before) / (2.0 * STEP)).max() < DIFFERENCE
        assert np.abs(angular_velocity(at, rates, form) - w).max() < 1e-12
    assert tested > 30


@pytest.mark.parametrize("form", EULER)
def test_rates_near_a_lock_grow_and_still_give_the_angular_velocity_back(form: str) -> None:
    lock = 0.5 * math.pi if form == "rpy" else 0.0
    w = np.array([0.3, -0.8, 0.5])
    sizes = []
    for off in (1e-3, 1e-5, 1e-8):
        values = np.array([0.4, lock + off, -0.9])
        rates = orientation_rates(values, w, form)
        assert np.abs(angular_velocity(values, rates, form) - w).max() < 1e-15 / off
        sizes.append(np.abs(rates).max() * off)
    assert np.ptp(sizes) < 0.1 * sizes[0]
    assert np.isnan(orientation_rates([0.4, lock, -0.9], w, form)).all()


@pytest.mark.parametrize("form", FORMS)
def test_nan_in_gives_nan_in_that_row_only(form: str) -> None:
    R, one = rotations(10, 3), np.ones((3, 3))
    R[1, 0, 2] = np.nan
    values = orientation_of(R, form)
    rates = angular_velocity(values, np.ones_like(values), form)
    for found in (values, rotation_from(values, form), orientation_rates(values, one, form), rates):
        rows = found.reshape(3, -1)
        assert np.isnan(rows[1]).all()
        assert np.isfinite(rows[[0, 2]]).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: orientation_of(np.eye(3), "zyx"), "got 'zyx'; did you mean 'zyz'"),
        (
            lambda: orientation_of(np.eye(4), "rpy"),
            r"shape \(\.\.\., 3, 3\), got \(4, 4\)\. For a pose T use",
        ),
        (
            lambda: orientation_of(2.0 * np.eye(3), "rpy"),
            "right-handed rotation matrix, orthonormal to 1e-09",
        ),
        (lambda: orientation_of(np.diag([1.0, 1.0, -1.0]), "rpy"), "right-handed"),
        (
            lambda: rotation_from([1.0, 2.0], "rpy"),
            r"rpy: expected 3 values \(roll, pitch, yaw\), got shape \(2,\)",
        ),
        (lambda: rotation_from([1.0, 2.0, 0.0, 0.0], "quaternion_wxyz"), "expected a unit quaternion"),
        (lambda: rotation_from("abc", "rpy"), "rpy: expected numbers"),
        (lambda: orientation_rates([0.0, 0.1, 0.2], [1.0], "zyz"), r"w: .* shape \(3,\), got \(1,\)"),
        (lambda: angular_velocity([0.0, 0.1, 0.2], [1.0], "zyz"), r"rates: expected shape \(3,\)"),
    ],
)
def test_what_is_wrong_is_said(call: object, message: str) -> None:
    with pytest.raises(fa.ForearmError, match=message):
        call()  # type: ignore[operator]
