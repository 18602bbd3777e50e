"""One step of a simulation on the graph: what `dynamics.fixed_step` does, with the functions of an arm traced
once and called at every stage.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.codegen.functions import Traced
from forearm.codegen.program import Argument
from forearm.codegen.tracing import Tracing
from forearm.drives.joint import count_of_loads, depends_on_load, drives_of, held_freedoms
from forearm.drives.motor import constants_of
from forearm.dynamics.explicit_methods import ExplicitMethod
from forearm.dynamics.fixed_step import StepState, Values, step
from forearm.dynamics.load_friction import CLOSE, held
from forearm.symbols import Expr, Graph, Region, refined
from forearm.symbols.evaluate import called
from forearm.symbols.scalars import choose

# of the torques: what a stage may leave of the equation, less than the method leaves of the motion
ROUGH = 1e-10
STATES = ("q", "qd", "friction_sign", "is_free", "load_guess")


@dataclass(frozen=True, eq=False)
class NamedRegion:
    """A function on a graph of its own, called with values by name."""

    region: Region
    names: tuple[str, ...]

    @staticmethod
    def of(graph: Graph, results: Sequence[Any], title: str = "") -> NamedRegion:
        """What the results need is what it is given."""
        places = [place for place in graph.needed(list(results)) if place in graph.leaves]
        inputs = tuple(Expr(graph, place, False) for place in places)
        region = Region(graph, inputs, tuple(results), title=title)
        return NamedRegion(region, tuple(graph.leaves[p] for p in places))

    def __call__(self, opened: Mapping[str, Any] | None = None, **given: Values) -> Values:
        """Its results, with values of parameters by name; what it does not need is left out."""
        values = {f"{name}[{j}]": x for name, some in given.items() for j, x in enumerate(some)}
        values |= opened or {}
        return list(called(self.region, [values[name] for name in self.names]))


class TracedPlant:
    """An arm driven by torques or by voltages, each of its functions traced when it is first asked for.

    `parameters` are left open, with the arm's own values; `opened` are the symbols for them on the graph
    of a step, which `open_on` makes. `single` says that code is for float32.
    """

    def __init__(
        self, arm: Arm, voltage: bool, parameters: Mapping[str, float] | None = None, single: bool = False
    ) -> None:
        self.arm, self.voltage, self.parameters, self.single = arm, voltage, dict(parameters or {}), single
        self.dry: Sequence[bool] = held_by_friction(arm, self.parameters)
        self.loads = count_of_loads(arm)
        self.opened: dict[str, Any] = {}

    def open_on(self, graph: Graph) -> None:
        """What is traced from now on is traced on this graph."""
        self.opened = {name: graph.parameter(name) for name in self.parameters}

    def torques(self, u: Values, qd: Values) -> Values:
        """The inputs themselves, or what the motors make of voltages within their limits."""
        return self._torques(u, qd, self.opened)

    def _torques(self, u: Values, qd: Values, symbols: Mapping[str, Any]) -> Values:
        if not self.voltage:
            return list(u)
        c = constants_of(self.arm)
        made = []
        for j, (V, rate) in enumerate(zip(u, qd, strict=True)):
            K, R = self._constant(j, float(c.K[j]), symbols), float(c.R[j])
            V = _clipped(V, float(c.most_voltage[j]))
            made.append(K * _clipped((V - K * rate) * (1.0 / R), float(c.most_current[j])))
        return made

    def _constant(self, j: int, K: float, symbols: Mapping[str, Any]) -> Any:
        """N Kt of a motor, whose gear ratio N may be open."""
        joint = self.arm.joints[j]
        N = symbols.get(f"{joint.name}.motor.gear_ratio")
        assert joint.motor is not None
        return K if N is None else N * float(joint.motor.torque_constant or 0.0)

    def accelerations(self, q: Values, qd: Values, u: Values, state: StepState, loads: Values) -> Values:
        """Accelerations, and behind them the loads where friction depends on them."""
        signs = {"friction_sign": state.friction_sign, "is_free": state.is_free}
        if not self.loads:
            return self.cold(self.opened, q=q, qd=qd, u=u, **signs)
        return self.warm(self.opened, q=q, qd=qd, u=u, **signs, load_guess=loads)

    def accurate(self, q: Values, qd: Values, u: Values, friction_sign: Values, is_free: Values) -> Values:
        """Accelerations to all digits, from loads that are not known before."""
        return self.cold(self.opened, q=q, qd=qd, u=u, friction_sign=friction_sign, is_free=is_free)

    def required(self, q: Values, qd: Values, qdd: Values, friction_sign: Values) -> Values:
        """What drives must give, friction in these directions."""
        return self.needed(self.opened, q=q, qd=qd, u=qdd, friction_sign=friction_sign)

    def settled(self, q: Values, qd: Values, is_free: Values) -> Values:
        """Velocities once impulses at joints that stand have brought these to rest, and moved the others."""
        return self.resting(self.opened, q=q, qd=qd, is_free=is_free)

    @cached_property
    def cold(self) -> NamedRegion:
        """Accelerations alone; where friction depends on the load, from the loads at rest on."""
        return self._accelerating(False)

    @cached_property
    def warm(self) -> NamedRegion:
        """Accelerations from loads that are nearly known on, and the loads."""
        return self._accelerating(True)

    def _accelerating(self, warm: bool) -> NamedRegion:
        tracing, n, title = self._tracing(), self.arm.n, "accelerations"
        u, (signs, free) = inputs(tracing.graph, "u", n), self._flags(tracing)
        tau = self._torques(u, tracing.qd, tracing.symbols)
        if not depends_on_load(self.arm):
            return NamedRegion.of(*_list(tracing.graph, tracing.held_forward(tau, signs, free)), title)
        guess = inputs(tracing.graph, "load_guess", self.loads) if warm else None
        found = tracing.under_load.found(tau, signs, free, guess, ROUGH if warm else CLOSE)
        results = [*tracing.under_load.spoilt(found), *(found.felt if warm else ())]
        return NamedRegion.of(*_list(tracing.graph, results), title)

    @cached_property
    def needed(self) -> NamedRegion:
        """What drives must give at accelerations that stand in the place of u."""
        tracing = self._tracing()
        x, (signs, _) = inputs(tracing.graph, "u", self.arm.n), self._flags(tracing)
        tau = tracing.inverse(tracing.qd, x, signs)
        return NamedRegion.of(*_list(tracing.graph, tau), "torques needed")

    @cached_property
    def resting(self) -> NamedRegion:
        """Velocities after the impulses; seldom asked, and not worth refining."""
        tracing = self._tracing()
        M, qd, (_, free) = tracing.inertia_matrix(), tracing.qd, self._flags(tracing)
        lost = [(1.0 - a) * v for a, v in zip(free, qd, strict=True)]
        dry = np.flatnonzero(self.dry)
        pushed = [a * sum((M[i, j] * lost[j] for j in dry), 0.0) for i, a in enumerate(free)]
        change = tracing.solved_backwards(held(M, free), np.array(pushed, dtype=object))
        settled = [a * v + c for a, v, c in zip(free, qd, change, strict=True)]
        return NamedRegion.of(tracing.graph, settled, "velocities settled")

    def _tracing(self) -> Tracing:
        return Tracing(self.arm, self.parameters, single=self.single)

    def _flags(self, tracing: Tracing) -> tuple[Values | None, Values]:
        """Directions of friction as the joints have them, none where none is dry; and which freedoms move."""
        if not any(self.dry):
            return None, [1.0] * self.arm.n
        signs, free = (inputs(tracing.graph, name, self.arm.n) for name in ("friction_sign", "is_free"))
        joints = [signs[d.freedom] * (1.0 if d.multiplier > 0.0 else -1.0) for d in drives_of(self.arm)]
        return joints, [a if is_dry else 1.0 for a, is_dry in zip(free, self.dry, strict=True)]


def traced_step(plant: TracedPlant, method: ExplicitMethod) -> Traced:
    """A whole step: states, inputs u with their `change` until its end, and its length h in, states out."""
    n = plant.arm.n
    sizes = dict.fromkeys(STATES, n) | {"load_guess": 2 * plant.loads}
    graph = Graph()
    given = {
        name: inputs(graph, name, size) for name, size in (sizes | {"u": n, "change": n, "h": 1}).items()
    }
    state = StepState(*(given[name] for name in STATES))
    made = step(plant, method, state, given["u"], given["change"], given["h"][0])
    results = {name: np.array(getattr(made, name), dtype=object) for name in STATES}
    return Traced(graph, results, *_arguments(given, sizes))


def traced_accelerations(plant: TracedPlant) -> Traced:
    """Accelerations `out` from (q, qd, u, friction_sign, is_free)."""
    return _alone(plant.arm.n, plant.cold, ("q", "qd", "u", "friction_sign", "is_free"))


def traced_requirement(plant: TracedPlant) -> Traced:
    """What drives must give, `out`, from (q, qd, u, friction_sign), u being accelerations."""
    return _alone(plant.arm.n, plant.needed, ("q", "qd", "u", "friction_sign"))


def _alone(n: int, function: NamedRegion, names: tuple[str, ...]) -> Traced:
    graph = Graph()
    given = {name: inputs(graph, name, n) for name in names}
    results = {"out": np.array(function(None, **given), dtype=object)}
    return Traced(graph, results, *_arguments(given, {"out": n}))


def _arguments(
    given: Mapping[str, Values], made: Mapping[str, int]
) -> tuple[tuple[Argument, ...], tuple[Argument, ...]]:
    return (
        tuple(Argument(name, (len(some),), "") for name, some in given.items()),
        tuple(Argument(name, (size,), "") for name, size in made.items()),
    )


def held_by_friction(arm: Arm, parameters: Iterable[str]) -> list[bool]:
    """For each freedom whether friction can hold it, as it is or with other figures for what is open."""
    made = held_freedoms(arm)
    for body in arm.moving.bodies:
        dry = tuple(f"{body.joint.name}.friction.{kind}." for kind in ("coulomb", "static"))
        if any(name.startswith(dry) for name in parameters):
            made[body.freedom] = True
    return made


def inputs(graph: Graph, name: str, count: int) -> list[Any]:
    """So many symbols, name[0] and so on."""
    return [graph.input(f"{name}[{j}]") for j in range(count)]


def _list(graph: Graph, results: Sequence[Any]) -> tuple[Graph, list[Any]]:
    graph, made = refined(graph, list(results))
    return graph, made


def _clipped(x: Any, most: float) -> Any:
    return x if np.isinf(most) else choose(x, -most, -most, choose(most, x, most, x))
