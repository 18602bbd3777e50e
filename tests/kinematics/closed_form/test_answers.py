"""What inverse kinematics says: limits, whole turns, singular poses, poses out of reach,
arms without a closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from kinematics.closed_form.wrist_arms import (
    ELBOW_ROWS,
    RIGHT,
    Array,
    apart,
    dh_arm,
    many,
    misses,
    one,
    wrist_arm,
)

import forearm as fa
from forearm.kinematics import forward, inverse, inverse_numeric
from forearm.kinematics.closed_form.recognition import geometry_of
from forearm.spatial import pose, rotation_rpy

EXACT = 1e-10
# At singular postures joints are known to the root of rounding.
ROOT = 1e-6


def elbow_arm(limits: object = None) -> fa.Arm:
    return dh_arm(ELBOW_ROWS, "RRRRRR", limits=limits)


def moved(T: Array, p: tuple[float, float, float]) -> Array:
    T = T.copy()
    T[:3, 3] = p
    return T


def test_every_branch_within_the_limits_and_no_other() -> None:
    arm = fa.load("puma560")
    lower, upper = np.array([j.limits for j in arm.joints]).T
    T = forward(arm, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    every, inside = one(arm, T, limits=False), one(arm, T)
    assert len(every.q) == 8
    assert ((inside.q >= lower) & (inside.q <= upper)).all()
    turned = every.q[:, None] + 2.0 * math.pi * np.arange(-1.0, 2.0)[:, None]
    allowed = ((turned >= lower) & (turned <= upper)).any(axis=1).all(axis=1)
    assert len(inside.q) == allowed.sum() == 4
    assert "4 more outside the limits" in inside.message
    # Whole turns nearest to a posture; without limits any is allowed.
    far = every.q[3] + 2.0 * math.pi * np.array([5.0, -3.0, 0.0, 7.0, 2.0, -9.0])
    assert np.abs(one(arm, T, limits=False, near=far).q[0] - far).max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["puma560", "stanford", "ur5"])
def test_postures_at_half_turns(name: str) -> None:
    arm = fa.load(name)
    sliding = np.array([j.kind == "prismatic" for j in arm.joints])
    for signs in np.random.default_rng(1).choice([-1.0, 1.0], (8, 6)):
        q = np.where(sliding, 0.7, math.pi * signs)
        q[[1, 2, 4]] = np.where(sliding, 0.7, q + signs * 0.4)[[1, 2, 4]]
        found = one(arm, forward(arm, q), limits=False)
        assert apart(arm, found.q, q).min() < ROOT
        assert misses(arm, found.q, forward(arm, q)) < EXACT


def test_limits_at_the_posture_itself() -> None:
    """A posture that is exactly at its limits is within them."""
    q = np.array([0.3, 0.4, 0.7, 0.5, 0.8, -0.4])
    arm = elbow_arm([(x, x + 0.1) for x in q])
    found = one(arm, forward(arm, q))
    assert len(found.q) == 1
    assert (found.q >= q).all()
    assert np.abs(found.q - q).max() < EXACT


@pytest.mark.parametrize(("name", "turned"), [("puma560", 0.4), ("puma560-akb", math.pi), ("stanford", -2.0)])
def test_wrist_axes_in_line(name: str, turned: float) -> None:
    arm = fa.load(name)
    q = np.array([0.1, 0.2, 0.5, turned, 0.0, 0.6])
    T = forward(arm, q)
    found = one(arm, T, limits=False)
    assert found.singular
    assert found.undetermined == ("joint4", "joint6")
    assert "joint4 and joint6 can move while the hand stays fixed" in found.message
    assert misses(arm, found.q, T) < EXACT
    here = found.q[np.abs(found.q[:, 4]) < ROOT]
    assert len(here) == 1  # one stands for all
    assert abs(math.remainder(here[0, 3] + here[0, 5] - q[3] - q[5], 2.0 * math.pi)) < ROOT
    kept = one(arm, T, limits=False, near=q)
    assert len(kept.q) == len(found.q)
    assert np.abs(kept.q[0] - q).max() < ROOT


@pytest.mark.slow
def test_out_of_reach_says_by_how_much() -> None:
    """Stretched, the wrist's centre is 0.95 m from the shoulder at height 0.4."""
    arm = elbow_arm()
    T = np.eye(4)
    T[:3, 3] = (2.0, 0.0, 0.4 + 0.1)
    found = one(arm, T)
    assert not found.reachable
    assert found.nearest is None
    assert found.message.startswith("out of reach: the wrist's centre stays at least 1.05 m")
    near = one(arm, T, nearest=True).nearest
    assert near is not None
    assert np.abs(forward(arm, near.q) - near.pose).max() < 1e-12
    assert near.distance == pytest.approx(np.linalg.norm(near.pose[:3, 3] - T[:3, 3]), rel=1e-9)
    assert near.distance**2 + near.angle**2 <= 1.05**2 + 1e-9
    # Nothing tried at random is nearer.
    others = forward(arm, np.random.default_rng(2).uniform(-math.pi, math.pi, (3000, 6)))
    turned = np.arccos(np.clip((np.trace(others[:, :3, :3], axis1=1, axis2=2) - 1.0) / 2.0, -1.0, 1.0))
    assert (
        np.linalg.norm(others[:, :3, 3] - T[:3, 3], axis=1) ** 2 + turned**2
    ).min() > near.distance**2 + near.angle**2


