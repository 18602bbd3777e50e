"""Hand coordinates from joint coordinates: against finite differences, Waters' V W^-1,
and recorded Jacobians of Pinocchio.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import OFFSETS, SEVEN_POINTS, every_kind, random_arm
from numpy.typing import NDArray

import forearm as fa
from forearm.files.urdf_read import arm_from_urdf
from forearm.kinematics import forward, hand_motion, hand_pose, orientation_forms, twist_of, waters_matrices

Floats = NDArray[np.float64]
RECORDED = json.loads((Path(__file__).parent.parent / "data" / "pinocchio.json").read_text(encoding="utf-8"))
PINOCCHIO = 1e-12  # both round at 1e-16, some ten links deep
DIFFERENCE = 1e-9  # seven points of a smooth motion
SECOND = 1e-7  # seven points of rates of angles that may be steep


def along(arm: fa.Arm, seed: int) -> tuple[Floats, Floats, Floats]:
    q, qd, qdd = np.random.default_rng(seed).uniform(-1.3, 1.3, (3, arm.n))
    return q, qd, qdd


def test_motion_of_the_hand_is_the_derivative_of_its_pose() -> None:
    for arm in every_kind(1, n=4):
        q, qd, qdd = along(arm, 1)
        t = OFFSETS[:, None]
        moved = hand_motion(arm, q + t * qd + 0.5 * t**2 * qdd, qd + t * qdd, np.tile(qdd, (7, 1)))
        at = hand_motion(arm, q, qd, qdd)
        spin = np.einsum("t,tij->ij", SEVEN_POINTS, moved.pose[:, :3, :3]) @ at.pose[:3, :3].T
        assert np.array_equal(at.pose, forward(arm, q))
        assert np.abs(at.velocity - SEVEN_POINTS @ moved.position).max() < DIFFERENCE
        assert np.abs(at.angular_velocity - [spin[2, 1], spin[0, 2], spin[1, 0]]).max() < DIFFERENCE
        assert np.abs(at.acceleration - SEVEN_POINTS @ moved.velocity).max() < DIFFERENCE
        assert np.abs(at.angular_acceleration - SEVEN_POINTS @ moved.angular_velocity).max() < DIFFERENCE


@pytest.mark.parametrize("form", orientation_forms())
def test_orientation_and_its_rates_along_a_motion(form: str) -> None:
    arm = random_arm(11, n=6, convention="modified")
    q, qd, _ = along(arm, 12)
    path = hand_motion(arm, q + OFFSETS[:, None] * qd, np.tile(qd, (7, 1)))
    rates = np.tensordot(SEVEN_POINTS, path.orientation(form), axes=1)
    assert np.abs(hand_motion(arm, q, qd).orientation_rates(form) - rates).max() < SECOND
    assert np.abs(hand_pose(path.position, path.orientation(form), form) - path.pose).max() < 1e-13


def test_angular_velocity_of_waters_matrices() -> None:
    """w from V_n W_n^-1; the cross product with one other point of the hand, as
    printed, is another vector.
    """
    arm = random_arm(13, n=6, convention="standard", fixed=False)
    q, qd, _ = along(arm, 13)
    made = waters_matrices(arm, q, qd)
    motion = hand_motion(arm, q, qd, link=arm.links[-1].name)
    v, w = twist_of(made.W[-1], made.V[-1])
    assert np.abs(v - motion.velocity).max() < 1e-13
    assert np.abs(w - motion.angular_velocity).max() < 1e-13
    lever = np.array([0.2, -0.1, 0.3, 0.0])
    printed = np.cross((made.V[-1] @ lever)[:3], (made.W[-1] @ lever)[:3])
    assert np.abs(printed - w).max() > 1e-2
    assert np.abs(np.cross(w, (made.W[-1] @ lever)[:3]) - (made.V[-1] @ lever)[:3]).max() < 1e-13


@pytest.mark.parametrize("said", RECORDED["arms"], ids=lambda a: a["name"])
def test_recorded_poses_and_jacobians_of_pinocchio(said: Any) -> None:
    arm = arm_from_urdf(str(said["urdf"]).encode(), "recorded.urdf", str(said["hand"]))
    order = [said["joints"].index(joint.name) for joint in arm.joints]
    for state in said["states"]:
        q, qd = (np.array(state[name])[order] for name in ("q", "qd"))
        motion = hand_motion(arm, q, qd)
        twist = np.array(state["jacobian"])[:, order] @ qd
        scale = np.abs(twist).max()
        assert (
            np.abs(motion.pose[:3] - state["placements"][said["hand"]]).max()
            < PINOCCHIO * np.abs(motion.pose).max()
        )
        assert (
            np.abs(np.concatenate([motion.velocity, motion.angular_velocity]) - twist).max()
            < PINOCCHIO * scale
        )


def test_rest_unless_rates_are_given_and_batches_are_rows() -> None:
    arm = random_arm(15, n=4, convention="modified")
    q, qd, qdd = np.random.default_rng(15).uniform(-1.0, 1.0, (3, 5, arm.n))
    rest = hand_motion(arm, q)
    assert not rest.velocity.any()
    assert not rest.angular_acceleration.any()
    whole = hand_motion(arm, q, qd, qdd)
    row = hand_motion(arm, q[2], qd[2], qdd[2])
    for name in ("pose", "velocity", "angular_velocity", "acceleration", "angular_acceleration"):
        assert np.abs(getattr(whole, name)[2] - getattr(row, name)).max() < 1e-14
    spoilt = q.copy()
    spoilt[1, 0] = np.nan
    assert np.isnan(hand_motion(arm, spoilt, qd, qdd).acceleration[1]).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda a: hand_motion(a, np.zeros((4, 3)), np.zeros((2, 3))),
            r"qd: expected a number, \(3,\) or \(4, 3\) beside q \(4, 3\), got \(2, 3\)",
        ),
        (lambda a: hand_motion(a, np.zeros(3), None, np.zeros(2)), r"qdd: .* has 3 joints"),
        (lambda a: hand_motion(a, np.zeros(3)).orientation("euler"), "form of orientation: expected one of"),
        (lambda a: hand_pose([0.0, 0.0], [0.0, 0.0, 0.0], "zyz"), r"position: expected shape \(3,\)"),
        (lambda a: twist_of(np.eye(3), np.eye(3)), r"expected shape \(\.\.\., 4, 4\) for both"),
    ],
)
def test_what_is_wrong_is_said(call: object, message: str) -> None:
    with pytest.raises(fa.ForearmError, match=message):
        call(random_arm(16, n=3, convention="modified"))  # type: ignore[operator]
