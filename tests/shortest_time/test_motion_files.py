"""Time-optimal plans as files, and files that were damaged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import random_arm

import forearm as fa

ARM = random_arm(3, 2, prismatic=False, fixed=False, drives=False)
WAY = [[0.0, 0.0], [1.0, 0.5], [0.3, 1.0]]
LIMITS: dict[str, Any] = {
    "acceleration": [10.0, 15.0],
    "torque": np.inf,
    "velocity": [3.0, 4.0],
    "points": 60,
}


@pytest.fixture(scope="module")
def plan() -> fa.Plan:
    return fa.time_optimal(ARM, WAY, **LIMITS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "more", [{}, {"continuity": 0}, {"jerk": 200.0}, {"duration": 3.0, "start_speed": 0.2}]
)
def test_a_file_gives_the_same_motion(tmp_path: Path, more: dict[str, Any]) -> None:
    plan = fa.time_optimal(ARM, WAY, **LIMITS, **more)
    plan.save(tmp_path / "plan.json")
    again = fa.plan(ARM, tmp_path / "plan.json")
    for name in ("t", "q", "qd", "qdd", "tau"):
        assert np.array_equal(getattr(plan, name), getattr(again, name)), name
    t = np.linspace(0.0, plan.duration, 777)
    assert all(np.array_equal(a, b) for a, b in zip(plan.at(t), again.at(t), strict=True))


@pytest.mark.slow
def test_a_file_is_a_path_to_be_timed_anew(plan: fa.Plan, tmp_path: Path) -> None:
    slow = fa.time_optimal(ARM, WAY, duration=3.0 * plan.duration, **LIMITS)
    slow.save(tmp_path / "slow.json")
    for given in (tmp_path / "slow.json", str(tmp_path / "slow.json"), slow, slow.motion):
        assert fa.time_optimal(ARM, given, **LIMITS).duration == pytest.approx(plan.duration, rel=3e-3)


def changed(key: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    def apply(document: dict[str, Any]) -> None:
        document[key] = change(document[key])

    return apply


def late(coefficients: list[list[float]]) -> list[list[float]]:
    return [*coefficients[:3], [x + 1e-3 for x in coefficients[3]], *coefficients[4:]]


def faster(document: dict[str, Any]) -> None:
    """The fourth interval begins faster and still ends where the next one begins."""
    taken = document["times"][4] - document["times"][3]
    s, rate, half = document["coefficients"][3]
    document["coefficients"][3] = [s, 1.1 * rate, half - 0.1 * rate / taken]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (changed("knots", lambda x: x[:-1]), r"plan\.json: expected knots from 0 to the path's length"),
        (changed("times", lambda x: [0.1, *x[1:]]), "as many times from 0"),
        (changed("coefficients", lambda x: [[*x[0], 0.0], *x[1:]]), "rows must have equal lengths"),
        (changed("coefficients", late), "interval 4: it misses the next knot"),
        (faster, "interval \\d+: the speed jumps at its start"),
        (changed("times", lambda x: [x[0], x[2], x[1], *x[3:]]), "knots and times must be non-decreasing"),
        (changed("pieces", lambda x: [7, *x[1:]]), r"pieces: expected whole numbers from 0 to 1"),
        (changed("times", lambda x: [*x[:-1], float("nan")]), "NaN|nan|finite"),
        (changed("format", lambda x: "forearm-path-motion/9"), "forearm-path-motion/9"),
        (lambda document: document.update(document["path"]), "it holds a path without timing; use"),
        (lambda document: document.pop("path"), "path"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_refused(
    plan: fa.Plan, tmp_path: Path, damage: Callable[[dict[str, Any]], None], message: str
) -> None:
    file = tmp_path / "plan.json"
    plan.save(file)
    document = json.loads(file.read_text())
    damage(document)
    file.write_text(json.dumps(document))
    with pytest.raises(fa.ForearmError, match=message):
        fa.plan(ARM, file)


def test_a_file_of_another_arm_is_refused(plan: fa.Plan, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    plan.save(file)
    with pytest.raises(fa.InputError, match="2 joints"):
        fa.plan(fa.load("puma560"), file)
    with pytest.raises(fa.InputError, match=r"plan\.json: the motion has 2 joints, 'puma560' has 6|2 joints"):
        fa.time_optimal(fa.load("puma560"), file)
