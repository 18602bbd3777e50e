"""Record Ruckig's durations of motions without jerk limit into tests/trajectories/ruckig.json,
which test_ruckig compares.

Ruckig (pip package ruckig, MIT, a wheel of 1.1 MB) is no dependency of forearm. To record anew, in an
environment that has it: python tests/record_ruckig.py
Its second-order profiles are chosen by an infinite jerk limit; joints are synchronised in time.
Positions are not bounded.
"""

from __future__ import annotations

import json
import math
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

TARGET = Path(__file__).parent / "trajectories" / "ruckig.json"
SEED = 7
CASES = {1: 150, 2: 150, 3: 100, 7: 100}  # joints: how many


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


def duration(ruckig: Any, given: dict[str, list[float]]) -> float:
    """Ruckig's duration of a request."""
    n = len(given["q0"])
    request = ruckig.InputParameter(n)
    request.current_position, request.current_velocity = given["q0"], given["qd0"]
    request.target_position, request.target_velocity = given["q1"], given["qd1"]
    request.max_velocity, request.max_acceleration = given["velocity"], given["acceleration"]
    request.max_jerk = [math.inf] * n
    trajectory = ruckig.Trajectory(n)
    result = ruckig.Ruckig(n).calculate(request, trajectory)
    assert result == ruckig.Result.Working, (result, given)
    return float(trajectory.duration)


def main() -> None:
    """Write the file."""
    ruckig = import_module("ruckig")
    rng = np.random.default_rng(SEED)
    asked = [case(rng, n) for n, count in CASES.items() for _ in range(count)]
    cases: list[dict[str, Any]] = [{**given, "duration": duration(ruckig, given)} for given in asked]
    recorded = {
        "source": f"Ruckig {version('ruckig')} (pip package ruckig), recorded by tests/record_ruckig.py",
        "cases": cases,
    }
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    target.write_text(
        json.dumps(recorded, separators=(",", ":")).replace('{"q0"', '\n{"q0"') + "\n", encoding="utf-8"
    )
    print(f"{target.name}: {target.stat().st_size // 1000} KB, {len(cases)} cases")


if __name__ == "__main__":
    main()
