"""The equivalent arm: other moments, other origins, the same joint torques, fewer operations."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.drives.joint import depends_on_load, driven, drives_of, rotor_inertia
from forearm.dynamics.forward import singular
from forearm.dynamics.states import each_state
from forearm.errors import ModelError
from forearm.model import model_of
from forearm.reduction import composite, recursion
from forearm.reduction.chain import Chain
from forearm.reduction.frames import chain_of
from forearm.reduction.plan import ReductionPlan, planned
from forearm.reduction.search import best_plan
from forearm.spatial import Floats
from forearm.values import frozen


@frozen
class RegroupedArm:
    """An arm with regrouped inertial parameters and shifted origins:
    same torques and accelerations, no reactions.

    `chain` has its segments: moments m, h, J about each origin, steps l and twists between origins. `plan`
    holds the choices made.
    """

    arm: Arm
    plan: ReductionPlan
    chain: Chain

    def inverse(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Floats:
        """Inverse dynamics, drives included: (n,) or (B, n)."""
        arm, model, rotor = self.arm, self.chain.model, rotor_inertia(self.arm)
        drives = drives_of(arm)

        def one(q: Floats, qd: Floats, qdd: Floats) -> Floats:
            rates = [model.rates(x.tolist()) for x in (q, qd, qdd)]
            torques = recursion.inverse(self.chain, rates[0], rates[1], rates[2])
            tau = model.gathered(driven(drives, torques, None, rates[1]))
            return np.asarray(np.array(tau, dtype=float) + rotor * qdd)

        return each_state(arm, one, (arm.n,), q=q, qd=qd, qdd=qdd)

    def inertia_matrix(self, q: ArrayLike) -> Floats:
        """M with the rotor inertias on its diagonal: (n, n) or (B, n, n)."""
        model, rotor = self.chain.model, rotor_inertia(self.arm)

        def one(q: Floats) -> Floats:
            M = composite.inertia_matrix(self.chain, model.rates(q.tolist()))
            return np.array(model.gathered_matrix(M), dtype=float) + np.diag(rotor)

        return each_state(self.arm, one, (self.arm.n, self.arm.n), q=q)

    def forward(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> Floats:
        """Forward dynamics: (n,) or (B, n)."""
        arm, model, rotor = self.arm, self.chain.model, rotor_inertia(self.arm).tolist()
        drives = drives_of(arm)

        def one(q: Floats, qd: Floats, tau: Floats) -> Floats:
            rates = model.rates(qd.tolist())
            right = tau - np.array(model.gathered(driven(drives, [0.0] * len(rates), None, rates)))
            try:
                qdd = composite.forward(self.chain, model.rates(q.tolist()), rates, right.tolist(), rotor)
            except ZeroDivisionError:
                raise singular(arm, q) from None
            return np.array(qdd, dtype=np.float64)

        return each_state(arm, one, (arm.n,), q=q, qd=qd, tau=tau)

    def reactions(self, *_: Any) -> NoReturn:
        """Not available: regrouping preserves joint torques but not the forces and moments in the joints."""
        raise ModelError(
            f"{self.arm.name!r} is regrouped here: its joint torques are right, but forces and moments "
            "in its joints are not. Compute them from the original arm: fa.dynamics.trace(arm, q, qd, qdd) "
            'returns them as f and n, fa.generate(arm, "reactions") as code.'
        )


def regrouped_arm(arm: Arm) -> RegroupedArm:
    """The equivalent arm with the fewest operations that the search finds."""
    if depends_on_load(arm):
        raise ModelError(
            "the friction of its bearings or gears depends on forces that regrouping does "
            "not preserve; use arm.rigid().regrouped(), or fa.compile(arm), which supports "
            "such friction.",
            f"{arm.name!r}",
        )
    chain = chain_of(model_of(arm))
    plan = best_plan(chain)
    return RegroupedArm(arm, plan, planned(chain, plan))
