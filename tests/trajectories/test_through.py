"""Motions through several points: fast, within limits, given velocities kept, none of it by chance."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sweeps import long

from forearm.errors import InputError
from forearm.trajectories import MotionLimits, Switching, bang_bang, deviation, through

Array = NDArray[np.float64]
ROUNDING = 1e-12  # relative


def curve(count: int, n: int) -> Array:
    s = np.linspace(0.0, 1.0, count)[:, None]
    return 1.5 * np.sin(2.0 * s * np.arange(1, n + 1) / 3.0 + np.arange(n))


def limits_of(n: int) -> MotionLimits:
    rng = np.random.default_rng(n)
    return MotionLimits(rng.uniform(2.0, 6.0, n), rng.uniform(1.0, 3.0, n), -3.0, 3.0)


def check_kept(motion: Switching, points: Array, limits: MotionLimits) -> None:
    """It passes the points at their times, with one velocity from both sides, within all limits."""
    q, qd, _ = motion.at(motion.times)
    assert np.array_equal(q, points)
    assert np.array_equal(qd, motion.velocities)
    least, most, fastest = motion.extremes()
    assert (least >= limits.lower - ROUNDING).all()
    assert (most <= limits.upper + ROUNDING).all()
    assert (fastest <= limits.velocity * (1.0 + ROUNDING)).all()
    # Summed up phase by phase, apart from `at`.
    x, v = motion.points[:-1], motion.velocities[:-1]
    for i in range(3):
        t, a = motion.phases[..., i], motion.accelerations[..., i]
        x, v = x + t * (v + 0.5 * a * t), v + a * t
    assert np.abs(x - motion.points[1:]).max() < ROUNDING * 10.0
    assert np.abs(v - motion.velocities[1:]).max() < ROUNDING * 10.0


@pytest.mark.slow
@pytest.mark.parametrize(("count", "n"), [(2, 1), (3, 2), (9, 3), (20, 7)])
def test_open_velocities_are_chosen_within_limits_and_save_time(count: int, n: int) -> None:
    points, limits = curve(count, n), limits_of(n)
    motion = through(points, None, limits)
    check_kept(motion, points, limits)
    assert np.isnan(motion.turning()).all()  # no joint goes back between points
    again = through(points, None, limits)
    assert np.array_equal(motion.velocities, again.velocities)
    assert np.array_equal(motion.phases, again.phases)
    resting = through(points, np.zeros(points.shape), limits)
    assert motion.duration <= resting.duration * (1.0 + ROUNDING)
    if count > 3:
        assert motion.duration < 0.75 * resting.duration
    straight = bang_bang(points[0], np.zeros(n), points[-1], np.zeros(n), limits)
    assert motion.duration >= straight.duration * (1.0 - ROUNDING)


def test_points_on_the_way_of_one_joint_cost_nothing() -> None:
    """The fastest motion from the first to the last passes them anyway, in velocity limit and out of it."""
    for top in (0.8, 3.0):
        limits = MotionLimits(1.3, top, -10.0, 10.0)
        points = np.array([[0.2], [0.9], [1.3], [4.0], [4.1], [5.0]])
        motion = through(points, None, limits)
        assert motion.duration == pytest.approx(
            bang_bang([0.2], [0.0], [5.0], [0.0], limits).duration, rel=1e-9
        )


def test_joints_stand_where_they_turn_round_and_at_open_ends() -> None:
    points = np.array([[0.0, 0.0], [1.0, 0.5], [0.2, 1.0], [0.2, 1.7]])
    motion = through(points, None, MotionLimits([2.0, 3.0], 1.0))
    assert motion.velocities[1, 0] == 0.0
    assert motion.velocities[2, 0] == 0.0
    assert motion.velocities[1, 1] > 0.1
    assert not motion.velocities[[0, -1]].any()


@pytest.mark.slow
def test_no_change_of_one_velocity_saves_time() -> None:
    """Every open velocity a twentieth of the limit up and down:
    nothing that keeps to the way between points is faster.
    """
    points, limits = curve(9, 3), limits_of(3)
    motion, tried = through(points, None, limits), 0
    for i, j in np.ndindex(7, 3):
        for change in (0.05, -0.05):
            velocities = motion.velocities.copy()
            velocities[i + 1, j] += change * limits.velocity[j]
            if abs(velocities[i + 1, j]) <= limits.velocity[j]:
                other = through(points, velocities, limits)
                tried += 1
                assert other.duration > motion.duration * (1.0 - 1e-4) or np.isfinite(other.turning()).any()
    assert tried > 30


def test_given_velocities_are_kept_joint_by_joint() -> None:
    points, limits = curve(6, 3), limits_of(3)
    given = np.full(points.shape, np.nan)
    given[0], given[2, 1], given[5] = [0.1, -0.2, 0.0], 0.05, [0.0, 0.3, -0.1]
    motion = through(points, given, limits)
    check_kept(motion, points, limits)
    known = ~np.isnan(given)
    assert np.array_equal(motion.velocities[known], given[known])
    assert np.abs(motion.velocities[~known]).max() > 0.2
    rest = np.zeros(3)
    by_point = through(points, [rest, None, None, [0.1, 0.2, -0.1], None, rest], limits)
    assert by_point.velocities[3].tolist() == [0.1, 0.2, -0.1]
    assert by_point.velocities[2].any()


def test_an_open_velocity_is_found_where_rest_is_impossible() -> None:
    """From 1 to 1 at speed near the end of the range: who stopped between would leave it."""
    limits = MotionLimits(1.0, 2.0, 0.0, 1.0)
    points, velocities = np.array([[0.5], [0.7], [0.9]]), np.array([[1.2], [np.nan], [1.2]])
    with pytest.raises(InputError, match="reverse"):
        bang_bang([0.5], [1.2], [0.7], [0.0], limits)
    motion = through(points, velocities, limits)
    check_kept(motion, points, limits)
    assert motion.velocities[1, 0] > 1.0


@pytest.mark.slow
@pytest.mark.parametrize("requests", [30, *long([60])])
def test_random_requests_keep_every_limit_or_are_refused(requests: int) -> None:
    """Points on bounds, points that repeat, velocities of any joint given or not,
    from sluggish to quick arms.
    """
    rng, planned, refused = np.random.default_rng(8), 0, []
    for k in range(requests):
        n, count = int(rng.integers(1, 8)), int(rng.integers(2, 9))
        (a, v), low, high = (
            10.0 ** rng.uniform(-1.0, 1.0, (2, n)),
            -rng.uniform(0.5, 3.0, n),
            rng.uniform(0.5, 3.0, n),
        )
        limits = MotionLimits(a, v, low, high)
        points = rng.uniform(low, high, (count, n))
        points[rng.integers(count)] = high
        points = np.where(rng.random((count, n)) < 0.2, 0.25, points)
        speeds = rng.uniform(-0.3, 0.3, (count, n)) * limits.velocity
        given = np.where(rng.random((count, n)) < 0.2 * (k % 2), speeds, np.nan)
        try:
            motion = through(points, given, limits)
        except InputError:
            refused.append(k)
            continue
        planned += 1
        check_kept(motion, points, limits)
        assert np.array_equal(motion.velocities[~np.isnan(given)], given[~np.isnan(given)])
    assert planned > 2 * requests // 3
    assert all(k % 2 for k in refused), "refused though every point may be rested at"


@pytest.mark.parametrize(
    ("points", "velocities", "said"),
    [
        (
            [[0.0], [0.5], [2.0]],
            None,
            r"through, segment 2, joint 1: .* outside the joint's range: 0\.5 and 2\.0, .* in rad \(m\)",
        ),
        ([[0.9], [0.95]], [[0.9], [0.0]], r"through, segment 1, joint 1: .* reverse"),
        ([[0.0]], None, r"points: expected 2 to 10000 points .k . 1, n., got shape \(1, 1\)"),
        ([[0.0], [np.nan]], None, r"points\[1\]: expected finite numbers"),
        ([[0.0], [1.0]], [[np.inf], [0.0]], r"velocities\[0\]: expected finite numbers"),
        ([[0.0], [1.0]], [0.0], r"velocities: expected shape \(2, 1\)"),
    ],
)
def test_impossible_requests_name_the_segment(points: object, velocities: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        through(points, velocities, MotionLimits(1.0, 1.0, -1.0, 1.0))  # type: ignore[arg-type]


def test_points_that_repeat_take_no_time() -> None:
    points = np.array([[0.0, 1.0], [0.0, 1.0], [0.5, 1.0], [0.5, 1.0]])
    motion = through(points, None, MotionLimits(1.0, [1.0, 1.0]))
    assert motion.segments[[0, 2]].tolist() == [0.0, 0.0]
    assert np.array_equal(motion.at(motion.duration)[0], points[-1])
    assert float(deviation(motion)) == 0.0
    still = through([[1.0], [1.0]], None, MotionLimits(1.0))
    assert still.duration == 0.0
    assert [x.tolist() for x in still.at(0.0)] == [[1.0], [0.0], [0.0]]
    assert still.columns(0.1)["q1"].tolist() == [1.0]
    assert motion.duration == pytest.approx(2.0 * np.sqrt(0.5))
