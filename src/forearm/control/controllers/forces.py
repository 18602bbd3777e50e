"""Control laws on a model as machine code, with exact operation counts; directions of dry friction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.codegen.functions import MEANINGS, Traced
from forearm.codegen.tracing import Tracing
from forearm.control.controllers.formulas import CONTROL_LAWS, LawInputs, Vector, moving, state_next
from forearm.control.controllers.traced_model import TracedModel, believed
from forearm.drives.joint import held_freedoms
from forearm.kernels.traced_function import TracedFunction, compile_function
from forearm.model import symbolic
from forearm.spatial import Floats
from forearm.symbols import refined

SAID = {
    **{name: f"measured: {MEANINGS[name]}" for name in ("q", "qd")},
    **{f"{name}_wanted": f"the same, wanted: {MEANINGS[name]}" for name in ("q", "qd", "qdd")},
    "state": "sum of the position errors so far, all 0 at the start",
    "state_next": "the sum with this sample's errors",
    "voltage": "voltages for the motors, within their limits, V",
    "tau": "motor torque times gear ratio, N m (N where a joint slides)",
}


@lru_cache(maxsize=64)
def law_of_model(arm: Arm, law: str, dropped: str | None = None) -> TracedFunction:
    """Torques of a law of CONTROL_LAWS with its inputs as arguments, and the next sum of errors if it has
    one; optionally with terms dropped from the model.
    """
    model = believed(arm, dropped)
    key = ("law", law, dropped, model)
    return compile_function(lambda: traced_law(model, law, dropped), law, key=key, arm=arm)


def forces_of(arm: Arm, dropped: str | None = None) -> TracedFunction:
    """Torques from q, qd, qdd and the velocities that set the direction of friction for joints at rest or
    moving the wrong way; exact, or without velocity terms, gravity, or the links after each joint's own.
    """
    return law_of_model(arm, "feedforward", dropped)


def traced_law(arm: Arm, law: str, dropped: str | None = None) -> Traced:
    """A law of CONTROL_LAWS on a graph of its own, with its inputs."""
    tracing, formula = Tracing(arm, {}), CONTROL_LAWS[law]
    x = LawInputs(**{name: inputs_named(tracing, name) for name in formula.inputs})
    results = {"tau": formula.torques(x, TracedModel(tracing, dropped))}
    if "state" in formula.inputs:
        results["state_next"] = state_next(x)
    return traced_vectors(tracing, formula.inputs, results)


def traced_vectors(tracing: Tracing, inputs: Iterable[str], results: dict[str, Vector]) -> Traced:
    """Named results (n,) from inputs (n,), refined."""
    graph, made = refined(tracing.graph, results)
    return Traced.of(graph, dict.fromkeys(inputs, tracing.arm.n), made, SAID)


def inputs_named(tracing: Tracing, name: str, length: int | None = None) -> Vector:
    """An array of inputs of the graph, by default (n,); q and qd exist already."""
    known = {"q": tracing.q, "qd": tracing.qd}
    count = tracing.arm.n if length is None else length
    found = known.get(name) or [tracing.graph.input(f"{name}[{i}]") for i in range(count)]
    return symbolic(found)


def named(name: str, friction: bool, dropped: str | None) -> str:
    """Name of a controller including what its model omits."""
    return ", ".join(
        [name, *([dropped.replace("-", " ")] if dropped else []), *([] if friction else ["no friction"])]
    )


@dataclass(frozen=True, eq=False)
class Directions:
    """Direction of motion assumed for dry friction: as measured, or that of the reference for joints at rest
    or moving the wrong way.
    """

    dry: NDArray[np.bool_]

    @staticmethod
    def of(arm: Arm) -> Directions | None:
        """None if no joint has dry friction, so that measured velocities are used."""
        dry = np.array(held_freedoms(arm), dtype=bool)
        return Directions(dry) if dry.any() else None

    def moving(self, qd: Floats, ahead: Floats) -> Floats:
        """Velocities (n,) for computing friction."""
        return np.asarray(np.where(self.dry, moving(qd, ahead)[0], qd))
