"""Straight lines of the hand: closed form and Newton's steps against forward kinematics,
rates against differences.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import forearm as fa
from forearm.reproduce.lines import Positioning, even, half_sine, moved, tracked
from forearm.reproduce.recompute.puma_line import NEAR, R_BASE_HAND
from forearm.spatial import pose, rotation_about

ROUNDING = 1e-12  # m: lengths of about 1 m through a dozen operations
STEP = 1e-5  # s, of central differences, whose error is of the size STEP^2 and rounding / STEP
DIFFERENCES = 1e-6


def positioning_arm(g: Positioning) -> fa.Arm:
    table = [(0.0, 0.0, 0.0, 0.0), (0.0, -np.pi / 2, g.offset, 0.0), (g.upper, 0.0, 0.0, 0.0)]
    arm = fa.from_dh("positioning", table, convention="modified", mass=[1.0, 1.0, 1.0])
    return arm.replace(hand=pose(p=(0.0, g.fore, 0.0)))


ROOTS = list(itertools.product((1.0, -1.0), repeat=2))


@pytest.mark.slow
@pytest.mark.parametrize("fore", [0.37, -0.37])
@pytest.mark.parametrize("roots", ROOTS)
@pytest.mark.sweep
def test_closed_form_brings_the_hand_to_the_point(fore: float, roots: tuple[float, float]) -> None:
    g = Positioning(upper=0.45, fore=fore, offset=0.13, roots=roots)
    arm, rng = positioning_arm(g), np.random.default_rng(5)
    directions = rng.normal(size=(300, 3))
    p = directions / np.linalg.norm(directions, axis=1)[:, None] * rng.uniform(0.3, 0.8, 300)[:, None]
    p = p[np.hypot(p[:, 0], p[:, 1]) > 0.14]
    for point in p:  # by itself: rows are made continuous
        q = g.joints(point[None])
        assert np.abs(fa.kinematics.forward(arm, q[0])[:3, 3] - point).max() < ROUNDING


@pytest.mark.parametrize("point", [(0.9, 0.0, 0.0), (0.05, 0.0, 0.4), (0.14, 0.0, 0.0)])
def test_points_out_of_reach_are_said_to_be(point: tuple[float, float, float]) -> None:
    with pytest.raises(fa.InputError, match="does not reach every point"):
        Positioning(upper=0.45, fore=0.3, offset=0.13).joints(np.array([point]))


@pytest.mark.parametrize("profile", [even, half_sine])
def test_rates_are_those_of_the_positions(profile: object) -> None:
    g = Positioning(upper=0.45, fore=-0.37, offset=0.13)
    arm, middle = positioning_arm(g), np.array([0.3, 0.7, 1.4])
    lines = [profile((0.3, 0.0, 0.1), (0.4, 0.2, -0.1), middle + k * STEP, 2.0) for k in (-1, 0, 1)]  # type: ignore[operator]
    before, at, after = (moved(arm, line, g.joints(line.p)) for line in lines)
    assert np.abs((after.q - before.q) / (2.0 * STEP) - at.qd).max() < DIFFERENCES
    assert np.abs((after.qd - before.qd) / (2.0 * STEP) - at.qdd).max() < DIFFERENCES
    assert np.abs((lines[2].v - lines[0].v) / (2.0 * STEP) - lines[1].a).max() < DIFFERENCES
    assert np.abs(at.qdd).max() > 0.01  # something moves
    linear, _ = fa.kinematics.velocity(arm, at.q, at.qd)
    assert np.abs(linear - lines[1].v).max() < ROUNDING


def test_half_a_sine_rests_at_both_ends_to_the_bit_and_arrives() -> None:
    line = half_sine((0.1, 0.2, 0.3), (0.4, 0.1, 0.5), np.linspace(0.0, 1.3, 14), 1.3)
    assert not line.v[[0, -1]].any()
    assert np.abs(line.p[[0, -1]] - [(0.1, 0.2, 0.3), (0.4, 0.1, 0.5)]).max() < ROUNDING


def test_newtons_steps_keep_hand_and_attitude_on_the_line() -> None:
    arm = fa.compile(fa.load("puma560"))
    near = np.array([0.2, 0.7, -2.4, 0.3, 0.6, -0.4])
    T = arm.forward_kinematics(near)
    R = rotation_about(np.array([0.6, 0.0, 0.8]), 0.2) @ T[:3, :3]
    p = T[:3, 3] + np.linspace(0.0, 0.1, 11)[:, None] * np.array([0.3, -0.6, 0.5])
    reached = fa.kinematics.forward(arm.arm, tracked(arm, p, R, near))
    assert np.abs(reached[:, :3, 3] - p).max() < ROUNDING
    assert np.abs(reached[:, :3, :3] - R).max() < ROUNDING


def test_newtons_steps_say_where_they_do_not_arrive() -> None:
    with pytest.raises(fa.InputError, match="was not brought to"):
        tracked(fa.compile(fa.load("puma560-akb")), np.array([[3.0, 0.0, 0.0]]), R_BASE_HAND, NEAR)
