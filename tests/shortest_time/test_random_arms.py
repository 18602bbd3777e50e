"""Time-optimal plans of random arms, drives and all, by inverse dynamics at ten times the grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arms import random_arm
from numpy.typing import NDArray
from sweeps import long
from timed_paths import check_kept, random_way

import forearm as fa
from forearm.arm.arm import Arm
from forearm.drives.motor import constants_of
from forearm.kernels.kept import kernel_of
from forearm.trajectories.paths import JointPath, spline

SLOW = (1e-6, 1e-3, 1e-2)  # ds/dt at which all of the path can be passed


def creeping(arm: Arm, path: JointPath) -> NDArray[np.float64]:
    """The largest torques (n,) that creeping along a path takes."""
    s = np.linspace(0.0, path.length, 2001)
    turns = path.reversals()
    beside = np.concatenate([turns - 1e-9 * path.length, turns + 1e-9 * path.length])
    q, dq, _ = path.at(np.clip(np.concatenate([s, beside]), 0.0, path.length))
    tau = [kernel_of(arm).inverse_dynamics(q, v * dq, 0.0 * dq) for v in (0.0, *SLOW)]
    return np.asarray(np.abs(np.concatenate(tau)).max(axis=0))


def case(seed: int) -> tuple[Arm, JointPath, dict[str, Any]]:
    """An arm, a path and limits that leave something for moving."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    tree, fixed, mimic = rng.random(3) < 0.4
    arm = random_arm(seed, n, prismatic=n > 1, tree=bool(tree), fixed=bool(fixed), mimic=bool(mimic))
    path = spline(random_way(arm, seed, int(rng.integers(2, 9))), int(rng.choice([0, 1, 2, 4])))
    torque = rng.uniform(1.2, 4.0) * creeping(arm, path)
    c = constants_of(arm)
    given: dict[str, Any] = {"torque": torque + 0.5, "voltage": np.inf}
    if rng.random() < 0.5:
        given = {"voltage": c.R / np.abs(c.K) * torque + 2.0}
    if rng.random() < 0.3:
        given["hand_acceleration"] = float(rng.uniform(2.0, 20.0))
    return arm, path, given


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 11, *long(range(100, 120))])
def test_limits_hold_between_the_nodes(seed: int) -> None:
    arm, path, given = case(seed)
    plan = fa.time_optimal(arm, path, points=200, **given)
    check_kept(plan, **given)
