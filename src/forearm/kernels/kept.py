"""Kernels kept in memory for the life of the process: loading one again takes as long as planning with it."""

from __future__ import annotations

from functools import lru_cache

from forearm.arm.arm import Arm
from forearm.kernels.kernel import Kernel
from forearm.kernels.kernel import compile as compile_arm

MOST_KEPT = 16  # arms; each takes some hundred kilobytes


@lru_cache(maxsize=MOST_KEPT)
def kernel_of(arm: Arm) -> Kernel:
    """The kernel of an arm."""
    return compile_arm(arm)
