"""Joint rates from hand rates: by the Jacobian and by finite steps, near singular postures,
for too many and too few joints.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from arms import random_arm
from numpy.typing import NDArray

import forearm as fa
from forearm.arm import from_dh
from forearm.kinematics import (
    condition_number,
    finite_step_rates,
    forward,
    hand_motion,
    jacobian,
    joint_accelerations,
    joint_rates,
    manipulability,
    singular_values,
)
from forearm.kinematics.nearby import solve_nearby
from forearm.spatial import pose, rotation_rpy

Floats = NDArray[np.float64]
GIVES_BACK = 1e-11  # relative to the rates, times a condition number of some hundreds


def planar(lengths: tuple[float, ...]) -> fa.Arm:
    """Parallel axes, whose geometry is known on paper."""
    return from_dh("planar", [(length, 0.0, 0.0, 0.0) for length in lengths], convention="standard")


def regular(arm: fa.Arm, seed: int) -> Floats:
    """A posture that is not near singular."""
    rng = np.random.default_rng(seed)
    return next(q for q in rng.uniform(-1.5, 1.5, (100, arm.n)) if condition_number(arm, q) < 100.0)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_six_joints_give_hand_rates_back(seed: int) -> None:
    arm = random_arm(seed, n=6, convention="modified", prismatic=False) if seed < 3 else fa.load("stanford")
    q = regular(arm, seed)
    qd, qdd = np.random.default_rng(seed).uniform(-1.0, 1.0, (2, 6))
    motion = hand_motion(arm, q, qd, qdd)
    found = joint_rates(arm, q, motion.velocity, motion.angular_velocity)
    assert np.abs(found.rates - qd).max() < GIVES_BACK
    assert found.met
    assert not found.singular
    assert found.damping == 0.0
    assert found.message == "The joints achieve these rates."
    second = joint_accelerations(arm, q, qd, motion.acceleration, motion.angular_acceleration)
    assert np.abs(second.rates - qdd).max() < GIVES_BACK


def test_redundant_arms_take_the_shortest_rates() -> None:
    arm = fa.load("panda")
    q = np.array([0.2, -0.4, 0.3, -1.7, 0.5, 1.4, 0.1])
    v, w = np.array([0.1, -0.2, 0.05]), np.array([0.3, 0.1, -0.2])
    found = joint_rates(arm, q, v, w)
    null = np.linalg.svd(jacobian(arm, q))[2][-1]
    assert found.met
    # nothing of it along the one direction that does not move the hand
    assert abs(null @ found.rates) < 1e-14
    assert np.abs(jacobian(arm, q) @ found.rates - np.concatenate([v, w])).max() < 1e-14


def test_few_joints_come_as_near_as_they_can_and_say_so() -> None:
    arm = random_arm(5, n=3, convention="standard", prismatic=False)
    q = np.array([0.4, -0.7, 0.9])
    v, w = np.array([0.1, -0.2, 0.05]), np.array([0.3, 0.1, -0.2])
    whole, place = joint_rates(arm, q, v, w), joint_rates(arm, q, v)
    assert not whole.met
    assert "cannot achieve these rates" in whole.message
    assert np.abs(jacobian(arm, q).T @ whole.error).max() < 1e-13  # the least error stands on what J can do
    assert place.met
    assert np.abs(jacobian(arm, q)[:3] @ place.rates - v).max() < 1e-13


@pytest.mark.parametrize("bend", [0.0, 1e-12, 1e-6, 1e-4, 1e-3])
def test_damping_near_a_straight_elbow(bend: float) -> None:
    """Two links of 0.5 and 0.3 m: the radial rate asked for needs joint rates of 1 /
    bend, which damping bounds.
    """
    arm = planar((0.5, 0.3))
    found = joint_rates(arm, [0.3, bend], 0.1 * np.array([math.cos(0.3), math.sin(0.3), 0.0]))
    assert found.singular
    assert not found.met
    assert found.damping == pytest.approx(math.sqrt((1e-3 * found.largest) ** 2 - found.smallest**2))
    assert np.abs(found.rates).max() <= 0.1 / (2.0 * found.damping) * (1.0 + 1e-9)
    assert "Near a singularity" in found.message
    assert f"damped by {float(found.damping):.3g}" in found.message


def test_damping_ends_where_it_is_not_needed_and_begins_gently() -> None:
    arm = planar((0.5, 0.3))
    v = 0.1 * np.array([math.cos(0.3), math.sin(0.3), 0.0])
    bends = np.geomspace(1e-4, 0.1, 40)
    found = joint_rates(arm, np.stack([np.full(40, 0.3), bends], axis=1), np.tile(v, (40, 1)))
    assert np.array_equal(found.singular, found.smallest < 1e-3 * found.largest)
    assert found.met[~found.singular].all()
    assert found.singular.any()
    edge = np.argmin(found.singular)
    assert found.damping[edge - 1] < found.damping[0]
    with pytest.raises(fa.ForearmError, match="near: must be at least 0 and at most 1, got 2"):
        joint_rates(arm, [0.3, 0.1], v, near=2.0)


def test_finite_steps_miss_in_the_first_order_as_predicted() -> None:
    arm = random_arm(6, n=6, convention="modified", prismatic=False)
    q = regular(arm, 6)
    steps = [8e-3, 4e-3, 2e-3, 1e-3]
    found = finite_step_rates(arm, q, [0.1, -0.1, 0.2], [0.2, 0.1, -0.3], steps)
    assert found.converged.all()
    assert found.order == pytest.approx(1.0, abs=0.05)
    left = np.abs(found.difference - found.expected).max(axis=1)
    # what the first term leaves is of the second order
    assert np.log2(left[:-1] / left[1:]) == pytest.approx(2.0, abs=0.2)
    assert np.array_equal(found.difference, found.finite - found.whitney)


def test_finite_steps_of_two_links_on_paper() -> None:
    """Joint angles of a two-link arm have a formula: elbow by the law of cosines."""
    arm, (a, b) = planar((0.5, 0.3)), (0.5, 0.3)
    q, v, dt = np.array([0.3, 0.8]), np.array([0.1, -0.2, 0.0]), 0.05
    x, y = forward(arm, q)[:2, 3] + dt * v[:2]
    elbow = math.acos((x * x + y * y - a * a - b * b) / (2 * a * b))
    shoulder = math.atan2(y, x) - math.atan2(b * math.sin(elbow), a + b * math.cos(elbow))
    found = finite_step_rates(arm, q, v, steps=dt)
    assert np.abs(found.finite[0] - (np.array([shoulder, elbow]) - q) / dt).max() < 1e-11
    assert math.isnan(found.order)


def test_a_step_out_of_reach_is_said() -> None:
    arm = planar((0.5, 0.3))
    found = finite_step_rates(arm, [0.3, 0.4], [1.0, 0.0, 0.0], steps=[1.0, 1e-3])
    assert found.converged.tolist() == [False, True]
    assert np.isnan(found.finite[0]).all()
    assert np.isfinite(found.finite[1]).all()


def test_newton_stays_nearby_from_a_straight_wrist() -> None:
    """Undamped, the first step from a singular posture leads anywhere."""
    arm, rng = fa.load("puma560"), np.random.default_rng(0)
    near = rng.uniform(-1.0, 1.0, (60, 6))
    near[:, 4] = 0.0
    there = near + rng.uniform(-0.05, 0.05, (60, 6))
    found = solve_nearby(arm, forward(arm, there), near)
    assert found.converged.all()
    assert np.abs(found.q - near).max() < 0.1


def test_newton_says_when_there_is_no_posture() -> None:
    arm = fa.load("panda")
    far = pose(rotation_rpy([0.1, 0.2, 0.3]), [5.0, 0.0, 0.0])
    found = solve_nearby(arm, far, np.full(7, 0.3))
    assert not found.converged
    assert found.error > 1.0
    spoilt = solve_nearby(arm, np.full((4, 4), np.nan), np.full(7, 0.3))
    assert not spoilt.converged
    assert np.isnan(spoilt.error)


def test_manipulability_is_the_determinant_of_the_gram_matrix() -> None:
    arm = random_arm(8, n=8, convention="frames", prismatic=False)
    q = np.random.default_rng(8).uniform(-1.0, 1.0, (10, 8))
    J = jacobian(arm, q)
    assert manipulability(arm, q) == pytest.approx(np.sqrt(np.linalg.det(J @ np.swapaxes(J, 1, 2))), rel=1e-9)
    assert condition_number(arm, q) == pytest.approx(np.linalg.cond(J), rel=1e-9)
    assert manipulability(arm, q, "angular") == pytest.approx(
        np.prod(singular_values(arm, q, "angular"), axis=1)
    )
    q[3, 1] = np.nan
    assert np.isnan(manipulability(arm, q)).tolist() == [k == 3 for k in range(10)]


WRONG: list[tuple[Callable[[fa.Arm], object], str]] = [
    (lambda a: joint_rates(a, np.zeros(3), np.zeros(2)), r"velocity: expected shape \(3,\), got \(2,\)"),
    (
        lambda a: joint_rates(a, np.zeros((2, 3)), np.zeros((2, 3)), np.zeros(3)),
        "angular_velocity: expected shape",
    ),
    (lambda a: finite_step_rates(a, *np.zeros((2, 2, 3))), "finite_step_rates: expected one state of shape"),
    (lambda a: finite_step_rates(a, np.zeros(3), np.zeros(3), steps=0.0), "a nonzero time in s"),
    (lambda a: solve_nearby(a, np.eye(4), np.zeros((2, 3))), r"poses: expected shape \(2, 4, 4\)"),
    (lambda a: manipulability(a, np.zeros(3), "lineal"), "part: expected one of .*; did you mean 'linear'"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_what_is_wrong_is_said(call: Callable[[fa.Arm], object], message: str) -> None:
    with pytest.raises(fa.ForearmError, match=message):
        call(random_arm(9, n=3, convention="modified"))


def test_nan_goes_through_in_its_row() -> None:
    arm = random_arm(10, n=6, convention="modified", prismatic=False)
    q = np.stack([regular(arm, 10)] * 3)
    v = np.ones((3, 3))
    v[1, 2] = np.nan
    found = joint_rates(arm, q, v, np.ones((3, 3)))
    assert np.isnan(found.rates).all(axis=1).tolist() == [False, True, False]
    assert not found.met[1]
    assert found.message == "The input contains NaN, so the result is NaN."
