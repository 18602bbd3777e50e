"""Definition of the branch nearest to a configuration, used by `inverse`, planning and `follow`."""

from __future__ import annotations

import numpy as np

from forearm.arm.arm import Arm
from forearm.kinematics.limits import placed
from forearm.spatial import Floats


def squared_distances(q: Floats, near: Floats) -> Floats:
    """Sum over the joints of the squared differences (rad, m) between configurations (m, n) and one (n,),
    (m,).
    """
    sums: Floats = ((q - near) ** 2).sum(axis=-1)
    return sums


def nearest_branch(arm: Arm, q: Floats, near: Floats, limits: bool = True) -> int:
    """Index of the branch (m, n), m at least 1, nearest to a configuration (n,): the least sum of squared
    differences.

    Whole turns are chosen nearest to it, within the limits if enforced; of equals the first is taken.
    """
    return int(np.argmin(squared_distances(placed(arm, q, limits, near)[0], near)))
