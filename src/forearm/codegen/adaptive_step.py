"""One adaptive step of a simulation on the graph: `dynamics.adaptive_step` for an arm whose functions are
traced once and called at every stage.
"""

from __future__ import annotations

from typing import Any

from forearm.codegen.functions import Traced
from forearm.codegen.simulation_step import TracedPlant
from forearm.codegen.traced_drives import inputs
from forearm.dynamics.adaptive_step import AdaptiveState, EmbeddedPair, StepBounds, attempt
from forearm.dynamics.driven_arm import BOUNDS, DRIVE, ONE, STATE, DrivenArm, sizes_of
from forearm.symbols import Graph


def traced_attempt(plant: TracedPlant, pair: EmbeddedPair) -> Traced:
    """One step attempt, from STATE, BOUNDS and DRIVE to STATE and the other fields of `Attempt`."""
    graph, sizes = Graph(), sizes_of(plant.coordinates, pair.powers)
    given: dict[str, Any] = {name: inputs(graph, name, sizes[name]) for name in (*STATE, *BOUNDS, *DRIVE)}
    one = {name: some[0] if name in ONE else some for name, some in given.items()}
    state = AdaptiveState(*(one[name] for name in STATE))
    bounds = StepBounds(*(one[name] for name in BOUNDS))
    made = attempt(pair, DrivenArm(plant, *(one[name] for name in DRIVE)), state, bounds)
    found = {name: getattr(made.state, name) for name in STATE}
    found |= {name: getattr(made, name) for name in ("width", "dense", "is_taken", "is_crossed", "is_over")}
    results = {name: x if isinstance(x, list) else [x] for name, x in found.items()}
    return Traced.of(graph, {name: len(some) for name, some in given.items()}, results)
