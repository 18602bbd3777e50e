"""The distance from the polygon: exact, and falling as points get closer."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from forearm.errors import InputError
from forearm.trajectories import MotionLimits, bang_bang, deviation, through, within

Array = NDArray[np.float64]
LIMITS = MotionLimits([2.0, 3.5, 5.0, 2.6], [1.1, 2.0, 2.6, 1.4], -3.0, 3.0)


def points(count: int) -> Array:
    s = np.linspace(0.0, 1.0, count)[:, None]
    return 1.5 * np.sin(2.0 * s * np.arange(1, 5) / 3.0 + np.arange(4))


def test_closed_form_of_two_joints() -> None:
    """One joint goes 1 from rest in 2 s by a = 1, the other 1 at a = 4 with a coast: c (2 - c / 4) = 1.

    The line is x = y, the distance |x - y| / sqrt 2, largest where both go equally fast:
    while the second coasts, at t = c.
    """
    motion = bang_bang([0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [0.0, 0.0], MotionLimits([1.0, 4.0], 10.0))
    c = 4.0 - np.sqrt(12.0)
    assert motion.duration == pytest.approx(2.0)
    assert motion.held[0, 1] == pytest.approx(c)
    expected = (c * (c - 0.5 * c / 4.0) - 0.5 * c * c) / np.sqrt(2.0)
    assert float(deviation(motion)) == pytest.approx(expected, rel=1e-12)
    near = deviation(motion).times[0]
    assert min(abs(near - c), abs(near - (2.0 - c))) < 1e-7


@pytest.mark.slow
def test_it_is_the_largest_of_a_fine_sample() -> None:
    rng = np.random.default_rng(0)
    for k in range(6):
        corners = rng.uniform(-2.0, 2.0, (5, 4))
        velocities = np.full((5, 4), np.nan)
        if k % 2:  # at speed it overshoots, and comes beyond the ends of the lines
            velocities[1:-1] = rng.uniform(-0.8, 0.8, (3, 4)) * LIMITS.velocity
        motion = through(corners, velocities, LIMITS)
        exact, sampled = deviation(motion), deviation(motion, lambda q: q, 4001)
        assert (exact.largest >= sampled.largest - 1e-12).all()
        assert (exact.largest - sampled.largest).max() < 1e-5  # curvature 5 over a step of 1e-3 s
        q = motion.at(exact.times)[0]
        lengths = np.linalg.norm(np.diff(corners, axis=0), axis=1)
        along = ((q - corners[:-1]) * np.diff(corners, axis=0)).sum(axis=1) / lengths**2
        nearest = corners[:-1] + np.clip(along, 0.0, 1.0)[:, None] * np.diff(corners, axis=0)
        assert np.abs(np.linalg.norm(q - nearest, axis=1) - exact.largest).max() < 1e-9


@pytest.mark.slow
def test_it_falls_with_the_distance_of_points() -> None:
    """As the points get closer together, the motion gets closer to the polygon;
    here as their distance or faster.
    """
    counts = (9, 17, 33, 65)
    chosen = [float(deviation(through(points(count), None, LIMITS))) for count in counts]
    resting = [float(deviation(through(points(count), np.zeros((count, 4)), LIMITS))) for count in counts]
    for distances in (chosen, resting):
        orders = np.log2(np.array(distances[:-1]) / np.array(distances[1:]))
        assert orders.mean() > 0.9
        assert orders.min() > 0.5


def test_within_an_envelope_or_not() -> None:
    motion = through(points(9), None, LIMITS)
    far = float(deviation(motion))
    assert within(motion, far)
    assert not within(motion, far * (1.0 - 1e-9))
    assert within(motion, 0.0) is False
    with pytest.raises(Exception, match="envelope"):
        within(motion, -1.0)


def test_one_joint_alone_only_leaves_its_line_at_the_ends() -> None:
    limits = MotionLimits(1.0, 2.0)
    assert float(deviation(bang_bang([0.0], [0.0], [1.0], [0.0], limits))) == 0.0
    overshoot = bang_bang([0.0], [1.0], [0.1], [0.0], limits)  # stops at 1/2, beyond 1/10
    assert float(deviation(overshoot)) == pytest.approx(0.4, rel=1e-12)


@pytest.mark.slow
def test_places_of_the_hand_are_measured_by_a_function() -> None:
    def hand(q: Array) -> Array:
        angles = np.cumsum(q, axis=1)
        return np.stack([np.cos(angles).sum(axis=1), np.sin(angles).sum(axis=1)], axis=1)

    coarse, fine = (float(deviation(through(points(count), None, LIMITS), hand)) for count in (9, 65))
    assert 0.0 < fine < coarse / 3.0
    motion = through(points(9), None, LIMITS)
    assert within(motion, coarse * 1.001, hand)
    with pytest.raises(InputError, match=r"place: expected \(m, d\) places"):
        deviation(motion, lambda q: q[:, 0])
