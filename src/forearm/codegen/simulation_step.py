"""One step of a simulation on the graph:
`dynamics.located_step` with the functions of an arm traced once and called at every stage.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.checking.balancing import spread_postures
from forearm.codegen.functions import Traced
from forearm.codegen.traced_drives import TracedDrives, inputs
from forearm.codegen.tracing import Tracing
from forearm.drives.coordinates import Coordinates, coordinates_of
from forearm.drives.joint import count_of_loads, depends_on_load
from forearm.drives.motor import constants_of, most_currents
from forearm.drives.parameters import CONSTANTS
from forearm.dynamics.explicit_methods import ExplicitMethod
from forearm.dynamics.fixed_step import StepState, Values
from forearm.dynamics.load_friction import CLOSE, held
from forearm.dynamics.located_step import step
from forearm.errors import InputError
from forearm.model import symbolic
from forearm.reduction.plan import PLAIN_PLAN
from forearm.symbols import Expr, Graph, Region, evaluate, refined
from forearm.symbols.evaluate import called
from forearm.symbols.linear import inverse_symmetric
from forearm.symbols.scalars import choose, is_zero

# relative residual of the torques allowed at a stage, less than the method's truncation error
ROUGH = 1e-10
POSTURES = 16  # samples for the inertia that a bristle brakes
STATES = ("q", "qd", "friction_sign", "is_free", "load_guess", "contact")


@dataclass(frozen=True, eq=False)
class NamedRegion:
    """A function on its own graph, called with values by name."""

    region: Region
    names: tuple[str, ...]

    @staticmethod
    def of(graph: Graph, results: Sequence[Any], title: str = "", refine: bool = True) -> NamedRegion:
        """A region of these results, refined; its inputs are what they need."""
        if refine:
            graph, results = refined(graph, list(results))
        places = [place for place in graph.needed(list(results)) if place in graph.leaves]
        inputs = tuple(Expr(graph, place, False) for place in places)
        region = Region(graph, inputs, tuple(results), title=title)
        return NamedRegion(region, tuple(graph.leaves[p] for p in places))

    def __call__(self, opened: Mapping[str, Any] | None = None, **given: Values) -> Values:
        """Its results, with values of parameters by name; unused ones are left out."""
        values = {f"{name}[{j}]": x for name, some in given.items() for j, x in enumerate(some)}
        values |= opened or {}
        return list(called(self.region, [values[name] for name in self.names]))


class TracedPlant:
    """An arm driven by torques or by voltages, each of its functions traced on first use.

    `parameters` are left open, with the arm's own values; `opened` are the symbols for them on the graph of a
    step, created by `open_on`. `single` means code for float32, `windings` that currents of windings with
    inductance are states, `is_limited` that motor torques saturate at the joints' max_effort.
    """

    def __init__(
        self,
        arm: Arm,
        voltage: bool,
        parameters: Mapping[str, float] | None = None,
        single: bool = False,
        *,
        windings: bool = False,
        is_limited: bool = False,
    ) -> None:
        self.arm, self.voltage, self.parameters, self.single = arm, voltage, dict(parameters or {}), single
        self.is_limited = is_limited
        self.coordinates = coordinates_of(arm, windings and voltage)
        _refuse_figures(self.coordinates, self.parameters)
        self.dry: Sequence[bool] = held_by_friction(self.coordinates, self.parameters)
        self.relaxing: Sequence[int] = self.coordinates.relaxing
        self.loads = count_of_loads(self.coordinates.mechanics)
        self.opened: dict[str, Any] = {}

    @property
    def sizes(self) -> dict[str, int]:
        """The size of each state."""
        m = self.coordinates.count
        return dict.fromkeys(STATES, m) | {
            "load_guess": 2 * self.loads,
            "contact": len(self.coordinates.gaps),
        }

    def open_on(self, graph: Graph) -> None:
        """Trace everything from now on on this graph."""
        self.opened = {name: graph.parameter(name) for name in self.parameters}

    def torques(self, u: Values, qd: Values) -> Values:
        """Motor torques (n): the inputs themselves, or computed from voltages, or from currents if those are
        states, within their limits.
        """
        return self._torques(u, qd, self.opened)

    def _torques(self, u: Values, qd: Values, symbols: Mapping[str, Any]) -> Values:
        made = list(u)
        c = constants_of(self.arm) if self.voltage else None
        most = most_currents(self.arm, self.is_limited) if self.voltage else []
        for j, (V, place) in enumerate(zip(u, self.coordinates.motors, strict=True)):
            effort, is_open = self.arm.joints[j].max_effort if self.is_limited else None, True
            if c is not None:
                K, R = self.constants(j, symbols)
                V = _clipped(V, float(c.most_voltage[j]))
                is_open = not isinstance(K, float)  # the current at max_effort is not known then
                if j in self.coordinates.currents:
                    made[j] = K * qd[self.coordinates.currents[j]]
                else:
                    current = float(c.most_current[j]) if is_open else most[j]
                    made[j] = K * _clipped((V - K * qd[place]) * (1.0 / R), current)
            if is_open and effort is not None:
                made[j] = _clipped(made[j], effort)
        return made

    def constants(self, j: int, symbols: Mapping[str, Any] | None = None) -> tuple[Any, Any]:
        """N Kt and R of a motor, whose gear ratio N, torque constant and resistance may be open."""
        joint, c = self.arm.joints[j], constants_of(self.arm)
        symbols = self.opened if symbols is None else symbols
        assert joint.motor is not None
        N, Kt, R = (symbols.get(f"{joint.name}.motor.{k}") for k in ("gear_ratio", *CONSTANTS))
        K: Any = float(c.K[j])
        if N is not None or Kt is not None:
            given = float(joint.motor.torque_constant or 0.0) if Kt is None else Kt
            K = (joint.motor.gear_ratio if N is None else N) * given
        return K, float(c.R[j]) if R is None else R

    def given(self, q: Values, qd: Values, u: Values, contact: Values) -> Values:
        """The generalised force on each coordinate: of springs on the links behind them, of motors on their
        rotors and on the other links.
        """
        return self.coordinates.given(q, qd, self.torques(u, qd), contact)

    def flanks(self, q: Values, qd: Values, contact: Values) -> Values:
        """For each gap a value above 0 as long as it stays in contact with its flank, or between both."""
        return self.coordinates.flanks(q, qd, contact)

    def next_contact(self, q: Values, contact: Values) -> Values:
        """For each gap the contact state that follows the present one."""
        return self.coordinates.next_contact(q, contact)

    def relaxation(self, place: int, qd: Values, u: Values) -> tuple[Any, Any]:
        """The relaxation rate of a bristle or a current, 1/s, and its target."""
        for bristle in self.coordinates.bristles:
            if bristle.place == place:
                return bristle.law.speed_of_slip(bristle.speed(qd))
        j, c = self._wound(place), constants_of(self.arm)
        K, R = self.constants(j)
        V = _clipped(u[j], float(c.most_voltage[j]))
        return R / float(c.inductance[j]), (V - K * qd[self.coordinates.motors[j]]) * (1.0 / R)

    def bounded(self, place: int, value: Any) -> Any:
        """A current clamped to its motor's limits."""
        if place < self.coordinates.count - len(self.coordinates.windings):
            return value
        return _clipped(value, most_currents(self.arm, self.is_limited)[self._wound(place)])

    def _wound(self, place: int) -> int:
        """The joint whose current has this coordinate."""
        return next(j for j, at in self.coordinates.currents.items() if at == place)

    def accelerations(
        self, q: Values, qd: Values, u: Values, state: StepState, loads: Values, h: Any = 0.0
    ) -> Values:
        """Accelerations, followed by the loads if friction depends on them; for steps of h."""
        if not self.loads:
            return self.accurate(q, qd, u, state.friction_sign, state.is_free, state.contact, h)
        held = {"friction_sign": state.friction_sign, "is_free": state.is_free, "contact": state.contact}
        made = self._called(self.warm, q, qd, u, **held, eased=self._eased(qd, h), load_guess=loads)
        bodies = self.coordinates.bodies
        return [*made[:bodies], *self._relaxing_rates(qd, u), *made[bodies:]]

    def accurate(
        self,
        q: Values,
        qd: Values,
        u: Values,
        friction_sign: Values,
        is_free: Values,
        contact: Sequence[Any] = (),
        h: Any = 0.0,
    ) -> Values:
        """Accelerations to full precision, without an initial guess of the loads; for steps of h."""
        held = {"friction_sign": friction_sign, "is_free": is_free, "contact": list(contact)}
        made = self._called(self.cold, q, qd, u, **held, eased=self._eased(qd, h))
        return [*made, *self._relaxing_rates(qd, u)]

    def _called(self, region: NamedRegion, q: Values, qd: Values, u: Values, **given: Values) -> Values:
        """The results of a function of the bodies, with the friction of bristles."""
        return region(self.opened, q=q, qd=qd, u=u, rubbed=self._rubbed(qd), **given)

    def _eased(self, qd: Values, h: Any) -> Values:
        """The inertia to be added for each bristle to brake within a step of h, as in an implicit step."""
        if is_zero(h):
            return [0.0] * len(self.coordinates.bristles)
        return [h * b.law.braking(b.speed(qd), qd[b.place], h) for b in self.coordinates.bristles]

    @cached_property
    def _shares(self) -> list[float]:
        """The minimum share of its own inertia M_jj that each bristle moves if all other joints are free:
        over configurations spread within the limits.
        """
        bristles, arm = self.coordinates.bristles, self.coordinates.mechanics
        if not bristles:
            return []
        tracing, least = Tracing(arm, {}, plan=PLAIN_PLAN), np.ones(arm.n)
        entries = list(tracing.inertia_matrix().flat)
        for posture in spread_postures(arm, POSTURES).tolist():
            given = {f"q[{i}]": x for i, x in enumerate(posture)}
            M = symbolic(evaluate(tracing.graph, entries, given)).reshape(arm.n, arm.n)
            try:
                W = inverse_symmetric(M)
            except ZeroDivisionError:
                continue
            least = np.minimum(least, [1.0 / float(W[k, k] * M[k, k]) for k in range(arm.n)])
        found = [least[b.on] if b.body is not None else 1.0 for b in bristles]
        # rounded so that the machine's last bits do not show
        return [max(math.floor(100.0 * share), 1) / 100 for share in found]

    def _rubbed(self, qd: Values) -> Values:
        """The friction of bristles, included in what is traced of the bodies."""
        return [b.law.torque(b.speed(qd), qd[b.place]) for b in self.coordinates.bristles]

    def _relaxing_rates(self, qd: Values, u: Values) -> Values:
        """z' of bristles and i' of currents."""
        made = [b.law.rate(b.speed(qd), qd[b.place]) for b in self.coordinates.bristles]
        for place in self.coordinates.currents.values():
            rate, target = self.relaxation(place, qd, u)
            made.append(rate * (target - qd[place]))
        return made

    def required(
        self,
        q: Values,
        qd: Values,
        qdd: Values,
        friction_signs: tuple[Values, Values],
        contact: Sequence[Any] = (),
    ) -> tuple[Values, Values]:
        """Required forces of the drives, with friction in the first directions, and in the second."""
        held = {"friction_sign": friction_signs[0], "other_sign": friction_signs[1], "contact": list(contact)}
        made = self._called(self.needed_both, q, qd, qdd, **held)
        rest, bodies = [0.0] * len(self.relaxing), self.coordinates.bodies
        return [*made[:bodies], *rest], [*made[bodies:], *rest]

    def required_one_way(
        self, q: Values, qd: Values, qdd: Values, friction_sign: Values, contact: Sequence[Any] = ()
    ) -> Values:
        """The same for one list of directions."""
        made = self._called(self.needed, q, qd, qdd, friction_sign=friction_sign, contact=list(contact))
        return [*made, *([0.0] * len(self.relaxing))]

    def settled(self, q: Values, qd: Values, is_free: Values) -> Values:
        """Velocities after impulses at stuck joints have brought these to rest and changed the others."""
        return self.resting(self.opened, q=q, qd=qd, is_free=is_free)

    def _drives(self) -> TracedDrives:
        return TracedDrives(self.coordinates, self.dry, self.parameters, self.single)

    @cached_property
    def cold(self) -> NamedRegion:
        """Accelerations of links and rotors only;
        if friction depends on the load, starting from the loads at rest.
        """
        return self._accelerating(False)

    @cached_property
    def warm(self) -> NamedRegion:
        """Accelerations starting from approximate loads, and the loads."""
        return self._accelerating(True)

    def _accelerating(self, warm: bool) -> NamedRegion:
        t = self._drives()
        t.ease(self._shares)
        u = inputs(t.graph, "u", self.arm.n)
        pushes = t.pushes(self._torques(u, t.xd, t.tracing.symbols))
        m = self.coordinates.mechanics.n
        felt: list[Any] = []
        if depends_on_load(self.coordinates.mechanics):
            guess = inputs(t.graph, "load_guess", self.loads) if warm else None
            under_load = t.tracing.under_load
            found = under_load.found(pushes[:m], t.ways(t.signs), t.free[:m], guess, ROUGH if warm else CLOSE)
            made, felt = list(under_load.spoilt(found)), list(found.felt if warm else ())
        else:
            made = t.tracing.held_forward(pushes[:m], t.ways(t.signs), t.free[:m])
        return NamedRegion.of(t.graph, [*made, *t.rotors(pushes), *felt], "accelerations")

    @cached_property
    def needed(self) -> NamedRegion:
        """Required forces of the drives for accelerations, which are passed in place of u."""
        return self._requirement(False)

    @cached_property
    def needed_both(self) -> NamedRegion:
        """The same for two lists of directions, concatenated."""
        return self._requirement(True)

    def _requirement(self, is_both: bool) -> NamedRegion:
        t = self._drives()
        x = inputs(t.graph, "u", self.coordinates.bodies)
        others = [inputs(t.graph, "other_sign", self.coordinates.count)] if is_both else []
        made = [y for signs in (t.signs, *others) for y in t.needed(x, signs)]
        return NamedRegion.of(t.graph, made, "torques needed")

    @cached_property
    def resting(self) -> NamedRegion:
        """Velocities after the impulses; rarely evaluated, so not worth refining."""
        t = self._drives()
        tracing = t.tracing
        M, qd, free = tracing.inertia_matrix(), tracing.qd, t.free
        lost = [(1.0 - a) * v for a, v in zip(free, qd, strict=True)]
        dry = np.flatnonzero(self.dry)
        pushed = [a * sum((M[i, j] * lost[j] for j in dry), 0.0) for i, a in enumerate(free)]
        change = tracing.solved_backwards(held(M, free), symbolic(pushed))
        settled = [a * v + c for a, v, c in zip(free, qd, change, strict=True)]
        return NamedRegion.of(tracing.graph, settled, "velocities settled", refine=False)


