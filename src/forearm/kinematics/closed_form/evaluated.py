"""Poses and Jacobians of the hand for verifying branches: compiled for many configurations, interpreted for
few.
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
# Number of configurations at which compiling pays off: it takes some tenths of a second, once per arm.
MANY = 4096


def hand_poses(arm: Arm, q: Floats) -> Floats:
    """The hand in the base frame at configurations (B, n): (B, 4, 4)."""
    return forward(arm, q) if len(q) < MANY else _kernel(arm).forward_kinematics(q)


def hand_jacobian(arm: Arm, q: Floats) -> Floats:
    """The relevant rows of the Jacobian at configurations (B, n): all six, or those of the position for n =
    3.
    """
    J = jacobian(arm, q) if len(q) < MANY else _kernel(arm).jacobian(q)
    return J[..., :3, :] if arm.n == 3 else J


@lru_cache(maxsize=16)
def _kernel(arm: Arm) -> Kernel:
    from forearm.kernels.kernel import compile as compile_arm

    return compile_arm(arm)
