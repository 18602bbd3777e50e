"""The model of control laws: the arm on the graph, complete or with terms left out. Waters IV."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from forearm.arm.arm import Arm
from forearm.codegen.tracing import Tracing
from forearm.control.controllers.formulas import Vector, moving
from forearm.control.controllers.hand_formulas import HandState
from forearm.control.model_error import without_friction, without_gravity
from forearm.drives.joint import depends_on_load, driven, held_freedoms
from forearm.model import refuse_tree, silent, symbolic
from forearm.reduction.chain import Chain
from forearm.reduction.recursion import inverse
from forearm.symbols import derivative
from forearm.symbols.scalars import Scalar, sign
from forearm.values import check_choice

DROPPED = ("no-velocity-terms", "no-gravity", "own-link-only")


def believed(arm: Arm, dropped: str | None) -> Arm:
    """The arm to trace when these terms are dropped. Load-dependent friction needs the dropped terms, and is
    left out with them.
    """
    if dropped is not None:
        check_choice(dropped, DROPPED, "dropped")
    if dropped is None or dropped == "no-gravity":
        return without_gravity(arm) if dropped else arm
    return without_friction(arm) if depends_on_load(arm) else arm


class TracedModel:
    """Torques on a tracing's graph, without velocity terms or the links after each joint's own if these are
    `dropped`; friction and rotors stay.
    """

    def __init__(self, tracing: Tracing, dropped: str | None = None) -> None:
        self.tracing, self.dropped = tracing, dropped

    def gravity(self, q: Vector) -> Vector:
        """Torques that hold the arm still."""
        self.tracing.q = list(q)
        return symbolic(self.tracing.inverse(None, None))

    def inertia_matrix(self, q: Vector) -> Vector:
        """M (n, n), rotors included."""
        self.tracing.q = list(q)
        return self.tracing.inertia_matrix()

    def hand(self, q: Vector, qd: Vector, qdd: Vector | None = None) -> HandState:
        """The motion of the hand; without qdd its acceleration is J' qd. q, and qd with qdd, are inputs of
        the graph.
        """
        t = self.tracing
        t.q = list(q)
        T, J = t.hand_pose(), t.hand_jacobian()
        velocity = J @ qd
        along = dict(zip(q, qd, strict=True)) | ({} if qdd is None else dict(zip(qd, qdd, strict=True)))
        acceleration = symbolic(derivative(t.graph, list(velocity), along))
        t.mark("hand")
        return HandState(T[:3, :3], T[:3, 3], J, velocity, acceleration)

    def inverse(self, q: Vector, qd: Vector, qdd: Vector, ahead: Vector) -> Vector:
        """Inverse dynamics; for dry joints at rest or moving the wrong way, friction is that of moving
        `ahead`.
        """
        t, a = self.tracing, list(qdd)
        t.q = list(q)
        rates, ways = self._moving(qd, ahead)
        if self.dropped == "no-velocity-terms":
            made = symbolic(t.inverse(None, a)) + self._friction(rates, ways)
        elif self.dropped == "own-link-only":
            made = self._own_links(rates, a) + self._friction(rates, ways)
        else:
            made = symbolic(t.inverse(rates, a, ways))
        return made

    def _moving(self, qd: Vector, ahead: Vector) -> tuple[list[Scalar], list[Scalar]]:
        """Velocities of the degrees of freedom, and directions of the joints; a mimic joint may turn the
        other way.
        """
        dry = held_freedoms(self.tracing.arm)
        pairs = [
            moving(*x) if is_dry else (x[0], sign(x[0])) for *x, is_dry in zip(qd, ahead, dry, strict=True)
        ]
        model, rates, ways = self.tracing.model, [v for v, _ in pairs], [way for _, way in pairs]
        return rates, [sign(way) for way in model.rates(ways)] if model.has_followers else model.rates(ways)

    def _own_links(self, qd: list[Scalar], qdd: list[Scalar]) -> Vector:
        """F_i of an arm on which link i alone has mass: one outward recursion for all, and no inward one."""
        t = self.tracing
        refuse_tree(t.model, "own-link-only")
        states = (t.model.coordinates(t.q), t.model.rates(qd), t.model.rates(qdd))
        own = [inverse(_alone(t.plain, i), *states, silent)[i] for i in range(t.arm.n)]
        return symbolic([x + a * J for x, a, J in zip(own, qdd, t.rotor, strict=True)])

    def _friction(self, qd: list[Scalar], ways: list[Scalar]) -> Vector:
        """Friction torques at the degrees of freedom."""
        t, rates = self.tracing, self.tracing.model.rates(qd)
        torques = driven(t.drives, [0.0] * len(rates), None, rates, ways)
        return symbolic(t.model.gathered(torques))


def _alone(chain: Chain, i: int) -> Chain:
    segments = (
        s if k == i else replace(s, m=0.0, h=np.zeros(3), J=np.zeros((3, 3)))
        for k, s in enumerate(chain.segments)
    )
    return replace(chain, segments=tuple(segments))