def _refuse_figures(coordinates: Coordinates, parameters: Iterable[str]) -> None:
    """Reject open drive parameters if drive states are traced with numbers."""
    arm, bodies = coordinates.arm, coordinates.mechanics.moving.bodies
    held = {arm.joints[rotor.freedom].name for rotor in coordinates.rotors}
    held |= {bodies[b.body].joint.name for b in coordinates.bristles if b.body is not None}
    for name in parameters:
        if any(name.startswith((f"{joint}.motor.", f"{joint}.friction.")) for joint in held):
            raise InputError(
                "motor and friction parameters of elastic joints, and of joints with "
                "bristles, cannot be left open in a simulation; leave it out.",
                "parameters",
                name,
            )


def traced_step(plant: TracedPlant, method: ExplicitMethod) -> Traced:
    """A complete step:
    states, inputs u with their `change` until its end, and its length h in, states out.
    """
    n, graph = plant.arm.n, Graph()
    sizes = plant.sizes | {"u": n, "change": n, "h": 1}
    given = {name: inputs(graph, name, size) for name, size in sizes.items()}
    state = StepState(*(given[name] for name in STATES))
    made = step(plant, method, state, given["u"], given["change"], given["h"][0])
    return Traced.of(graph, sizes, {name: getattr(made, name) for name in STATES})


