"""The variables of `sim`, under Swartz's names, and the relations between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from forearm.arm.arm import Arm
from forearm.drives.motor import DAC, constants_of, torque_of, voltage_of, without_constants
from forearm.simulation.inputs import Converter, converter_of
from forearm.simulation.windings import without_inductance
from forearm.spatial import Floats
from forearm.tables import number

GRAVITY = -9.80621  # m/s^2, Swartz's default: the z axis of the base points down
DIGITS = 8  # of the displayed numbers
AT_LIMIT = 1e-9  # of a voltage: a larger deficit means that a motor is at its limit
SCALARS = {
    "gravity": "gravity is (0, 0, -gravity) in the base frame, m/s^2",
    "DACTimePeriod": "period of the converter's output, s",
}
VECTORS = {
    "theta": "joint positions, from the base outwards",
    "omega": "joint velocities, the first derivative of theta",
    "alpha": "joint accelerations; the result of forward_arm",
    "torque": "motor torques at the joints; coupled to voltage",
    "voltage": "motor voltages; coupled to torque",
    "DACOut": "converter output: voltage / amplifier gain",
}
NAMES = (*SCALARS, *VECTORS)
UNITS = {
    "theta": ("rad", "m"),
    "omega": ("rad/s", "m/s"),
    "alpha": ("rad/s^2", "m/s^2"),
    "torque": ("N m", "N"),
    "voltage": ("V", "V"),
    "DACOut": ("V", "V"),
}


@dataclass(frozen=True, eq=False)
class Variables:
    """The variables that commands use. Torque and voltage are coupled by the motors at the present omega.
    Swartz (11), (12).

    `arm` has the gravity of this session, (0, 0, -gravity), instead of `file_gravity`, (3,), that of its
    file, and its currents follow the voltages without delay. `kept` is the one of torque and voltage that
    was set, which stays when omega changes. A voltage that was set is the converter's output for `asked`.
    Both are None for an arm with incompletely specified motors.
    """

    arm: Arm
    file_gravity: Floats
    gravity: float
    dac: DAC
    theta: Floats
    omega: Floats
    alpha: Floats
    torque: Floats
    voltage: Floats | None
    asked: Floats | None
    kept: Literal["torque", "voltage"] = "voltage"

    @classmethod
    def of(cls, arm: Arm, gravity: float = GRAVITY, dac: DAC | None = None) -> Variables:
        """An arm at rest at zero, without voltage."""
        zero = np.zeros(arm.n)
        falling = without_inductance(arm).replace(gravity=(0.0, 0.0, -gravity))
        converter_of(falling, dac or DAC())
        voltage = None if without_constants(arm) else zero
        return cls(falling, arm.gravity, gravity, dac or DAC(), zero, zero, zero, zero, voltage, voltage)

    @property
    def converter(self) -> Converter:
        """The converter with the arm's amplifiers."""
        return converter_of(self.arm, self.dac)

    def set(self, name: str, values: Sequence[float]) -> Variables:
        """Set a variable, and update those that depend on it."""
        if name == "gravity":
            return replace(self, gravity=values[0], arm=self.arm.replace(gravity=(0.0, 0.0, -values[0])))
        if name == "DACTimePeriod":
            return replace(self, dac=replace(self.dac, period=values[0]))
        row = np.array(values, dtype=np.float64)
        if name == "torque":
            return replace(self, torque=row, kept="torque").tied()
        if name == "voltage":
            self.checked_voltage()
            return replace(self, voltage=self.converter.limited(row), asked=row, kept="voltage").tied()
        if name == "DACOut":
            return self.set("voltage", list(self.converter.voltage(row)))
        if name == "omega":
            return replace(self, omega=row).tied()
        return replace(self, theta=row) if name == "theta" else replace(self, alpha=row)

    def tied(self) -> Variables:
        """Compute torque from voltage or vice versa, whichever was not set."""
        if self.voltage is None:
            return self
        if self.kept == "torque":
            needed = voltage_of(self.arm, self.torque, self.omega)
            return replace(self, voltage=needed, asked=needed)
        return replace(self, torque=torque_of(self.arm, self.voltage, self.omega))

    def get(self, name: str) -> Floats:
        """The values of a variable, a single one for a scalar."""
        if name == "gravity":
            return np.array([self.gravity])
        if name == "DACTimePeriod":
            return np.array([self.dac.period])
        if name == "voltage":
            return self.checked_voltage()
        if name == "DACOut":
            return self.converter.out(self.checked_voltage())[0]
        values: Floats = getattr(self, name)
        return values

    def checked_voltage(self) -> Floats:
        """The voltages, or an error that names the joints without motor constants."""
        constants_of(self.arm)  # raises the error
        assert self.voltage is not None
        return self.voltage

    def shown(self, name: str) -> str:
        """A line that shows a variable and can be typed in."""
        unit = {"gravity": "m/s^2", "DACTimePeriod": "s"}.get(name)
        if unit is None:
            kinds = {joint.kind for joint in self.arm.joints}
            turning, sliding = UNITS[name]
            units = ([turning] if "revolute" in kinds else []) + ([sliding] if "prismatic" in kinds else [])
            unit = " or ".join(dict.fromkeys(units))
        return f"{name} = {' '.join(number(v, DIGITS) for v in self.get(name))}  # {unit}"

    def notes(self) -> list[str]:
        """Limits of motors and converter that the present torques and voltages exceed."""
        if self.voltage is None or self.asked is None:
            return []
        given = torque_of(self.arm, self.voltage, self.omega)
        missing = np.abs(voltage_of(self.arm, given, self.omega) - self.voltage) > AT_LIMIT * (
            1.0 + np.abs(self.voltage)
        )
        notes = []
        if missing.any():
            names = [
                f"{j.name} ({number(t)})"
                for j, t, is_at in zip(self.arm.joints, given, missing, strict=True)
                if is_at
            ]
            notes.append(f"at the voltage or current limit, with the resulting torque: {', '.join(names)}")
        over = self.converter.out(self.asked)[1]
        if over.any():
            names = [j.name for j, is_over in zip(self.arm.joints, over, strict=True) if is_over]
            notes.append(f"beyond the range of the converter: {', '.join(names)}")
        return notes
