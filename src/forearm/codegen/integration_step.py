"""One integration step as a function to generate: the step of `dynamics.fixed_step`, friction, stiction and
gears included, from the state and the drive input to the next state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.codegen.functions import MEANINGS, N_M, Traced, said_of
from forearm.codegen.program import Argument
from forearm.codegen.simulation_step import TracedPlant, inputs
from forearm.dynamics.explicit_methods import TABLEAUS, explicit_method
from forearm.dynamics.fixed_step import StepState, step
from forearm.symbols import Graph
from forearm.values import check_choice

NAME = "integration_step"
DRIVES = ("torque", "voltage")
METHODS = tuple(TABLEAUS)
MEANT = MEANINGS | {
    "friction_sign": "direction in which friction acts, -1, 0 or 1; at the start the sign of qd",
    "is_free": "1, or 0 where friction holds a joint; at the start 0 where it has dry friction and qd is 0",
    "load_guess": "loads of the drives, and how they change; at the start 0",
    "tau": f"joint torques, held over the step, {N_M}",
    "voltage": "motor voltages, held over the step, V",
    "h": "length of the step, s",
}


def traced_integration_step(
    arm: Arm, method: str, drive: str, parameters: Mapping[str, float], single: bool
) -> Traced:
    """A step by a method with torques or voltages held constant; states that the arm does not have are left
    out.
    """
    check_choice(method, METHODS, f"generate, {NAME}, method")
    given = "tau" if check_choice(drive, DRIVES, f"generate, {NAME}, drive") == "torque" else "voltage"
    plant, graph, n = TracedPlant(arm, drive == "voltage", parameters, single), Graph(), arm.n
    plant.open_on(graph)
    sizes = {"q": n, "qd": n}
    if any(plant.dry):
        sizes |= {"friction_sign": n, "is_free": n}
    if plant.loads:
        sizes |= {"load_guess": 2 * plant.loads}
    x = {name: inputs(graph, name, size) for name, size in (sizes | {given: n, "h": 1}).items()}
    absent: dict[str, list[Any]] = {"friction_sign": [0.0] * n, "is_free": [1.0] * n, "load_guess": []}
    state = StepState(x["q"], x["qd"], *(x.get(name, other) for name, other in absent.items()))
    graph.section = "step"
    made = step(plant, explicit_method(method), state, x[given], [0.0] * n, x["h"][0])
    slides = any(body.kind != "revolute" for body in arm.moving.bodies)
    meant = {name: said_of(MEANT[name], slides) for name in x}
    return Traced(
        graph,
        {f"{name}_next": np.array(getattr(made, name), dtype=object) for name in sizes},
        tuple(Argument(name, (len(some),), meant[name]) for name, some in x.items()),
        tuple(Argument(f"{name}_next", (size,), f"{name} after the step") for name, size in sizes.items()),
    )
