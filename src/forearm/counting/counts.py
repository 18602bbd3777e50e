"""Exact operation counts of every inverse, inertia-matrix and forward method, for a generic chain or an arm.

Rules of `docs/counts.md`: arm without drives, base at rest, gravity along z0 (or the arm's own, on request),
no load on the hand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.counting.models import GenericChain
from forearm.dynamics.energy import without_gravity
from forearm.dynamics.forward import articulated_body, conjugate_gradient
from forearm.dynamics.lagrange import STAGES
from forearm.dynamics.newton_euler import newton_euler
from forearm.dynamics.reference import FORWARD, INERTIA, INVERSE
from forearm.errors import InputError, ModelError
from forearm.model import AT_REST, Base, Model, Note, cross, model_of
from forearm.symbols import Graph, refined
from forearm.symbols.counts import Counts
from forearm.symbols.linear import solve_symmetric
from forearm.symbols.recorder import Recorder
from forearm.symbols.scalars import objects
from forearm.values import check_choice, frozen

METHODS: dict[str, tuple[str, ...]] = {
    "inverse": tuple(INVERSE),
    "inertia_matrix": tuple(INERTIA),
    "forward": FORWARD,
}
WATERS = (*STAGES, "lagrange-hollerbach-4x4")  # those on 4x4 matrices


@dataclass(frozen=True)
class Convention:
    """The counting convention. The defaults are those of docs/counts.md.

    `customised`: parameters are numbers, and 0, 1 and -1 fold; otherwise each is a symbol known offline.
    `moving_base`: the base moves, so that the first link is like any other. `dense`: every rotation is a 3x3
    matrix of nine given entries, or at a prismatic joint one that permutes axes (Dhanaraj 2.38); otherwise a
    sequence of elementary rotations. `everything`: results that are not used count too. `full_cross`: a cross
    product takes 6 mul and 3 add whatever is 0 in it.
    `no_acceleration`: qdd = 0, the bias. `own_gravity`: gravity as in the arm's file, not along z0.
    Options without meaning are refused: `moving_base` and `no_acceleration` for inertia matrices and forward
    dynamics, `dense` and `full_cross` for forward dynamics, `dense` for the formulations on 4x4 matrices.
    """

    customised: bool = False
    moving_base: bool = False
    dense: bool = False
    everything: bool = False
    full_cross: bool = False
    no_acceleration: bool = False
    own_gravity: bool = False


WITHOUT_MEANING = {
    "inverse": (),
    "inertia_matrix": ("moving_base", "no_acceleration"),
    "forward": ("moving_base", "no_acceleration", "dense", "full_cross"),
}
GENERAL = Convention()
CUSTOMISED = Convention(customised=True)
# R of a prismatic joint with a twist of -90 degrees
RENAMED = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


@frozen
class CountedRun:
    """A formulation that was run on recording scalars: its results and the recorded operations."""

    graph: Recorder
    results: Any
    noted: list[tuple[str, int, Any]]
    convention: Convention

    @property
    def counts(self) -> Counts:
        """The operations that the results need, or all of them if the convention says so."""
        return self.graph.counts_of(self._operations())

    def by_quantity(self) -> dict[tuple[str, int], Counts]:
        """For every noted quantity (symbol, link) the operations first done for it; the rest as ("", -1)."""
        left = set(self._operations())
        table: dict[tuple[str, int], Counts] = {}
        for symbol, link, value in [*self.noted, ("", -1, self.results)]:
            own = left.intersection(self.graph.needed(value))
            left -= own
            table[symbol, link] = table.get((symbol, link), Counts()) + self.graph.counts_of(own)
        return table

    def _operations(self) -> list[int]:
        """The operations of each evaluation: those that are not known offline."""
        places = range(len(self.graph)) if self.convention.everything else self.graph.needed(self.results)
        return [place for place in places if not self.graph.offline[place]]


def count(
    arm: Arm | GenericChain, name: str, function: str = "inverse", convention: Convention | None = None
) -> Counts:
    """The operations of a method, customised to an arm's parameters or for a generic chain with symbols.

    Args:
        arm: an arm, or a generic chain.
        name: one of `dynamics.formulations()[function]`.
        function: "inverse", "inertia_matrix" or "forward".
        convention: the counting convention; None: customised for an arm, general for a chain.
    """
    return run(arm, name, function, convention).counts


def count_generated(arm: Arm, name: str) -> Counts:
    """The operations of the code generated from an inverse formulation: constants folded, common
    subexpressions shared, sums and products refined.
    """
    check_choice(name, METHODS["inverse"], "count, method of inverse")
    model, graph = counted_model(arm), Graph()
    q, qd, qdd = (graph.inputs(name, model.n) for name in ("q", "qd", "qdd"))
    torques = INVERSE[name](model.map(float), model.coordinates(q), model.rates(qd), model.rates(qdd))
    simplified, results = refined(graph, model.gathered(torques))
    return simplified.counts(results)


def run(
    arm: Arm | GenericChain, name: str, function: str = "inverse", convention: Convention | None = None
) -> CountedRun:
    """Run the method on recording scalars."""
    check_function(function)
    check_choice(name, METHODS[function], f"count, method of {function}")
    convention = convention or (GENERAL if isinstance(arm, GenericChain) else CUSTOMISED)
    model = counted_model(arm, convention.own_gravity)
    ignored = [option for option in WITHOUT_MEANING[function] if getattr(convention, option)]
    if ignored:
        raise InputError(
            f"{function} does not know the convention {' and '.join(ignored)}; leave it out.", "count"
        )
    if convention.dense and name in WATERS:
        raise InputError(
            f"{name} does not know the convention dense: it turns no vectors; leave it out.", "count"
        )
    graph = Recorder()
    noted = []
    work = CountedModel(
        conventional(model, graph, convention), graph, convention, lambda *given: noted.append(given)
    )
    results = {"inverse": work.inverse, "inertia_matrix": work.inertia_matrix, "forward": work.forward}[
        function
    ](name)
    return CountedRun(graph, results, noted, convention)


def check_function(function: str) -> None:
    """Check that a function is one of those counted."""
    check_choice(function, METHODS, "count, function")


def counted_model(arm: Arm | GenericChain, own_gravity: bool = False) -> Model:
    """The model that is counted of a chain or an arm; it has to have a joint that moves."""
    model = arm.model() if isinstance(arm, GenericChain) else rigid_model(arm, own_gravity)
    if not model.bodies:
        raise ModelError(f"{model.name!r} has no movable joint, so there is nothing to count.", "count")
    return model


def rigid_model(arm: Arm, own_gravity: bool = False) -> Model:
    """An arm's model over floats, without drives, gravity along z0 or its own, and joint offsets added to q.

    A Denavit-Hartenberg joint whose angle has an offset is Rx(alpha) Rz(q + offset): one addition, where
    Rx(alpha) Rz(offset) as a constant would be a full matrix.
    """
    model = model_of(arm.rigid())
    if not own_gravity:
        model = replace(model, g=np.array([0.0, 0.0, -9.81]))
    bodies, offsets = list(model.bodies), list(model.offset)
    for i, body in enumerate(bodies):
        R = body.Rb
        if body.revolute and R[0, 2] == 0.0 and R[0, 0] != 0.0 and R[0, 1] != 0.0:
            twist = np.array([[1.0, 0.0, 0.0], [0.0, R[2, 2], R[1, 2]], [0.0, -R[1, 2], R[2, 2]]])
            bodies[i] = replace(body, Rb=twist)
            offsets[i] += math.atan2(-R[0, 1], R[0, 0])
    return replace(model, bodies=tuple(bodies), offset=tuple(offsets))


def conventional(model: Model, graph: Recorder, convention: Convention) -> Model:
    """The model with symbolic parameters, rotations and cross products as the convention asks."""
    model = model.map(float if convention.customised else lambda _: graph.parameter(f"p[{len(graph)}]"))
    if convention.dense:
        given = [graph.inputs(f"R{i}", 3, 3) if b.revolute else RENAMED for i, b in enumerate(model.bodies)]
        model = replace(model, rotations=tuple(given))
    return replace(model, cross=partial(full_cross, graph)) if convention.full_cross else model


def full_cross(graph: Recorder, a: Any, b: Any) -> Any:
    """The cross product with an input for each plain number, so that nothing folds."""

    def entries(v: Any) -> Any:
        return np.array([graph.input(f"{x} at {len(graph)}") if isinstance(x, float) else x for x in v])

    return cross(entries(a), entries(b))


@frozen
class CountedModel:
    """A model over recording scalars at a generic state, and the methods on it."""

    model: Model
    graph: Recorder
    convention: Convention
    note: Note

    def inverse(self, name: str) -> list[Any]:
        """The torques."""
        q, qd, qdd = self._coordinates(), self._rates("qd"), self._rates("qdd")
        if self.convention.no_acceleration:
            qdd = [0.0] * len(qdd)
        base = AT_REST
        if self.convention.moving_base:
            base = Base(*(self.graph.inputs(motion, 3) for motion in ("w", "wd", "a")))
        return self.model.gathered(INVERSE[name](self.model, q, qd, qdd, base, None, self.note))

    def inertia_matrix(self, name: str) -> list[Any]:
        """The lower triangle of M, which is symmetric."""
        M = self.model.gathered_matrix(INERTIA[name](self.model, self._coordinates(), self.note))
        return [M[j, : j + 1] for j in range(self.model.n)]

    def forward(self, name: str) -> list[Any]:
        """The accelerations."""
        q, qd, n = self._coordinates(), self._rates("qd"), self.model.n
        tau = self.graph.inputs("tau", n)
        if name == "articulated-body":
            if self.model.has_followers:
                raise ModelError(
                    f"articulated-body does not take the mimicking joints of {self.model.name!r}.", "count"
                )
            return list(articulated_body(self.model, q, qd, tau, [0.0] * n))
        rest = [0.0] * len(self.model.bodies)
        right = tau - objects(self.model.gathered(newton_euler(self.model, q, qd, rest)))
        if name == "conjugate-gradient":
            return list(self._conjugate_gradient(q, right))
        return list(solve_symmetric(self.model.gathered_matrix(INERTIA[name](self.model, q)), right))

    def _conjugate_gradient(self, q: list[Any], right: Any) -> Any:
        """n steps, which suffice in exact arithmetic."""
        still, rest = without_gravity(self.model), [0.0] * len(q)

        def product(p: Any) -> Any:
            return objects(self.model.gathered(newton_euler(still, q, rest, self.model.rates(p))))

        return conjugate_gradient(product, right, self.model.n)

    def _coordinates(self) -> list[Any]:
        return self.model.coordinates(self.graph.inputs("q", self.model.n))

    def _rates(self, name: str) -> list[Any]:
        return self.model.rates(self.graph.inputs(name, self.model.n))
