"""Time-optimal motions along paths that are hard on grids."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arms import random_arm
from timed_paths import moments, timed

from forearm.trajectories.paths import JointPath, from_function, spline
from forearm.trajectories.shortest_time.path_motion import PathMotion

ARM = random_arm(3, 2, prismatic=False, fixed=False, drives=False)
LIMITS: dict[str, Any] = {"acceleration": [10.0, 15.0], "torque": np.inf}
WAY = [[0.0, 0.0], [1.0, 0.5], [0.3, 1.0]]
pytestmark = pytest.mark.slow


def test_many_waypoints_are_passed() -> None:
    """More of them than intervals were asked for: each interval has one piece of the path."""
    u = np.linspace(0.0, 6.0, 800)
    plan = timed(ARM, np.stack([np.sin(u), np.cos(1.5 * u)], axis=1), **LIMITS)
    assert isinstance(plan.motion, PathMotion)
    t, s = moments(plan.motion)
    assert np.abs(plan.at(t)[0] - plan.motion.path.at(s)[0]).max() < 1e-9


def test_stops_between_many_corners() -> None:
    way = np.cumsum(np.random.default_rng(0).normal(0.0, 0.02, (200, 2)), axis=0)
    plan = timed(ARM, way, continuity=0, **LIMITS)
    chords = np.abs(np.diff(way, axis=0)) / np.array(LIMITS["acceleration"])
    assert plan.duration == pytest.approx(2.0 * np.sqrt(chords.max(axis=1)).sum(), rel=1e-3)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_the_scale_of_s_does_not_matter(scale: float) -> None:
    path = spline(WAY)
    powers = scale ** np.arange(path.coefficients.shape[1])
    other = JointPath(scale * path.breaks, path.coefficients / powers[None, :, None])
    known = timed(ARM, path, **LIMITS).duration
    assert timed(ARM, other, **LIMITS).duration == pytest.approx(known, rel=1e-4)


def test_a_reversal_needs_no_stop() -> None:
    """q2 = 0.1 sin 2 s has q' = 0 to the last bit where it turns; joint 1 bounds the motion there too."""
    path = from_function(
        lambda s: (
            np.array([s, 0.1 * np.sin(2.0 * s)]),
            np.array([1.0, 0.2 * np.cos(2.0 * s)]),
            np.array([0.0, -0.4 * np.sin(2.0 * s)]),
        ),
        2.0,
    )
    plan = timed(ARM, path, acceleration=[4.0, 30.0], torque=np.inf, velocity=np.inf)
    assert plan.duration == pytest.approx(2.0 * np.sqrt(2.0 / 4.0), rel=1e-3)


def test_tiny_paths_and_speeds_at_both_ends() -> None:
    tiny = timed(ARM, 1e-6 * np.array(WAY), torque=500.0)
    assert 0.0 < tiny.duration < 1e-3
    path = spline(WAY)
    moving = timed(ARM, path, start_speed=0.5, end_speed=0.3, **LIMITS)
    assert moving.duration < timed(ARM, path, **LIMITS).duration


@pytest.mark.parametrize(("length", "apart"), [(1.0, 2.0**-52), (1e-5, 1e-12)])
def test_corners_that_rounding_hardly_separates(length: float, apart: float) -> None:
    """Two stops with a piece of nearly nothing between: the motion is that along the two long pieces."""
    breaks = length * np.array([0.0, 1.0, 1.0 + apart, 2.0])
    slopes = np.array([[1.0, 0.3], [-0.5, 1.0], [0.2, -0.7]])
    places = np.cumsum(np.vstack([[0.1, -0.2], slopes[:2] * np.diff(breaks)[:2, None]]), axis=0)
    path = JointPath(breaks, np.stack([places, slopes], axis=1))
    plan = timed(ARM, path, velocity=np.inf, **LIMITS)
    each = np.abs(slopes[[0, 2]] * length) / np.array(LIMITS["acceleration"])
    assert plan.duration == pytest.approx(2.0 * np.sqrt(each.max(axis=1)).sum(), rel=1e-3)
