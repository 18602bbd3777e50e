"""Exact operation counts of every inverse, inertia-matrix and forward method,
for a generic chain or for an arm.

Counted as `docs/counts.md` says: arm without drives, base at rest, gravity along z0, no load on the hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.counting.models import GenericChain
from forearm.counting.scalars import Tally
from forearm.dynamics.energy import without_gravity
from forearm.dynamics.forward import articulated_body, conjugate_gradient, solve_symmetric
from forearm.dynamics.newton_euler import newton_euler
from forearm.dynamics.reference import FORWARD, INERTIA, INVERSE
from forearm.errors import InputError, ModelError, NameNotFound, shorten, suggest
from forearm.model import AT_REST, Base, JointTransform, Model, cross, model_of, steps
from forearm.symbols.counts import Counts

METHODS: dict[str, tuple[str, ...]] = {
    "inverse": tuple(INVERSE),
    "inertia_matrix": tuple(INERTIA),
    "forward": FORWARD,
}
Note = Callable[[str, int, Any], None]
Stand = dict[Callable[..., Any], Callable[..., Any]]  # what stands for a function, by that function


@dataclass(frozen=True)
class Convention:
    """What a count depends on beside the formulation. The defaults are those of docs/counts.md.

    `customised`: parameters are numbers, whose 0, 1 and -1 fold; otherwise each is a symbol known beforehand.
    `moving_base`: the base moves, so that the first link is like any other. `dense`: every rotation is a 3x3
    matrix of nine given entries; otherwise elementary turns one after the other. `everything`: what is
    computed and not used counts too. `full_cross`: a vector product takes 6 mul and 3 add whatever is 0 in
    it. `no_acceleration`: qdd = 0, the bias. Inertia matrices know nothing of `moving_base` and
    `no_acceleration`; forward dynamics neither, nor of `dense` and `full_cross`; the forms on 4x4 matrices
    not of `dense`. They are refused there.
    """

    customised: bool = False
    moving_base: bool = False
    dense: bool = False
    everything: bool = False
    full_cross: bool = False
    no_acceleration: bool = False


WITHOUT_MEANING = {
    "inverse": (),
    "inertia_matrix": ("moving_base", "no_acceleration"),
    "forward": ("moving_base", "no_acceleration", "dense", "full_cross"),
}
GENERAL = Convention()
CUSTOMISED = Convention(customised=True)


@dataclass(eq=False)
class CountedRun:
    """A formulation that has been run on counting scalars: what came out, and what was done for it."""

    tally: Tally
    results: Any
    noted: list[tuple[str, int, Any]]
    convention: Convention

    @property
    def counts(self) -> Counts:
        """The operations that the results need, or all of them where the convention says so."""
        return self.tally.counts(None if self.convention.everything else self.results)

    def by_quantity(self) -> dict[tuple[str, int], Counts]:
        """For every noted quantity (symbol, link) the operations first done for it;
        those for none of them as ("", -1).
        """
        taken = bytearray(len(self.tally.kinds))
        needed = (
            bytearray(b"\1" * len(taken)) if self.convention.everything else self.tally.needed(self.results)
        )
        table: dict[tuple[str, int], Counts] = {}
        for symbol, link, value in [*self.noted, ("", -1, self.results)]:
            places = [p for p in self.tally.claim(value, taken) if needed[p]]
            table[symbol, link] = table.get((symbol, link), Counts()) + self.tally.counts_of(places)
        return table


def count(
    arm: Arm | GenericChain, name: str, function: str = "inverse", convention: Convention | None = None
) -> Counts:
    """The operations of a method: of an arm customised to its numbers, of a generic chain
    with symbols for them.

    `function` is "inverse", "inertia_matrix" or "forward"; `name` is one of METHODS[function].
    """
    return run(arm, name, function, convention).counts


def run(
    arm: Arm | GenericChain, name: str, function: str = "inverse", convention: Convention | None = None
) -> CountedRun:
    """The method, run on counting scalars."""
    check_function(function)
    if name not in METHODS[function]:
        raise NameNotFound(
            f"count: {function} has no method {shorten(name)}; {suggest(str(name), METHODS[function])}"
        )
    model, convention = (
        counted_model(arm),
        convention or (GENERAL if isinstance(arm, GenericChain) else CUSTOMISED),
    )
    ignored = [option for option in WITHOUT_MEANING[function] if getattr(convention, option)]
    if ignored:
        raise InputError(
            f"count: {function} does not know the convention {' and '.join(ignored)}; leave it out."
        )
    tally = Tally()
    model = model.map(float if convention.customised else tally.parameter)
    noted: list[tuple[str, int, Any]] = []
    work = CountedModel(
        model, tally, convention, lambda symbol, link, value: noted.append((symbol, link, value))
    )
    results = {"inverse": work.inverse, "inertia_matrix": work.inertia_matrix, "forward": work.forward}[
        function
    ](name)
    if convention.dense and not work.turned:
        raise InputError(
            f"count: {name} does not know the convention dense: it turns no vectors; leave it out."
        )
    return CountedRun(tally, results, noted, convention)


def check_function(function: str) -> None:
    """One of those that are counted."""
    if function not in METHODS:
        raise NameNotFound(
            f"count: there is no function {shorten(function)}; {suggest(str(function), METHODS)}"
        )


def counted_model(arm: Arm | GenericChain) -> Model:
    """What is counted of a chain, or of an arm; something that moves."""
    model = arm.model() if isinstance(arm, GenericChain) else rigid_model(arm)
    if not model.bodies:
        raise ModelError(f"count: {model.name!r} has no joint that moves, so there is nothing to count.")
    return model


def rigid_model(arm: Arm) -> Model:
    """An arm's model without drives, gravity along z0, over floats, offsets of angles taken into q.

    A Denavit-Hartenberg joint whose angle has an offset is Rx(alpha) Rz(q + offset): one addition, where
    Rx(alpha) Rz(offset) as a constant would be a full matrix.
    """
    model = replace(model_of(arm.rigid()), g=np.array([0.0, 0.0, -9.81]))
    bodies, offsets = list(model.bodies), list(model.offset)
    for i, body in enumerate(bodies):
        R = body.Rb
        if body.revolute and R[0, 2] == 0.0 and R[0, 0] != 0.0 and R[0, 1] != 0.0:
            twist = np.array([[1.0, 0.0, 0.0], [0.0, R[2, 2], R[1, 2]], [0.0, -R[1, 2], R[2, 2]]])
            bodies[i] = replace(body, Rb=twist)
            offsets[i] += math.atan2(-R[0, 1], R[0, 0])
    return replace(model, bodies=tuple(bodies), offset=tuple(offsets))


@dataclass(eq=False)
class CountedModel:
    """One model over counting scalars at a generic state, and the methods on it."""

    model: Model
    tally: Tally
    convention: Convention
    note: Note
    turned: bool = False  # whether dense rotations were asked for

    def inverse(self, name: str) -> list[Any]:
        """The torques."""
        q, qd, qdd = self._coordinates(), self._rates(0.31), self._rates(0.57)
        if self.convention.no_acceleration:
            qdd = [0.0] * len(qdd)
        base = self._moving_base() if self.convention.moving_base else AT_REST
        return self.model.gathered(self._told(INVERSE[name])(self.model, q, qd, qdd, base, None, self.note))

    def inertia_matrix(self, name: str) -> list[Any]:
        """The lower triangle of M: the rest is the same."""
        M = self.model.gathered_matrix(self._told(INERTIA[name])(self.model, self._coordinates(), self.note))
        return [M[j, : j + 1] for j in range(self.model.n)]

    def forward(self, name: str) -> list[Any]:
        """The accelerations."""
        q, qd, n = self._coordinates(), self._rates(0.31), self.model.n
        tau = np.array([self.tally.variable(1.0 + 0.3 * j) for j in range(n)], dtype=object)
        if name == "articulated-body":
            if self.model.has_followers:
                raise ModelError(
                    f"count: articulated-body does not take the mimicking joints of {self.model.name!r}."
                )
            return list(articulated_body(self.model, q, qd, tau, [0.0] * n))
        rest = [0.0] * len(self.model.bodies)
        right = tau - np.array(self.model.gathered(newton_euler(self.model, q, qd, rest)), dtype=object)
        if name == "conjugate-gradient":
            return list(self._conjugate_gradient(q, right))
        return list(solve_symmetric(self.model.gathered_matrix(INERTIA[name](self.model, q)), right))

    def _conjugate_gradient(self, q: list[Any], right: Any) -> Any:
        """As many steps as freedoms, which suffice in exact arithmetic."""
        still, rest = without_gravity(self.model), [0.0] * len(q)

        def product(p: Any) -> Any:
            return np.array(
                self.model.gathered(newton_euler(still, q, rest, self.model.rates(p))), dtype=object
            )

        return conjugate_gradient(product, right, self.model.n)

    def _coordinates(self) -> list[Any]:
        return self.model.coordinates([self.tally.variable(0.4 + 0.37 * j) for j in range(self.model.n)])

    def _rates(self, first: float) -> list[Any]:
        return self.model.rates([self.tally.variable(first + 0.23 * j) for j in range(self.model.n)])

    def _moving_base(self) -> Base:
        three = [
            np.array([self.tally.variable(0.1 + 0.2 * i + 0.05 * k) for k in range(3)], dtype=object)
            for i in range(3)
        ]
        return Base(*three)

    def _told(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function with the conventions on rotations and vector products in place."""
        others: Stand = {}
        if self.convention.dense:
            others[steps] = self._dense_steps
        if self.convention.full_cross:
            others[cross] = self._full_cross
        return retold(function, others) if others else function

    def _dense_steps(self, model: Model, q: Any) -> list[JointTransform]:
        made, self.turned = steps(model, q), True
        for step in made:
            R = step.body.Rb @ step.Rz @ step.body.Ra
            step.R = np.array([[self.tally.variable(float(x)) for x in row] for row in R], dtype=object)
        return made

    def _full_cross(self, a: Any, b: Any) -> Any:
        lift = [[x if not isinstance(x, float) else self.tally.variable(x) for x in v] for v in (a, b)]
        (a0, a1, a2), (b0, b1, b2) = lift
        return np.array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], dtype=object)


def retold(function: Callable[..., Any], others: Stand) -> Callable[..., Any]:
    """The very same function, with others in the place of some functions that it calls,
    however deep in `forearm.dynamics`.

    Each function of `forearm.dynamics` that it reaches by a global name is made again over a copy of
    its module's names; the modules themselves stay as they are. Not reached is what is called as a
    method, by a name of a module (`module.function`), from a cache, or inside another package: there
    the original is called.
    """
    copies: dict[int, dict[str, Any]] = {}  # by the identity of a module's names

    def names_of(module: dict[str, Any]) -> dict[str, Any]:
        if id(module) not in copies:
            copies[id(module)] = copy = dict(module)
            for name, value in module.items():
                if isinstance(value, FunctionType):
                    copy[name] = others[value] if value in others else again(value)
        return copies[id(module)]

    def again(value: FunctionType) -> FunctionType:
        if not value.__module__.startswith("forearm.dynamics."):
            return value
        made = FunctionType(
            value.__code__, names_of(value.__globals__), value.__name__, value.__defaults__, value.__closure__
        )
        made.__kwdefaults__ = value.__kwdefaults__
        return made

    assert isinstance(function, FunctionType)
    return again(function)
