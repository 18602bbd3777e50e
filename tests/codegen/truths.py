"""What the functions of an arm are by the reference, and the ways to ask the generated
ones: graph, Python, C.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from arms import OFFSETS, SEVEN_POINTS, Array
from codegen.running import run, runner
from dynamics.cases import random_state

from forearm import Arm, dynamics, kinematics
from forearm.codegen.functions import FUNCTIONS, named_outputs
from forearm.codegen.generate import program_for
from forearm.codegen.program import Program
from forearm.codegen.tracing import Tracing
from forearm.reduction.base import base_parameters
from forearm.reduction.symbolic import chosen_parameters
from forearm.symbols import evaluate, refined

# Generated code and reference are both within some 1e-14 of the largest value;
# origins of the chain may lie lengths away.
EXACT = 1e-12
# Slopes by seven points: truncation and rounding near 1e-13, which grows with torques and rates of some 100.
DIFFERENCE = 1e-9


class Given(NamedTuple):
    """A state and torques, (n,) each, under the names of the generated functions' inputs."""

    q: Array
    qd: Array
    qdd: Array
    tau: Array

    def entries(self) -> dict[str, float]:
        """By the names of the graph's inputs."""
        return {f"{name}[{i}]": float(x) for name, row in self._asdict().items() for i, x in enumerate(row)}


def given(arm: Arm, seed: int) -> Given:
    return Given(*random_state(arm, seed), 10.0 * np.random.default_rng([seed, 5]).normal(size=arm.n))


def assert_close(found: Any, truth: Any, tolerance: float = EXACT, what: str = "") -> None:
    """max|found - truth| within a part of max|truth|, or of 1 where all of it is small."""
    found, truth = np.asarray(found, dtype=float), np.asarray(truth, dtype=float)
    assert found.shape == truth.shape, what
    scale = max(1.0, float(np.abs(truth).max(initial=0.0)))
    wrong = float(np.abs(found - truth).max(initial=0.0))
    assert wrong <= tolerance * scale, f"{what} differs by {wrong:.3g} where the largest value is {scale:.3g}"


def slopes(function: Callable[[Array], Array], x: Array) -> Array:
    """d function_i / d x_j by seven points; the function takes many rows."""
    columns = [
        np.einsum("t,t...->...", SEVEN_POINTS, function(x + OFFSETS[:, None] * e)) for e in np.eye(len(x))
    ]
    return np.moveaxis(np.array(columns), 0, -1)


def rows(x: Array) -> Array:
    return np.tile(x, (len(OFFSETS), 1))


def reactions(arm: Arm, g: Given) -> Array:
    """Force and moment on each link at its own origin: the trace has the moment about the joint's."""
    table = dynamics.trace(arm, g.q, g.qd, g.qdd)
    made = []
    for body in arm.moving.bodies:
        f, n = table[body.joint.child]["f"], table[body.joint.child]["n"]
        from_joint = body.after[:3, :3].T @ body.after[:3, 3]
        made.append(np.concatenate([f, n - np.cross(from_joint, f)]))
    return np.array(made)


def derivatives(arm: Arm, g: Given) -> list[Any]:
    by_q = slopes(lambda q: dynamics.inverse(arm, q, rows(g.qd), rows(g.qdd)), g.q)
    by_qd = slopes(lambda qd: dynamics.inverse(arm, rows(g.q), qd, rows(g.qdd)), g.qd)
    return [by_q, by_qd, dynamics.inertia_matrix(arm, g.q)]


def forward_derivatives(arm: Arm, g: Given) -> list[Any]:
    by_q = slopes(lambda q: dynamics.forward(arm, q, rows(g.qd), rows(g.tau)), g.q)
    by_qd = slopes(lambda qd: dynamics.forward(arm, rows(g.q), qd, rows(g.tau)), g.qd)
    return [by_q, by_qd, np.linalg.inv(dynamics.inertia_matrix(arm, g.q))]


