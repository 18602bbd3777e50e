"""Which branch is nearest, and where the middle of a range is:
one meaning of each for inverse, follow and planning.
"""

from __future__ import annotations

import dataclasses
import math
from itertools import product

import numpy as np
import pytest
from kinematics.closed_form.wrist_arms import Array, dh_arm, one, wrist_arm

import forearm as fa
from forearm.kinematics import follow, forward
from forearm.kinematics.closed_form.nearness import nearest_branch, squared_distances
from forearm.kinematics.limits import TURN, differences, middle, placed

INF = math.inf
ENDS = [(-1.0, 2.0), (0.0, INF), (-INF, 0.0), (20.0, INF), (-1000.0, INF), (-INF, -7.0)]


def planar_arm(kinds: str, limits: list[tuple[float, float]]) -> fa.Arm:
    return dh_arm([(0.3, 0.5, 0.1)] * len(kinds), kinds, limits=limits)


def by_trying(arm: fa.Arm, q: Array, near: Array, limits: bool) -> Array:
    """The least sum of squares of each branch (m, n) over whole turns of every joint, tried one by one."""
    found = []
    for row in q:
        best = []
        for joint, x, want in zip(arm.joints, row, near, strict=True):
            tries = [x + TURN * k for k in range(-6, 7)] if joint.kind == "revolute" else [x]
            allowed = [t for t in tries if not limits or joint.limits.lower <= t <= joint.limits.upper]
            best.append(min((t - want) ** 2 for t in allowed))
        found.append(sum(best))
    return np.array(found)


@pytest.mark.parametrize("limits", [True, False])
def test_the_nearest_branch_is_the_least_sum_of_squares_over_whole_turns(limits: bool) -> None:
    ends = [(-7.0, 1.0), (-INF, INF), (-2.0, 9.0), (0.0, INF), (-4.0, 4.0), (-9.0, 9.0)]
    arm = planar_arm("RRPRRR", ends)
    rng = np.random.default_rng(5)
    for _ in range(50):
        q = rng.uniform(-math.pi, math.pi, (8, 6))
        q[:, 2] = rng.uniform(-2.0, 9.0, 8)
        near = rng.uniform(-8.0, 8.0, 6)
        sums = by_trying(arm, q, near, limits)
        assert nearest_branch(arm, q, near, limits) == np.argmin(sums)
        np.testing.assert_allclose(squared_distances(placed(arm, q, limits, near)[0], near), sums, rtol=1e-12)


@pytest.mark.slow
def test_inverse_and_follow_choose_by_it() -> None:
    """Also where the largest difference, or the sum of absolute ones, would choose another branch."""
    rng = np.random.default_rng(6)
    arm = wrist_arm(7, "RRR", twists=(math.pi / 2, 0.0))
    otherwise = 0
    for q, near in rng.uniform(-2.0, 2.0, (40, 2, 6)):
        T = forward(arm, q)
        found = one(arm, T, near=near).q
        assert (np.diff(squared_distances(found, near)) >= 0.0).all()
        assert nearest_branch(arm, found, near) == 0
        assert np.abs(follow(arm, T[None], near).q[0] - found[0]).max() < 1e-9
        off = np.abs(found - near)
        otherwise += np.argmin(off.max(axis=1)) != 0 or np.argmin(off.sum(axis=1)) != 0
    assert otherwise > 5


def test_every_angle_is_within_half_a_turn_of_the_middle_of_an_open_range() -> None:
    """A whole turn within the range, if there is any, is among those within half a turn of its middle."""
    for (lower, upper), kind in product(ENDS, "RP"):
        (centre,) = middle(planar_arm(kind, [(lower, upper)]))
        assert lower <= centre <= upper
        if kind == "R" and not (math.isfinite(lower) and math.isfinite(upper)):
            assert lower <= centre - math.pi
            assert centre + math.pi <= upper
        nearest = min(max(0.0, lower), upper)
        if lower <= -math.pi and upper >= math.pi:
            assert centre == 0.0
        elif kind == "P" and not (math.isfinite(lower) and math.isfinite(upper)):
            assert centre == nearest
    assert middle(planar_arm("RR", [(-1.0, 2.0), (20.0, 30.0)])).tolist() == [0.5, 25.0]


def test_the_middle_is_that_of_what_a_joint_and_its_followers_allow() -> None:
    """By the bounds of the follower, and by trying which postures all joints allow."""
    arm = planar_arm("RR", [(-1.0, 2.0), (-0.5, 0.1)])
    second = dataclasses.replace(
        arm.tree[-1], mimic=fa.Mimic(joint=arm.tree[-2].name, multiplier=-0.5, offset=0.2)
    )
    arm = arm.replace(tree=(*arm.tree[:-1], second))
    np.testing.assert_allclose(middle(arm), [0.5 * (0.2 + 1.4)])
    tried = np.linspace(-3.0, 3.0, 6001)
    allowed = tried[
        (tried >= -1.0) & (tried <= 2.0) & (0.2 - 0.5 * tried >= -0.5) & (0.2 - 0.5 * tried <= 0.1)
    ]
    np.testing.assert_allclose(middle(arm), [allowed.mean()], atol=1e-3)


def test_differences_leave_out_whole_turns_of_joints_that_turn() -> None:
    arm = planar_arm("RPR", [(-INF, INF)] * 3)
    q = np.array([[0.1, 0.2, 3.0], [1.0, 2.0, -3.0]])
    np.testing.assert_allclose(differences(arm, q + TURN, q), [[0.0, TURN, 0.0]] * 2, atol=1e-14)
    np.testing.assert_allclose(differences(arm, q[0], q[1]), [0.9, 1.8, TURN - 6.0], atol=1e-14)
