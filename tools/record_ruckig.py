"""Record Ruckig's durations of motions without jerk limit into tests/trajectories/ruckig.json, with one into
ruckig_jerk.json, and between near states into ruckig_near.json, which test_ruckig and test_jerk_limited
compare. The near states, found by fuzzing, are in the file: requests that turn round within one push, and the
last parts of fastest motions. `after` is Ruckig's duration if at least 1.5 times the fastest is asked for.

Ruckig (pip package ruckig, MIT, a wheel of 1.1 MB) is no dependency of forearm. To record anew, in an
environment that has it: python tools/record_ruckig.py
Its second-order profiles are chosen by an infinite jerk limit; joints are synchronised in time.
Positions are not bounded. `--compare 100000` records nothing: it plans so many requests of 1 to 7 joints with
limits of jerk here and there, and prints by how much durations differ.
"""

from __future__ import annotations

import json
import math
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import recording

TARGET = Path(__file__).parent.parent / "tests" / "trajectories" / "ruckig.json"
JERK_TARGET = TARGET.with_name("ruckig_jerk.json")
NEAR_TARGET = TARGET.with_name("ruckig_near.json")
SEED = 7
CASES = {1: 150, 2: 150, 3: 100, 7: 100}  # joints: how many
JERK_CASES = {1: 100, 2: 120, 3: 100, 7: 80}


def case(rng: np.random.Generator, n: int) -> dict[str, list[float]]:
    """A random request; a third from rest to rest, some that stand, some at full speed,
    many a short way at speed.
    """
    velocity, acceleration = rng.uniform(0.3, 3.0, n), rng.uniform(0.3, 6.0, n)
    qd0, qd1 = rng.uniform(-1.0, 1.0, (2, n)) * velocity
    q0 = rng.uniform(-3.0, 3.0, n)
    kind = rng.integers(8)
    way = rng.uniform(-3.0, 3.0, n) * (0.1 if kind >= 4 else 1.0)
    if kind < 2:
        qd0, qd1 = np.zeros(n), np.zeros(n)
    if kind == 3:
        qd0, qd1 = (
            np.where(rng.random(n) < 0.5, np.sign(qd0) * velocity, qd0),
            np.where(rng.random(n) < 0.5, 0.0, qd1),
        )
    if kind >= 5:
        qd1 = np.abs(qd1) * np.sign(qd0)
        way = np.abs(way) * np.sign(qd0)
    given = {
        "q0": q0,
        "qd0": qd0,
        "q1": q0 + way,
        "qd1": qd1,
        "velocity": velocity,
        "acceleration": acceleration,
    }
    rounded = {name: np.round(value, 4) for name, value in given.items()}
    for name in ("qd0", "qd1"):
        rounded[name] = np.clip(rounded[name], -rounded["velocity"], rounded["velocity"])
    return {name: value.tolist() for name, value in rounded.items()}


def jerk_case(rng: np.random.Generator, n: int) -> dict[str, list[float]]:
    """A random request with accelerations and limits of jerk. Some begin beyond their limits; all end where
    the limits can be kept, as Ruckig demands, with a bit to spare.
    """
    given = {name: np.array(value) for name, value in case(rng, n).items()}
    velocity, acceleration = given["velocity"], given["acceleration"]
    jerk = np.round(acceleration * 10.0 ** rng.uniform(-0.5, 1.2, n), 4)
    starts, ends = rng.uniform(-1.0, 1.0, (2, n)) * acceleration
    kind = rng.integers(4)
    starts, ends = (x * (kind > 1) for x in (starts, ends))
    if kind % 2:
        given["q1"] = np.round(given["q0"] + 0.3 * (given["q1"] - given["q0"]), 4)
    room = np.sqrt(1.9 * jerk * np.maximum(velocity - np.abs(given["qd1"]), 0.0))
    if rng.random() < 0.1:
        given["qd0"], starts = 1.5 * given["qd0"], 1.5 * starts
    else:
        least = np.sqrt(1.9 * jerk * np.maximum(velocity - np.abs(given["qd0"]), 0.0))
        starts = np.clip(starts, -least, least)
    given |= {"qdd0": np.round(starts, 4), "qdd1": np.round(np.clip(ends, -room, room), 4), "jerk": jerk}
    return {name: value.tolist() for name, value in given.items()}


def duration(ruckig: Any, given: dict[str, list[float]], least: float | None = None) -> float:
    """Ruckig's duration of a request, at least this one."""
    n = len(given["q0"])
    request = ruckig.InputParameter(n)
    request.current_position, request.current_velocity = given["q0"], given["qd0"]
    request.target_position, request.target_velocity = given["q1"], given["qd1"]
    request.max_velocity, request.max_acceleration = given["velocity"], given["acceleration"]
    request.max_jerk = given.get("jerk", [math.inf] * n)
    if "jerk" in given:
        request.current_acceleration, request.target_acceleration = given["qdd0"], given["qdd1"]
    request.minimum_duration = least
    trajectory = ruckig.Trajectory(n)
    result = ruckig.Ruckig(n).calculate(request, trajectory)
    assert result == ruckig.Result.Working, (result, given)
    return float(trajectory.duration)


def compare(ruckig: Any, count: int) -> None:
    """Plan requests with limits of jerk here and there."""
    from forearm.trajectories import MotionLimits, jerk_limited

    rng = np.random.default_rng(SEED)
    differences = []
    for k in range(count):
        given = jerk_case(rng, k % 7 + 1)
        limits = MotionLimits(given["acceleration"], given["velocity"], jerk=given["jerk"])
        start, end = ([given[name + k] for name in ("q", "qd", "qdd")] for k in "01")
        motion = jerk_limited(start[0], start[1], start[2], end[0], end[1], end[2], limits)
        differences.append(motion.duration - duration(ruckig, given))
    largest, smallest = max(differences), min(differences)
    print(f"{count} requests: longer than Ruckig by {largest:.1e} s at most, shorter by {-smallest:.1e} s")


def record(ruckig: Any, asked: list[dict[str, list[float]]], target: Path) -> None:
    """Write a file."""
    cases: list[dict[str, Any]] = [{**given, "duration": duration(ruckig, given)} for given in asked]
    if target == NEAR_TARGET:
        for given, one in zip(asked, cases, strict=True):
            with suppress(ruckig.RuckigError):  # it fails on some last parts
                one["after"] = duration(ruckig, given, 1.5 * one["duration"])
    source = recording.source("Ruckig", "ruckig", __file__)
    recording.write({"source": source, "cases": cases}, target, '{"q0"')


def main() -> None:
    """Write the files, or compare."""
    ruckig = import_module("ruckig")
    if sys.argv[1:2] == ["--compare"]:
        compare(ruckig, int(sys.argv[2]))
        return
    for make, cases, target in ((case, CASES, TARGET), (jerk_case, JERK_CASES, JERK_TARGET)):
        rng = np.random.default_rng(SEED)
        record(ruckig, [make(rng, n) for n, count in cases.items() for _ in range(count)], target)
    near = json.loads(NEAR_TARGET.read_text(encoding="utf-8"))["cases"]
    requests = [{name: x for name, x in one.items() if name not in ("duration", "after")} for one in near]
    record(ruckig, requests, NEAR_TARGET)


if __name__ == "__main__":
    main()
