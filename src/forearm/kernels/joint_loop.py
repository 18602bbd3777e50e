"""Functions of long arms as loops over joints:
the step of one joint is traced once for revolute and once for prismatic joints.

A step reads and writes values by name: `in.qd` an input at its joint, `in.c` and `in.s` cosine and sine of
its angle, `own.w` a value stored for its segment, `up.w` the same of its parent; a result `own.w` is stored,
`up.f` added to the parent's, `out` is an output. Joint constants that are the same for all joints are numbers
in the step, others come from a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.drives.friction import dry
from forearm.drives.joint import drives_of, is_simple, rotor_inertia
from forearm.dynamics.forward import singular
from forearm.kernels.compiled import Names
from forearm.model import Array, Scalar, model_of
from forearm.reduction import articulated
from forearm.reduction.chain import NO_TURN, SYMMETRIC, Chain, Segment, SegmentRotation
from forearm.reduction.composite import accelerated, passed, shifted
from forearm.reduction.frames import chain_of
from forearm.reduction.plan import planned
from forearm.reduction.recursion import REST, Through, along, carried, needed, spin_of, turned
from forearm.symbols import Counts, Expr, Graph
from forearm.symbols.evaluate import evaluate

Values = dict[str, Any]  # scalars by name
SHARED = ("viscous", "forwards", "backwards", "rotor")


@dataclass(frozen=True, eq=False)
class Step:
    """The step of one joint:
    results by name on a graph, and the graph's places that are columns of the table.
    """

    graph: Graph
    results: Values
    columns: dict[int, int]


@dataclass(frozen=True, eq=False)
class Pass:
    """A loop over the joints, outwards from the base or inwards from the tips; its steps by kind of joint
    (revolute or prismatic).
    """

    outwards: bool
    steps: dict[bool, Step]


@dataclass(frozen=True, eq=False)
class Walk:
    """For each joint, start from its stored values and walk along its parents to the base,
    one matrix entry per joint.

    `steps` cross a joint, `feels` give the entry at the joint reached.
    """

    starts: dict[bool, Step]
    steps: dict[bool, Step]
    feels: dict[bool, Step]


@dataclass(eq=False)
class Looped:
    """A function of an arm as loops. `base` are the values of the base row;
    `table` (n, k) the joints' constants.
    """

    inputs: Names
    output: str
    passes: list[Pass]
    walk: Walk | None
    base: dict[str, float]
    parents: list[int]
    turning: list[bool]
    offsets: list[float]
    columns: list[NDArray[np.float64]] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)

    @property
    def n(self) -> int:
        """The number of joints."""
        return len(self.parents)

    @property
    def given(self) -> int:
        """The number of entries of the result."""
        return self.n if self.walk is None else self.n**2


class Tracer:
    """Traces steps over one joint's symbols and collects the table of constants."""

    def __init__(self, arm: Arm) -> None:
        self.chain = long_chain(arm)
        self.columns: list[NDArray[np.float64]] = []
        rotor = rotor_inertia(arm)
        self.numbers = [
            _numbers(s) | dict(zip(SHARED, (d.at_joint.viscous, *d.at_joint.coulomb, float(J)), strict=True))
            for s, d, J in zip(self.chain.segments, drives_of(arm), rotor, strict=True)
        ]

    def steps(self, what: Callable[[Segment, Values, Callable[[str], Scalar]], Values]) -> dict[bool, Step]:
        """The steps of a pass, for each kind of joint in the arm."""
        kinds = sorted({s.revolute for s in self.chain.segments})
        return {kind: self._step(kind, what) for kind in kinds}

    def _step(self, kind: bool, what: Callable[[Segment, Values, Callable[[str], Scalar]], Values]) -> Step:
        graph = Graph()
        those = [k for k, s in enumerate(self.chain.segments) if s.revolute is kind]
        values: Values = {}
        for name in self.numbers[those[0]]:
            found = {self.numbers[k][name] for k in those}
            values[name] = found.pop() if len(found) == 1 else graph.parameter(name)
        leaves: dict[str, Expr] = {}

        def leaf(name: str) -> Scalar:
            if name not in leaves:
                leaves[name] = graph.input(name)
            return leaves[name]

        results = what(_segment(kind, values), values, leaf)
        return Step(graph, results, self._tabled(graph, results, those))

    def _tabled(self, graph: Graph, results: Values, those: list[int]) -> dict[int, int]:
        """The joint constants that a step needs, evaluated for each joint and stored in the table."""
        wanted = graph.known_before(results)
        if not wanted:
            return {}
        names = [name for name in graph.leaves.values() if name in self.numbers[0]]
        given = {name: np.array([self.numbers[k][name] for k in those]) for name in names}
        found = evaluate(graph, wanted, given)
        places = {}
        for expression, value in zip(wanted, found, strict=True):
            column = np.zeros(len(self.numbers))
            column[those] = value
            places[expression.node] = self._column(column)
        return places

    def _column(self, column: NDArray[np.float64]) -> int:
        for k, other in enumerate(self.columns):
            if np.array_equal(other, column):
                return k
        self.columns.append(column)
        return len(self.columns) - 1


