"""Branches at singular poses: those that meet are given once, and how many there are does not
depend on what is near.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from kinematics.closed_form.wrist_arms import ELBOW_ROWS, RIGHT, Array, apart, dh_arm, many, misses, one

import forearm as fa
from forearm.kinematics import forward
from forearm.kinematics.limits import limits_of

EXACT = 1e-10
# At singular postures joints are known to the root of what forward kinematics leaves,
# near two singularities to more.
ROOT = 1e-3


def closest_pair(arm: fa.Arm, q: Array) -> float:
    """The least distance between two of the postures (m, n)."""
    distances = apart(arm, q[:, None], q[None]) + 10.0 * np.eye(len(q))
    return float(distances.min())


@pytest.mark.slow
@pytest.mark.parametrize("elbow", [math.pi, 0.0])
@pytest.mark.parametrize("name", ["ur5", "ur10"])
@pytest.mark.sweep(first=1)
def test_branches_that_meet_are_given_once(name: str, elbow: float) -> None:
    """The elbow stretched or folded: of eight branches two are one, so that their number is odd."""
    arm = fa.load(name)
    q = np.random.default_rng(1).uniform(-3.0, 3.0, (60, 6))
    q[:, 2] = elbow
    T = forward(arm, q)
    batch = many(arm, T, limits=False)
    assert batch.singular.all()
    for k, row in enumerate(q):
        found = one(arm, T[k], limits=False)
        assert found.singular
        assert len(found.q) in (1, 3, 5, 7)
        assert len(found.q) == batch.valid[k].sum()
        assert closest_pair(arm, found.q) > ROOT
        assert apart(arm, found.q, row).min() < ROOT
        assert misses(arm, found.q, T[k]) < 10.0 * EXACT


def test_branches_that_nearly_meet_are_both_given() -> None:
    """Regular postures stay apart, however little the elbow is bent: the two differ by twice its bend."""
    arm = fa.load("ur5")
    for bend in (1e-2, 1e-3, 1e-4):
        q = np.array([0.3, -1.2, bend, 0.5, 0.8, -0.4])
        found = one(arm, forward(arm, q))
        assert len(found.q) % 2 == 0
        assert apart(arm, found.q, q).min() < 1e-6
        assert bend < closest_pair(arm, found.q) < 4.0 * bend


def singular_cases() -> list[tuple[fa.Arm, Array]]:
    """Arms at postures whose hand can stand while joints move."""
    elbow = dh_arm(ELBOW_ROWS, "RRRRRR")
    over = RIGHT - math.atan2(-0.45 * math.cos(0.9), 0.5 + 0.45 * math.sin(0.9))
    return [
        (fa.load("ur5"), np.array([0.1, -1.0, 1.0, 0.4, 0.0, 0.6])),
        (fa.load("ur10"), np.array([0.1, -1.0, 1.0, 0.4, math.pi, 0.6])),
        (fa.load("puma560"), np.array([0.1, 0.2, 0.3, 0.4, 0.0, 0.6])),
        (fa.load("stanford"), np.array([0.1, 0.2, 0.7, 0.4, 0.0, 0.6])),
        (elbow, np.array([0.7, over, 0.9, 0.4, 0.5, 0.6])),  # the wrist's centre on the first axis
        (elbow, np.array([0.7, 0.3, RIGHT, 0.4, 0.5, 0.6])),  # the elbow stretched: no family
    ]


@pytest.mark.slow
@pytest.mark.parametrize("case", range(6))
@pytest.mark.sweep(first=3)
def test_their_number_does_not_depend_on_what_is_near(case: int) -> None:
    arm, q = singular_cases()[case]
    T = forward(arm, q)
    for limits in (True, False):
        plain = one(arm, T, limits=limits)
        assert plain.singular
        assert ("two branches meet" in plain.message) == (not plain.undetermined)
        nears = np.random.default_rng(case).uniform(-1.5, 1.5, (6, arm.n)) * 0.4 + q
        for near in [q, *nears]:
            found = one(arm, T, limits=limits, near=near)
            assert len(found.q) == len(plain.q)
            assert found.undetermined == plain.undetermined
            assert misses(arm, found.q, T) < 10.0 * EXACT
        assert apart(arm, one(arm, T, limits=limits, near=q).q[0], q).max() < 1e-5


@pytest.mark.slow
def test_of_a_family_a_member_within_the_limits_is_found() -> None:
    """Joint 4 may stand where the first solution of the family does not:
    another is given, near or not, beside regular ones.
    """
    free = [(-math.pi, math.pi)] * 6
    q = np.array([0.1, 0.4, 0.7, 1.3, 0.0, 0.6])
    T = forward(dh_arm(ELBOW_ROWS, "RRRRRR"), q)
    # Half a turn of the first joint, and the arm over: two families have the wrist straight.
    ends = (-0.05, 0.5)
    whole = one(dh_arm(ELBOW_ROWS, "RRRRRR", limits=free), T).q
    straight = np.abs(whole[:, 4]) < ROOT
    inside = (whole[:, 3] > ends[0]) & (whole[:, 3] < ends[1])
    assert straight.sum() == 2
    assert not (straight & inside).any()
    narrow = dh_arm(ELBOW_ROWS, "RRRRRR", limits=[*free[:3], ends, *free[4:]])
    lower, upper = limits_of(narrow)
    for near in (None, q, q - 0.3, np.array([0.1, 0.4, 0.7, 0.2, 0.0, 1.7])):
        found = one(narrow, T, near=near)
        assert found.undetermined == ("joint4", "joint6")
        assert (np.abs(found.q[:, 4]) < ROOT).sum() == 2
        assert len(found.q) == 2 + inside.sum() > 2
        assert ((found.q >= lower) & (found.q <= upper)).all()
        assert misses(narrow, found.q, T) < EXACT
    assert np.abs(found.q[0] - near).max() < 1e-5
