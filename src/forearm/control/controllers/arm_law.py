"""A control law bound to an arm: its inputs per sample, its gains, and its torques as machine code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from forearm.arm.arm import Arm
from forearm.codegen.functions import Traced
from forearm.codegen.tracing import Tracing
from forearm.control.controllers.forces import SAID, inputs_named
from forearm.control.controllers.formulas import LawInputs, Vector
from forearm.control.controllers.hand_formulas import HandModel
from forearm.control.controllers.traced_model import TracedModel
from forearm.kernels.traced_function import TracedFunction, compile_function
from forearm.spatial import Floats
from forearm.symbols import refined

JOINTS = ("q", "qd", "q_wanted", "qd_wanted", "qdd_wanted", "qd_ahead")


@dataclass(frozen=True, eq=False)
class ArmLaw:
    """A law for the controller's model of an arm: `reads` maps each input of a sample to its length,
    `numbers` holds its gains, (k,) each.

    `form` identifies everything else its torques depend on, `about` describes it. A law with a state has
    `state_next`; `meanings` describe inputs that other laws do not read.
    """

    name: str
    about: str
    arm: Arm
    reads: dict[str, int]
    numbers: dict[str, Floats]
    form: tuple[object, ...]
    torques: Callable[[LawInputs, HandModel], Vector]
    state_next: Callable[[LawInputs], Vector] | None = None
    meanings: dict[str, str] = field(default_factory=dict)

    @cached_property
    def compiled(self) -> TracedFunction:
        """Torques, and the next state if there is one, from its inputs and gains, in order."""
        lengths = tuple((name, len(x)) for name, x in self.numbers.items())
        key = ("arm law", self.name, self.form, lengths, self.arm)
        return compile_function(self._traced, self.name, key=key, arm=self.arm)

    def meaning(self, name: str) -> str:
        """Description of an array, with its unit."""
        return self.meanings.get(name, SAID.get(name, ""))

    @property
    def operations(self) -> float:
        """Multiplications and additions per sample, exact."""
        return self.compiled.counts.operations

    def command(self, *sample: Floats) -> Any:
        """Torques (n,), or torques and the next state, from its inputs in order."""
        return self.compiled.call(*sample, *self.numbers.values())

    def _traced(self) -> Traced:
        tracing = Tracing(self.arm, {})
        lengths = self.reads | {name: len(x) for name, x in self.numbers.items()}
        given = {name: inputs_named(tracing, name, k) for name, k in lengths.items()}
        return traced_law(self, tracing, given, lengths)


def traced_law(
    law: ArmLaw,
    tracing: Tracing,
    given: dict[str, Vector],
    lengths: dict[str, int],
    drive: Callable[[Vector], tuple[str, Vector]] = lambda tau: ("tau", tau),
) -> Traced:
    """Trace a law on a graph, refined: the named output that `drive` makes of its torques, and its next
    state.
    """
    x = LawInputs(**given)
    results = {} if law.state_next is None else {"state_next": law.state_next(x)}
    tau = law.torques(x, TracedModel(tracing))
    tracing.mark("law")
    name, results[name] = drive(tau)
    tracing.mark("drives")
    tracing.name_turns()
    meanings = {key: law.meaning(key) for key in (*lengths, *results)}
    graph, results = refined(tracing.graph, results)
    return Traced.of(graph, lengths, results, meanings)