@pytest.mark.slow
def test_within_reach_but_not_within_the_limits() -> None:
    arm = elbow_arm([(-0.5, 0.5)] + [(-math.pi, math.pi)] * 5)
    q = np.array([1.0, 0.4, 0.7, 0.5, 0.8, -0.4])
    found = one(arm, forward(arm, q), nearest=True)
    assert not found.reachable
    assert (
        "8 branches reach the pose, none within the limits: joint1 would exceed its limit by at least "
        "0.5 rad" in found.message
    )
    assert found.nearest is not None
    assert -0.5 <= found.nearest.q[0] <= 0.5
    assert found.nearest.distance > 0.01
    assert one(arm, forward(arm, q), limits=False).reachable
    # The other way round, over the half turn: what a joint is behind its limit by is counted the short way.
    q[0] = 3.0
    message = one(elbow_arm([(-3.1, -2.5)] + [(-math.pi, math.pi)] * 5), forward(arm, q)).message
    assert f"exceed its limit by at least {2.0 * math.pi - 3.0 - 3.1:.4g} rad" in message


@pytest.mark.slow
def test_a_skew_wrist_that_cannot_turn_the_hand() -> None:
    """Twists of 0.5 and 0.4 rad leave the hand within 0.9 rad of the forearm,
    wherever the wrist's centre is.
    """
    arm = wrist_arm(3, "RRR", twists=(RIGHT, 0.0), wrist=(0.5, 0.4))
    T = forward(arm, np.array([0.3, 0.4, 0.7, 0.5, 0.8, -0.4]))
    centre = np.array(geometry_of(arm).centre)
    place = (T @ np.append(centre, 1.0))[:3]
    messages = []
    for rpy in np.random.default_rng(6).uniform(-math.pi, math.pi, (20, 3)):
        R = rotation_rpy(rpy)
        found = one(arm, pose(R, place - R @ centre))
        messages += [] if found.reachable else [found.message]
    assert messages
    assert all(
        message.startswith("the wrist cannot orient the hand that way; the nearest configuration is")
        for message in messages
    )


def test_three_joints_use_the_position_alone() -> None:
    arm = fa.load("stanford-dhanaraj3")
    q = np.array([0.3, 0.6, 0.8])
    T = forward(arm, q)
    turned = T.copy()
    turned[:3, :3] = np.eye(3)
    assert np.array_equal(one(arm, T).q, one(arm, turned).q)
    assert "only the hand's position was used" in one(arm, T).message
    assert np.abs(forward(arm, one(arm, T, limits=False).q)[:, :3, 3] - T[:3, 3]).max() < EXACT
    far = one(arm, moved(T, (9.0, 0.0, 0.0)), nearest=True)
    assert not far.reachable
    assert far.nearest is not None
    assert far.nearest.angle == 0.0


@pytest.mark.slow
def test_a_batch_with_poses_of_every_kind() -> None:
    """Rows agree with the poses taken one by one."""
    arm = fa.load("puma560")
    q = np.random.default_rng(3).uniform(-1.5, 1.5, (12, 6))
    q[3, 4] = 0.0
    T = forward(arm, q)
    T[5, :3, 3] *= 5.0
    T[7, :3, 3] = 0.0
    batch = many(arm, T)
    assert batch.q.shape == (12, 8, 6)
    assert not batch.reachable[[5, 7]].any()
    assert batch.reachable[[0, 1, 2, 4]].all()
    assert batch.singular[3]
    assert not batch.singular[[0, 1, 2, 4, 5]].any()
    for k in range(12):
        alone = one(arm, T[k])
        assert alone.reachable == batch.reachable[k]
        assert alone.q.shape == batch.q[k, batch.valid[k]].shape
        assert np.abs(alone.q - batch.q[k, batch.valid[k]]).max(initial=0.0) < 1e-9
    assert many(arm, np.zeros((0, 4, 4))).q.shape == (0, 8, 6)


