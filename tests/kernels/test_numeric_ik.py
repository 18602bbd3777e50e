"""The parts of numeric inverse kinematics: limits, starts, and the machine code."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest
from arms import posture, random_arm
from numpy.typing import NDArray

import forearm as fa
from forearm.kernels.compiled import Native
from forearm.kernels.native import function_of, host, loaded, object_code
from forearm.kernels.numeric_ik import Reacher
from forearm.kernels.numeric_ik_ir import reach_module
from forearm.kernels.numeric_ik_joints import moves_hand, put_inside, range_of
from forearm.kernels.numeric_ik_turn import BLOCK, COLUMNS, FIGURES
from forearm.kinematics import forward, jacobian
from forearm.kinematics.limits import is_periodic, limits_of
from forearm.spatial import rotation_rpy

Floats = NDArray[np.float64]


def rows_of(T: Floats) -> Floats:
    return np.ascontiguousarray(T[..., :3, :].reshape(-1, 12))


def test_joints_are_put_inside_by_whole_turns_or_at_the_bound() -> None:
    lower, upper = np.array([2.0, -1.0, -1.0, -np.inf]), np.array([5.0, 1.0, 1.0, np.inf])
    periodic = np.array([True, True, False, True])
    given = np.array(
        [[-2.0 - 4 * math.pi, 0.5 + 8 * math.pi, 0.5 + 2 * math.pi, 99.0], [3.0, 2.0, -2.0, 0.0]]
    )
    put = put_inside(given, lower, upper, periodic)
    assert put == pytest.approx(np.array([[2 * math.pi - 2.0, 0.5, 1.0, 99.0], [3.0, 1.0, -1.0, 0.0]]))
    assert np.array_equal(put_inside(put, lower, upper, periodic), put)


def test_what_is_known_of_joints() -> None:
    arm = random_arm(2, 4, tree=True, mimic=True)
    for link in arm.links:
        pointed = arm.replace(hand=link.name)
        moved = np.abs(jacobian(pointed, posture(arm, 1))).max(axis=0) > 0.0
        assert np.array_equal(moves_hand(pointed), moved)
        assert np.array_equal(range_of(pointed)[1] > 0.0, moved)
    turned = posture(arm, 3) + 2.0 * math.pi * np.eye(arm.n)
    poses = [fa.kinematics.link_poses(arm, q) for q in (*turned, posture(arm, 3))]
    same = [all(np.allclose(one[name], poses[-1][name], atol=1e-9) for name in one) for one in poses[:-1]]
    assert is_periodic(arm).tolist() == same
    lower, upper = limits_of(arm)
    for body in arm.moving.bodies:
        for q in (lower, upper):
            at = body.multiplier * q[body.freedom] + body.offset
            assert body.joint.limits.lower - 1e-12 <= at <= body.joint.limits.upper + 1e-12


@pytest.mark.slow
def test_starts_are_the_nearest_of_their_blocks() -> None:
    """One step at the most: rows hold where each start began."""
    arm = fa.load("panda")
    reacher = Reacher(arm, False, True)
    T = forward(arm, posture(arm, 4, 25))
    begun = reacher.run(rows_of(T), None, 1, 7, 1e-12, 1)
    assert (begun[:, arm.n + 2] <= 1 + 4).all()
    table = reacher._table(1, 7)[0]
    q = table[BLOCK * COLUMNS :].reshape(BLOCK, arm.n)
    lower, upper = limits_of(arm)
    assert (q >= lower).all()
    assert (q <= upper).all()
    poses = forward(arm, q)[:, :3]
    p = poses[:, :, 3]
    weight = p.var(axis=0).sum() / 3.0
    scores = table[: BLOCK * COLUMNS].reshape(COLUMNS, BLOCK)
    for one in T[:, :3]:
        far = ((p - one[:, 3]) ** 2).sum(axis=1) + weight * ((poses[:, :, :3] - one[:, :3]) ** 2).sum(
            axis=(1, 2)
        )
        score = scores[:12].T @ one.reshape(12) + scores[12]
        assert score.argmax() == far.argmin()
        assert np.ptp(2.0 * score + far) < 1e-12  # they differ by what all postures share


def test_blocks_do_not_depend_on_how_many_there_are() -> None:
    reacher = Reacher(fa.load("panda"), False, True)
    few, many, other = reacher._table(2, 5), reacher._table(9, 5), reacher._table(2, 6)
    assert len(few) == 2
    assert np.array_equal(few, many[:2])
    assert not np.array_equal(few[1], many[2])
    assert not np.array_equal(few, other)


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_any_number_of_lanes_gives_the_same_bits(lanes: int) -> None:
    arm = random_arm(5, 6, mimic=True)
    reacher, T = Reacher(arm, False, True), forward(arm, posture(arm, 6, 21))
    expected = reacher.run(rows_of(T), None, 6, 0, 1e-9, 50)
    memory = loaded(object_code(reach_module("f", arm, False, host("float64", lanes))), ["f"])
    kinds = [*[ctypes.c_void_p] * 4, ctypes.c_int64]
    reacher._parts["batch"] = Native(function_of(memory, "f", *kinds), 0)
    assert np.array_equal(reacher.run(rows_of(T), None, 6, 0, 1e-9, 50), expected)


def test_rows_say_how_much_was_done() -> None:
    arm = fa.load("puma560-akb")
    reacher = Reacher(arm, False, True)
    near, q = rotation_rpy((0.1, 0.2, 0.3)), posture(arm, 3)
    T = forward(arm, q)
    row = reacher.run(rows_of(T), q[None], 5, 0, 1e-9, 50)[0]
    assert row[arm.n + 2 :].tolist() == [1.0, 1.0]  # nothing to do: one look, from one start
    assert np.array_equal(row[: arm.n], q)
    assert len(row) == arm.n + FIGURES
    T[:3, :3], T[:3, 3] = near, (50.0, 0.0, 0.0)
    row = reacher.run(rows_of(T), q[None], 5, 0, 1e-9, 50)[0]
    assert row[arm.n + 3] == 5.0
    assert 5.0 < row[arm.n + 2] <= 5 * 50 + 4 * 50
