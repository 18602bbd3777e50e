"""One integration step as a function to generate: the step of `dynamics.fixed_step`, with friction, stiction
and gears, from the state and the drive input to the next state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forearm.arm.arm import Arm
from forearm.codegen.functions import MEANINGS, N_M, Traced, said_of
from forearm.codegen.simulation_step import TracedPlant
from forearm.codegen.traced_drives import inputs
from forearm.drives.coordinates import Coordinates
from forearm.dynamics.explicit_methods import TABLEAUS, explicit_method
from forearm.dynamics.fixed_step import StepState
from forearm.dynamics.located_step import step
from forearm.symbols import Graph
from forearm.values import check_choice

NAME = "integration_step"
DRIVES = ("torque", "voltage")
METHODS = tuple(TABLEAUS)
MEANT = MEANINGS | {
    "friction_sign": "direction in which friction acts, -1, 0 or 1; at the start the sign of qd",
    "is_free": "1, or 0 where friction holds a joint; at the start 0 where it has dry friction and qd is 0",
    "load_guess": "loads of the drives, and how they change; at the start 0",
    "contact": "flank of each gap, 1 where the motor pushes forwards, -1 backwards, 0 between",
    "tau": f"joint torques, held over the step, {N_M}",
    "voltage": "motor voltages, held over the step, V",
    "h": "length of the step, s",
}


def traced_integration_step(
    arm: Arm, method: str, drive: str, parameters: Mapping[str, float], single: bool
) -> Traced:
    """A step by a method with torques or voltages held constant;
    states that the arm does not have are left out.
    """
    check_choice(method, METHODS, f"generate, {NAME}, method")
    given = "tau" if check_choice(drive, DRIVES, f"generate, {NAME}, drive") == "torque" else "voltage"
    plant, graph, n = TracedPlant(arm, drive == "voltage", parameters, single, windings=True), Graph(), arm.n
    plant.open_on(graph)
    m, sizes = plant.coordinates.count, {name: size for name, size in plant.sizes.items() if size}
    if not any(plant.dry):
        del sizes["friction_sign"], sizes["is_free"]
    x = {name: inputs(graph, name, size) for name, size in (sizes | {given: n, "h": 1}).items()}
    absent: dict[str, list[Any]] = {
        "friction_sign": [0.0] * m,
        "is_free": [1.0] * m,
        "load_guess": [],
        "contact": [],
    }
    state = StepState(x["q"], x["qd"], *(x.get(name, other) for name, other in absent.items()))
    graph.section = "step"
    made = step(plant, explicit_method(method), state, x[given], [0.0] * n, x["h"][0])
    slides = any(body.kind != "revolute" for body in arm.moving.bodies)
    meant = {name: said_of(MEANT[name], slides) for name in x}
    if not plant.coordinates.is_plain:
        meant |= {name: f"{meant[name]}; {_coordinates(plant.coordinates, name)}" for name in ("q", "qd")}
    meant |= {f"{name}_next": f"{name} after the step" for name in sizes}
    results = {f"{name}_next": getattr(made, name) for name in sizes}
    return Traced.of(graph, sizes | {given: n, "h": 1}, results, meant)


def _coordinates(coordinates: Coordinates, name: str) -> str:
    """The coordinates after the joints in q or qd."""
    joints = coordinates.arm.joints
    parts = []
    if coordinates.rotors:
        names = ", ".join(joints[rotor.freedom].name for rotor in coordinates.rotors)
        parts.append(f"motors over gear ratios of {names}")
    if coordinates.bristles:
        names = ", ".join(joints[coordinates.joint_of[b.place]].name for b in coordinates.bristles)
        parts.append(f"{'bristles of' if name == 'qd' else 'not used, for bristles of'} {names}")
    if coordinates.windings:
        names = ", ".join(joints[freedom].name for freedom in coordinates.windings)
        parts.append(f"{'currents of' if name == 'qd' else 'not used, for currents of'} {names}")
    return "then " + ", then ".join(parts)