def long_chain(arm: Arm) -> Chain:
    """The regrouped chain in a uniform structure, in which joints differ by numbers only."""
    chain = planned(chain_of(model_of(arm)))
    return replace(chain, segments=tuple(replace(s, still=False) for s in chain.segments), summed=False)


def _numbers(s: Segment) -> dict[str, float]:
    """A segment's constants by name."""
    made = {
        "offset": s.offset,
        "m": s.m,
        "phi0": s.phi[0],
        "phi1": s.phi[1],
        "alpha0": s.alpha[0],
        "alpha1": s.alpha[1],
    }
    for name in ("l", "axis", "h"):
        made |= {f"{name}{k}": value for k, value in enumerate(getattr(s, name))}
    made |= {f"J{i}{j}": s.J[i, j] for i, j in SYMMETRIC}
    return {name: float(value) for name, value in made.items()}


def _segment(revolute: bool, values: Values) -> Segment:
    """The segment of a step."""
    l, axis, h = (  # noqa: E741
        np.array([values[f"{name}{k}"] for k in range(3)], dtype=object) for name in ("l", "axis", "h")
    )
    J = np.array([[values[f"J{min(i, j)}{max(i, j)}"] for j in range(3)] for i in range(3)], dtype=object)
    phi, alpha = (values["phi0"], values["phi1"]), (values["alpha0"], values["alpha1"])
    return Segment(-1, revolute, phi, alpha, l, axis, values["offset"], values["m"], h, J)


def _vector(leaf: Callable[[str], Scalar], name: str, count: int = 3) -> Array:
    return np.array([leaf(f"{name}{k}") for k in range(count)], dtype=object)


def _spread(**vectors: Iterable[Scalar]) -> Values:
    """Entries of vectors by name: own_w -> own.w0, own.w1, ..."""
    return {
        f"{name.replace('_', '.', 1)}{k}": x for name, vector in vectors.items() for k, x in enumerate(vector)
    }


def _placed(s: Segment, leaf: Callable[[str], Scalar]) -> tuple[SegmentRotation, Array]:
    """The joint's rotation, and the vector from the parent's origin to its own."""
    if s.revolute:
        return SegmentRotation(s, (leaf("in.c"), leaf("in.s"))), s.l
    return SegmentRotation(s, NO_TURN), s.l + s.axis * (leaf("in.q") + s.offset)


def _inverse(arm: Arm, inputs: Names) -> Looped:
    """Inverse dynamics, optionally without acceleration or at rest."""
    moving, driven = "qd" in inputs, "qdd" in inputs
    tracer = Tracer(arm)

    def outwards(s: Segment, _: Values, leaf: Callable[[str], Scalar]) -> Values:
        turn, l = _placed(s, leaf)  # noqa: E741
        rate, acceleration = leaf("in.qd") if moving else 0.0, leaf("in.qdd") if driven else 0.0
        before = spin_of(_vector(leaf, "up.w"), _vector(leaf, "up.e")) if moving else REST
        spin = (
            turned(s, Through(-1, turn, 0.0, 0.0, rate, acceleration), before)
            if s.revolute and moving
            else before
        )
        a = carried(s, turn, l, before, _vector(leaf, "up.a"), rate, acceleration)
        force, about = needed(s, spin, a)
        kept = _spread(own_w=spin.w, own_e=spin.wd) if moving else {}
        return kept | _spread(own_a=a, own_f=force, own_n=about)

    def inwards(s: Segment, values: Values, leaf: Callable[[str], Scalar]) -> Values:
        turn, l = _placed(s, leaf)  # noqa: E741
        f, n = _vector(leaf, "own.f"), _vector(leaf, "own.n")
        tau = along(s, f, n)
        if moving:
            tau = tau + _friction(values, leaf("in.qd"))
        if driven:
            tau = tau + leaf("in.qdd") * values["rotor"]
        f, n = passed(turn, l, f, n)
        return {"out": tau} | _spread(up_f=f, up_n=n)

    base = _row(w=np.zeros(3), e=np.zeros(3), a=-tracer.chain.g)
    return _made(
        tracer,
        inputs,
        "tau",
        [Pass(True, tracer.steps(outwards)), Pass(False, tracer.steps(inwards))],
        None,
        base,
    )


