"""Record EAIK's branches for arms given by Denavit-Hartenberg rows into tests/data/eaik.json,
for tests of the closed forms.

EAIK (Ostermeier, Kuelz, Althoff, Automatic geometric decomposition for analytical inverse kinematics, IEEE
RA-L 2025) is no dependency of forearm. To record anew, in an environment of its own: pip install EAIK; python
tools/record_eaik.py Rows are (alpha, a, d), standard convention, the joint's angle being theta. forearm
itself is not imported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import recording

TARGET = Path(__file__).parent.parent / "tests" / "data" / "eaik.json"
POSES = 8
RIGHT = math.pi / 2
ARMS = {
    "elbow with offset, right-angled": [
        (RIGHT, 0.0, 0.31), (0.0, 0.43, 0.07), (-RIGHT, 0.02, 0.15), (RIGHT, 0.0, 0.43), (-RIGHT, 0.0, 0.0),
        (0.0, 0.0, 0.11),
    ],
    "elbow with shoulder before the axis": [
        (-RIGHT, 0.18, 0.4), (0.0, 0.6, 0.0), (-RIGHT, 0.12, 0.0), (RIGHT, 0.0, 0.62), (-RIGHT, 0.0, 0.0),
        (0.0, 0.0, 0.115),
    ],
    "second and third axis meet": [
        (0.7, 0.21, 0.33), (-RIGHT, 0.0, 0.14), (1.1, 0.27, 0.09), (RIGHT, 0.0, 0.41), (-RIGHT, 0.0, 0.0),
        (0.0, 0.0, 0.08),
    ],
    "first and second axis meet": [
        (0.8, 0.0, 0.33), (-1.2, 0.35, 0.14), (0.9, 0.22, 0.09), (RIGHT, 0.0, 0.39), (-RIGHT, 0.0, 0.0),
        (0.0, 0.0, 0.08),
    ],
    "UR": [
        (RIGHT, 0.0, 0.089), (0.0, -0.425, 0.0), (0.0, -0.392, 0.0), (RIGHT, 0.0, 0.109),
        (-RIGHT, 0.0, 0.095), (0.0, 0.0, 0.082),
    ],
    "first three axes meet": [
        (RIGHT, 0.0, 0.2), (-RIGHT, 0.0, 0.0), (RIGHT, 0.21, 0.33), (0.0, 0.4, 0.13), (-RIGHT, 0.37, 0.0),
        (0.0, 0.05, 0.12),
    ],
}  # fmt: skip


def main() -> None:
    """Write the file."""
    robots = import_module("eaik.IK_DH")  # by name, as the types and tests of forearm do without it
    rng = np.random.default_rng(5)
    recorded = {
        "source": recording.source("EAIK", "eaik", __file__),
        "arms": [record(robots, name, rows, rng) for name, rows in ARMS.items()],
    }
    recording.write(recorded, TARGET, '{"name"', '{"T"')


def record(
    robots: Any, name: str, rows: Sequence[tuple[float, ...]], rng: np.random.Generator
) -> dict[str, Any]:
    """One arm, its poses, and the branches that EAIK calls exact."""
    alpha, a, d = np.array(rows).T
    robot = robots.DhRobot(alpha, a, d)
    poses = []
    for _ in range(POSES):
        T = np.array(robot.fwdKin(rng.uniform(-3.0, 3.0, 6)))
        answer = robot.IK(T)
        exact = [q for q, least_squares in zip(answer.Q, answer.is_LS, strict=True) if not least_squares]
        exact = [q for q in exact if np.abs(np.array(robot.fwdKin(np.array(q))) - T).max() < 1e-6]
        poses.append({"T": T[:3].tolist(), "q": [list(map(float, q)) for q in exact]})
    return {"name": name, "family": robot.getKinematicFamily(), "rows": rows, "poses": poses}


if __name__ == "__main__":
    main()
