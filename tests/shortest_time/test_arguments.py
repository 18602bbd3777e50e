"""What `time_optimal` refuses, by its text, and limits that change along the path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arms import random_arm
from numpy.typing import NDArray
from timed_paths import timed

import forearm as fa
from forearm.trajectories.paths import from_function

Array = NDArray[np.float64]
ARM = random_arm(3, 2, prismatic=False, fixed=False, drives=False)
WAY = [[0.0, 0.0], [1.0, 0.5], [0.3, 1.0]]
LIMITS: dict[str, Any] = {
    "acceleration": [10.0, 15.0],
    "torque": np.inf,
    "velocity": [3.0, 4.0],
    "points": 60,
}
NAN, INF = np.nan, np.inf


def parabola(s: float) -> tuple[Array, Array, Array]:
    return np.array([s, s * s]), np.array([1.0, 2.0 * s]), np.array([0.0, 2.0])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"velocity": -1.0}, r"time_optimal, velocity: must be above 0, got -1\.0"),
        ({"hand_speed": [1.0, 2.0]}, "time_optimal, hand_speed: expected one number, a function of s"),
        ({"velocity": [1.0, 2.0, 3.0]}, r"expected one number or 2 for 'random3', .* got \(1\.0"),
        ({"current": 1.0}, "voltages need torque_constant and resistance of every motor"),
        ({"path_jerk": lambda s: 1.0 + s}, "time_optimal, path_jerk: expected a number"),
        ({"velocity": lambda s: 1.0 - s}, r"velocity: limits must be above 0, got -.* at s = .*, entry 1"),
        ({"velocity": lambda s: np.ones((len(s), 3))},
         r"the function of s must return \((\d+), 2\) numbers for \1 places, got shape \(\1, 3\)"),
        ({"velocity": ([0.0, 1.0], [[1.0, 2.0], [1.0, -2.0]])},
         r"velocity: limits must be above 0, got -2\.0 at s = 1, entry 2"),
        ({"velocity": ([1.0, 0.0], [1.0, 1.0])}, "expected at least two places with increasing s"),
        ({"velocity": ([0.0, 1.0], [[1.0, 2.0, 3.0]] * 2)},
         "velocity: expected one number or 2 for 'random3', at each place"),
        ({"acceleration": INF}, r"the motion is unbounded: joint1, joint2 of 'random3' have no acceleration"),
        ({"points": 9}, "time_optimal, points: expected a whole number from 10 to 100000, got 9"),
        ({"continuity": 3}, "continuity: expected one of 0, 1, 2, 4, got 3"),
        ({"payload": (2.0, 1.0)}, r"payload: expected the least mass before the largest, got \(2\.0, 1\.0\)"),
        ({"payload": (0.0, 1.0), "payload_com": (1.0, 2.0)}, "payload_com: expected a list of 3 values"),
        ({"start_speed": -1.0}, "time_optimal, start_speed: must be at least 0, got -1"),
    ],
)  # fmt: skip
def test_arguments_that_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(fa.ForearmError, match=message):
        fa.time_optimal(ARM, WAY, **(LIMITS | given))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (None, r"path: expected waypoints \(m, 2\), a JointPath, a plan, .* file, got None"),
        ({"q": WAY}, r"path: expected waypoints \(m, 2\), .* got \{'q'"),
        ([0.0, 1.0], r"path: expected points \(m, n\), one row per point, got shape \(2,\)"),
        ([[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]], "path: its points have 3 joints, 'random3' has 2"),
        (parabola, r"the length of a function is unknown, .* with from_function\(f, length\)"),
        ("missing.json", r"missing\.json: no such file"),
        (from_function(lambda s: tuple(x[:1] for x in parabola(s)), 1.0),
         "function: it is for 1 joints, 'random3' has 2"),
    ],
)  # fmt: skip
def test_paths_that_are_refused(path: Any, message: str) -> None:
    with pytest.raises(fa.InputError, match=message):
        fa.time_optimal(ARM, path, **LIMITS)
    with pytest.raises(fa.InputError, match=r"tolerance: .* 'function' has none\. Pass waypoints \(m, 2\)"):
        fa.time_optimal(ARM, from_function(parabola, 1.0), tolerance=0.1, **LIMITS)


@pytest.mark.slow
def test_a_function_and_a_pair_are_one_limit() -> None:
    """Straight between places by our own interpolation."""
    places, values = [0.0, 0.7, 1.1, 1.9], [[3.0, 4.0], [3.0, 2.0], [0.8, 2.0], [2.0, 4.0]]
    pair = timed(ARM, WAY, **(LIMITS | {"velocity": (places, values)}))

    def straight(s: Array) -> Array:
        k = np.clip(np.searchsorted(places, s, side="right") - 1, 0, 2)
        left, right = np.array(places)[k], np.array(places)[k + 1]
        share = np.clip((s - left) / (right - left), 0.0, 1.0)[:, None]
        return np.asarray((1.0 - share) * np.array(values)[k] + share * np.array(values)[k + 1])

    function = timed(ARM, WAY, **(LIMITS | {"velocity": straight}))
    t = np.linspace(0.0, pair.duration, 100)
    assert function.duration == pytest.approx(pair.duration, rel=1e-9)
    assert np.abs(pair.at(t)[0] - function.at(np.minimum(t, function.duration))[0]).max() < 1e-8
    assert pair.duration > timed(ARM, WAY, **LIMITS).duration
