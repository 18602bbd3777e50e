"""Closed-form inverse kinematics in machine code: every branch of a pose, and a look at each branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forearm.arm.arm import Arm
from forearm.kernels.traced_function import TracedFunction, compile_function
from forearm.kinematics.closed_form.branches import solve
from forearm.kinematics.closed_form.geometry import Geometry
from forearm.kinematics.closed_form.solver import DOUBTFUL, IN_LINE, REACHED, kind_of, wrist_sine
from forearm.kinematics.limits import AT_LIMIT, excess, turned
from forearm.kinematics.newton import pose_error
from forearm.symbols.linear import inverse_symmetric
from forearm.symbols.scalars import Scalar, choose, maximum, minimum

if TYPE_CHECKING:
    from forearm.codegen.functions import Traced


def branches_function(arm: Arm, geometry: Geometry) -> TracedFunction:
    """The `branches` (m, n) of a pose T, its first three rows, existing or not."""

    def traced() -> Traced:
        from forearm.codegen.functions import traced_formula

        return traced_formula(lambda T: {"branches": solve(geometry, [T[:4], T[4:8], T[8:]])}, {"T": 12})

    return compile_function(traced, "branches", key=("branches", arm), arm=arm, in_one=True)


def look_function(arm: Arm, geometry: Geometry, length: float) -> TracedFunction:
    """From a configuration q, a pose T and bounds, those of `limits.bounds_of`: q `placed` within them, and
    three `figures`: the squared error of the hand, the regularity, and the kind of the branch.

    The regularity 1 / trace((J J^T)^-1) is at most the square of the Jacobian's least singular value, and at
    least a sixth of it; lengths in J are in units of `length`.
    """

    def traced() -> Traced:
        from forearm.codegen.functions import Traced
        from forearm.codegen.program import Argument
        from forearm.codegen.traced_drives import inputs
        from forearm.codegen.tracing import Tracing

        tracing, n = Tracing(arm, {}), arm.n
        T, bounds = inputs(tracing.graph, "T", 12), inputs(tracing.graph, "bounds", 3 * n)
        pose, J = tracing.hand_at(tracing.q)
        _, squares = pose_error([T[:4], T[4:8], T[8:]], pose, n != 3)
        J = np.concatenate([J[:3] * (1.0 / length), J[3:]])[:n]
        regularity = 1.0 / np.trace(inverse_symmetric(J @ J.T))
        placed, beyond = [], []
        for k, (joint, q) in enumerate(zip(arm.joints, tracing.q, strict=True)):
            lower, upper, centre = bounds[k::n]
            x = turned(q, lower, upper, centre) if joint.kind == "revolute" else q
            beyond.append(excess(x, lower, upper))
            placed.append(choose(AT_LIMIT, beyond[-1], x, minimum(maximum(x, lower), upper)))
        kind = kind_of(geometry.miss, _largest(squares), regularity, _largest(beyond))
        in_line = wrist_sine(geometry, np.array(tracing.q, dtype=object))
        kind = choose(in_line, IN_LINE * max(geometry.miss, REACHED), DOUBTFUL, kind)
        results = {"placed": placed, "figures": [_largest(squares), regularity, kind]}
        return Traced(
            tracing.graph,
            {name: np.array(values, dtype=object) for name, values in results.items()},
            tuple(Argument(name, (size,), "") for name, size in (("q", n), ("T", 12), ("bounds", 3 * n))),
            tuple(Argument(name, (len(values),), "") for name, values in results.items()),
        )

    return compile_function(traced, "look", key=("look", arm), arm=arm, in_one=True)


def _largest(values: list[Scalar]) -> Scalar:
    largest = values[0]
    for value in values[1:]:
        largest = maximum(largest, value)
    return largest
