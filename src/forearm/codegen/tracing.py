"""An arm on the graph:
its functions traced over symbols, on the regrouped chain or by a published formulation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from forearm.arm.arm import Arm
from forearm.codegen.elastic import ElasticTracing
from forearm.codegen.inverse_kinematics import branches as traced_branches
from forearm.codegen.load_friction import UnderLoad
from forearm.drives.joint import Reaction, depends_on_load, driven, needs_reactions, rotors
from forearm.drives.parameters import drive_values, drives_over
from forearm.dynamics.fixed_step import Values
from forearm.dynamics.forward import articulated_body, idle_joints, singular
from forearm.dynamics.load_friction import held, reactions_of
from forearm.dynamics.newton_euler import newton_euler
from forearm.dynamics.reference import FORWARD, INERTIA, INVERSE
from forearm.dynamics.regressor import regressor
from forearm.errors import Advice, InputError, ModelError, Sentence
from forearm.kinematics.limits import is_periodic, limits_of
from forearm.kinematics.newton import HUGE, Bounds, PoseTask, run
from forearm.model import AT_REST, Array, Model, Scalar, Vector, model_of, symbolic
from forearm.reduction import composite, energy, hand, recursion
from forearm.reduction.base import BaseParameters, base_parameters
from forearm.reduction.chain import Chain
from forearm.reduction.derivatives import DerivativeChoices, derivatives
from forearm.reduction.geometry import geometry_values
from forearm.reduction.plan import ReductionPlan, placed, planned
from forearm.reduction.search import best_choices
from forearm.reduction.symbolic import best_plan_for, parameter_values, symbolic_chain, symbolic_model
from forearm.symbols import Expr, Graph, derivative, jacobian, substituted
from forearm.symbols.graph import ADD, COS, INPUT, MUL, SIN, SUB
from forearm.symbols.linear import inverse_symmetric, solve_symmetric
from forearm.symbols.scalars import choose, root
from forearm.values import check_choice, chosen

T = TypeVar("T")
# m and rad: tolerance of Newton's inverse kinematics, and its maximum number of steps
CLOSE, MOST_STEPS = 1e-9, 100
OUTWARDS = ("w", "wd", "a", "F", "N", "v", "g", "Omega", "alpha", "lambda", "a_c", "vd", "vd*", "sdd", "rdd")


class Tracing:
    """One graph, the arm's states as its inputs, and the functions traced on it.
    Common subexpressions of two functions exist once.
    """

    graph: Graph
    q: list[Expr]
    qd: list[Expr]
    qdd: list[Expr]
    tau: list[Expr]
    _marked: int

    def __init__(
        self,
        arm: Arm,
        parameters: dict[str, float],
        formulation: str | None = None,
        plan: ReductionPlan | None = None,
        single: bool = False,
        beside: Tracing | None = None,
    ) -> None:
        self.arm, self.parameters, self.formulation, self.single = arm, parameters, formulation, single
        self.graph = Graph() if beside is None else beside.graph
        self.model = model_of(arm)
        if beside is None:
            self.q, self.qd, self.qdd, self.tau = (self.inputs(name) for name in ("q", "qd", "qdd", "tau"))
            self.symbols = {name: self.graph.parameter(name) for name in parameters}
        else:
            self.q, self.qd, self.qdd, self.tau = beside.q, beside.qd, beside.qdd, beside.tau
            self.symbols = {name: beside.symbols[name] for name in parameters}
        self.asked_plan = plan
        self.drives = drives_over(arm, self.symbols)
        self.rotor = rotors(self.drives, arm.n)
        self._marked = 0 if beside is None else beside._marked

    def inputs(self, name: str) -> list[Expr]:
        """New inputs, one per joint coordinate."""
        return [self.graph.input(f"{name}[{i}]") for i in range(self.arm.n)]

    def beside(self, arm: Arm) -> Tracing:
        """Another arm on the same graph, at the same states, sharing those symbols that it has."""
        known = parameter_values(arm) | drive_values(arm)
        parameters = {name: value for name, value in self.parameters.items() if name in known}
        return Tracing(arm, parameters, None, self.asked_plan, self.single, self)

    @cached_property
    def elastic(self) -> ElasticTracing:
        """The dynamics with springs between motors and links."""
        return ElasticTracing(self)

    @cached_property
    def plain(self) -> Chain:
        """The chain in its frames, without regrouping, with symbols for open parameters."""
        return symbolic_chain(self.arm, self.parameters, lambda name, _: self.symbols[name])

    @cached_property
    def plan(self) -> ReductionPlan:
        """The regrouping plan: as requested, or the best one found, with generic numbers for symbols."""
        if self.asked_plan is not None:
            return self.asked_plan
        return best_plan_for(self.arm, self.parameters)

    @cached_property
    def chain(self) -> Chain:
        """The regrouped chain."""
        return planned(self.plain, self.plan)

    @cached_property
    def choices(self) -> DerivativeChoices:
        """The plan of the derivatives' recursion."""
        return best_choices(self.chain)

    @property
    def regrouped(self) -> bool:
        """Whether anything was traced on the regrouped chain."""
        return "chain" in self.__dict__ or any(part.regrouped for part in self._parts)

    @property
    def _parts(self) -> list[Tracing]:
        """The tracings of other arms on the same graph."""
        return self.elastic.parts if "elastic" in self.__dict__ else []

    @property
    def unit(self) -> float | None:
        """The internal unit of length in m, where it was used."""
        if "chain" not in self.__dict__:
            return next((part.unit for part in self._parts), None)
        if self.plan.unit is None:
            return None
        segment, entry = self.plan.unit
        length = placed(self.plain, self.plan).segments[segment].l[entry]
        return None if isinstance(length, Expr) else abs(float(length))

    @cached_property
    def whole_model(self) -> Model:
        """The original model over symbols, for published formulations."""
        return symbolic_model(self.arm, self.parameters, lambda name, _: self.symbols[name])

    def inverse(self, qd: Vector | None, qdd: Vector | None, directions: Vector | None = None) -> Values:
        """Joint torques, drives included; at rest or without acceleration if those are omitted.

        Directions of friction, one per joint, are by default the signs of the joints' velocities.
        """
        rest = [0.0] * self.arm.n
        rates, accelerations = (
            self.rates(rest if qd is None else qd),
            self.rates(rest if qdd is None else qdd),
        )
        reactions = None
        if needs_reactions(self.arm):
            self._without_formulation("bearings")
            torques, reactions = self.joint_reactions(rates, accelerations)
        elif self.formulation is None:
            torques = recursion.inverse(self.chain, self.rates(self.q), rates, accelerations, self.note)
        else:
            method = chosen(INVERSE, self.formulation, "generate, formulation")
            coordinates = self.model.coordinates(self.q)
            torques = method(self.whole_model, coordinates, rates, accelerations, AT_REST, None, self.note)
        if qd is not None:
            torques = driven(self.drives, torques, reactions, rates, directions)
        tau = self.model.gathered(torques)
        if qdd is not None:
            tau = [t + a * J for t, a, J in zip(tau, qdd, self.rotor, strict=True)]
        self.mark("joints")
        return tau

    def forward(self) -> Values:
        """Joint accelerations."""
        q, qd = self.rates(self.q), self.rates(self.qd)
        if depends_on_load(self.arm):
            self._without_formulation("friction that depends on the load")
            return self.under_load.forward()
        friction = self.model.gathered(driven(self.drives, [0.0] * len(qd), None, qd))
        right = [t - f for t, f in zip(self.tau, friction, strict=True)]
        rotor = self.rotor
        if self.formulation is None:
            qdd = self.solved(lambda: composite.forward(self.chain, q, qd, right, rotor, self.note))
            self.mark("solution")
            return qdd
        if self.formulation == "conjugate-gradient":
            raise InputError(
                "conjugate-gradient iterates until its residual is small, which loop-free "
                "code cannot; choose another method, or leave the formulation out.",
                "generate",
            )
        check_choice(self.formulation, FORWARD, "generate, formulation")
        return self.solved(lambda: self._forward_by_formulation(right, rotor))

    def held_forward(self, tau: Values, ways: Values | None, free: Values) -> Values:
        """Accelerations with friction in given directions,
        one per joint, and joints held where `free` is 0, 1 elsewhere.

        For friction that does not depend on the load; `UnderLoad.found` does the same for friction that does.
        """
        qd = self.rates(self.qd)
        friction = self.model.gathered(driven(self.drives, [0.0] * len(qd), None, qd, ways))
        bias = self.model.gathered(
            recursion.inverse(self.chain, self.rates(self.q), qd, [0.0] * len(qd), self.note)
        )
        right = symbolic([(t - f - b) * a for t, f, b, a in zip(tau, friction, bias, free, strict=True)])
        return self.solved_backwards(held(self.inertia_matrix(), free), right)

    @cached_property
    def under_load(self) -> UnderLoad:
        """Forward dynamics where friction depends on the load."""
        return UnderLoad(self)

    def joint_reactions(self, rates: Vector, accelerations: Vector) -> tuple[Values, list[Reaction]]:
        """Torques, and force and moment at each joint, of the original arm."""
        return reactions_of(self.whole_model, self.model.coordinates(self.q), rates, accelerations)

    def _without_formulation(self, what: str) -> None:
        if self.formulation is not None:
            raise InputError(
                Sentence(
                    f"a formulation is traced as published, without {what}; leave the formulation out, or ",
                    Advice("use arm.rigid()", "add --rigid"),
                    ".",
                ),
                "generate",
            )

    def solved(self, solve: Callable[[], T]) -> T:
        """The result of `solve`, or an error that explains why there is none."""
        try:
            return solve()
        except ZeroDivisionError:
            raise singular(self.arm) from None
        except InputError:  # 0 / 0 of NumPy numbers is NaN, which cannot be a constant of a graph
            if idle_joints(self.arm):
                raise singular(self.arm) from None
            raise

    def solved_backwards(self, M: Array, right: Array) -> Values:
        """M x = right, eliminated from the last joint to the first, as in `composite.forward`, so that common
        subexpressions are shared.
        """
        return self.solved(lambda: list(solve_symmetric(M[::-1, ::-1], right[::-1])[::-1]))

    def _forward_by_formulation(self, driven: Values, rotor: Values) -> Values:
        model, q, qd = self.whole_model, self.model.coordinates(self.q), self.rates(self.qd)
        rest = [0.0] * len(q)
        if self.formulation == "articulated-body":
            if self.model.has_followers:
                raise ModelError(
                    f"articulated-body does not support the mimicking joints of {self.arm.name!r}.",
                    "generate",
                )
            return list(articulated_body(model, q, qd, driven, rotor))
        right = symbolic(driven) - symbolic(self.model.gathered(newton_euler(model, q, qd, rest)))
        return list(solve_symmetric(self.inertia_matrix(), right))

    def inertia_matrix(self) -> Array:
        """M over the joint coordinates, rotor inertias on its diagonal."""
        if self.formulation is None:
            M = composite.inertia_matrix(self.chain, self.rates(self.q), self.note)
        else:
            M = chosen(INERTIA, self.formulation, "generate, formulation")(
                self.whole_model, self.model.coordinates(self.q)
            )
        M = self.model.gathered_matrix(M)
        for j, J in enumerate(self.rotor):
            M[j, j] = M[j, j] + J
        return self._done("inertia matrix", M)

    def forward_with(self, M: Array) -> Values:
        """Accelerations from an existing inertia matrix, where friction does not depend on the load."""
        bias = self.inverse(self.qd, None)
        right = symbolic([t - b for t, b in zip(self.tau, bias, strict=True)])
        return self.solved_backwards(M, right)

    def inverse_inertia_matrix(self, M: Array) -> Array:
        """M^-1, eliminated from the last joint to the first."""
        inverse = self.solved(lambda: inverse_symmetric(M[::-1, ::-1])[::-1, ::-1])
        return self._done("inverse of the inertia matrix", inverse)

    def inverse_derivatives(self, qdd: Vector) -> tuple[Array, Array, Array]:
        """(d tau / d q, d tau / d qd, M), drives included; by differentiating the graph where friction
        depends on the load, and wherever that needs fewer operations.
        """
        if depends_on_load(self.arm):
            return self._differentiated(qdd)
        q, rates, accelerations = (self.rates(x) for x in (self.q, self.qd, qdd))
        made = derivatives(self.chain, q, rates, accelerations, self.choices, self.note)
        by_q, by_qd, M = (self.model.gathered_matrix(matrix) for matrix in made)
        friction = self.model.gathered(driven(self.drives, [0.0] * len(rates), None, rates))
        by_qd = by_qd + jacobian(self.graph, friction, self.qd)
        for j, J in enumerate(self.rotor):
            M[j, j] = M[j, j] + J
        self.mark("derivatives")
        if not self.model.has_followers:
            return by_q, by_qd, M
        other = self._differentiated(qdd)
        return min((by_q, by_qd, M), other, key=lambda some: self.graph.counts(some).operations)

    def _differentiated(self, qdd: Vector) -> tuple[Array, Array, Array]:
        tau = self.inverse(self.qd, self.qdd)
        M = self.jacobian(tau, self.qdd) if depends_on_load(self.arm) else self.inertia_matrix()
        by_q, by_qd = self.jacobian(tau, self.q), self.jacobian(tau, self.qd)
        if qdd is not self.qdd:
            by_q, by_qd, M = (self.substituted(table, self.qdd, list(qdd)) for table in (by_q, by_qd, M))
        return by_q, by_qd, M

    def coriolis_matrix(self) -> Array:
        """C_jk = 1/2 d h_j / d qd_k:
        velocity torques h are quadratic in qd, with Christoffel symbols as coefficients.
        """
        rest = [0.0] * len(self.model.bodies)
        falling = replace(self.chain, g=np.zeros(3))
        torques = self.model.gathered(
            recursion.inverse(falling, self.rates(self.q), self.rates(self.qd), rest, self.note)
        )
        return self._done("Coriolis matrix", 0.5 * jacobian(self.graph, torques, self.qd))

    def hand_pose(self, q: Vector | None = None) -> Array:
        """Pose of the hand in the base frame, at q or at other coordinates."""
        return self._done("hand", hand.hand_pose(self.plain, self.rates(self.q if q is None else q)))

    @cached_property
    def branches(self) -> Array:
        """Every closed-form solution of a pose T, (m, n) with angles within the limits; NaN, as roots of
        negative numbers, where forward kinematics or the limits do not agree.
        """
        self._without_formulation("inverse kinematics")
        if self.parameters:
            raise InputError("inverse_kinematics does not support open parameters.", "generate")
        made = traced_branches(self.arm, self.T, self._pose_at)
        self.mark("branches")
        return made

    def _pose_at(self, q: Values) -> Array:
        return self.substituted(self.hand_pose(), self.q, q)

    @cached_property
    def T(self) -> Values:
        """The desired pose of the hand, by rows."""
        return [self.graph.input(f"T[{k}]") for k in range(16)]

    def numeric_inverse(self, attitude: bool = True) -> tuple[Values, Values]:
        """The result of Newton's steps from q to the pose T, or to its position only, within the limits, and
        the remaining position and angle errors; NaN, as the root of a negative number, where the start has no
        finite errors.
        """
        if self.single:
            raise InputError(
                "its tolerance of 1e-9 needs float64; leave float32 out.", "numeric_inverse_kinematics"
            )
        lower, upper = (bound.tolist() for bound in limits_of(self.arm))
        bounds = Bounds(lower, upper, is_periodic(self.arm).tolist())
        target = [self.T[4 * i :][:4] for i in range(3)]
        task = PoseTask(self.hand_at, target, attitude, CLOSE * CLOSE, bounds=bounds)
        made = run(task, self.q, MOST_STEPS)
        unknown = root(-choose(made.squares[0], HUGE, 0.0, 1.0))
        self.mark("Newton's steps")
        return [x + unknown for x in made.q], [root(square) + unknown for square in made.squares]

    def hand_at(self, q: Vector) -> tuple[Array, Array]:
        """The hand's pose and Jacobian at any coordinates."""
        return self.hand_pose(q), self.hand_jacobian(q)

    def hand_jacobian(self, q: Vector | None = None) -> Array:
        """The Jacobian at the hand's origin, (6, n), at q or at other coordinates."""
        J = hand.jacobian(self.plain, self.rates(self.q if q is None else q))
        made = symbolic([self.model.gathered(list(row)) for row in J]).reshape(6, self.arm.n)
        return self._done("hand", made)

    def kinetic_energy(self) -> Scalar:
        """Kinetic energy, including the rotors' own spin."""
        K = energy.kinetic(self.chain, self.rates(self.q), self.rates(self.qd), self.note)
        for rate, J in zip(self.qd, self.rotor, strict=True):
            K = K + (0.5 * J) * (rate * rate)
        return self._done("energy", K)

    def potential_energy(self) -> Scalar:
        """Potential energy of the moving links."""
        return self._done("energy", energy.potential(self.chain, self.rates(self.q), self.note))

    def regressor(self, base: bool) -> Array:
        """The regressor of all inertial parameters, or of the base parameters."""
        q, qd, qdd = self.model.coordinates(self.q), self.rates(self.qd), self.rates(self.qdd)
        Y = regressor(self.whole_model, q, qd, qdd)
        Y = symbolic(self.model.gathered(list(Y)))
        return self._done("regressor", Y[:, list(self.base.columns)] if base else Y)

    @cached_property
    def base(self) -> BaseParameters:
        """The base parameters; if gravity stays a symbol, those identifiable under any gravity."""
        if any(name in geometry_values(self.arm) for name in self.parameters):
            raise InputError(
                "which parameters are base parameters depends on the geometry, so "
                "base_regressor does not support open joint parameters; generate regressor, "
                "which has all columns.",
                "generate",
            )
        if any(name.startswith("gravity.") for name in self.parameters):
            return base_parameters(self.arm.replace(gravity=(3.0, 5.0, -7.0)))
        return base_parameters(self.arm)

    def reactions(self) -> Array:
        """Force and moment at each joint by Newton-Euler on the original arm,
        since regrouping does not preserve them.
        """
        felt: dict[tuple[str, int], Any] = {}

        def note(symbol: str, link: int, value: Any) -> None:
            felt[symbol, link] = value
            self.note(symbol, link, value)

        q, qd, qdd = self.model.coordinates(self.q), self.rates(self.qd), self.rates(self.qdd)
        newton_euler(self.whole_model, q, qd, qdd, AT_REST, None, note)
        rows = [[*felt["f", i], *self._at_origin(i, felt)] for i in range(len(self.model.bodies))]
        return self._done("reactions", symbolic(rows))

    def _at_origin(self, i: int, felt: dict[tuple[str, int], Any]) -> Array:
        """The moment about the link's origin; newton_euler returns it about the joint's."""
        (sx, sy, sz), (fx, fy, fz) = self.whole_model.bodies[i].s, felt["f", i]
        return felt["n", i] - symbolic([sy * fz - sz * fy, sz * fx - sx * fz, sx * fy - sy * fx])

    def jacobian(self, results: Sequence[Scalar], inputs: list[Expr]) -> Array:
        """Derivatives of results with respect to inputs."""
        return self._done("derivatives", jacobian(self.graph, results, inputs))

    def substituted(self, table: Array, inputs: list[Expr], values: Values) -> Array:
        """A table with values substituted for inputs."""
        return self._done(
            "derivatives", substituted(self.graph, table, dict(zip(inputs, values, strict=True)))
        )

    def along(self, table: Array, inputs: list[Expr], rates: list[Expr]) -> Array:
        """The time derivative of a table for given rates of the inputs."""
        changed = derivative(self.graph, list(table.flat), dict(zip(inputs, rates, strict=True)))
        return self._done("derivatives", symbolic(changed).reshape(table.shape))

    def name_turns(self) -> None:
        """Give cosines and sines their customary names: c2, s23."""
        graph = self.graph
        for place, kind in enumerate(graph.kinds):
            if kind in (COS, SIN) and (of := _indices(graph, graph.left[place])):
                text = ("_" if self.arm.n > 9 else "").join(str(i + 1) for i in of)
                graph.names.setdefault(place, f"{'c' if kind == COS else 's'}{text}")

    def rates(self, freedoms: Vector) -> Values:
        """Joint values from values of the coordinates: rates, or coordinates without offsets."""
        return self.model.rates(freedoms)

    def note(self, symbol: str, link: int, value: Any) -> None:
        """Record a recursion's name for a value, and end the section with it."""
        self.graph.name(f"{symbol}{link + 1}", value)
        if symbol == "turn":
            self.mark("angles, and rates along parallel axes")
        elif symbol.startswith("M"):
            self.mark("inertia matrix")
        else:
            way = "outwards" if symbol in OUTWARDS else "inwards"
            self.mark(f"{self.arm.moving.bodies[link].joint.child}, {way}")

    def _done(self, section: str, results: Any) -> Any:
        self.mark(section)
        return results

    def mark(self, section: str) -> None:
        """Assign everything created since the last mark to this section."""
        sections = self.graph.sections
        sections[self._marked :] = [section] * (len(sections) - self._marked)
        self._marked = len(sections)


def _indices(graph: Graph, place: int) -> list[int]:
    """The joints whose coordinates an angle consists of."""
    if place in graph.leaves:
        return [int(graph.leaves[place].split("[")[1][:-1])] if graph.kinds[place] == INPUT else []
    if graph.kinds[place] not in (MUL, ADD, SUB):  # not a sum of coordinates
        return []
    return sorted({i for p in graph.operands(place) for i in _indices(graph, p)})
