"""Newton's inverse kinematics over any scalar: errors, steps and limits over floats against what they mean,
and the machine code against the same text over arrays.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from arms import posture, random_arm
from numpy.typing import NDArray

import forearm as fa
from forearm.kinematics import forward, jacobian
from forearm.kinematics.angles import matrix_of_vector
from forearm.kinematics.nearby import newton_rows, reference, solve_nearby
from forearm.kinematics.newton import (
    HUGE,
    PATIENCE,
    SHORTER,
    Bounds,
    NewtonState,
    PoseTask,
    Rows,
    Values,
    goes_on,
    least_squares,
    pose_error,
    rotation_error,
    run,
    step,
)
from forearm.spatial import rotation_about

Floats = NDArray[np.float64]
ROUNDING = 1e-11  # of O(1) matrices solved with damping 1e-3
SERIES = 2e-9  # of an angle, what the series of its arctangent leaves


@pytest.mark.parametrize(
    "angle", [0.0, 1e-12, 1e-7, 1e-3, 0.5, 1.7, 3.0, 3.14, math.pi - 1e-4, math.pi - 1e-6, math.pi]
)
def test_rotation_vector_up_to_half_a_turn(angle: float) -> None:
    axis = np.array([2.0, -3.0, 6.0]) / 7.0
    vector, square = rotation_error(rotation_about(axis, angle).tolist())
    # Next to pi the cosine of half the angle is the root of a difference:
    # rounding grows, and within 1e-5 it is taken as pi.
    lost = 2e-5 if angle > math.pi - 1e-3 else SERIES
    assert abs(math.sqrt(square) - angle) <= lost * angle
    if angle < math.pi - 1e-3:
        assert np.abs(np.array(vector) - angle * axis).max() <= lost * angle


@pytest.mark.parametrize("attitude", [True, False])
def test_the_error_moves_one_pose_to_the_other(attitude: bool) -> None:
    arm = random_arm(4, 6)
    at, wanted = forward(arm, posture(arm, 1)), forward(arm, posture(arm, 2))
    e, squares = pose_error(wanted.tolist(), at.tolist(), attitude)
    assert np.abs(at[:3, 3] + e[:3] - wanted[:3, 3]).max() < 1e-15
    assert squares == pytest.approx([np.dot(e[k : k + 3], e[k : k + 3]) for k in range(0, len(e), 3)])
    assert len(e) == (6 if attitude else 3)
    if attitude:
        assert np.abs(matrix_of_vector(np.array(e[3:])) @ at[:3, :3] - wanted[:3, :3]).max() < 4.0 * SERIES


@pytest.mark.parametrize("rows", [3, 6])
@pytest.mark.parametrize("n", [2, 5, 6, 9])
def test_a_step_is_the_damped_least_squares_solution(n: int, rows: int) -> None:
    """min |J dq - e|^2 + damping |dq|^2 over the free joints, as one tall system."""
    arm = random_arm(3, n, tree=n == 5, mimic=n > 5)
    J, e = jacobian(arm, posture(arm, 1))[:rows], np.random.default_rng(n).uniform(-1.0, 1.0, rows)
    damping, free = 1e-3, np.array([float(j % 3 != 1) for j in range(n)])
    dq = np.array(least_squares(J.tolist(), e.tolist(), (J.T @ e).tolist(), free.tolist(), damping))
    tall = np.concatenate([J * free, math.sqrt(damping) * np.eye(n)])
    truth = np.linalg.lstsq(tall, np.concatenate([e, np.zeros(n)]), rcond=None)[0]
    assert np.abs(dq - truth).max() < ROUNDING
    assert (dq[free == 0.0] == 0.0).all()


def wheel(q: Values) -> tuple[Rows, Rows]:
    """A hand one metre from an axis about z."""
    c, s = math.cos(q[0]), math.sin(q[0])
    return [[c, -s, 0.0, c], [s, c, 0.0, s], [0.0, 0.0, 1.0, 0.0]], [[-s], [c], [0.0], [0.0], [0.0], [1.0]]


def wheel_task(angle: float, lower: float, upper: float, periodic: bool) -> PoseTask:
    bounds = Bounds([lower], [upper], [periodic])
    return PoseTask(wheel, wheel([angle])[0], True, 1e-24, bounds=bounds, most=50.0)


def test_bounds_are_kept_and_whole_turns_are_taken_where_they_lead_inside() -> None:
    # from 2.9 on to -2.9: the way is across pi, and a turn back
    for to, lower, upper, start in (
        (-2.9, -3.0, 3.0, 2.9),
        (2.0, -math.inf, 3.0, 1.4),
        (2.0, -3.0, math.inf, 1.4),
    ):
        assert run(wheel_task(to, lower, upper, True), [start], 50).q == pytest.approx([to], abs=1e-12)
    for periodic in (True, False):
        stopped = run(wheel_task(1.5, -1.0, 1.0, periodic), [0.2], 50)
        assert stopped.q == [1.0]
        assert stopped.squares[1] == pytest.approx(0.25, rel=1e-6)
    assert wheel_task(2.0, -math.inf, math.inf, True).free([9.0], [-1.0]) == [1.0]
    assert wheel_task(2.0, -math.inf, 1.0, True).within([1.5]) == pytest.approx([1.5 - math.tau])
    assert wheel_task(2.0, -1.0, math.inf, False).within([-1.5]) == [-1.0]
    task = wheel_task(2.0, -1.0, 1.0, True)
    assert [task.free([x], [way])[0] for x in (-1.0, 0.3, 1.0) for way in (-2.0, 2.0)] == [0, 1, 1, 1, 1, 0]
    assert [task.within([x])[0] for x in (0.5, 0.5 + math.tau, -1.2, 2.0)] == pytest.approx([0.5, 0.5, -1, 1])


def test_a_step_that_does_not_help_is_tried_again_shorter() -> None:
    task = wheel_task(0.5, -3.0, 3.0, True)
    good = step(task, NewtonState.begun([0.3], True))
    wrong = NewtonState(good.q, [-0.4], good.squares, 1.0, good.damping, 0.0, 1.0)
    after = step(task, wrong)
    assert (after.q, after.dq, after.squares) == (good.q, [-0.4], good.squares)
    assert after.share == SHORTER
    assert after.damping > good.damping
    assert (after.slow, after.steps) == (1.0, 2.0)
    right = step(task, good)
    assert sum(right.squares) < 0.1 * sum(good.squares)
    assert (right.share, right.slow) == (1.0, 0.0)


def test_a_run_ends_when_solved_late_or_without_headway() -> None:
    task = wheel_task(0.5, -3.0, 3.0, True)
    begun = NewtonState.begun([0.3], True)

    def goes(**changed: object) -> bool:
        values = dict(vars(begun)) | changed
        a, b = goes_on(task, NewtonState(**values))
        return bool(a < b)

    assert goes()
    assert goes(squares=[1e-23, 1e-25])
    assert not goes(squares=[1e-25, 1e-25])
    assert not goes(steps=50.0)
    assert not goes(slow=PATIENCE)
    assert not goes(share=1e-7)
    assert goes(squares=[math.nan, 1e-25])


@pytest.mark.parametrize("attitude", [True, False])
@pytest.mark.parametrize("n", [1, 3, 6, 8])
@pytest.mark.sweep
def test_machine_code_follows_the_text_over_arrays(n: int, attitude: bool) -> None:
    arm, rng = random_arm(n, n, mimic=n > 3), np.random.default_rng(n)
    q = np.stack([posture(arm, k) for k in range(9)])
    T, near = forward(arm, q), q + rng.uniform(-0.05, 0.05, q.shape)
    found, error = newton_rows(arm, T, near, attitude)
    expected, squares = reference(arm, T, near, attitude, None, PATIENCE)
    assert error.max() < 1e-12
    assert squares.max() < 1e-24
    assert np.abs(found - expected).max() < 1e-7  # where joints move the hand little, rounding moves them


@pytest.mark.parametrize("over_arrays", [True, False])
def test_joints_move_along_directions_alone(over_arrays: bool) -> None:
    arm, rng = fa.load("panda"), np.random.default_rng(3)
    near = np.array([0.3, -0.4, 0.2, -2.0, 0.1, 1.8, 0.5]) + rng.uniform(-0.02, 0.02, (5, 7))
    held = np.linalg.svd(jacobian(arm, near[0]))[2][6:]
    T = forward(arm, near)
    T[:, :3, 3] += rng.uniform(-0.01, 0.01, (5, 3))
    if over_arrays:
        directions = np.linalg.svd(held)[2][1:].T
        q, squares = reference(arm, T, near, True, directions, HUGE)
        assert squares.max() < 1e-24
    else:
        found = solve_nearby(arm, T, near, held=held)
        assert found.converged.all()
        q = found.q
    assert np.abs(forward(arm, q) - T).max() < 1e-12
    assert np.abs((q - near) @ held.T).max() < 1e-14


def test_an_arm_without_joints_is_where_it_is() -> None:
    fixed = random_arm(1, 0)
    T = forward(fixed, np.zeros(0))
    assert solve_nearby(fixed, T, np.zeros(0)).converged
    T[0, 3] += 0.25
    assert solve_nearby(fixed, T, np.zeros(0)).error == pytest.approx(0.25)
    assert solve_nearby(fixed, np.zeros((0, 4, 4)), np.zeros((0, 0))).q.shape == (0, 0)


def test_more_joints_than_steps_are_written_out_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forearm.kinematics.nearby.MOST_JOINTS", 5)
    arm = random_arm(1, 7, prismatic=False)
    near = posture(arm, 1)
    assert solve_nearby(arm, forward(arm, near + 1e-3 * posture(arm, 2)), near).converged
