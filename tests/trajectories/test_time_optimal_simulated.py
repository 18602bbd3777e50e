"""Time-optimal plans driven by feed-forward and PD in the simulation of the whole arm: what is applied stays
within the limits, and the arm follows.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import forearm as fa
from forearm import control
from forearm.kinematics.limits import limits_of
from forearm.trajectories.drive_limits import DriveLimits

PERIOD = 5e-4  # s
LEFT = 0.95  # of the limits is planned with, the rest is the feedback's
FOLLOWS = 1e-3  # rad
HELD = 0.04  # of the limits: what torques held for a period and feedback take beyond the plan's


@pytest.mark.slow
def test_plans_hold_their_limits_in_simulation() -> None:
    limits: dict[str, Any] = {"voltage": 40.0, "velocity": 3.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fa.ForearmWarning)
        arm = fa.load("puma560")
    lower, upper = limits_of(arm)
    points = lower + (upper - lower) * np.random.default_rng(3).uniform(0.4, 0.6, (4, arm.n))
    drives = DriveLimits.of(arm)
    planned = limits | {"voltage": LEFT * limits["voltage"]}
    plan = fa.time_optimal(arm, points, torque=LEFT * drives.effort, points=300, **planned)
    run = control.run(arm, control.FeedForwardPD(arm), plan, period=PERIOD)
    assert run.ok
    assert not run.saturated.any()
    assert LEFT * 0.99 < (np.abs(run.asked) / drives.effort).max() < LEFT + HELD
    assert run.largest < FOLLOWS
    volts = drives.R / drives.K * run.tau + drives.K * run.qd
    assert LEFT * 0.99 < np.abs(volts).max() / limits["voltage"] < LEFT + HELD
