"""Forward dynamics on the graph where friction depends on the load:
Newton's steps, by symbols that stand for the loads.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from forearm.drives.joint import Drive, Reaction, needs_reactions
from forearm.dynamics.load_friction import Loads, newton_step
from forearm.model import Array, Scalar
from forearm.reduction import composite, recursion
from forearm.symbols import gradient, jacobian, substituted
from forearm.symbols.linear import solve_general
from forearm.symbols.scalars import choose, root, sign

if TYPE_CHECKING:
    from forearm.codegen.tracing import Tracing

UNSOLVED = 1e-9  # of the torques: accelerations that leave more are not given
NEWTON_STEPS = 8  # in code without loops


class UnderLoad:
    """What `dynamics.load_friction` solves, over the symbols of a tracing."""

    def __init__(self, tracing: Tracing) -> None:
        self.tracing, self.arm, self.graph, self.model = tracing, tracing.arm, tracing.graph, tracing.model
        self._stand_ins = 0

    def forward(self) -> list[Scalar]:
        """Accelerations by so many of Newton's steps, halved where they lead astray.

        They are NaN, as the root of a negative number, where more is left of the equation than
        UNSOLVED of its terms.
        """
        x: list[Scalar] = [0.0] * self.arm.n
        left, delta, size = self.newton_at(x)
        share: Scalar = 1.0
        for _ in range(NEWTON_STEPS):
            tried = [a + share * d for a, d in zip(x, delta, strict=True)]
            new_left, new_delta, size = self.newton_at(tried)
            before, after = (sum((e * e for e in v[1:]), v[0] * v[0]) for v in (left, new_left))
            x, left, delta = (
                [choose(after, before, b, a) for a, b in zip(old, new, strict=True)]
                for old, new in ((x, tried), (left, new_left), (delta, new_delta))
            )
            share = choose(after, before, 1.0, 0.5 * share)
        bound = UNSOLVED * size
        rest = sum((e * e for e in left[1:]), left[0] * left[0])
        spoilt = root(-choose(rest, bound * bound, 0.0, 1.0))  # also where the rest is NaN
        self.tracing.mark("solution")
        return [a + spoilt for a in x]

    def newton_at(
        self,
        x: list[Scalar],
        tau: list[Scalar] | None = None,
        ways: list[Scalar] | None = None,
        free: list[Scalar] | None = None,
        felt: list[tuple[Scalar, Reaction | None]] | None = None,
    ) -> tuple[list[Scalar], list[Scalar], Scalar]:
        """(left, delta, size) of what `dynamics.load_friction` solves:
        what is left of tau at x, the step from there, its scale.

        With loads `felt` the step is that of drives taken as straight from these loads on.
        """
        rates = self.tracing.rates(self.tracing.qd)
        driving, at = (
            np.array(self.tracing.tau if tau is None else tau, dtype=object),
            np.array(x, dtype=object),
        )
        ways = [sign(rate) for rate in rates] if ways is None else ways
        step = newton_step(self.arm, self.loads, at, driving, rates, ways, self._partials, felt)
        J, right, left = step.J, step.right, step.left
        if free is not None:
            J = held(J, free)
            right, left = (
                np.array([a * e for a, e in zip(free, v, strict=True)], dtype=object) for v in (right, left)
            )
        if step.is_symmetric:
            delta = self.tracing.solved_backwards(J, right)
        else:
            delta = self.tracing.solved(lambda: list(solve_general(J, right)))
        size: Scalar = 1e-30
        # at the solution no other term is much larger
        for value in (*driving, *self.loads.y0, *(self.loads.Y @ at)):
            size = size + abs(value)
        return list(left), delta, size

    @cached_property
    def loads(self) -> Loads:
        """What accelerations load the joints with: torques on the regrouped chain,
        or with reactions on the arm as it is.
        """
        traced, model, n = self.tracing, self.model, self.arm.n
        q, qd = traced.rates(traced.q), traced.rates(traced.qd)
        if not needs_reactions(self.arm):
            moving = np.array([model.rates(row) for row in np.eye(n).tolist()], dtype=object).T  # (N, n)
            Y = composite.inertia_matrix(traced.chain, q, traced.note) @ moving
            y0 = np.array(recursion.inverse(traced.chain, q, qd, [0.0] * len(q), traced.note), dtype=object)
            return Loads(y0, Y, np.zeros((len(q), 6)), None)
        x = [self.graph.input(f"x[{j}]") for j in range(n)]
        _, reactions = traced.joint_reactions(qd, traced.rates(x))
        flat = [value for reaction in reactions for vector in reaction for value in vector]
        A = jacobian(self.graph, flat, x).reshape(len(q), 6, n)
        r0 = np.array(substituted(self.graph, flat, dict.fromkeys(x, 0.0)), dtype=object).reshape(len(q), 6)
        # the reaction's part that moves the joint
        along = [5 if body.revolute else 2 for body in traced.whole_model.bodies]
        y0, Y = (np.array([table[i, k] for i, k in enumerate(along)], dtype=object) for table in (r0, A))
        return Loads(y0, Y, r0, A)

    def _partials(
        self, drive: Drive, torque: Scalar, reaction: Reaction | None, rate: Scalar, way: Scalar
    ) -> list[Scalar]:
        """d torque of a drive / d (rigid torque, reaction):
        of symbols that stand for them, which are then put in.
        """
        if not drive.depends_on_load:
            return [1.0] + [0.0] * 6
        values = [torque, *(() if reaction is None else (*reaction[0], *reaction[1]))]
        self._stand_ins += 1
        symbols = [self.graph.input(f"load{self._stand_ins}[{k}]") for k in range(len(values))]
        felt = (
            None
            if reaction is None
            else (np.array(symbols[1:4], dtype=object), np.array(symbols[4:], dtype=object))
        )
        slopes = gradient(self.graph, drive.torque(symbols[0], felt, rate, way), symbols)
        return list(substituted(self.graph, slopes, dict(zip(symbols, values, strict=True))))


def held(M: Array, free: list[Scalar]) -> Array:
    """A matrix with the rows and columns of held joints (free is 0) those of the identity."""
    n = len(free)
    made = np.empty((n, n), dtype=object)
    for i in range(n):
        for j in range(n):
            made[i, j] = M[i, j] * (free[i] * free[j]) if i != j else (M[i, i] - 1.0) * free[i] + 1.0
    return made
