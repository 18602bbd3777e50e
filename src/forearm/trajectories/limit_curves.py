"""Limits of a plan at each of its samples: velocity, acceleration, torque and voltage of each joint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forearm.spatial import Floats
from forearm.trajectories.drive_limits import DriveLimits
from forearm.trajectories.limits import fastest_of
from forearm.trajectories.shortest_time.path_motion import PathMotion

if TYPE_CHECKING:
    from forearm.trajectories.planning import Plan


def limit_curves(plan: Plan) -> dict[str, Floats]:
    """The limits (m, n) by quantity, infinite if unlimited: those of the path, or the arm's."""
    drives, shape = DriveLimits.of(plan.arm, plan.dac), plan.q.shape
    if plan.timing is not None and isinstance(plan.motion, PathMotion):
        s = plan.motion.along(plan.t)[0]
        kinds = ("velocity", "acceleration", "torque", "voltage")
        return {kind: plan.timing.problem.allowed(kind, s) for kind in kinds}
    velocity = fastest_of(plan.arm) if plan.limits is None else plan.limits.velocity
    none = np.full(plan.arm.n, np.inf)
    acceleration = none if plan.limits is None else plan.limits.acceleration
    held = {
        "velocity": velocity,
        "acceleration": acceleration,
        "torque": drives.torque,
        "voltage": drives.volts,
    }
    return {name: np.broadcast_to(row, shape) for name, row in held.items()}
