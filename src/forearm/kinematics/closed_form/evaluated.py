"""Poses and Jacobians of the hand for the check of branches:
many postures by machine code, few without compiling.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.kinematics.jacobian import jacobian
from forearm.kinematics.poses import forward

if TYPE_CHECKING:
    from forearm.kernels.kernel import Kernel

Floats = NDArray[np.float64]
# Postures from which on machine code is asked: some tenths of a second to compile it, once for an arm,
# are then soon had back.
MANY = 4096


def hand_poses(arm: Arm, q: Floats) -> Floats:
    """The hand in the base frame at postures (B, n): (B, 4, 4)."""
    return forward(arm, q) if len(q) < MANY else _kernel(arm).forward_kinematics(q)


def hand_jacobian(arm: Arm, q: Floats) -> Floats:
    """The rows of the Jacobian that matter at postures (B, n):
    all six, or those of the position where n = 3.
    """
    J = jacobian(arm, q) if len(q) < MANY else _kernel(arm).jacobian(q)
    return J[..., :3, :] if arm.n == 3 else J


@lru_cache(maxsize=16)
def _kernel(arm: Arm) -> Kernel:
    from forearm.kernels.kernel import compile as compile_arm

    return compile_arm(arm)
