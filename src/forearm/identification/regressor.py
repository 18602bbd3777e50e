"""The regressor of the base parameters, and the reactions that load bearings, compiled once per arm."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from forearm.arm.arm import Arm
from forearm.codegen.functions import FUNCTIONS, Traced, trace
from forearm.codegen.program import Argument
from forearm.codegen.tracing import Tracing
from forearm.kernels.traced_function import TracedFunction, compile_function
from forearm.symbols import gradient, refined
from forearm.symbols.scalars import Scalar


def base_regressor(arm: Arm) -> TracedFunction:
    """From q, qd, qdd (B, n) to Y (B, n, b): Y @ base_parameters(arm).values are torques of the rigid arm."""
    return _compiled("base regressor", _traced_regressor, arm)


def base_regressor_slopes(arm: Arm) -> TracedFunction:
    """Map q, qd, qdd (B, n) and V (B, n b) to d sum(V * Y) / d (q, qd, qdd), (B, 3 n), with V constant."""
    return _compiled("regressor slopes", _traced_slopes, arm)


def joint_reactions(arm: Arm) -> TracedFunction:
    """Map q, qd, qdd (B, n) to force and moment (B, N, 6) in each joint, at its origin, in axes with z along
    it.
    """
    return _compiled("joint reactions", _traced_reactions, arm)


@lru_cache(maxsize=24)
def _compiled(name: str, traced: Callable[[Arm], Traced], arm: Arm) -> TracedFunction:
    rigid = arm.rigid()
    return compile_function(lambda: traced(rigid), name.replace(" ", "_"), key=(name, rigid), arm=rigid)


def _traced_regressor(arm: Arm) -> Traced:
    return trace(Tracing(arm, {}), [FUNCTIONS["base_regressor"]])


def _traced_slopes(arm: Arm) -> Traced:
    """By reverse mode: one sweep for all entries."""
    tracing = Tracing(arm, {})
    Y = tracing.regressor(base=True)
    weighted: Scalar = 0.0
    for k, entry in enumerate(Y.flat):
        weighted = weighted + tracing.graph.input(f"V[{k}]") * entry
    states = [*tracing.q, *tracing.qd, *tracing.qdd]
    slopes = np.array(gradient(tracing.graph, weighted, states), dtype=object)
    sizes = {"q": arm.n, "qd": arm.n, "qdd": arm.n, "V": Y.size}
    inputs = tuple(Argument(name, (size,), "") for name, size in sizes.items())
    outputs = (Argument("slopes", slopes.shape, ""),)
    return Traced(*refined(tracing.graph, {"slopes": slopes}), inputs, outputs)


def _traced_reactions(arm: Arm) -> Traced:
    tracing = Tracing(arm, {})
    _, found = tracing.joint_reactions(tracing.rates(tracing.qd), tracing.rates(tracing.qdd))
    wrench = np.array([[*force, *moment] for force, moment in found], dtype=object)
    inputs = tuple(Argument(name, (arm.n,), "") for name in ("q", "qd", "qdd"))
    return Traced(
        *refined(tracing.graph, {"wrench": wrench}), inputs, (Argument("wrench", wrench.shape, ""),)
    )
