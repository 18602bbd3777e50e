"""Positions, velocities, Jacobians and their derivatives against finite differences of poses,
on arms of every kind.
"""

from __future__ import annotations

import numpy as np
import pytest
from arms import random_arm
from numpy.typing import NDArray

import forearm as fa
from forearm.kinematics import forward, jacobian, jacobian_derivative, position, velocity

STEP = 1e-6
# Central differences of O(1) quantities with this step: truncation and rounding leave about 1e-9.
DIFFERENCE = 2e-8

KINDS = [
    {"convention": "standard"},
    {"convention": "modified"},
    {"convention": "frames"},
    {"convention": "frames", "tree": True},
    {"convention": "frames", "tree": True, "mimic": True},
]


def states(arm: fa.Arm, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    q, qd = np.random.default_rng(seed).uniform(-1.5, 1.5, (2, arm.n))
    return q, qd


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("seed", [1])
def test_velocity_is_the_derivative_of_the_pose(kind: dict[str, object], seed: int) -> None:
    arm = random_arm(seed, n=5, **kind)  # type: ignore[arg-type]
    q, qd = states(arm, seed)
    for link in (None, *(link.name for link in arm.links)):
        point = np.array([0.13, -0.21, 0.34])
        v, w = velocity(arm, q, qd, link, point)
        moved = (position(arm, q + STEP * qd, link, point) - position(arm, q - STEP * qd, link, point)) / (
            2 * STEP
        )
        before, at, after = (forward(arm, x, link)[:3, :3] for x in (q - STEP * qd, q, q + STEP * qd))
        spin = (after - before) / (2 * STEP) @ at.T
        assert np.abs(v - moved).max() < DIFFERENCE
        assert np.abs(w - [spin[2, 1], spin[0, 2], spin[1, 0]]).max() < DIFFERENCE


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("seed", [4])
def test_derivative_of_the_jacobian(kind: dict[str, object], seed: int) -> None:
    arm = random_arm(seed, n=5, **kind)  # type: ignore[arg-type]
    q, qd = states(arm, seed)
    for link, point in ((None, (0.0, 0.0, 0.0)), (arm.links[-1].name, (0.3, 0.1, -0.2))):
        moved = (jacobian(arm, q + STEP * qd, link, point) - jacobian(arm, q - STEP * qd, link, point)) / (
            2 * STEP
        )
        assert np.abs(jacobian_derivative(arm, q, qd, link, point) - moved).max() < DIFFERENCE


def test_batches_are_rows() -> None:
    arm = random_arm(8, n=4, convention="modified")
    q, qd = np.random.default_rng(8).uniform(-1, 1, (2, 3, arm.n))
    for function in (jacobian_derivative, velocity):
        whole = (
            np.concatenate(function(arm, q, qd), axis=-1) if function is velocity else function(arm, q, qd)
        )
        for k in range(3):
            row = function(arm, q[k], qd[k])
            assert np.array_equal(whole[k], np.concatenate(row) if function is velocity else row)
    assert jacobian(arm, np.zeros((0, arm.n))).shape == (0, 6, arm.n)


def test_a_link_of_the_base_does_not_move() -> None:
    arm = random_arm(9, n=3, convention="modified")
    q, qd = states(arm, 9)
    assert not jacobian(arm, q, arm.base_link, (1.0, 2.0, 3.0)).any()
    assert np.array_equal(position(arm, q, arm.base_link, (1.0, 2.0, 3.0)), [1.0, 2.0, 3.0])
    assert not np.concatenate(velocity(arm, q, qd, arm.base_link)).any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: jacobian(a, [1.0]), r"q: .* has 3 joints"),
        (lambda a: velocity(a, np.zeros((4, 3)), np.zeros((2, 3))), "qd: expected a number"),
        (lambda a: jacobian(a, np.zeros(3), "no such link"), "got 'no such link'"),
        (lambda a: position(a, np.zeros(3), None, (1.0, 2.0)), r"point: expected shape \(3,\)"),
    ],
)
def test_what_is_wrong_is_said(call: object, message: str) -> None:
    arm = random_arm(10, n=3, convention="modified")
    with pytest.raises(fa.ForearmError, match=message):
        call(arm)  # type: ignore[operator]