def _forward(arm: Arm) -> Looped:
    """Forward dynamics by articulated bodies."""
    tracer = Tracer(arm)
    _refuse_singular(arm, tracer.chain)
    body_names = [*(f"I{k}" for k in range(6)), *(f"H{k}" for k in range(9)), *(f"M{k}" for k in range(6))]
    body_names += [f"{name}{k}" for name in "pf" for k in range(3)]

    def entries(body: articulated.ArticulatedBody) -> list[Scalar]:
        return [*body.I, *body.H.flat, *body.M, *body.p, *body.f]

    def outwards(s: Segment, _: Values, leaf: Callable[[str], Scalar]) -> Values:
        turn, l = _placed(s, leaf)  # noqa: E741
        w, b, a = articulated.onward(s, turn, l, _vector(leaf, "up.w"), leaf("in.qd"))
        made = zip(body_names, entries(articulated.own(s, w)), strict=True)
        return _spread(own_w=w, own_b=b, own_d=a) | {f"own.{name}": value for name, value in made}

    def inwards(s: Segment, values: Values, leaf: Callable[[str], Scalar]) -> Values:
        turn, l = _placed(s, leaf)  # noqa: E741
        kept = np.array([leaf(f"own.{name}") for name in body_names], dtype=object)
        body = articulated.ArticulatedBody(
            list(kept[:6]), kept[6:15].reshape(3, 3), list(kept[15:21]), kept[21:24], kept[24:]
        )
        rubbed = _friction(values, leaf("in.qd"))
        joint = articulated.seen(s, body, leaf("in.tau") - rubbed, values["rotor"])
        given = articulated.handed(turn, l, body, joint, _vector(leaf, "own.b"), _vector(leaf, "own.d"))
        felt = {f"up.{name}": value for name, value in zip(body_names, entries(given), strict=True)}
        return _spread(own_U=joint.U, own_V=joint.V) | {"own.r": joint.r, "own.u": joint.u} | felt

    def answers(s: Segment, _: Values, leaf: Callable[[str], Scalar]) -> Values:
        turn, l = _placed(s, leaf)  # noqa: E741
        joint = articulated.ArticulatedJoint(
            _vector(leaf, "own.U"), _vector(leaf, "own.V"), leaf("own.r"), leaf("own.u")
        )
        drift = _vector(leaf, "own.b"), _vector(leaf, "own.d")
        qdd, b, a = articulated.answered(
            s, turn, l, joint, *drift, _vector(leaf, "up.e"), _vector(leaf, "up.a")
        )
        return {"out": qdd} | _spread(own_e=b, own_a=a)

    passes = [
        Pass(True, tracer.steps(outwards)),
        Pass(False, tracer.steps(inwards)),
        Pass(True, tracer.steps(answers)),
    ]
    base = _row(w=np.zeros(3), e=np.zeros(3), a=-tracer.chain.g)
    return _made(tracer, ("q", "qd", "tau"), "qdd", passes, None, base)


def _refuse_singular(arm: Arm, chain: Chain) -> None:
    """Raise if the inertia matrix is singular at a generic configuration."""
    q, qd, tau = np.random.default_rng(1).uniform(0.1, 1.0, (3, arm.n))
    with np.errstate(all="ignore"):
        try:
            qdd = articulated.forward(chain, q, qd, tau, rotor_inertia(arm))
            known = bool(np.isfinite(np.array(qdd, dtype=float)).all())
        except ZeroDivisionError:
            known = False
    if not known:
        raise singular(arm)


