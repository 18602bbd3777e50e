"""Machine code of an arm, kept while the process lives: what simulations of the same
arm need again and again.
"""

from __future__ import annotations

from functools import lru_cache

from forearm.arm.arm import Arm
from forearm.kernels.adaptive_rollout import AdaptiveSimulator
from forearm.kernels.kernel import Kernel
from forearm.kernels.kernel import compile as compile_arm
from forearm.kernels.rollout import Simulator
from forearm.simulation.methods import tableau_of
from forearm.simulation.stepping import pair_of

MOST_KEPT = 16  # arms; each is some hundred kilobytes


@lru_cache(maxsize=MOST_KEPT)
def simulator_of(arm: Arm, voltage: bool, method: str) -> Simulator:
    """Runs of fixed steps by an explicit method, and the accelerations inside them."""
    c, a, b = tableau_of(method).floats
    return Simulator(arm, voltage, tuple(c), tuple(map(tuple, a)), tuple(b))


@lru_cache(maxsize=MOST_KEPT)
def adaptive_simulator_of(arm: Arm, voltage: bool, method: str) -> AdaptiveSimulator:
    """Runs of steps that follow the error, by an explicit method with an error estimate."""
    return AdaptiveSimulator(arm, voltage, pair_of(tableau_of(method)))


@lru_cache(maxsize=MOST_KEPT)
def kernel_of(arm: Arm) -> Kernel:
    """The functions of an arm."""
    return compile_arm(arm)
