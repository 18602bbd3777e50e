"""Elastic joints on the graph: `dynamics.elastic` over the symbols of a tracing."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from forearm.arm.arm import Arm
from forearm.arm.elastic import expanded, has_spinning_rotors, is_elastic, link_side
from forearm.dynamics.damped_springs import Load, deflections
from forearm.dynamics.elastic import (
    ElasticDrive,
    check_elastic,
    check_invertible,
    elastic_drives,
    is_invertible,
)
from forearm.dynamics.fixed_step import Values
from forearm.errors import InputError
from forearm.model import Scalar, symbolic
from forearm.symbols import Expr

if TYPE_CHECKING:
    from forearm.codegen.tracing import Tracing

FORWARD, INVERSE = "elastic_forward_dynamics", "elastic_inverse_dynamics"


def offered(arm: Arm) -> tuple[str, ...]:
    """Which of the two functions an arm has."""
    if not is_elastic(arm):
        return ()
    return (FORWARD, INVERSE) if is_invertible(arm) else (FORWARD,)


class ElasticTracing:
    """An arm with springs between motors and links, on the graph of a tracing;
    each side of the springs is traced separately.
    """

    def __init__(self, tracing: Tracing) -> None:
        self.tracing, self.arm, self.graph = tracing, tracing.arm, tracing.graph
        self.parts: list[Tracing] = []

    @cached_property
    def drives(self) -> list[ElasticDrive]:
        """The drives of the elastic joints."""
        return elastic_drives(self.arm, self.tracing.drives)

    @cached_property
    def theta(self) -> list[Expr]:
        """Motor positions."""
        return self.tracing.inputs("theta")

    @cached_property
    def thetad(self) -> list[Expr]:
        """Motor velocities."""
        return self.tracing.inputs("thetad")

    def forward(self) -> tuple[Values, Values]:
        """Accelerations of links and motors."""
        check_elastic(self.arm, FORWARD)
        return self._with_spin() if has_spinning_rotors(self.arm) else self._reduced()

    def _reduced(self) -> tuple[Values, Values]:
        t, part = self.tracing, self._part(link_side(self.arm))
        carried = self._carried()
        part.tau = [carried.get(j, tau) for j, tau in enumerate(t.tau)]
        qdd = self._done(part, part.forward())
        thetadd = list(qdd)
        for spring in self.drives:
            j = spring.freedom
            left = t.tau[j] - spring.at_motor(carried[j], self.thetad[j])
            thetadd[j] = left * (1.0 / spring.motor.rotor)
        t.mark("motors")
        return qdd, thetadd

    def _with_spin(self) -> tuple[Values, Values]:
        """The expanded arm includes the rotors' inertia, and the friction of their motors."""
        t, n = self.tracing, self.arm.n
        if t.parameters:
            raise InputError(
                f"{FORWARD} does not support open parameters if rotors' spin acts on links "
                "(rotor_axis); leave out parameters or rotor_axis.",
                "generate",
            )
        part, carried = self._part(expanded(self.arm)), self._carried()
        own = [spring.freedom for spring in self.drives]
        left = []
        for spring in self.drives:
            j, gear = spring.freedom, spring.without_friction()
            left.append(t.tau[j] - gear.at_motor(carried[j], self.thetad[j]))
        part.q, part.qd = (
            [*links, *(motors[j] for j in own)] for links, motors in ((t.q, self.theta), (t.qd, self.thetad))
        )
        part.tau = [*(carried.get(j, tau) for j, tau in enumerate(t.tau)), *left]
        made = self._done(part, part.forward())
        behind = dict(zip(own, made[n:], strict=True))
        return made[:n], [behind.get(j, x) for j, x in enumerate(made[:n])]

    def _carried(self) -> dict[int, Scalar]:
        """Spring torques by joint."""
        made = {}
        for spring in self.drives:
            j = spring.freedom
            e, ed = self.theta[j] - self.tracing.q[j], self.thetad[j] - self.tracing.qd[j]
            made[j] = spring.carried(e, ed)
        self.tracing.mark("springs")
        return made

    def inverse(self) -> tuple[Values, Values, Values]:
        """Motor torques, positions and velocities for a motion of the links."""
        check_invertible(self.arm, INVERSE)
        t, part = self.tracing, self._part(link_side(self.arm))
        tau = self._done(part, part.inverse(t.qd, t.qdd))
        theta, thetad, deflection = list(t.q), list(t.qd), t.inputs("deflection")
        for spring, load in zip(self.drives, self._loads(tau), strict=True):
            j = spring.freedom
            e, ed, edd = deflections(spring.elasticity, load, deflection[j])
            theta[j], thetad[j] = t.q[j] + e, t.qd[j] + ed
            tau[j] = spring.motor.rotor * (t.qdd[j] + edd) + spring.at_motor(tau[j], thetad[j])
        t.mark("motors")
        return tau, theta, thetad

    def _loads(self, tau: Values) -> list[Load]:
        """Spring torques, with their first and second derivatives along the motion."""
        t = self.tracing
        qddd, qdddd = t.inputs("qddd"), t.inputs("qdddd")
        states, rates = [*t.q, *t.qd, *t.qdd], [*t.qd, *t.qdd, *qddd]
        carried = symbolic([tau[spring.freedom] for spring in self.drives])
        first = t.along(carried, states, rates)
        second = t.along(first, [*states, *qddd], [*rates, *qdddd])
        return list(zip(carried, first, second, strict=True))

    def _part(self, arm: Arm) -> Tracing:
        made = self.tracing.beside(arm)
        self.parts.append(made)
        return made

    def _done(self, part: Tracing, results: Values) -> Values:
        """Run a part, which keeps its sections."""
        self.tracing._marked = part._marked
        return results
