"""A motion that was computed, with what it takes to say later what drove it and where the energy went."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.drives.motor import constants_of, torque_of, voltage_of, without_constants
from forearm.kernels.rollout import Simulator
from forearm.simulation.track import Track

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Flow:
    """What drives an arm at states (T, n): `u` as the machine code takes it, torques, volts,
    and the power put in, (T,).

    `winding` (T, n) is the power lost there, `field` (T,) the energy in the windings'
    inductance, where there are any.
    """

    u: Floats
    tau: Floats
    voltage: Floats | None
    power: Floats
    winding: Floats | None = None
    field: Floats | None = None


# At a share of each of the T - 1 intervals: q and qd (T - 1, n), and what drives the arm there, a row each.
Between = Callable[[float], tuple[Floats, Floats, Floats]]
Supply = Callable[[Floats, Floats], Flow]


@dataclass(frozen=True, eq=False)
class Course:
    """A motion: samples t (T,), q and qd (T, n), the motion between them, and what drove it,
    asked for when it is needed.

    `supply(given, qd)` says what flows, `is_held` that nothing given changes between two samples.
    """

    simulator: Simulator
    t: Floats
    q: Floats
    qd: Floats
    given: Callable[[], Floats]
    between: Between
    supply: Supply
    is_held: bool
    track: Track
    checkpoint: dict[str, Any]


def at_once(arm: Arm, voltage: bool) -> Supply:
    """Torques, or voltages that the currents follow at once."""

    def supply(given: Floats, qd: Floats) -> Flow:
        tau = torque_of(arm, given, qd) if voltage else given
        power = np.sum(tau * qd, axis=1)
        if not voltage:
            has_motors = arm.n and not without_constants(arm)
            return Flow(given, tau, voltage_of(arm, tau, qd) if has_motors else None, power)
        c = constants_of(arm)
        winding = c.R * (tau / c.K) ** 2
        return Flow(given, tau, given, power + winding.sum(axis=1), winding)

    return supply
