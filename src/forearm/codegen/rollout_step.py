"""One step of many simulations at once on the graph:
the accelerations of its stages, or the complete step if joints can stick.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from forearm.codegen.differentiated import reverse_of
from forearm.codegen.functions import Traced
from forearm.codegen.simulation_step import NamedRegion, TracedPlant
from forearm.codegen.traced_drives import inputs
from forearm.dynamics.explicit_methods import ExplicitMethod
from forearm.dynamics.fixed_step import StepState
from forearm.dynamics.located_step import step
from forearm.symbols import Graph

HELD = ("friction_sign", "is_free")
STATES = ("q", "qd", *HELD, "load_guess")


@dataclass(frozen=True, eq=False)
class RolloutStep:
    """The step of a method for an arm; inputs are held over it.

    If friction can hold a joint, or depends on the load, whose loads are passed from stage to stage, the
    `whole` step is one function; otherwise its stages suffice.
    """

    plant: TracedPlant
    method: ExplicitMethod

    @property
    def n(self) -> int:
        """The number of joint coordinates."""
        return self.plant.arm.n

    @cached_property
    def dry(self) -> list[int]:
        """The joints that dry friction can hold."""
        return [j for j, is_dry in enumerate(self.plant.dry) if is_dry]

    @property
    def accelerations(self) -> NamedRegion:
        """Accelerations of one stage, from q, qd, u, friction_sign and is_free."""
        return self.plant.cold

    @cached_property
    def reversed_accelerations(self) -> Traced:
        """g^T J of accelerations: takes `qdd_weight` besides q, qd and u;
        returns the gradients of these, and of open parameters.
        """
        plant = self.plant  # traced again, as differentiation adds to the graph
        region = TracedPlant(plant.arm, plant.voltage, plant.parameters, plant.single).cold.region
        given = dict.fromkeys(("q", "qd", "u"), self.n)
        traced = Traced.of(region.graph, given, {"qdd": list(region.results)})
        return reverse_of(traced, tuple(plant.parameters))

    @cached_property
    def whole(self) -> Traced | None:
        """All states after a step of h with input u,
        for arms whose friction can hold a joint or depends on the load.
        """
        if not self.plant.loads and not self.dry:
            return None
        graph = Graph()
        self.plant.open_on(graph)
        sizes = dict.fromkeys(STATES, self.n) | {"load_guess": 2 * self.plant.loads, "u": self.n, "h": 1}
        given = {name: inputs(graph, name, size) for name, size in sizes.items()}
        state = StepState(*(given[name] for name in STATES))
        made = step(self.plant, self.method, state, given["u"], [0.0] * self.n, given["h"][0])
        return Traced.of(graph, sizes, {name: getattr(made, name) for name in STATES})
