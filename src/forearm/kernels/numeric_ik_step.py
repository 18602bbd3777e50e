"""One step of numeric inverse kinematics on the graph: how far the hand is from a pose,
and where the joints go next.

Damped least squares: dq = J^T (J J^T + damping)^-1 e, or (J^T J + damping)^-1 J^T e where that is the
smaller matrix. Joints that stand at a limit and would be pushed beyond it have `free` 0, and their
columns of J are left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.codegen.tracing import Tracing
from forearm.dynamics.forward import solve_symmetric
from forearm.model import Array, Scalar
from forearm.symbols import Expr, Graph
from forearm.symbols.scalars import hinge, root

TERMS = 10  # of the arctangent's series, whose argument is at most tan(pi / 8): 1e-9 of the angle is left
LEAST = 1e-10  # what 1 + trace of a turn by pi, where no axis can be read off, is taken for


@dataclass(frozen=True, eq=False)
class NumericIKStep:
    """Inputs and results of a step: e.e of position (m^2) and rotation (rad^2), slope = J^T e, and dq.

    `target` are the first three rows of the pose, entry by entry;
    `rotation` is None where it does not matter.
    """

    graph: Graph
    q: tuple[Expr, ...]
    target: tuple[Expr, ...]
    free: tuple[Expr, ...]
    damping: Expr
    position: Scalar
    rotation: Scalar | None
    slope: list[Scalar]
    dq: list[Scalar]


def traced_step(arm: Arm, position_only: bool) -> NumericIKStep:
    """A step of the arm's hand."""
    tracing = Tracing(arm, {})
    graph = tracing.graph
    target = tuple(graph.input(f"T[{k}]") for k in range(12))
    free = tuple(graph.input(f"free[{j}]") for j in range(arm.n))
    damping = graph.input("damping")
    pose, J = tracing.hand_pose(), tracing.hand_jacobian()
    wanted = np.array(target, dtype=object).reshape(3, 4)
    e = wanted[:, 3] - pose[:3, 3]
    position, rotation = e @ e, None
    if position_only:
        J = J[:3]
    else:
        turn, rotation = rotation_error(wanted[:, :3] @ pose[:3, :3].T)
        e = np.concatenate([e, turn])
    slope = [_sum(J[i, j] * e[i] for i in range(len(e))) for j in range(arm.n)]
    dq = _least_squares(J, e, slope, free, damping)
    return NumericIKStep(graph, tuple(tracing.q), target, free, damping, position, rotation, slope, dq)


def rotation_error(R: Array) -> tuple[Array, Scalar]:
    """The rotation vector angle x axis of a rotation matrix, (3,), and angle^2; without an arctangent.

    With v = vee(R - R^T) / 2 = sin(a) axis and c = cos(a/2), which 1 + trace gives, t = tan(a/8) has t^2 =
    (1 - c4) / (1 + c4), c4 = cos(a/4), and a / sin(a/2) = 2 (1 + t^2)^2 / (1 - t^2) (1 - t^2/3 + t^4/5 -
    ...). Next to pi, where v vanishes and the vector with it, the square is made up to pi^2, so that half a
    turn is never taken for none.
    """
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    v = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]], dtype=object)
    c = 0.5 * root(LEAST + hinge((1.0 - LEAST) + trace))
    c4 = root(0.5 + 0.5 * c)
    t2 = (1.0 - c4) / (1.0 + c4)
    series: Scalar = 0.0
    for k in reversed(range(TERMS)):
        series = series * t2 + (-1.0) ** k / (2 * k + 1)
    wide = 1.0 + t2
    vector = v * (wide * wide * series / ((1.0 - t2) * c))
    square = vector @ vector
    return vector, square + (math.pi**2 / LEAST) * hinge((LEAST - 1.0) - trace)


def _least_squares(
    J: Array, e: Array, slope: list[Scalar], free: tuple[Expr, ...], damping: Expr
) -> list[Scalar]:
    rows, n = J.shape
    if n < rows:
        A = np.empty((n, n), dtype=object)
        for i in range(n):
            for j in range(n):
                A[i, j] = _sum(J[k, i] * J[k, j] for k in range(rows)) * (
                    free[i] * free[j] if i != j else free[i]
                )
                A[i, j] = A[i, j] + damping if i == j else A[i, j]
        return list(
            solve_symmetric(A, np.array([f * s for f, s in zip(free, slope, strict=True)], dtype=object))
        )
    freed = J * np.array(free, dtype=object)
    A = np.empty((rows, rows), dtype=object)
    for i in range(rows):
        for j in range(i + 1):
            A[i, j] = A[j, i] = _sum(freed[i, k] * J[j, k] for k in range(n))
        A[i, i] = A[i, i] + damping
    y = solve_symmetric(A, e)
    return [_sum(freed[i, j] * y[i] for i in range(rows)) for j in range(n)]


def _sum(terms: Any) -> Scalar:
    total: Scalar = 0.0
    for term in terms:
        total = total + term
    return total
