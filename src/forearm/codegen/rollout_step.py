"""One step of many simulations at once on the graph, in parts that code goes through one after the other:
joints begin to move, the stages of a method, joints that stop.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from forearm.codegen.differentiated import reverse_of
from forearm.codegen.functions import Traced
from forearm.codegen.program import Argument
from forearm.codegen.simulation_step import STATES, NamedRegion, TracedPlant, inputs
from forearm.dynamics.explicit_methods import ExplicitMethod
from forearm.dynamics.fixed_step import StepState, Values, loosened, step, stopped
from forearm.symbols import Graph

HELD = ("friction_sign", "is_free")


@dataclass(frozen=True, eq=False)
class RolloutStep:
    """The step of a method for an arm; inputs are held over it.

    Where no friction can hold a joint, `loosened` and `stopped` are None and the stages are all of it. Where
    friction depends on the load, whose loads go from stage to stage, the `whole` step is one function.
    """

    plant: TracedPlant
    method: ExplicitMethod

    @property
    def n(self) -> int:
        """The number of freedoms."""
        return self.plant.arm.n

    @cached_property
    def dry(self) -> list[int]:
        """The freedoms that friction can hold."""
        return [j for j, is_dry in enumerate(self.plant.dry) if is_dry]

    @property
    def accelerations(self) -> NamedRegion:
        """Those of one stage, from q, qd, u, friction_sign and is_free."""
        return self.plant.cold

    @cached_property
    def reversed_accelerations(self) -> Traced:
        """g^T J of accelerations: `qdd_weight` in beside q, qd and u; gradients of these, and of open
        parameters, out.
        """
        plant = self.plant  # traced anew, as differentiating adds to the graph
        region = TracedPlant(plant.arm, plant.voltage, plant.parameters, plant.single).cold.region
        given = tuple(Argument(name, (self.n,), "") for name in ("q", "qd", "u"))
        results = {"qdd": np.array(region.results, dtype=object)}
        traced = Traced(region.graph, results, given, (Argument("qdd", (self.n,), ""),))
        return reverse_of(traced, tuple(plant.parameters))

    @cached_property
    def loosened(self) -> Traced | None:
        """friction_sign and is_free (n,) once joints have begun to move, from the state and u."""
        if not self.dry:
            return None
        graph = Graph()
        self.plant.open_on(graph)
        given = {name: inputs(graph, name, self.n) for name in ("q", "qd", *HELD, "u")}
        state = StepState(given["q"], given["qd"], given[HELD[0]], given[HELD[1]], [])
        made = loosened(self.plant, self.method, state, given["u"])
        return _traced(graph, given, {name: getattr(made, name) for name in HELD})

    @cached_property
    def stopped(self) -> Traced | None:
        """q, qd, friction_sign and is_free (n,) once joints have stopped, from the state before the stages,
        from q_moved and qd_moved behind them, and the length h of the step. Of joints with dry friction the
        change qd_change is taken, as it divides by that.
        """
        if not self.dry:
            return None
        graph = Graph()
        self.plant.open_on(graph)
        names = ("q", "qd", *HELD, "q_moved", "qd_moved", "qd_change")
        given = {name: inputs(graph, name, self.n) for name in names} | {"h": inputs(graph, "h", 1)}
        signs, free = (given[name] for name in HELD)
        before = StepState(given["q"], given["qd"], signs, free, [])
        qd = [
            v + change if is_dry else moved
            for v, change, moved, is_dry in zip(
                given["qd"], given["qd_change"], given["qd_moved"], self.plant.dry, strict=True
            )
        ]
        moved = StepState(given["q_moved"], qd, signs, free, [])
        made = stopped(self.plant, before, moved, given["h"][0])
        return _traced(graph, given, {name: getattr(made, name) for name in STATES[:-1]})

    @cached_property
    def whole(self) -> Traced | None:
        """All five states from themselves, u and h, where friction depends on the load."""
        if not self.plant.loads:
            return None
        graph = Graph()
        self.plant.open_on(graph)
        sizes = dict.fromkeys(STATES, self.n) | {"load_guess": 2 * self.plant.loads, "u": self.n, "h": 1}
        given = {name: inputs(graph, name, size) for name, size in sizes.items()}
        state = StepState(*(given[name] for name in STATES))
        made = step(self.plant, self.method, state, given["u"], [0.0] * self.n, given["h"][0])
        return _traced(graph, given, {name: getattr(made, name) for name in STATES})


def _traced(graph: Graph, given: dict[str, Values], made: dict[str, Values]) -> Traced:
    results = {name: np.array(some, dtype=object) for name, some in made.items()}
    inputs, outputs = (
        tuple(Argument(name, (len(some),), "") for name, some in arrays.items()) for arrays in (given, made)
    )
    return Traced(graph, results, inputs, outputs)
