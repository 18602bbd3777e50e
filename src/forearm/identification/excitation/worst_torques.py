"""The torques that a state needs with friction in either direction of its joints.

At a velocity reversal the friction of a joint jumps from one value to the other. A motion whose torques stay
within limits for both directions stays within them through the jump.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from forearm.arm.arm import Arm
from forearm.drives.joint import depends_on_load
from forearm.kernels.kept import kernel_of
from forearm.kernels.kernel import Kernel
from forearm.kernels.traced_function import TracedFunction, compile_function
from forearm.spatial import Floats
from forearm.values import frozen

if TYPE_CHECKING:
    from forearm.codegen.functions import Traced

WAYS = (1.0, -1.0)
States = tuple[Floats, Floats, Floats]


@frozen
class WorstTorques:
    """Torques of an arm with friction forwards and backwards, and their derivatives.

    `unloaded` is the arm without gear losses and bearings; its derivatives approximate those of the arm.
    """

    torques: TracedFunction
    pulls: TracedFunction
    unloaded: Kernel

    def both(self, q: Floats, qd: Floats, qdd: Floats) -> tuple[Floats, Floats]:
        """Torques with friction forwards and with friction backwards, (m, n) each."""
        tau = self.torques(q, qd, qdd)
        return tau[:, : q.shape[1]], tau[:, q.shape[1] :]

    def pulled(self, q: Floats, qd: Floats, qdd: Floats, forwards: Floats, backwards: Floats) -> States:
        """d sum(weight * torque) / d q, qd, qdd of each state, (m, n) each, with constant weights (m, n) of
        both.
        """
        n = q.shape[1]
        made = self.pulls(q, qd, qdd, np.concatenate([forwards, backwards], axis=1))
        return made[:, :n], made[:, n : 2 * n], made[:, 2 * n :]


@lru_cache(maxsize=16)
def worst_torques(arm: Arm) -> WorstTorques:
    """The torques of an arm forwards and backwards."""
    unloaded = arm
    if depends_on_load(arm):
        tree = tuple(replace(joint, bearings=(), transmission=None) for joint in arm.tree)
        unloaded = arm.replace(tree=tree)
    return WorstTorques(
        compile_function(lambda: _traced(arm, False), "worst_torques", key=("worst torques", arm), arm=arm),
        compile_function(
            lambda: _traced(arm, True), "worst_pulls", key=("worst torques' pulls", arm), arm=arm
        ),
        kernel_of(unloaded),
    )


def _traced(arm: Arm, pulls: bool) -> Traced:
    from forearm.codegen.functions import Traced
    from forearm.codegen.program import Argument
    from forearm.codegen.tracing import Tracing
    from forearm.symbols import refined
    from forearm.symbols.calculus import gradient
    from forearm.symbols.scalars import Scalar

    tracing, n = Tracing(arm, {}), arm.n
    torques: list[Scalar] = []
    for way in WAYS:
        directions = [way * float(np.sign(body.multiplier)) for body in arm.moving.bodies]
        torques += tracing.inverse(tracing.qd, tracing.qdd, directions)
    result, name, sizes = np.array(torques, dtype=object), "tau", {"q": n, "qd": n, "qdd": n}
    if pulls:
        weighted: Scalar = 0.0
        for k, torque in enumerate(torques):
            weighted = weighted + tracing.graph.input(f"w[{k}]") * torque
        states = [*tracing.q, *tracing.qd, *tracing.qdd]
        result = np.array(gradient(tracing.graph, weighted, states), dtype=object)
        name, sizes["w"] = "pulls", 2 * n
    graph, (made,) = refined(tracing.graph, [result])
    inputs = tuple(Argument(key, (size,), "") for key, size in sizes.items())
    return Traced(graph, {name: made}, inputs, (Argument(name, result.shape, ""),))
