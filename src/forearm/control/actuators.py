"""The path from a controller's commands to the plant: torques or voltages, immediate or delayed by a
period.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.control.controller import most_torques
from forearm.drives.motor import DAC, Constants, constants_of
from forearm.errors import InputError
from forearm.kernels.rollout import Simulator
from forearm.simulation.inputs import Converter, converter_of
from forearm.simulation.machine import simulator_of
from forearm.simulation.windings import has_inductance
from forearm.values import check_kind, check_number, check_whole

Floats = NDArray[np.float64]
PERIOD = 1e-3  # s
METHOD = "rk4"


@dataclass(frozen=True)
class Actuators:
    """How commands reach the plant: as torques, or as the voltages that produce them.

    Args:
        dac: converter of the voltages; None: not used.
        voltage: whether the motors are driven by voltages; a `dac` implies it.
        delay: periods from a sample until its command acts, 0 or 1.
    """

    dac: DAC | None = None
    voltage: bool = False
    delay: int = 0

    def __post_init__(self) -> None:
        check_whole(self.delay, "Actuators, delay, in periods", 0, 1)
        check_kind(self.dac, (DAC, type(None)), "Actuators, dac")

    @property
    def by_voltage(self) -> bool:
        """Whether the motors are driven by voltages."""
        return self.voltage or self.dac is not None

    def period(self, given: float | None) -> float:
        """The converter's period, or the given one, s."""
        if self.dac is not None and given is not None and given != self.dac.period:
            raise InputError(
                f"the DAC holds for {self.dac.period:g} s and the period is {given:g} s; give one of them.",
                "run",
            )
        if self.dac is not None:
            return self.dac.period
        return check_number(PERIOD if given is None else given, "run, period", above=0.0)


DIRECT = Actuators()


@dataclass(frozen=True, eq=False)
class Amplifiers:
    """Converts commanded torques to inputs of the plant's machine code."""

    plant: Arm
    simulator: Simulator
    believed: Constants | None  # motor constants of the model, if voltages are the input
    converter: Converter | None
    most: Floats  # torque limits of the plant's joints, (n,)
    allowed: Floats  # those of the controller's model, (n,)

    @staticmethod
    def of(arm: Arm, plant: Arm, actuators: Actuators) -> Amplifiers:
        """The amplifiers between a controller with the model `arm` and the plant."""
        by_voltage, dac = actuators.by_voltage, actuators.dac
        believed = constants_of(arm) if by_voltage else None
        if by_voltage:
            constants_of(plant)
        converter = None if dac is None else converter_of(plant, dac)
        return Amplifiers(
            plant,
            simulator_of(plant, by_voltage, METHOD, windings=by_voltage and has_inductance(plant)),
            believed,
            converter,
            most_torques(plant),
            most_torques(arm),
        )

    @cached_property
    def asking(self) -> Callable[[Floats, Floats], Floats]:
        """The function from a torque to the converter input, within the joint's torque limit, at a measured
        motor velocity.
        """
        if self.believed is None:
            return lambda tau, qd: tau
        share, K = self.believed.R / self.believed.K, self.believed.K
        return lambda tau, qd: share * _within(tau, self.allowed) + K * qd

    @cached_property
    def giving(self) -> Callable[[Floats], Floats]:
        """The function for what is applied: quantised and clipped by the converter, or limited torques."""
        if self.converter is not None:
            return self.converter.limited
        if self.believed is not None or not np.isfinite(self.most).any():
            return lambda u: u
        return lambda u: _within(u, self.most)

    def bounded(self, given: Floats) -> Floats:
        """Voltages within the limits of the plant's motors, (m, n)."""
        most = constants_of(self.plant).most_voltage
        return np.clip(given, -most, most)

    def is_short(self, commands: Floats, asked: Floats, given: Floats, xd: Floats) -> NDArray[np.bool_]:
        """Where the applied torque falls short of the command at the start of each period, (T, n), at
        velocities of all coordinates (T, m); with inductance, where the current is at its limit.
        """
        if self.believed is None:
            return np.asarray(np.abs(asked - given) > 0.0)
        c = constants_of(self.plant)
        over = (np.abs(commands) > self.allowed) | (np.abs(given) > c.most_voltage)
        limited = np.abs((self.bounded(given) - c.K * xd[:, self.simulator.motors]) / c.R) > c.most_current
        for freedom, place in self.simulator.coordinates.currents.items():
            limited[:, freedom] = np.abs(xd[:, place]) >= c.most_current[freedom]
        over |= limited
        if self.converter is not None:
            over |= self.converter.out(asked)[1]
        return over


def _within(tau: Floats, most: Floats) -> Floats:
    return np.minimum(np.maximum(tau, -most), most)