@pytest.mark.slow
def test_base_and_tool_move_the_pose_and_not_the_branches() -> None:
    arm = fa.load("puma560")
    tool = forward(arm, [0.5, 0.1, -0.3, 0.9, 0.4, 0.2])
    q = np.array([0.3, -0.7, 0.4, 0.9, -0.8, 1.7])
    plain = one(arm, forward(arm, q)).q
    assert np.abs(one(arm.replace(hand=tool), forward(arm, q) @ tool).q - plain).max() < 1e-9
    # poses are in the base frame
    assert np.abs(one(arm.replace(base=tool), forward(arm, q)).q - plain).max() < 1e-12


def spoilt(place: tuple[int, int], value: float) -> Array:
    T = np.eye(4)
    T[place] = value
    return T


NO_POSE: list[tuple[Any, str]] = [
    (np.eye(3), r"expected a pose of shape \(4, 4\) or poses of shape \(B, 4, 4\), got \(3, 3\)"),
    ("abc", "expected numbers"),
    (spoilt((0, 3), np.nan), "all entries must be finite"),
    (spoilt((0, 3), np.inf), "all entries must be finite"),
    (spoilt((3, 0), 0.1), "the last row of a pose must be 0 0 0 1"),
    (spoilt((0, 0), 1.1), r"must be a rotation.*off by 0.21.*orthonormalise"),
    (spoilt((0, 0), -1.0), "is a reflection"),
    (np.stack([np.eye(4), spoilt((1, 1), 2.0)]), r"T\[1\]: the upper left 3x3 must be a rotation"),
]


@pytest.mark.parametrize("solver", [inverse, inverse_numeric])
def test_what_is_no_pose_is_refused(solver: Callable[..., object]) -> None:
    for T, message in NO_POSE:
        with pytest.raises(fa.InputError, match=message):
            solver(fa.load("puma560"), T)


def test_other_arguments_that_are_refused() -> None:
    arm, T = fa.load("puma560"), np.eye(4)
    wrong: list[tuple[Any, Array, dict[str, Any], str]] = [
        (arm, T, {"near": [1.0, 2.0]}, r"near: expected shape \(6,\), got \(2,\)"),
        (arm, T[None], {"nearest": True}, "nearest applies to a single pose"),
        ("puma560", T, {}, "expected an Arm"),
        *(
            (arm, T, {option: "no"}, f"inverse, {option}: expected bool, got 'no'")
            for option in ("limits", "nearest")
        ),
    ]
    for who, where, options, message in wrong:
        with pytest.raises(fa.InputError, match=message):
            inverse(who, where, **options)


@pytest.mark.parametrize(
    ("arm", "message"),
    [
        (lambda: fa.load("panda"), "it has 7 joints"),
        (lambda: fa.load("ascher2"), "it has 2 joints"),
        (
            lambda: fa.load("cmu-dd"),
            "axes 4, 5, 6 miss a common point by 240 mm; axes 2, 3, 4 are not parallel, by 90 degrees",
        ),
        (lambda: fa.load("puma560-dhanaraj3"), "the hand's origin is on the axis of joint 3"),
        (lambda: fa.load("chain6"), "axes 4, 5, 6 miss a common point by"),
        (lambda: random_arm(1, 6, tree=True), "it is a tree or has mimic joints"),
        (lambda: random_arm(1, 6, mimic=True), "it is a tree or has mimic joints"),
        (lambda: wrist_arm(1, "PPP", twists=(0.0, None)), "do not move the hand in all directions"),
    ],
)
def test_arms_without_a_closed_form_are_refused_with_the_reason(
    arm: Callable[[], fa.Arm], message: str
) -> None:
    with pytest.raises(fa.ModelError, match=message) as refusal:
        inverse(arm(), np.eye(4))
    assert "fa.kinematics.inverse_numeric works for any arm" in str(refusal.value)
