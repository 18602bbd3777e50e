"""Planning motions of continuous snap: limits reached and kept, states of least snap, durations against a
search of all, symmetries, velocities given, what is refused.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from arms import Array
from hypothesis import given, settings
from hypothesis import strategies as st

from forearm.errors import InputError
from forearm.trajectories import MotionLimits, SmoothMotion, smooth
from forearm.trajectories.continuous_snap.least_snap import calm_states, least_snap_states
from forearm.trajectories.continuous_snap.leg_durations import leg_durations
from forearm.trajectories.continuous_snap.problem import SmoothProblem

REACHED = 1e-9  # of a limit: how near the joint that is bounded comes to it, and how little beyond
NODES, WEIGHTS = np.polynomial.legendre.leggauss(9)
# The largest derivatives of the polynomial from rest at 0 to rest at 1: of w^4, w^3 (1 - 2u), w^2 (3 - 14 w)
# and w (1 - 7w) (1 - 2u) with w = u (1 - u).
W3, W4 = 3.0 / 14.0, (2.0 + np.sqrt(1.2)) / 14.0
PEAKS = (
    315.0 / 128.0,
    2520.0 * W3**3 * np.sqrt(1.0 - 4.0 * W3),
    315.0 / 4.0,
    15120.0 * W4 * (7.0 * W4 - 1.0) * np.sqrt(1.0 - 4.0 * W4),
)
POINTS = np.array([[0.0, 0.2, -0.4], [0.9, -0.3, 0.1], [0.4, 0.8, 0.5], [1.3, 0.7, -0.6]])
LIMITS = MotionLimits([5.0, 4.0, 3.0], [2.0, 1.5, 1.2], jerk=[60.0, 50.0, 40.0], snap=900.0)


def largest_use(motion: SmoothMotion, limits: MotionLimits) -> float:
    return float((motion.peaks / limits.of_derivatives).max())


def rest_to_rest(points: Array) -> Array:
    """What is given at points: rest at both ends, all open between."""
    asked = np.full((len(points), 5, points.shape[1]), np.nan)
    asked[:, 0], asked[[0, -1]] = 0.0, 0.0
    return asked


def snap_squared(states: Array, segments: Array) -> float:
    """The integral over a motion, exact by Gauss."""
    motion = SmoothMotion(states, segments, np.arange(len(states)))
    t = motion.switches[:-1, None] + 0.5 * (1.0 + NODES) * segments[:, None]
    snap = motion.derivatives(t.ravel())[4]
    weights = (0.5 * WEIGHTS * segments[:, None]).ravel()
    return float((weights[:, None] * snap**2).sum())


def test_limits_are_reached_and_kept() -> None:
    motion = smooth(POINTS, LIMITS)
    assert abs(largest_use(motion, LIMITS) - 1.0) < REACHED
    t = np.linspace(0.0, motion.duration, 5001)
    for block, most in zip(motion.derivatives(t)[1:], LIMITS.of_derivatives, strict=True):
        assert (np.abs(block) <= most * (1.0 + REACHED)).all()
    assert (motion.points == POINTS).all()
    assert (motion.at(motion.times)[0] == POINTS).all()
    assert (np.abs(motion.states[motion.passed[1:-1], 1]).max(axis=1) > 0.1).all()  # without stopping


@pytest.mark.parametrize(
    ("limits", "order", "joint"),
    [
        (MotionLimits([5.0, 4.0]), 2, 0),
        (MotionLimits(99.0, jerk=[30.0, 8.0]), 3, 1),
        (MotionLimits(99.0, snap=[70.0, 700.0]), 4, 0),
    ],
)
def test_one_joint_of_two_says_how_long_a_straight_motion_takes(
    limits: MotionLimits, order: int, joint: int
) -> None:
    d = np.array([0.8, 0.5])
    motion = smooth([[0.1, -0.2], [0.1 + d[0], -0.2 - d[1]]], limits)
    most = limits.of_derivatives[order - 1, joint]
    assert np.isclose(motion.duration, (PEAKS[order - 1] * d[joint] / most) ** (1.0 / order), rtol=1e-12)
    q = motion.at(np.linspace(0.0, motion.duration, 41))[0]
    share = (q - [0.1, -0.2]) / [d[0], -d[1]]
    assert np.abs(share[:, 0] - share[:, 1]).max() < 1e-12  # all joints on the line
    assert len(motion.segments) == 1


def test_a_tension_saves_time_where_velocities_bound_the_motion() -> None:
    limits = MotionLimits([40.0, 30.0], [1.0, 1.5])
    motion = smooth([[0.0, 0.0], [2.0, -0.6]], limits)
    assert len(motion.segments) == 3
    assert 2.0 < motion.duration < 1.4 * 2.0 < PEAKS[0] * 2.0  # no faster than the velocity allows
    assert abs(largest_use(motion, limits) - 1.0) < REACHED
    assert motion.points.tolist() == [[0.0, 0.0], [2.0, -0.6]]
    q = motion.at(np.linspace(0.0, motion.duration, 41))[0]
    assert np.abs(q[:, 1] + 0.3 * q[:, 0]).max() < 1e-12
    through = smooth([[0.0, 0.0], [2.0, -0.6], [3.5, 0.8]], limits)
    assert len(through.segments) == 6
    assert (through.passed == [0, 3, 6]).all()
    # a duration that needs no tension has none
    calm = smooth([[0.0, 0.0], [2.0, -0.6]], limits, duration=6.0)
    assert len(calm.segments) == 1
    tight = smooth([[0.0, 0.0], [2.0, -0.6]], limits, duration=1.1 * motion.duration)
    assert len(tight.segments) == 3


def test_states_have_the_least_snap() -> None:
    segments = np.array([0.6, 0.9, 0.5])
    asked = rest_to_rest(POINTS)
    asked[2, 1, 1] = 0.35
    for tension in (0.0, 9.0):
        problem = SmoothProblem(POINTS, asked, LIMITS, tension=tension)
        motion = problem.motion(segments)
        assert motion.states[motion.passed[2], 1, 1] == 0.35
        assert (motion.points == POINTS).all()

        def cost(states: Array, motion: SmoothMotion = motion, tension: float = tension) -> float:
            pull = np.repeat(tension / segments, len(states) // 3)[: len(motion.segments)]
            changed = replace(motion, states=states)
            t = motion.switches[:-1, None] + 0.5 * (1.0 + NODES) * motion.segments[:, None]
            speed = changed.at(t.ravel())[1]
            weights = 0.5 * WEIGHTS * (motion.segments * pull**6)[:, None]
            return snap_squared(states, motion.segments) + float((weights.ravel()[:, None] * speed**2).sum())

        least, rng = cost(motion.states), np.random.default_rng(1)
        is_open = np.isnan(asked)
        for _ in range(12):
            change = np.zeros(motion.states.shape)
            for k, row in enumerate(motion.passed):
                change[row] = np.where(is_open[k], rng.normal(size=is_open[k].shape), 0.0)
            inner = np.setdiff1d(np.arange(len(change)), motion.passed)
            change[inner] = rng.normal(size=change[inner].shape)
            change *= 0.02 * np.abs(motion.states).max(axis=(0, 2))[:, None]
            rises = [cost(motion.states + s * change) - least for s in (1.0, -1.0)]
            assert min(rises) > 0.0
            assert abs(rises[0] - rises[1]) < 1e-6 * (rises[0] + rises[1])  # no slope


def test_calm_states_keep_joints_between_their_points() -> None:
    rng = np.random.default_rng(4)
    points, segments = rng.normal(size=(9, 5)), rng.uniform(0.1, 2.0, 8)
    states = calm_states(points, rest_to_rest(points), segments)
    low, high = SmoothMotion(states, segments, np.arange(9))._bounds(0)
    assert (low >= np.minimum(points[:-1], points[1:]) - 1e-12).all()
    assert (high <= np.maximum(points[:-1], points[1:]) + 1e-12).all()
    assert np.abs(states[1:-1, 1]).max() > 0.1
    loose = least_snap_states(points, rest_to_rest(points), segments)
    assert (SmoothMotion(loose, segments, np.arange(9))._bounds(0)[1] > high + 0.01).any()


@pytest.mark.slow
def test_durations_of_two_segments_are_nearly_the_best_of_all() -> None:
    """Against every share of the time for the first one, on a grid."""
    rng = np.random.default_rng(11)
    for _ in range(2):
        points = rng.normal(size=(3, 3)) * [1.0, 0.6, 0.3]
        problem = SmoothProblem(points, rest_to_rest(points), MotionLimits([5.0, 4.0, 3.0], jerk=70.0))
        found = problem.scaled(leg_durations(problem))[0].sum()
        shares = np.linspace(0.05, 0.95, 46)
        best = min(problem.scaled(np.array([x, 1.0 - x]))[0].sum() for x in shares)
        assert found < 1.01 * best


@pytest.mark.slow
def test_passing_points_is_faster_than_stopping_there() -> None:
    rng = np.random.default_rng(2)
    points = np.cumsum(rng.uniform(0.1, 0.6, (6, 3)), axis=0)
    limits = MotionLimits([5.0, 4.0, 3.0])
    stopping = smooth(points, limits, np.zeros((6, 3)))
    motion = smooth(points, limits)
    assert not stopping.states[stopping.passed, 1].any()
    assert abs(largest_use(stopping, limits) - 1.0) < REACHED
    assert motion.duration < 0.75 * stopping.duration


@pytest.mark.slow
@settings(max_examples=6)
@given(st.data())
def test_any_points_are_passed_within_limits(data: st.DataObject) -> None:
    n, k = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 4))
    place = st.integers(-300, 300).map(lambda x: 0.01 * x)
    points = np.array(
        data.draw(st.lists(st.lists(place, min_size=n, max_size=n), min_size=k + 1, max_size=k + 1))
    )
    size = st.floats(0.1, 100.0)
    acceleration, velocity, jerk, snap = (data.draw(size | st.just(np.inf)) for _ in range(4))
    room = data.draw(st.sampled_from([0.0, 0.05, np.inf]))
    limits = MotionLimits(
        np.full(n, min(acceleration, 50.0)),
        velocity,
        points.min(axis=0) - room,
        points.max(axis=0) + room,
        jerk,
        snap,
    )
    motion = smooth(points, limits)
    assert (motion.points == points).all()
    if (points == points[0]).all():
        assert motion.duration == 0.0
        return
    assert 1.0 - 1e-5 < largest_use(motion, limits) < 1.0 + 1e-9
    assert (motion.reach[0] >= limits.lower - 1e-9).all()
    assert (motion.reach[1] <= limits.upper + 1e-9).all()
    for end in (0, -1):
        assert not motion.states[end, 1:].any()
    inner = motion.switches[(motion.switches > 0.0) & (motion.switches < motion.duration)]
    sides = [motion.derivatives(np.nextafter(inner, side)) for side in (-np.inf, np.inf)]
    for order, (left, right) in enumerate(zip(*sides, strict=True)):
        assert (np.abs(left - right) <= 1e-8 * max(np.abs(motion._bounds(order)).max(), 1e-9)).all()


@pytest.mark.slow
def test_velocities_given_are_kept() -> None:
    limits = MotionLimits([5.0, 4.0, 3.0], [2.0, 1.5, 1.2])
    velocities = [[0.4, -0.2, 0.1], None, [np.nan, 0.0, np.nan], [0.3, 0.2, -0.3]]
    asked = [[np.nan] * 3 if row is None else row for row in velocities]
    motion = smooth(POINTS, limits, asked)
    assert (motion.states[0, 1] == asked[0]).all()
    assert (motion.states[-1, 1] == asked[-1]).all()
    assert motion.states[2, 1, 1] == 0.0
    assert not motion.states[[0, -1], 2:].any()
    assert abs(largest_use(motion, limits) - 1.0) < REACHED
    again = smooth(POINTS, limits, velocities)
    assert again.duration == motion.duration
    # at the mean velocity of a straight way nothing changes
    even = smooth([[0.0, 0.0], [1.0, 0.5]], MotionLimits([5.0, 4.0], [1.0, 1.5]), [[1.0, 0.5]] * 2)
    assert np.isclose(even.duration, 1.0, rtol=1e-6)
    assert np.abs(even.peaks[1:]).max() < 1e-3


def test_whole_states_at_the_ends() -> None:
    given_states = np.array(
        [
            [[0.4, -0.2], [0.5, 0.3], [1.0, -2.0], [3.0, 5.0]],
            [[0.1, 0.2], [-0.4, 0.2], [2.0, 1.0], [-4.0, 6.0]],
        ]
    )
    motion = smooth([[0.0, 0.1], [0.7, 0.5]], MotionLimits([5.0, 4.0]), given_states)
    for k, t in enumerate((0.0, motion.duration)):
        assert (np.stack(motion.derivatives(t)[1:]) == given_states[k]).all()
    assert np.allclose(
        smooth([[0.0], [1.0]], None, [[[0.3]], [[0.1]]], duration=2.0).states[:, 1], [[0.3], [0.1]]
    )


@pytest.mark.parametrize(
    ("points", "limits", "more", "said"),
    [
        (POINTS, None, {}, r"^smooth: expected limits, or a duration"),
        (
            POINTS,
            MotionLimits(np.full(3, 1e30)),
            {},
            r"^smooth, joint 1: its speed is unbounded; set a limit",
        ),
        (
            POINTS,
            MotionLimits(np.ones(3), upper=[2.0, 0.5, 2.0]),
            {},
            r"^smooth, segment 2, joint 2: the start or the end lies outside .*: -0\.3 and 0\.8, allowed",
        ),
        (
            POINTS,
            LIMITS,
            {"velocities": [[0.0, 9.0, 0.0], None, None, None]},
            r"^smooth, segment 1, joint 2: the velocity given at point 1 is 9\.0, allowed 1\.5 rad/s",
        ),
        (POINTS, LIMITS, {"duration": 0.5}, r"^smooth, duration: .* got 0\.5 s; feasible from \d"),
        (
            [[0.0], [0.5]],
            MotionLimits(np.ones(1), lower=-0.01, upper=1.0),
            {"velocities": [[-0.9], [0.0]]},
            r"^smooth, joint 1: the joint would have to reverse outside .* allowed -0\.01 to 1\.0",
        ),
        (
            [[0.0], [0.5]],
            MotionLimits([5.0], 2.0),
            {"velocities": [[1.0], [1.0]], "duration": 0.1},
            r"^smooth, joint 1: its acceleration would reach .* in 0\.1 s, allowed 5\.0 rad/s\^2",
        ),
    ],
)
def test_what_is_refused(points: object, limits: object, more: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        smooth(points, limits, **more)  # type: ignore[arg-type]
