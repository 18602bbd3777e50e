"""Newton's inverse kinematics on the graph:
`kinematics.newton` with the arm's own pose and Jacobian as code.
"""

from __future__ import annotations

from dataclasses import dataclass

from forearm.arm.arm import Arm
from forearm.codegen.functions import Traced
from forearm.codegen.traced_drives import inputs
from forearm.codegen.tracing import Tracing
from forearm.dynamics.fixed_step import Values
from forearm.kinematics.limits import is_periodic
from forearm.kinematics.newton import Bounds, NewtonState, PoseTask, full_step, goes_on, run_nearby, step
from forearm.model import Scalar
from forearm.symbols import Graph

ERRORS = ("position", "rotation")


@dataclass(frozen=True, eq=False)
class TracedNewtonStep:
    """A step within bounds as a function of its inputs, by name: the state before and after, and the
    condition for another step.
    """

    graph: Graph
    before: NewtonState
    after: NewtonState
    condition: tuple[Scalar, Scalar]


def traced_step(arm: Arm, position_only: bool) -> TracedNewtonStep:
    """One step of the hand towards a pose T within bounds."""
    tracing, n = Tracing(arm, {}), arm.n
    graph = tracing.graph
    task = PoseTask(
        tracing.hand_at,
        _rows(inputs(graph, "T", 12), 4),
        not position_only,
        graph.input("square"),
        graph.input("patience"),
        Bounds(inputs(graph, "lower", n), inputs(graph, "upper", n), is_periodic(arm).tolist()),
        graph.input("most"),
    )
    squares = [graph.input(name) for name in ERRORS[: 2 - position_only]]
    others = [graph.input(name) for name in ("share", "damping", "slow", "steps")]
    before = NewtonState(list(tracing.q), inputs(graph, "dq", n), squares, *others)
    after = step(task, before)
    return TracedNewtonStep(graph, before, after, goes_on(task, after))


def traced_run(arm: Arm, attitude: bool, ways: int | None) -> Traced:
    """`newton.run_nearby` from q to a pose T with `patience`: the configuration `found`, and `squares`.

    Joints move along the given `directions` (n, ways), or freely.
    """
    tracing, n = Tracing(arm, {}), arm.n
    sizes = {"T": 12, "patience": 1} | ({} if ways is None else {"directions": n * ways})
    given = {name: inputs(tracing.graph, name, size) for name, size in sizes.items()}
    directions = None if ways is None else _rows(given["directions"], ways)
    target, patience = _rows(given["T"], 4), given["patience"][0]
    q, squares = run_nearby(tracing.hand_at, target, tracing.q, attitude, patience, directions)
    return Traced.of(tracing.graph, {"q": n} | sizes, {"found": q, "squares": squares})


def traced_full_step(arm: Arm, attitude: bool) -> Traced:
    """The configuration `after` a whole step from q to a pose T."""
    tracing, n = Tracing(arm, {}), arm.n
    target = _rows(inputs(tracing.graph, "T", 12), 4)
    after = full_step(tracing.hand_at, target, tracing.q, attitude)
    return Traced.of(tracing.graph, {"q": n, "T": 12}, {"after": after})


def _rows(values: Values, width: int) -> list[Values]:
    return [values[start : start + width] for start in range(0, len(values), width)]
