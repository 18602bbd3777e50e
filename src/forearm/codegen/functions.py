"""The functions that can be generated: their arguments, and how they are traced on the graph."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np

from forearm.codegen.elastic import FORWARD, INVERSE
from forearm.codegen.program import Argument, Arguments
from forearm.codegen.tracing import Tracing
from forearm.drives.joint import depends_on_load
from forearm.errors import InputError
from forearm.model import Array, symbolic
from forearm.symbols import Graph, refined
from forearm.symbols.linear import solve_general

Results = dict[str, Any]


@dataclass(frozen=True)
class Function:
    """A function of the arm:
    `inputs` by name, `outputs` as name -> (shape in terms of n and N bodies, meaning).
    """

    title: str
    inputs: tuple[str, ...]
    outputs: dict[str, tuple[tuple[str | int, ...], str]]
    trace: Callable[[Tracing], Any]  # the output, or several in order
    has_formulations: bool = False
    drives: tuple[str, ...] = ()  # which parts of the drives it includes: "rotors", "friction"


def _forward_derivatives(t: Tracing) -> tuple[Array, Array, Array]:
    """d qdd = -M^-1 d tau, tau being the inverse dynamics at the resulting acceleration; where friction
    depends on the load, d tau / d qdd takes the place of M.
    """
    n = t.arm.n
    if depends_on_load(t.arm):
        by_q, by_qd, M = t.inverse_derivatives(t.forward())
        columns = np.concatenate([-by_q, -by_qd, np.eye(n, dtype=object)], axis=1).T
        made = t.solved(lambda: symbolic([solve_general(M, c) for c in columns]).T)
        return made[:, :n], made[:, n : 2 * n], made[:, 2 * n :]
    M = t.inverse_derivatives(t.qdd)[2]
    by_q, by_qd, _ = t.inverse_derivatives(t.forward_with(M))
    inverse = t.inverse_inertia_matrix(M)
    return -(inverse @ by_q), -(inverse @ by_qd), inverse


N_M = "N m (N where a joint slides)"
RAD, RATE = "rad (m where a joint slides)", "rad/s (m/s where a joint slides)"
BOTH = ("rotors", "friction")
JOINTS = ("n",)
SQUARE = ("n", "n")
FUNCTIONS: dict[str, Function] = {
    "inverse_dynamics": Function(
        "Inverse dynamics",
        ("q", "qd", "qdd"),
        {"tau": (JOINTS, f"joint torques, {N_M}")},
        lambda t: t.inverse(t.qd, t.qdd),
        True,
        BOTH,
    ),
    "forward_dynamics": Function(
        "Forward dynamics",
        ("q", "qd", "tau"),
        {"qdd": (JOINTS, "joint accelerations, rad/s^2 (m/s^2 where a joint slides)")},
        lambda t: t.forward(),
        True,
        BOTH,
    ),
    "inertia_matrix": Function(
        "Inertia matrix",
        ("q",),
        {"M": (SQUARE, "inertia matrix by rows, symmetric, kg m^2 (kg, kg m where joints slide)")},
        lambda t: t.inertia_matrix(),
        True,
        ("rotors",),
    ),
    "bias": Function(
        "Bias: torques at zero acceleration",
        ("q", "qd"),
        {"bias": (JOINTS, f"torques, {N_M}")},
        lambda t: t.inverse(t.qd, None),
        drives=("friction",),
    ),
    "gravity": Function(
        "Gravity: torques at rest",
        ("q",),
        {"gravity": (JOINTS, f"torques, {N_M}")},
        lambda t: t.inverse(None, None),
    ),
    "coriolis_matrix": Function(
        "Coriolis matrix",
        ("q", "qd"),
        {
            "C": (
                SQUARE,
                (
                    f"by rows: C qd are the velocity torques of the rigid arm, {N_M}; dM/dt "
                    "- 2 C is skew-symmetric"
                ),
            )
        },
        lambda t: t.coriolis_matrix(),
    ),
    "forward_kinematics": Function(
        "Forward kinematics",
        ("q",),
        {"T": ((4, 4), "pose of the hand in the base frame by rows, m")},
        lambda t: t.hand_pose(),
    ),
    "inverse_kinematics": Function(
        "Inverse kinematics",
        ("T",),
        {
            "q_branches": (
                ("m", "n"),
                "one row per branch, NaN where there is none within limits, rad (m where a joint slides)",
            )
        },
        lambda t: t.branches,
    ),
    "numeric_inverse_kinematics": Function(
        "Inverse kinematics by iteration",
        ("q", "T"),
        {
            "q_found": (JOINTS, "within the limits, where steps from q lead, rad (m where a joint slides)"),
            "error": ((2,), "what is left of the distance, m, and the angle, rad: less than 1e-9 if solved"),
        },
        lambda t: t.numeric_inverse(),
    ),
    "jacobian": Function(
        "Jacobian",
        ("q",),
        {"J": ((6, "n"), "by rows: velocity of the hand's origin, then angular velocity, base axes")},
        lambda t: t.hand_jacobian(),
    ),
    "jacobian_derivative": Function(
        "Time derivative of the Jacobian",
        ("q", "qd"),
        {"Jd": ((6, "n"), "dJ/dt by rows, linear rows first, base axes")},
        lambda t: t.along(t.hand_jacobian(), t.q, t.qd),
    ),
    "kinetic_energy": Function(
        "Kinetic energy",
        ("q", "qd"),
        {"kinetic": ((1,), "J")},
        lambda t: [t.kinetic_energy()],
        drives=("rotors",),
    ),
    "potential_energy": Function(
        "Potential energy",
        ("q",),
        {"potential": ((1,), "J, zero where the links' centres are level with the base's origin")},
        lambda t: [t.potential_energy()],
    ),
    "regressor": Function(
        "Regressor",
        ("q", "qd", "qdd"),
        {"Y": (("n", "10N"), "by rows: Y times the inertial parameters are the torques of the rigid arm")},
        lambda t: t.regressor(base=False),
    ),
    "base_regressor": Function(
        "Regressor of the base parameters",
        ("q", "qd", "qdd"),
        {
            "Y_base": (
                ("n", "b"),
                "by rows: Y_base times the base parameters are the torques of the rigid arm",
            )
        },
        lambda t: t.regressor(base=True),
    ),
    "reactions": Function(
        "Forces and moments in the joints",
        ("q", "qd", "qdd"),
        {
            "wrench": (
                ("N", 6),
                "one row per joint: force (N), moment (N m) on the link behind it, at its origin, its axes",
            )
        },
        lambda t: t.reactions(),
    ),
    "inverse_dynamics_derivatives": Function(
        "Derivatives of inverse dynamics",
        ("q", "qd", "qdd"),
        {
            "tau_q": (SQUARE, "d tau_i / d q_j by rows"),
            "tau_qd": (SQUARE, "d tau_i / d qd_j by rows"),
            "M": (
                SQUARE,
                "d tau_i / d qdd_j by rows: the inertia matrix, unless friction depends on the load",
            ),
        },
        lambda t: t.inverse_derivatives(t.qdd),
        drives=BOTH,
    ),
    "forward_dynamics_derivatives": Function(
        "Derivatives of forward dynamics",
        ("q", "qd", "tau"),
        {
            "qdd_q": (SQUARE, "d qdd_i / d q_j by rows"),
            "qdd_qd": (SQUARE, "d qdd_i / d qd_j by rows"),
            "M_inverse": (SQUARE, "d qdd_i / d tau_j by rows: the inverse of the inertia matrix"),
        },
        _forward_derivatives,
        drives=BOTH,
    ),
    FORWARD: Function(
        "Forward dynamics with elastic joints",
        ("q", "qd", "theta", "thetad", "tau"),
        {
            "qdd": (JOINTS, "joint accelerations, rad/s^2 (m/s^2 where a joint slides)"),
            "thetadd": (JOINTS, "motors' accelerations on the joints' side, qdd where a joint is rigid"),
        },
        lambda t: t.elastic.forward(),
        drives=(*BOTH, "springs"),
    ),
    INVERSE: Function(
        "Inverse dynamics with elastic joints",
        ("q", "qd", "qdd", "qddd", "qdddd", "deflection"),
        {
            "tau": (JOINTS, f"motor torques times gear ratio, {N_M}"),
            "theta": (JOINTS, f"motor angle / gear ratio, {RAD}"),
            "thetad": (JOINTS, f"motor speed / gear ratio, {RATE}"),
        },
        lambda t: t.elastic.inverse(),
        drives=(*BOTH, "springs"),
    ),
}
MEANINGS = {
    "q": "joint coordinates, rad (m where a joint slides)",
    "qd": "joint velocities, rad/s (m/s where a joint slides)",
    "qdd": "joint accelerations, rad/s^2 (m/s^2 where a joint slides)",
    "qddd": "rate of the joint accelerations, rad/s^3 (m/s^3 where a joint slides)",
    "qdddd": "rate of that, rad/s^4 (m/s^4 where a joint slides)",
    "theta": f"motor angle / gear ratio, {RAD}; not used where a joint is rigid",
    "thetad": f"motor speed / gear ratio, {RATE}; not used where a joint is rigid",
    "deflection": (
        f"theta - q where a spring has damping, {RAD}: a state, at rest what carries the load (0 is wrong "
        "under gravity), then advanced by thetad - qd; not used elsewhere"
    ),
    "tau": f"joint torques, {N_M}",
    "T": "pose of the hand in the base frame by rows, m",
}


def said_of(meaning: str, slides: bool) -> str:
    """A meaning without what it says of prismatic joints, if the arm has none."""
    return meaning if slides else re.sub(r" \([^()]* where (a joint slides|joints slide)\)", "", meaning)


def arguments(
    functions: Sequence[Function], sizes: dict[str, int], slides: bool
) -> tuple[Arguments, dict[str, Argument]]:
    """Inputs of a set of functions, each once, and outputs by their own names; an output with the name of an
    input gets the suffix "_out".
    """

    names = list(dict.fromkeys(name for f in functions for name in f.inputs))
    order = [name for name in MEANINGS if name in names]
    inputs = tuple(
        Argument(name, (4, 4) if name == "T" else (sizes["n"],), said_of(MEANINGS[name], slides))
        for name in order
    )
    outputs: dict[str, Argument] = {}
    for f in functions:
        for name, (shape, meaning) in f.outputs.items():
            size = tuple(s if isinstance(s, int) else sizes[s] for s in shape)
            outputs.setdefault(
                name, Argument(f"{name}_out" if name in names else name, size, said_of(meaning, slides))
            )
    return inputs, outputs


@dataclass(frozen=True, eq=False)
class Traced:
    """Functions on the graph:
    results as arrays by the names of their outputs, and the input and output arrays.
    """

    graph: Graph
    results: dict[str, Array]
    inputs: Arguments
    outputs: Arguments

    @staticmethod
    def of(
        graph: Graph,
        given: Mapping[str, int],
        results: Mapping[str, Any],
        meanings: Mapping[str, str] = MappingProxyType({}),
    ) -> Traced:
        """Results by name, numbers or arrays of them, from inputs of these sizes."""
        tables = {name: symbolic(x) for name, x in results.items()}
        shapes = ({name: (size,) for name, size in given.items()}, {n: x.shape for n, x in tables.items()})
        both = (
            tuple(Argument(name, shape, meanings.get(name, "")) for name, shape in some.items())
            for some in shapes
        )
        return Traced(graph, tables, *both)

    @property
    def arrays(self) -> Arguments:
        """All arrays, inputs first."""
        return (*self.inputs, *self.outputs)


def traced_formula(formula: Callable[..., Results], inputs: dict[str, int]) -> Traced:
    """A formula over any scalar on a new graph. Called with a list of scalars for each input, of the given
    sizes, it returns arrays of scalars by the names of the outputs. Nothing is rearranged.
    """
    graph = Graph()
    given = [[graph.input(f"{name}[{i}]") for i in range(size)] for name, size in inputs.items()]
    return Traced.of(graph, inputs, formula(*given))


def column_groups(traced: Traced) -> list[list[Any]]:
    """Results in groups with much in common, for `symbols.ordering.grouped_order`: the columns of all
    matrices together, the last first, then vectors.
    """
    groups: dict[int, list[Any]] = {}
    for a in traced.outputs:
        width = a.shape[-1] if len(a.shape) > 1 else 0
        for k, e in enumerate(traced.results[a.name].flat):
            groups.setdefault(k % width if width else -1, []).append(e)
    return [groups[column] for column in sorted(groups, reverse=True)]


def _check_outputs(functions: Sequence[Function]) -> None:
    """Outputs of elastic arms' functions have the same names as those of rigid ones:
    in one function they would be lost.
    """
    for one, other in combinations(functions, 2):
        shared = one.outputs.keys() & other.outputs.keys() - {"M"}
        if shared:
            raise InputError(
                f"{one.title.lower()} and {other.title.lower()} both return {', '.join(sorted(shared))}; "
                "generate them separately."
            )


def named_outputs(function: Function, tracing: Tracing) -> Results:
    """The outputs of a function by name, as it is traced."""
    made = function.trace(tracing)
    return dict(zip(function.outputs, made if len(function.outputs) > 1 else [made], strict=True))


def trace(tracing: Tracing, functions: Sequence[Function]) -> Traced:
    """A set of functions traced as one, and refined."""
    both = all(FUNCTIONS[name] in functions for name in ("inertia_matrix", "inverse_dynamics_derivatives"))
    if both and depends_on_load(tracing.arm):
        raise InputError(
            "the inertia matrix and d tau / d qdd differ if friction depends on the load; generate "
            "inertia_matrix and inverse_dynamics_derivatives separately."
        )
    _check_outputs(functions)
    results = {key: value for f in functions for key, value in named_outputs(f, tracing).items()}
    tracing.name_turns()
    bodies = tracing.model.bodies
    sizes = {"n": tracing.arm.n, "N": len(bodies), "10N": 10 * len(bodies)}
    if "Y_base" in results:
        sizes["b"] = len(tracing.base)
    if "q_branches" in results:
        sizes["m"] = len(tracing.branches)
    inputs, outputs = arguments(functions, sizes, slides=any(not b.revolute for b in bodies))
    shapes = {key: (outputs[key].name, outputs[key].shape) for key in results}
    tables = {name: symbolic(results[key]).reshape(shape) for key, (name, shape) in shapes.items()}
    graph, tables = refined(tracing.graph, tables)
    return Traced(graph, tables, inputs, tuple(outputs.values()))
