"""Distance of the arm from an unreachable pose, by numeric search."""

from __future__ import annotations

import numpy as np

from forearm.arm.arm import Arm
from forearm.kinematics.answers import Nearest
from forearm.kinematics.numerical import inverse_numeric
from forearm.kinematics.poses import forward
from forearm.spatial import Floats, pose

STARTS = 24


def nearest_posture(arm: Arm, T: Floats, limits: bool) -> Nearest:
    """The configuration whose hand is nearest to the pose; with three joints, whose hand origin is."""
    found = inverse_numeric(arm, T, position_only=arm.n == 3, limits=limits, starts=STARTS)
    distance, angle = np.nan_to_num(found.error).tolist()
    return Nearest(found.q, forward(arm, found.q), distance, angle)


def distance_to_centre(arm: Arm, centre: Floats, T: Floats) -> float:
    """The smallest distance of a hand point (3,) from its position at the pose T, ignoring limits, in m."""
    shift = pose(p=centre)
    carried = arm.replace(hand=arm.hand.pose @ shift)
    return float(
        inverse_numeric(carried, T @ shift, position_only=True, limits=False, starts=STARTS).error[0]
    )
