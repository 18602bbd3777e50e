"""What an FMU computes, traced on the graph: the initial state, one step, the outputs and event indicators
of a state, and what an event changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from forearm.arm.arm import Arm
from forearm.codegen.functions import Traced
from forearm.codegen.rollout_step import HELD, STATES
from forearm.codegen.simulation_step import NamedRegion, TracedPlant
from forearm.codegen.traced_drives import inputs
from forearm.codegen.tracing import Tracing
from forearm.dynamics.driven_arm import lacking
from forearm.dynamics.explicit_methods import explicit_method
from forearm.dynamics.fixed_step import Plant, StepState, Values, loosened, stopped
from forearm.dynamics.located_step import step
from forearm.fmi.layout import Layout, layout_of
from forearm.symbols import Graph, iterate, refined
from forearm.symbols.scalars import choose, sign

METHOD = "rk4"
# Event indicators must not be 0 after an event, as FMI requires: a joint sticks once it moves backwards at
# this speed (rad/s or m/s), and breaks loose when the load exceeds the friction band by this share.
SLOW, EXCESS = 1e-8, 1e-9


@dataclass(frozen=True, eq=False)
class FmuModel:
    """An arm driven by torques or voltages; `parameters` are open, with their values."""

    arm: Arm
    voltage: bool
    parameters: dict[str, float]

    @cached_property
    def plant(self) -> TracedPlant:
        """The arm on the graph."""
        return TracedPlant(self.arm, self.voltage, self.parameters)

    @cached_property
    def dry(self) -> list[int]:
        """The joints that dry friction can hold."""
        return [j for j, is_dry in enumerate(self.plant.dry) if is_dry]

    @cached_property
    def layout(self) -> Layout:
        """The layout of its values."""
        return layout_of(self.arm.n, self.plant.loads, self.dry, len(self.parameters))

    @cached_property
    def functions(self) -> dict[str, Traced]:
        """All of them by name; there are no events if no joint can stick."""
        made = {"beginning": self._beginning, "step": self._step, "outputs": self._outputs}
        made |= {"event": self._event} if self.dry else {}
        return {name: trace() for name, trace in made.items()}

    def _beginning(self) -> Traced:
        """The initial state, as in `kernels.rollout.Simulator.at_rest_or_moving`: joints with dry friction
        and zero velocity stick.
        """

        def made(q0: Values, qd0: Values) -> dict[str, Values]:
            free = [
                choose(0.0, abs(v), 1.0, 0.0) if is_dry else 1.0
                for v, is_dry in zip(qd0, self.plant.dry, strict=True)
            ]
            loads = [0.0] * self.layout.sizes["load_guess"]
            return {
                "q": q0,
                "qd": qd0,
                "friction_sign": [sign(v) for v in qd0],
                "is_free": free,
                "load_guess": loads,
            }

        return self._traced(made, "q0", "qd0")

    def _step(self) -> Traced:
        """The state after a step of h s, inputs constant."""

        def made(*given: Values) -> dict[str, Values]:
            *state, u, h = given
            after = step(self.plant, self.method, StepState(*state), u, [0.0] * self.arm.n, h[0])
            return {name: getattr(after, name) for name in STATES}

        return self._traced(made, *STATES, "u", "h")

    def _outputs(self) -> Traced:
        """Derivatives, torques, the hand's pose, energies and event indicators of a state."""

        def made(q: Values, qd: Values, signs: Values, free: Values, u: Values) -> dict[str, Values]:
            tau, qdd = self.plant.torques(u, qd), self.plant.accurate(q, qd, u, signs, free)
            told = self.told(self.plant.opened, q=q, qd=qd)
            lack = self._indicators(q, qd, signs, free, (qdd, tau))
            return {
                "dq": qd,
                "qdd": qdd,
                "tau": tau,
                "pose": told[:-2],
                "energies": told[-2:],
                "indicators": lack,
            }

        return self._traced(made, "q", "qd", *HELD, "u")

    def _event(self) -> Traced:
        """The state after an event: joints whose velocity has changed sign stick, and stuck joints that are
        driven hard enough break loose; and whether any did.
        """

        def made(q: Values, qd: Values, signs: Values, free: Values, u: Values) -> dict[str, Values]:
            still = StepState(q, [0.0] * len(q), signs, free, [])
            after = stopped(self.plant, still, StepState(q, qd, signs, free, []), 0.0)
            after = loosened(cast(Plant, self._from_rest), self.method, after, u)
            moved: Any = 0.0
            for j in self.dry:
                moved = moved + abs(after.friction_sign[j] - signs[j]) + abs(after.is_free[j] - free[j])
            return {"qd": after.qd, **{name: getattr(after, name) for name in HELD}, "moved": [moved]}

        return self._traced(made, "q", "qd", *HELD, "u")

    @cached_property
    def method(self) -> Any:
        """The tableau of its steps."""
        return explicit_method(METHOD)

    @cached_property
    def told(self) -> NamedRegion:
        """Rows of the hand's rotation and position,
        kinetic and potential energy, as functions of q and qd.
        """
        tracing = Tracing(self.arm, self.parameters)
        pose = list(tracing.hand_pose()[:3].flat)
        made = [*pose, tracing.kinetic_energy(), tracing.potential_energy()]
        return NamedRegion.of(*refined(tracing.graph, made))

    @cached_property
    def _from_rest(self) -> _FromRest:
        return _FromRest(self.plant)

    def _indicators(
        self, q: Values, qd: Values, signs: Values, free: Values, found: tuple[Values, Values]
    ) -> Values:
        """For each joint with dry friction: its velocity in the direction of sliding, or, while it sticks,
        the torque that is missing for it to break loose.
        """
        standing: Any = 0.0
        for j in self.dry:
            standing = standing + (1.0 - free[j])

        def looked(_: Values) -> Values:
            qdd, tau = found
            lack, band = lacking(self.plant, StepState(q, qd, signs, free, []), qdd, tau)
            return [0.0, *(lack[j] + EXCESS * band[j] for j in self.dry)]

        if not self.dry:
            return []
        first = [standing, *([1.0] * len(self.dry))]
        lack = iterate(looked, first, lambda some: (0.0, some[0]), 1, title="joints that stand")[1:]
        return [choose(0.0, free[j], signs[j] * qd[j] + SLOW, x) for j, x in zip(self.dry, lack, strict=True)]

    def _traced(self, formula: Callable[..., dict[str, Values]], *names: str) -> Traced:
        """Trace a formula on arrays of the layout; empty results are left out."""
        graph, sizes = Graph(), self.layout.sizes
        self.plant.open_on(graph)
        made = formula(*(inputs(graph, name, sizes[name]) for name in names))
        results = {name: np.array(some, dtype=object) for name, some in made.items() if len(some)}
        return Traced(graph, results, (), ())


class _FromRest:
    """The plant of an event: accelerations to full precision, without a guess of the loads."""

    def __init__(self, plant: TracedPlant) -> None:
        self.plant = plant

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plant, name)

    def accelerations(
        self, q: Values, qd: Values, u: Values, state: StepState, loads: Values, h: float = 0.0
    ) -> Values:
        return self.plant.accurate(q, qd, u, state.friction_sign, state.is_free)
