"""Hand lines through singular postures: limits from both sides, checked by differences,
and NaN where there is no limit.
"""

from __future__ import annotations

import math
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

import forearm as fa
from forearm.arm import from_dh
from forearm.kinematics import IKResult, forward, inverse
from forearm.kinematics.nearby import solve_nearby
from forearm.trajectories.line_joints import joints_along
from forearm.trajectories.line_path import least_solution
from forearm.trajectories.lines import HandLine, hand_line

Array = NDArray[np.float64]
SMOOTH = 1e-3  # of qdd over 1e-3 s: its own slope is some ten, rounding beside singular postures 1e-6


def through_a_straight_wrist() -> HandLine:
    """The wrist is straight at 0.6 s, in the middle of 0.2 m along x."""
    arm, straight = fa.load("puma560-akb"), np.array([0.1, -0.6, 0.4, 0.0, 0.0, 0.2])
    start = forward(arm, straight)
    start[0, 3] -= 0.1
    q0 = cast(IKResult, inverse(arm, start, near=straight)).q[0]
    return hand_line(arm, q0, start[:3, 3] + [0.2, 0.0, 0.0], 0.2, 1.0)


@pytest.mark.slow
def test_accelerations_and_torques_go_smoothly_through_a_straight_wrist() -> None:
    line = through_a_straight_wrist()
    t = np.concatenate([[0.6 + sign * 10.0**-k for k in range(3, 12) for sign in (-1.0, 1.0)], [0.6]])
    q, qd, qdd = line.at(t)
    for block in (qd, qdd):
        assert np.isfinite(block).all()
        assert np.abs(block - block[-1]).max() < SMOOTH
    assert abs(q[-1, 4]) < 1e-9
    tau = fa.compile(line.task.arm).inverse_dynamics(q, qd, qdd)
    assert np.abs(tau - tau[-1]).max() < 0.05
    (singular,) = line.problems
    assert singular.kind == "singular"


@pytest.mark.slow
def test_an_end_of_reach_has_no_limit() -> None:
    """Two links straight out: dq/ds grows without bound, so it is NaN at the end and
    finite 1 mm before it.
    """
    arm = from_dh("planar", [(0.5, 0.0, 0.0, 0.0), (0.3, 0.0, 0.0, 0.0)], convention="standard")
    start = solve_nearby(arm, forward(arm, [0.3, 0.9]), [0.3, 0.9], attitude=False).q
    place = forward(arm, start)[:3, 3]
    line = hand_line(
        arm, start, place / np.linalg.norm(place) * 0.9, 0.1, profile="constant", attitude="free"
    )
    stretch = line.stretches[0]
    end = stretch.ways[-1]
    q, slopes, _ = joints_along(line.task, stretch, np.array([end - 1e-3, end]))
    assert np.isfinite(slopes[0]).all()
    assert not np.isfinite(slopes[1]).all() or np.abs(slopes[1]).max() > 1e3
    assert np.abs(q[1, 1]) < 1e-3


@pytest.mark.slow
def test_close_beside_a_straight_wrist_nothing_is_made_up() -> None:
    """1e-8 rad beside it the wrist would swing round within 1e-8 m:
    what is given is NaN, or no faster than that swing.
    """
    arm = fa.load("puma560").rigid()
    q0 = np.array([0.3, -0.7, 0.4, 1e-8, 0.3, 0.0])
    line = hand_line(
        arm, q0, forward(arm, q0)[:3, 3] - 0.3 * np.array([math.cos(0.3), math.sin(0.3), 0.0]), 0.2, 1.0
    )
    assert not line.feasible
    time = line.problems[0].time
    t = np.clip(
        np.concatenate(
            [time + np.linspace(-1e-2, 1e-2, 41), line.problems[0].until + np.linspace(-1e-6, 1e-6, 21)]
        ),
        0,
        None,
    )
    q, qd, qdd = line.at(t[t <= line.duration])
    known = np.isfinite(qdd).all(axis=1)
    assert known.any()
    closeness = line.task.closeness(q[known])
    assert (np.abs(qdd[known]).max(axis=1) < 1e3 / np.maximum(closeness, 1e-6) ** 2).all()
    assert np.isnan(qd[~known]).all()


@pytest.mark.slow
def test_singular_all_the_way_goes_with_what_moves_the_hand() -> None:
    """The wrist stays straight while the hand rises along its own axis turned by joints 2 and
    3: no garbage anywhere.
    """
    arm = fa.load("puma560").rigid()
    q0 = np.array([0.3, -0.7, 0.4, 0.0, 0.0, 0.0])
    along = forward(arm, q0)[:3, 2]
    line = hand_line(arm, q0, forward(arm, q0)[:3, 3] - 0.02 * along, 0.1, 1.0)
    q, qd, qdd = line.at(np.linspace(0.0, line.duration, 60))
    known = np.isfinite(qdd).all(axis=1)
    assert np.abs(qd[known]).max() < 10.0
    assert np.abs(qdd[known]).max() < 100.0
    assert np.isfinite(q).any()


def test_least_solution_leaves_out_what_does_not_move() -> None:
    rng = np.random.default_rng(5)
    J = rng.normal(size=(4, 6, 6))
    wanted = rng.normal(size=(4, 6))
    np.testing.assert_allclose(
        least_solution(J, wanted), [np.linalg.solve(a, b) for a, b in zip(J, wanted, strict=True)]
    )
    U, s, Vt = np.linalg.svd(J[0])
    s[-1] = 1e-14
    flat = (U * s) @ Vt
    x = least_solution(flat[None], wanted[:1])[0]
    np.testing.assert_allclose(x, np.linalg.pinv(flat, rcond=1e-6) @ wanted[0], rtol=1e-9)