def _inertia_matrix(arm: Arm) -> Looped:
    """The inertia matrix by composite bodies."""
    tracer = Tracer(arm)

    def outwards(s: Segment, _: Values, __: Callable[[str], Scalar]) -> Values:
        return {"own.m": s.m} | _spread(own_h=s.h, own_J=[s.J[i, j] for i, j in SYMMETRIC])

    def inwards(s: Segment, _: Values, leaf: Callable[[str], Scalar]) -> Values:
        turn, l = _placed(s, leaf)  # noqa: E741
        m = leaf("own.m")
        point, h, known, J, across = shifted(
            turn, l, m, _vector(leaf, "own.h"), list(_vector(leaf, "own.J", 6))
        )
        moments = [(k + t) + x for k, t, x in zip(known, J, across, strict=True)]
        return {"up.m": m} | _spread(up_h=point + h, up_J=moments)

    def starts(s: Segment, values: Values, leaf: Callable[[str], Scalar]) -> Values:
        f, n = accelerated(s, leaf("own.m"), _vector(leaf, "own.h"), list(_vector(leaf, "own.J", 6)))
        return {"out": along(s, f, n) + values["rotor"]} | _spread(walk_f=f, walk_n=n)

    def walks(s: Segment, _: Values, leaf: Callable[[str], Scalar]) -> Values:
        turn, l = _placed(s, leaf)  # noqa: E741
        f, n = passed(turn, l, _vector(leaf, "walk.f"), _vector(leaf, "walk.n"))
        return _spread(walk_f=f, walk_n=n)

    def feels(s: Segment, _: Values, leaf: Callable[[str], Scalar]) -> Values:
        return {"out": along(s, _vector(leaf, "walk.f"), _vector(leaf, "walk.n"))}

    passes = [Pass(True, tracer.steps(outwards)), Pass(False, tracer.steps(inwards))]
    walk = Walk(tracer.steps(starts), tracer.steps(walks), tracer.steps(feels))
    return _made(tracer, ("q",), "M", passes, walk, {})


def _friction(values: Values, rate: Scalar) -> Scalar:
    return rate * values["viscous"] + dry(values["forwards"], values["backwards"], rate.sign())


def _row(**vectors: Array) -> dict[str, float]:
    return {f"{name}{k}": float(x) for name, vector in vectors.items() for k, x in enumerate(vector)}


def _made(
    tracer: Tracer, inputs: Names, output: str, passes: list[Pass], walk: Walk | None, base: dict[str, float]
) -> Looped:
    segments = tracer.chain.segments
    made = Looped(
        inputs,
        output,
        passes,
        walk,
        base,
        [s.parent for s in segments],
        [s.revolute for s in segments],
        [s.offset if s.revolute else 0.0 for s in segments],
        tracer.columns,
    )
    return replace(made, counts=_counted(made))


def _counted(looped: Looped) -> Counts:
    """Operations of one evaluation: those of every joint's steps, and additions to parents."""
    done: list[Step] = []
    for i, turning in enumerate(looped.turning):
        done += [p.steps[turning] for p in looped.passes]
        if looped.walk is not None:
            done.append(looped.walk.starts[turning])
            at = i
            while (parent := looped.parents[at]) >= 0:
                done += [looped.walk.steps[looped.turning[at]], looped.walk.feels[looped.turning[parent]]]
                at = parent
    totals = dict.fromkeys(("mul", "add", "div", "sqrt", "trig", "lookup"), 0)
    costs: dict[int, Counts] = {}
    for step in done:
        if id(step) not in costs:
            costs[id(step)] = step.graph.counts(step.results)
        for name in totals:
            totals[name] += getattr(costs[id(step)], name)
        totals["add"] += sum(
            name.startswith("up.") and isinstance(value, Expr) for name, value in step.results.items()
        )
    return Counts(**totals | {"trig": 2 * sum(looped.turning)})


LOOPS: dict[str, Callable[[Arm], Looped]] = {
    "inverse_dynamics": lambda arm: _inverse(arm, ("q", "qd", "qdd")),
    "bias": lambda arm: replace(_inverse(arm, ("q", "qd")), output="bias"),
    "gravity": lambda arm: replace(_inverse(arm, ("q",)), output="gravity"),
    "forward_dynamics": _forward,
    "inertia_matrix": _inertia_matrix,
}


def can_loop(arm: Arm) -> bool:
    """Whether the joints of an arm can be processed in a loop:
    each an independent coordinate, with simple friction.
    """
    return not model_of(arm).has_followers and is_simple(arm)
