"""What a session has: the variables, the last simulation, where lines come from and output goes."""

from __future__ import annotations

from dataclasses import dataclass

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.interpreter.lines import LineSource
from forearm.interpreter.output import Output
from forearm.interpreter.variables import Variables
from forearm.simulation.result import Simulation
from forearm.simulation.windings import has_inductance
from forearm.tables import number


@dataclass
class Session:
    """The one thing here that changes while commands run; each changes it at its end or not at all."""

    variables: Variables
    lines: LineSource
    output: Output
    simulation: Simulation | None = None
    is_over: bool = False

    def assign(self, name: str, values: list[float]) -> None:
        """Set a variable, and say what the drives cannot follow."""
        self.variables = self.variables.set(name, values)
        if name in ("torque", "voltage", "DACOut", "omega"):
            self.show_notes()

    def load(self, arm: Arm) -> None:
        """Take another arm: all vectors zero, no simulation; gravity and the converter stay."""
        self.variables = Variables.of(arm, self.variables.gravity, self.variables.dac)
        self.simulation = None

    def show(self, *names: str) -> None:
        """Show variables."""
        for name in names:
            self.output.show(self.variables.shown(name))

    def show_results(self, *names: str) -> None:
        """Show what a command put into variables, as far as the motors are known,
        and what they cannot give.
        """
        known = [
            name for name in names if self.variables.voltage is not None or name not in ("voltage", "DACOut")
        ]
        self.show(*known)
        self.show_notes()

    def show_notes(self) -> None:
        """Say what motors and converter cannot give."""
        for note in self.variables.notes():
            self.output.show(f"note: {note}")

    def run_so_far(self, what: str) -> Simulation:
        """The last simulation, or an error that names the remedy."""
        if self.simulation is None:
            raise InputError(f"{what}: nothing is simulated yet; do simulate first.")
        return self.simulation


def welcome(arm: Arm, gravity: float) -> str:
    """The arm that is loaded, and which way it falls."""
    joints = ", ".join(joint.name for joint in arm.joints[:8]) + (", ..." if arm.n > 8 else "")
    way = (
        "the arm has no weight"
        if gravity == 0.0
        else f"z of the base points {'down' if gravity < 0.0 else 'up'}"
    )
    text = f"{arm.name}: {arm.n} joints ({joints}); gravity = {number(gravity, 8)}: {way}"
    return (
        f"{text}\nnote: inductance of its windings is left out; currents follow the voltages"
        if has_inductance(arm)
        else text
    )