# All but inverse kinematics, which is asked about poses, and elastic joints, which have tests of their own.
GENERAL = [
    name for name in FUNCTIONS if not name.endswith("inverse_kinematics") and not name.startswith("elastic")
]
# For each function its outputs in order.
TRUTHS: dict[str, Callable[[Arm, Given], list[Any]]] = {
    "inverse_dynamics": lambda arm, g: [dynamics.inverse(arm, g.q, g.qd, g.qdd)],
    "forward_dynamics": lambda arm, g: [dynamics.forward(arm, g.q, g.qd, g.tau)],
    "inertia_matrix": lambda arm, g: [dynamics.inertia_matrix(arm, g.q)],
    "bias": lambda arm, g: [dynamics.bias(arm, g.q, g.qd)],
    "gravity": lambda arm, g: [dynamics.gravity(arm, g.q)],
    "coriolis_matrix": lambda arm, g: [dynamics.coriolis_matrix(arm, g.q, g.qd)],
    "forward_kinematics": lambda arm, g: [kinematics.forward(arm, g.q)],
    "jacobian": lambda arm, g: [kinematics.jacobian(arm, g.q)],
    "jacobian_derivative": lambda arm, g: [kinematics.jacobian_derivative(arm, g.q, g.qd)],
    "kinetic_energy": lambda arm, g: [[dynamics.kinetic_energy(arm, g.q, g.qd)]],
    "potential_energy": lambda arm, g: [[dynamics.potential_energy(arm, g.q)]],
    "regressor": lambda arm, g: [dynamics.regressor(arm, g.q, g.qd, g.qdd)],
    "base_regressor": lambda arm, g: [base_parameters(arm).regressor(g.q, g.qd, g.qdd)],
    "reactions": lambda arm, g: [reactions(arm, g)],
    "inverse_dynamics_derivatives": derivatives,
    "forward_dynamics_derivatives": forward_derivatives,
}


def assert_true(found: Sequence[Any], arm: Arm, function: str, g: Given) -> None:
    """The outputs of a function are what the reference says."""
    truths = TRUTHS[function](arm, g)
    assert len(found) == len(truths)
    growth = 1.0
    if function.startswith("forward_dynamics"):  # wrong by cond(M) times what torques are wrong by
        growth = max(1.0, float(np.linalg.cond(dynamics.inertia_matrix(arm, g.q))) / 100.0)
    for k, (value, truth) in enumerate(zip(found, truths, strict=True)):
        by_differences = function.endswith("dynamics_derivatives") and k < 2
        assert_close(
            value,
            truth,
            growth * (DIFFERENCE if by_differences else EXACT),
            f"{function} of {arm.name}, output {k}",
        )


def by_graph(
    arm: Arm, function: str, g: Given, parameters: Sequence[str] = (), values: dict[str, float] | None = None
) -> list[Any]:
    """The outputs by the refined graph, evaluated."""
    chosen = chosen_parameters(arm, parameters)
    tracing = Tracing(arm, chosen)
    graph, results = refined(tracing.graph, named_outputs(FUNCTIONS[function], tracing))
    made = evaluate(graph, results, g.entries() | (chosen | (values or {})))
    return [np.array(made[name], dtype=float) for name in FUNCTIONS[function].outputs]


def by_python(program: Program, g: Given, p: Any = None) -> list[Array]:
    """The outputs by the generated Python."""
    with TemporaryDirectory() as folder:
        return list(run(program, "python", Path(folder), g._asdict(), p).values())


@cache
def in_c(arm: Arm, function: str) -> Callable[..., dict[str, Array]]:
    with TemporaryDirectory() as folder:  # what is loaded stays when the file goes
        return runner(program_for(arm, function), "c", Path(folder))


def by_c(arm: Arm, function: str, g: Given) -> list[Array]:
    """The outputs by compiled C; what it leaves unset is NaN."""
    return list(in_c(arm, function)(g._asdict()).values())
