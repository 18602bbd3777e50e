"""How near the arm comes to a pose that it does not reach, by numeric search."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.kinematics.answers import Nearest
from forearm.kinematics.numerical import inverse_numeric
from forearm.kinematics.poses import forward
from forearm.spatial import pose

Floats = NDArray[np.float64]
STARTS = 24


def nearest_posture(arm: Arm, T: Floats, limits: bool) -> Nearest:
    """The posture whose hand is nearest to the pose; with three joints, whose hand's origin is."""
    found = inverse_numeric(arm, T, position_only=arm.n == 3, limits=limits, starts=STARTS)
    distance, angle = np.nan_to_num(found.error).tolist()
    return Nearest(found.q, forward(arm, found.q), distance, angle)


def distance_to_centre(arm: Arm, centre: Floats, T: Floats) -> float:
    """How near a point (3,) of the hand can come to where it is at the pose T, limits not counted, in m."""
    shift = pose(p=centre)
    carried = arm.replace(hand=arm.hand.pose @ shift)
    return float(
        inverse_numeric(carried, T @ shift, position_only=True, limits=False, starts=STARTS).error[0]
    )
