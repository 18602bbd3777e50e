"""Time-optimal motions near their polygon, and with limits of the hand."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from numpy.typing import NDArray
from timed_paths import hand_motion, moments, timed

import forearm as fa
from forearm.trajectories.paths import path_deviation
from forearm.trajectories.shortest_time.path_motion import PathMotion

Array = NDArray[np.float64]
ARM = random_arm(3, 2, prismatic=False, fixed=False, drives=False)
WAY = np.array([[0.0, 0.0], [1.0, 0.5], [0.3, 1.0], [0.4, 0.1]])
LIMITS: dict[str, Any] = {
    "acceleration": [10.0, 15.0],
    "torque": np.inf,
    "velocity": [3.0, 4.0],
    "points": 200,
}
pytestmark = pytest.mark.slow


def from_polygon(q: Array) -> float:
    """The largest distance of configurations (m, 2) from the straight lines between waypoints."""
    apart = []
    for a, b in pairwise(WAY):
        share = np.clip((q - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0)[:, None]
        apart.append(np.linalg.norm(q - a - share * (b - a), axis=1))
    return float(np.min(apart, axis=0).max())


@pytest.mark.parametrize(("tolerance", "continuity"), [(0.02, 4), (0.002, 2)])
def test_an_envelope_is_kept(tolerance: float, continuity: int) -> None:
    plan = timed(ARM, WAY, tolerance=tolerance, continuity=continuity, **LIMITS)
    free = timed(ARM, WAY, continuity=continuity, **LIMITS)
    assert isinstance(plan.motion, PathMotion)
    assert isinstance(free.motion, PathMotion)
    q = plan.at(moments(plan.motion)[0])[0]
    assert float(path_deviation(plan.motion.path)) <= tolerance * (1.0 + 1e-9)
    assert from_polygon(q) <= tolerance * (1.0 + 1e-9)
    assert from_polygon(q) > 0.3 * tolerance
    largest, cost = float(path_deviation(free.motion.path)), plan.duration - free.duration
    change = f"costs {cost:.4g}" if cost >= 0.0 else f"saves {-cost:.4g}"
    (note,) = plan.notes
    assert f"the path stays within {tolerance:g} rad (m) of the straight lines" in note
    assert f"which {change} s; the unconstrained spline deviates by {largest:.4g}" in note
    assert f"takes {free.duration:.4g} s" in note


def test_a_wide_envelope_changes_nothing() -> None:
    plan, free = timed(ARM, WAY, tolerance=2.0, **LIMITS), timed(ARM, WAY, **LIMITS)
    assert plan.notes == ()
    assert np.array_equal(plan.q, free.q)


def test_an_envelope_and_a_duration() -> None:
    """The note still tells what the envelope costs at the shortest."""
    shortest = timed(ARM, WAY, tolerance=0.02, **LIMITS)
    plan = timed(ARM, WAY, tolerance=0.02, duration=1.4 * shortest.duration, **LIMITS)
    assert plan.duration == pytest.approx(1.4 * shortest.duration, rel=1e-9)
    assert plan.notes == shortest.notes
    assert from_polygon(plan.q) <= 0.02 * (1.0 + 1e-9)


@pytest.mark.parametrize("limits", [{"hand_speed": 0.3}, {"hand_speed": 0.35, "hand_acceleration": 1.5}])
def test_limits_of_the_hand_are_kept(limits: dict[str, float]) -> None:
    """`timed` looks at them by differences of forward kinematics as well."""
    free, plan = timed(ARM, WAY, **LIMITS), timed(ARM, WAY, **LIMITS, **limits)
    assert isinstance(plan.motion, PathMotion)
    assert isinstance(free.motion, PathMotion)
    used, usual = (
        dict(zip(("hand_speed", "hand_acceleration"), hand_motion(ARM, *p.at(moments(m)[0])), strict=True))
        for p, m in ((plan, plan.motion), (free, free.motion))
    )
    for name, limit in limits.items():
        assert 0.99 * limit < used[name].max() <= 1.001 * limit < 0.9 * usual[name].max()
    assert plan.duration > free.duration
    assert plan.limit is not None
    assert {name.replace("_", " ") for name in limits} <= set(plan.limit.tolist())


def test_a_hand_slow_on_one_stretch() -> None:
    def slow(s: Array) -> Array:
        return np.where((s > 0.5) & (s < 1.0), 0.1, 0.4)

    plan = fa.time_optimal(ARM, WAY, hand_speed=slow, **LIMITS)
    assert isinstance(plan.motion, PathMotion)
    t, s = moments(plan.motion)
    speed, _ = hand_motion(ARM, *plan.at(t))
    inside = (s > 0.5) & (s < 1.0)
    assert speed[inside].max() <= 0.1 * 1.001
    assert 0.3 < speed[~inside].max() <= 0.4 * 1.001
