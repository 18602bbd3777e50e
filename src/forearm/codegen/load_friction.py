"""Forward dynamics on the graph where friction depends on the load:
`dynamics.load_friction` over the symbols of a tracing.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from forearm.drives.joint import needs_reactions
from forearm.dynamics.fixed_step import Values
from forearm.dynamics.load_friction import CLOSE, Found, Loads, TorqueEquation, solved
from forearm.model import symbolic
from forearm.reduction import composite, recursion
from forearm.symbols import jacobian, substituted
from forearm.symbols.region import stand_ins
from forearm.symbols.scalars import choose, root, sign

if TYPE_CHECKING:
    from forearm.codegen.tracing import Tracing

UNSOLVED = 1e-9  # relative residual of the torques above which accelerations are NaN
UNSOLVED_SINGLE, CLOSE_SINGLE = 1e-3, 1e-6  # in single precision


class UnderLoad:
    """Accelerations under load-dependent friction."""

    def __init__(self, tracing: Tracing) -> None:
        self.tracing, self.arm, self.graph, self.model = tracing, tracing.arm, tracing.graph, tracing.model

    def forward(self) -> Values:
        """Accelerations, NaN where the residual of the equation exceeds UNSOLVED of its terms."""
        found = self.found(self.tracing.tau)
        self.tracing.mark("solution")
        return self.spoilt(found)

    def found(
        self,
        tau: Values,
        ways: Values | None = None,
        free: Values | None = None,
        felt: Values | None = None,
        close: float = CLOSE,
    ) -> Found:
        """The solution under these torques, with friction in given directions, joints held where `free` is 0;
        starting from the loads `felt`, if given.
        """
        traced = self.tracing
        rates = traced.rates(traced.qd)
        ways = [sign(rate) for rate in rates] if ways is None else ways
        close = CLOSE_SINGLE if traced.single else close
        equation = TorqueEquation(traced.drives, self.loads, tau, rates, ways, free, traced.solved_backwards)
        return traced.solved(lambda: solved(equation, felt, close))

    def spoilt(self, found: Found) -> Values:
        """The accelerations, or NaN, as the root of a negative number, if there is no solution."""
        limit = (UNSOLVED_SINGLE if self.tracing.single else UNSOLVED) * found.size
        unknown = root(-choose(found.left, limit, 0.0, 1.0))  # also where the residual is NaN
        return [a + unknown for a in found.x]

    @cached_property
    def loads(self) -> Loads:
        """The loads on joints due to accelerations:
        torques on the regrouped chain, or with reactions on the original arm.
        """
        traced, model, n = self.tracing, self.model, self.arm.n
        q, qd = traced.rates(traced.q), traced.rates(traced.qd)
        if not needs_reactions(self.arm):
            moving = symbolic([model.rates(row) for row in np.eye(n).tolist()]).T  # (N, n)
            Y = composite.inertia_matrix(traced.chain, q, traced.note) @ moving
            y0 = symbolic(recursion.inverse(traced.chain, q, qd, [0.0] * len(q), traced.note))
            return Loads(y0, Y, np.zeros((len(q), 6)), None)
        x = stand_ins(self.graph, n)
        _, reactions = traced.joint_reactions(qd, traced.rates(x))
        flat = [value for reaction in reactions for vector in reaction for value in vector]
        A = jacobian(self.graph, flat, x).reshape(len(q), 6, n)
        r0 = symbolic(substituted(self.graph, flat, dict.fromkeys(x, 0.0))).reshape(len(q), 6)
        # the component of the reaction that moves the joint
        along = [5 if body.revolute else 2 for body in traced.whole_model.bodies]
        y0, Y = (symbolic([table[i, k] for i, k in enumerate(along)]) for table in (r0, A))
        return Loads(y0, Y, r0, A)
