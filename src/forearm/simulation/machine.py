"""Machine code of an arm, cached for the lifetime of the process and shared by its simulations."""

from __future__ import annotations

from functools import lru_cache

from forearm.arm.arm import Arm
from forearm.kernels.adaptive_rollout import AdaptiveSimulator
from forearm.kernels.kept import MOST_KEPT
from forearm.kernels.rollout import PlantOptions, Simulator
from forearm.simulation.methods import tableau_of
from forearm.simulation.stepping import pair_of


@lru_cache(maxsize=MOST_KEPT)
def simulator_of(
    arm: Arm, voltage: bool, method: str, *, windings: bool = False, is_limited: bool = False
) -> Simulator:
    """Simulator for fixed steps by an explicit method, with its accelerations."""
    c, a, b = tableau_of(method).floats
    options = PlantOptions(voltage, windings, is_limited)
    return Simulator(arm, options, tuple(c), tuple(map(tuple, a)), tuple(b))


@lru_cache(maxsize=MOST_KEPT)
def adaptive_simulator_of(arm: Arm, options: PlantOptions, method: str) -> AdaptiveSimulator:
    """Simulator for adaptive steps by an explicit method with an error estimate."""
    return AdaptiveSimulator(arm, options, pair_of(tableau_of(method)))
