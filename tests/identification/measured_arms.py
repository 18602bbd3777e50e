"""Arms whose geometry is known, and measurements of their hands."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

import forearm as fa
from forearm.identification.calibration.observability import random_postures
from forearm.identification.calibration.unknowns import SIX, unknowns_of, with_values
from forearm.kinematics.angles import matrix_of_vector
from forearm.spatial import pose, rotation_rpy

Floats = NDArray[np.float64]
DEVICE = pose(
    rotation_rpy([0.3, -1.0, 2.0]), [1.0, 2.0, 0.5]
)  # the base in the frame of the measuring device


@cache
def small_arm() -> fa.Arm:
    """Two parallel axes, one across them and a slide: what tables are singular for."""
    table = [(0.31, 0.0, 0.12, 0.2), (0.27, 0.0, -0.05, -0.4), (0.08, 1.1, 0.07, 0.5), (0.04, 0.6, 0.21, 0.3)]
    ranges = [(-2.5, 2.5)] * 3 + [(-0.2, 0.3)]
    return fa.from_dh("small", table, convention="standard", joints="RRRP", limits=ranges)


@dataclass(frozen=True, eq=False)
class Truth:
    """An arm that is not quite that of its file, and its hand at postures, in the device's frame."""

    file: fa.Arm
    arm: fa.Arm
    values: dict[str, float]
    q: Floats
    poses: Floats


def truth_of(
    arm: fa.Arm,
    unknowns: str,
    count: int,
    size: float = 2e-3,
    seed: int = 1,
    base: Floats = DEVICE,
    hand: bool = False,
) -> Truth:
    """The arm with random errors of these unknowns."""
    found = unknowns_of(arm, unknowns, {"hand": SIX} if hand else {})
    rng = np.random.default_rng(seed)
    values = dict(
        zip(found.names, (found.start + size * rng.normal(size=len(found.names))).tolist(), strict=True)
    )
    true = with_values(arm, values)
    q = random_postures(arm, count, seed)
    return Truth(arm, true, values, q, base @ fa.kinematics.forward(true, q))


def noisy(poses: Floats, seed: int, length: float = 2e-4, angle: float = 3e-4) -> Floats:
    """Poses with noise of positions, m, and turns, rad."""
    rng, made = np.random.default_rng(seed), poses.copy()
    made[:, :3, 3] += length * rng.normal(size=(len(poses), 3))
    made[:, :3, :3] = made[:, :3, :3] @ matrix_of_vector(angle * rng.normal(size=(len(poses), 3)))
    return made
