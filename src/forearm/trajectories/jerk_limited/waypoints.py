"""Jerk-limited motion through several points, with zero acceleration at each point."""

from __future__ import annotations

import numpy as np

from forearm.spatial import Floats
from forearm.trajectories.jerk_limited.failures import refuse
from forearm.trajectories.jerk_limited.lanes import Lanes, places_of
from forearm.trajectories.jerk_limited.motion import JerkMotion
from forearm.trajectories.jerk_limited.plans import jerk_limited_many
from forearm.trajectories.limits import MotionLimits
from forearm.trajectories.plan_status import PlanStatus


def through_with_jerk(q: Floats, qd: Floats, limits: MotionLimits) -> JerkMotion:
    """A motion through points q (k + 1, n) in order, each segment planned by `jerk_limited`.

    Open velocities qd (k + 1, n), NaN, are set to 0, and so are the accelerations at all points.
    """
    limits.check_one("through")
    speed, rest = np.where(np.isnan(qd), 0.0, qd), np.zeros(q.shape)
    plans = jerk_limited_many(q[:-1], speed[:-1], rest[:-1], q[1:], speed[1:], rest[1:], limits)
    if plans.status.any():
        k = int(np.flatnonzero(plans.status)[0])
        ends = (q[k], speed[k], rest[k], q[k + 1], speed[k + 1], rest[k + 1])
        lanes: Lanes = [*(x[:, None].copy() for x in ends), *limits.columns]
        leaves = plans.status[k] == PlanStatus.NO_ROOM
        refuse(lanes, limits, None, places_of(lanes) if leaves else None, f"through, segment {k + 1}")
    return JerkMotion(q, speed, rest, plans.phases, plans.jerks, plans.duration)
