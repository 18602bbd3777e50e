"""State of a session: the variables, the last simulation, input and output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.interpreter.lines import LineSource
from forearm.interpreter.output import Output
from forearm.interpreter.variables import DIGITS, Variables
from forearm.simulation.result import Simulation
from forearm.simulation.windings import has_inductance
from forearm.tables import number


@dataclass
class Session:
    """The only mutable state here; each command changes it at its end or not at all."""

    variables: Variables
    lines: LineSource
    output: Output
    simulation: Simulation | None = None
    has_set_gravity: bool = False
    is_over: bool = False

    def assign(self, name: str, values: list[float]) -> None:
        """Set a variable, and report what the drives cannot follow."""
        self.variables = self.variables.set(name, values)
        self.has_set_gravity |= name == "gravity"
        if name in ("torque", "voltage", "DACOut", "omega"):
            self.show_notes()

    def load(self, arm: Arm) -> None:
        """Load another arm: all vectors zero, no simulation; gravity and the converter stay."""
        self.variables = Variables.of(arm, self.variables.gravity, self.variables.dac)
        self.simulation = None

    def show(self, *names: str) -> None:
        """Show variables."""
        for name in names:
            self.output.show(self.variables.shown(name))

    def show_results(self, *names: str) -> None:
        """Show the results of a command as far as the motors are known, and notes on limits."""
        known = [
            name for name in names if self.variables.voltage is not None or name not in ("voltage", "DACOut")
        ]
        self.show(*known)
        self.show_notes()

    def show_notes(self) -> None:
        """Report limits of motors and converter."""
        for note in self.variables.notes():
            self.output.show(f"note: {note}")

    def run_so_far(self, what: str) -> Simulation:
        """The last simulation, or an error that states the remedy."""
        if self.simulation is None:
            raise InputError("no simulation yet; run simulate first.", what)
        return self.simulation


def welcome(arm: Arm, gravity: float) -> str:
    """Describe an arm and the direction of gravity, with that of the arm file if it is another."""
    joints = ", ".join(joint.name for joint in arm.joints[:8]) + (", ..." if arm.n > 8 else "")
    way = "no gravity" if gravity == 0.0 else f"z of the base points {'down' if gravity < 0.0 else 'up'}"
    lines = [f"{arm.name}: {arm.n} joints ({joints}); gravity = {number(gravity, DIGITS)}: {way}"]
    if has_inductance(arm):
        lines.append("note: winding inductance is neglected; currents follow the voltages")
    if not np.array_equal(arm.gravity, (0.0, 0.0, -gravity)):
        own = number(-arm.gravity[2], DIGITS)
        file = (
            "along z only, unlike that of the arm file"
            if arm.gravity[:2].any()
            else f"that of the arm file is {own}: 'gravity = {own}' sets it"
        )
        lines.append(f"note: gravity is that of the session, {number(gravity, DIGITS)}; {file}")
    return "\n".join(lines)
