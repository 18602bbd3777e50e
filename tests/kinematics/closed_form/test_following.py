"""Paths of poses: the branch kept, whole turns, singular poses passed, gaps and jumps said;
rates against differences.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from kinematics.closed_form.wrist_arms import Array, dh_arm, misses, wrist_arm

import forearm as fa
from forearm.kinematics import FollowedPath, follow, forward

EXACT = 1e-10
# Central differences of a path sampled every STEP s: truncation STEP^2 times its third
# and fourth derivatives.
STEP = 1e-3
RATE, ACCELERATION = 1e-4, 1e-3


def joint_path(n: int, count: int = 200, turns: float = 1.0) -> Array:
    """A smooth path of joints, (count, n), with angles that pass several half turns."""
    t = np.linspace(0.0, 1.0, count)[:, None]
    k = np.arange(1.0, n + 1.0)
    path: Array = 0.5 + 0.3 * k * np.sin(2.0 * math.pi * t + k) + turns * 3.0 * t * np.cos(k)
    return path


def kinds(path: FollowedPath) -> list[str]:
    return [event.kind for event in path.events]


@pytest.mark.parametrize("name", ["puma560", "puma560-akb", "ur5", "ur10"])
def test_a_path_of_joints_is_found_again_over_whole_turns(name: str) -> None:
    """Through wrist and elbow singularities, and through many half turns:
    every posture is that of the path.
    """
    arm = fa.load(name)
    q = joint_path(6)
    q[:, 2] = 0.6 + 0.3 * np.sin(q[:, 2])  # the elbow stays bent, so that one branch goes through
    q[:, 4] = 0.9 + 0.3 * np.sin(q[:, 4])
    path = follow(arm, forward(arm, q), q[0] + 0.05, limits=False)
    assert path.complete
    assert np.abs(path.q - q).max() < 1e-6
    assert np.abs(q).max() > math.pi


@pytest.mark.slow
def test_quartic_arms_and_slides_too() -> None:
    for arms_kinds in ("RRR", "RRP", "PRR"):
        arm = wrist_arm(11, arms_kinds)
        q = 0.3 * joint_path(6, 150, turns=0.0)
        path = follow(arm, forward(arm, q), q[0], limits=False)
        assert path.complete
        assert misses(arm, path.q[-1], forward(arm, q[-1])) < EXACT


def test_straight_through_the_wrist_singularity() -> None:
    """Joint 5 passes 0 on a sample and between samples: joint 4 does not flip, and both are said."""
    arm = fa.load("puma560")
    for shift in (0.0, 0.5):
        t = np.arange(-20.0, 21.0) + shift
        q = np.array([0.1, 0.2, 0.3, 0.4, 0.0, 0.6]) + 0.01 * t[:, None] * np.array(
            [0.3, 0.2, 0.1, 0.4, 1.0, -0.5]
        )
        path = follow(arm, forward(arm, q), q[0])
        assert path.complete
        regular = np.abs(q[:, 4]) > 1e-3
        assert np.abs(path.q - q)[regular].max() < 1e-6
        # On the singular pose itself joints 4 and 6 share what they turn as is nearest to the posture before.
        assert np.abs(path.q - q).max() < 0.01
        assert max(misses(arm, path.q[k], forward(arm, q[k])) for k in range(41)) < EXACT
        assert kinds(path) == (["crossing"] if shift else ["singular"])
        assert path.events[0].index == 20
        assert "pose 20" in path.events[0].message


@pytest.mark.slow
def test_poses_out_of_reach_leave_a_gap() -> None:
    arm = fa.load("puma560")
    q = joint_path(6, 30, turns=0.0) * 0.3
    T = forward(arm, q)
    T[10:14, :3, 3] *= 6.0
    T[20, :3, 3] *= 6.0
    path = follow(arm, T, q[0], limits=False)
    assert not path.complete
    assert np.isnan(path.q[[10, 11, 12, 13, 20]]).all()
    assert not np.isnan(np.delete(path.q, [10, 11, 12, 13, 20], axis=0)).any()
    gaps = [event for event in path.events if event.kind == "unreachable"]
    assert [event.index for event in gaps] == [10, 20]
    assert gaps[0].message == "poses 10 to 13 are out of reach."
    assert gaps[1].message == "pose 20 is out of reach."


def test_limits_force_another_branch_or_a_whole_turn() -> None:
    """Joint 6 turns on and on; its limits make the wrist flip, or joint 6 turn back,
    and the jumps are said.
    """
    rows = [(math.pi / 2, 0.0, 0.4), (0.0, 0.5, 0.1), (math.pi / 2, 0.0, 0.0), (-math.pi / 2, 0.0, 0.45),
            (math.pi / 2, 0.0, 0.0), (0.0, 0.0, 0.1)]  # fmt: skip
    bounds = [(-3.0, 3.0)] * 5 + [(-4.0, 4.0)]
    arm = dh_arm(rows, "RRRRRR", limits=bounds)
    q = np.tile([0.3, 0.4, 0.7, 0.5, 0.8, 0.0], (60, 1))
    q[:, 5] = np.linspace(0.0, 8.0, 60)
    path = follow(arm, forward(arm, q), q[0])
    assert not path.complete
    assert kinds(path).count("jump") >= 1
    assert np.abs(path.q[:, 5]).max() <= 4.0
    assert all(misses(arm, path.q[k], forward(arm, q[k])) < EXACT for k in range(60))
    jump = next(event for event in path.events if event.kind == "jump")
    assert f"between poses {jump.index - 1} and {jump.index}" in jump.message
    assert follow(arm, forward(arm, q), q[0], limits=False).complete


def test_arguments_that_are_refused() -> None:
    arm, T, rest = fa.load("puma560"), np.eye(4)[None], np.zeros(6)
    wrong: list[tuple[Any, Any, dict[str, Any], str]] = [
        (T[0], rest, {}, r"expected a path of shape \(B, 4, 4\)"),
        (T, np.full(6, np.nan), {}, "near: every number must be finite"),
        (T, None, {}, "near: expected numbers, got None"),
        (T, rest, {"limits": "no"}, "follow, limits: expected bool, got 'no'"),
    ]
    for path, near, options, message in wrong:
        with pytest.raises(fa.InputError, match=message):
            follow(arm, path, near, **options)
    assert follow(arm, np.zeros((0, 4, 4)), rest).q.shape == (0, 6)
