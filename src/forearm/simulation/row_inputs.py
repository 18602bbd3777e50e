"""Inputs of batched simulations: torques, voltages, schedules or a controller, for all rows or per row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.kernels.rollout_arguments import strides_of
from forearm.kernels.traced_controller import TracedController, as_controller
from forearm.simulation.arguments import RowOptions
from forearm.simulation.inputs import one_input
from forearm.simulation.row_checks import as_array
from forearm.simulation.schedule import Schedule

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RowInputs:
    """Inputs under the argument names of `Kernel.simulate`: (n,), or (B or 1, steps or 1, n); or a
    controller. `is_held` means that the input is the same at every step.
    """

    torque: Floats | None = None
    voltage: Floats | None = None
    controller: TracedController | None = None
    is_held: bool = True

    @property
    def inputs(self) -> list[Floats]:
        """Torques or voltages, if these are the input."""
        return [x for x in (self.torque, self.voltage) if x is not None]

    @property
    def rows(self) -> dict[str, int]:
        """Number of rows, for each argument that has one entry per arm."""
        found: dict[str, tuple[Any, int]] = {"torque": (self.torque, 3), "voltage": (self.voltage, 3)}
        if self.controller is not None:
            found |= {"controller, gains": (self.controller.gains, 2)}
            found |= {"controller, reference": (self.controller.reference, 3)}
        return {name: len(x) for name, (x, axes) in found.items() if np.ndim(x) == axes and len(x) != 1}

    @property
    def by_voltage(self) -> bool:
        """Whether the input is voltages."""
        return self.voltage is not None or getattr(self.controller, "output", "") == "voltage"

    def by_row(self, count: int, steps: int) -> RowInputs:
        """Inputs for this many rows; data read by a controller are checked, and get an axis for rows and one
        for steps.
        """
        law = self.controller
        if law is None or law.reference is None or not np.ndim(law.reference):
            return self
        given = np.asarray(law.reference)
        where = "simulate_many, controller, reference"
        row, _ = strides_of(where, given.shape, given.shape[-1], (count,), steps)
        if given.ndim != 2:
            return self
        return replace(self, controller=replace(law, reference=given[:, None] if row else given[None]))

    def of(self, rows: slice, count: int) -> dict[str, Any]:
        """Inputs for a slice of rows; shared ones stay whole."""

        def some(x: Any, axes: int) -> Any:
            return x[rows] if x is not None and np.ndim(x) == axes and len(x) == count else x

        law = self.controller
        if law is not None:
            law = replace(law, gains=some(law.gains, 2), reference=some(law.reference, 3))
        return {"torque": some(self.torque, 3), "voltage": some(self.voltage, 3), "controller": law}


def row_inputs(arm: Arm, options: RowOptions, steps: int) -> RowInputs:
    """Inputs as arrays: a schedule becomes values per step, its linear segments staircases."""
    name, x = one_input(options, "simulate_many")
    if x is None:
        return RowInputs()
    if name == "controller":
        law = as_controller(x)
        gains, reference = (None if x is None else np.asarray(x) for x in (law.gains, law.reference))
        return RowInputs(controller=replace(law, gains=gains, reference=reference), is_held=False)
    if isinstance(x, Schedule):
        x.check_for(arm, "voltage" if name == "voltage" else "torque")
        t = options.step * np.arange(float(steps))
        array = (x.held_at(t, options.step) if x.how == "hold" else x.values_at(t + 0.5 * options.step))[None]
        is_held = False
    else:
        array, n = as_array(x, f"simulate_many, {name}"), arm.n
        shape, is_held = array.shape, array.ndim < 3
        # neither held nor by step; the numbers of rows are compared later
        if (shape and shape[-1] != n) or len(shape) > 3 or (not is_held and shape[1] not in (1, steps)):
            raise InputError(
                f"expected shape ({n},) or (B, {n}) held, or (1, {steps}, {n}) or (B, {steps}, {n}) by step, "
                f"got {shape}.",
                "simulate_many",
                name,
            )
        array = np.full(n, array) if array.ndim == 0 else array[:, None] if array.ndim == 2 else array
    given: dict[str, Any] = {name: array}
    return RowInputs(**given, is_held=is_held)