def traced_accelerations(plant: TracedPlant) -> Traced:
    """Accelerations `out` from (q, qd, u, friction_sign, is_free, contact), the last if there are gaps."""
    sizes = {name: plant.sizes[name] for name in ("friction_sign", "is_free", "contact")}
    return _alone(plant, plant.accurate, {"u": plant.arm.n} | sizes)


def traced_requirement(plant: TracedPlant) -> Traced:
    """Required forces of the drives, `out`,
    from (q, qd, u, friction_sign, contact), u being accelerations (m).
    """
    sizes = {name: plant.sizes[name] for name in ("friction_sign", "contact")}
    return _alone(plant, plant.required_one_way, {"u": plant.coordinates.count} | sizes)


def _alone(plant: TracedPlant, function: Callable[..., Values], sizes: Mapping[str, int]) -> Traced:
    graph, m = Graph(), plant.coordinates.count
    sizes = {name: size for name, size in {"q": m, "qd": m, **sizes}.items() if size}
    given = [inputs(graph, name, size) for name, size in sizes.items()]
    return Traced.of(graph, sizes, {"out": function(*given)})


def held_by_friction(coordinates: Coordinates, parameters: Iterable[str]) -> list[bool]:
    """For each coordinate whether dry friction can hold it,
    with its present or other values of open parameters.
    """
    made = list(coordinates.dry)
    rough = {b.body for b in coordinates.bristles}
    for k, body in enumerate(coordinates.mechanics.moving.bodies):
        dry = tuple(f"{body.joint.name}.friction.{kind}." for kind in ("coulomb", "static"))
        if k not in rough and any(name.startswith(dry) for name in parameters):
            made[body.freedom] = True
    return made


def _clipped(x: Any, most: float) -> Any:
    return x if np.isinf(most) else choose(x, -most, -most, choose(most, x, most, x))
