"""The converter and the amplifiers behind it: from numbers to the motors' voltages and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.drives.motor import DAC
from forearm.errors import InputError

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Converter:
    """A DAC in front of an arm's amplifiers, voltage = DACOut x gain;
    `gains` (n,), 1 where the arm gives none.
    """

    dac: DAC
    gains: Floats

    @property
    def period(self) -> float:
        """What is asked for is held for this time, s."""
        return self.dac.period

    def out(self, voltage: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """DACOut (..., n) for the voltages that are asked for, in its steps and bounds;
        and where it is at a bound.
        """
        return self.dac.out(voltage / self.gains)

    def voltage(self, out: Floats) -> Floats:
        """What the amplifiers make of DACOut."""
        return self.dac.voltage(out) * self.gains

    def limited(self, voltage: Floats) -> Floats:
        """The voltages in the steps and bounds of the converter."""
        return self.voltage(self.out(voltage)[0])


def converter_of(arm: Arm, dac: DAC) -> Converter:
    """The converter with the gains of the arm's amplifiers; InputError where both have a say in the gain."""
    given = [None if joint.motor is None else joint.motor.amplifier_gain for joint in arm.joints]
    if dac.gain != 1.0 and any(gain is not None for gain in given):
        raise InputError(
            f"DAC, gain: got {dac.gain:g}, but motors of {arm.name!r} have an amplifier_gain of their own. "
            "Leave the DAC's out, or change the arm's."
        )
    return Converter(dac, np.array([1.0 if gain is None else gain for gain in given], dtype=np.float64))
