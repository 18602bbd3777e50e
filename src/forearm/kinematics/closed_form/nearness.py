"""What the branch nearest to a posture is, for all who choose one:
`inverse`, and through it planning, and `follow`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.kinematics.limits import placed

Floats = NDArray[np.float64]


def squared_distances(q: Floats, near: Floats) -> Floats:
    """The sum over the joints of the squared differences (rad, m) of postures (m, n) from one (n,), (m,)."""
    sums: Floats = ((q - near) ** 2).sum(axis=-1)
    return sums


def nearest_branch(arm: Arm, q: Floats, near: Floats, limits: bool = True) -> int:
    """Which of the branches (m, n), m at least 1, is nearest to a posture (n,):
    the least sum of squared differences.

    Whole turns count as chosen nearest to it, within the limits where they count;
    of equals the first is taken.
    """
    return int(np.argmin(squared_distances(placed(arm, q, limits, near)[0], near)))
