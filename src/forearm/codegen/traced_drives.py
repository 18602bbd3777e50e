"""The mechanics of a simulated arm and its drives' internal dynamics, on one graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from forearm.codegen.tracing import Tracing
from forearm.drives.coordinates import Coordinates, Rotor
from forearm.drives.friction import KnownFriction, friction_torque
from forearm.drives.joint import Drive, drives_of, rotors
from forearm.dynamics.fixed_step import Values
from forearm.symbols import Graph
from forearm.symbols.scalars import choose

# share of the inertia: explicit steps remain accurate while a bristle brakes less than this in one of them
EASED = 2.0


class TracedDrives:
    """The mechanics of a plant and its drives' internal dynamics, on one graph: coordinates x and their rates
    xd, flags and flanks as inputs.
    """

    def __init__(
        self, coordinates: Coordinates, dry: Sequence[bool], parameters: dict[str, float], single: bool
    ) -> None:
        self.coordinates, self.dry = coordinates, dry
        self.tracing = Tracing(coordinates.mechanics, parameters, single=single)
        self.graph, m = self.tracing.graph, self.coordinates.count
        self.x, self.xd = (
            [*own, *inputs(self.graph, name, m, len(own))]
            for name, own in (("q", self.tracing.q), ("qd", self.tracing.qd))
        )
        self.contact = inputs(self.graph, "contact", len(self.coordinates.gaps))
        self.signs, self.free = self._flags()
        rubbed = inputs(self.graph, "rubbed", len(self.coordinates.bristles))
        self.rubbed = {b.place: x for b, x in zip(self.coordinates.bristles, rubbed, strict=True)}
        self.tracing.drives = self._drives()
        self.eased: dict[int, Any] = {}

    def ways(self, signs: Values) -> Values | None:
        """Directions of friction by joint of the mechanics, None if none has dry friction."""
        if not any(self.dry):
            return None
        drives = drives_of(self.coordinates.mechanics)
        return [signs[d.freedom] * (1.0 if d.multiplier > 0.0 else -1.0) for d in drives]

    def _flags(self) -> tuple[Values, Values]:
        """Directions of friction, and which coordinates move."""
        m = self.coordinates.count
        if not any(self.dry):
            return [0.0] * m, [1.0] * m
        signs, free = (inputs(self.graph, name, m) for name in ("friction_sign", "is_free"))
        return signs, [a if is_dry else 1.0 for a, is_dry in zip(free, self.dry, strict=True)]

    def _drives(self) -> tuple[Drive, ...]:
        """The drives of the mechanics, bristles with their present friction."""
        made = list(self.tracing.drives)
        for b in self.coordinates.bristles:
            if b.body is not None:
                friction = made[b.body].friction
                assert friction is not None
                made[b.body] = replace(
                    made[b.body], friction=KnownFriction(friction.side, self.rubbed[b.place])
                )
        return tuple(made)

    def ease(self, shares: Sequence[float]) -> None:
        """Rotor inertias of joints with bristles, with what these add to them: nothing if the joint is heavy
        enough for the step, by the minimum share of its inertia M_jj that a bristle may feel.
        """
        if not self.coordinates.bristles:
            return
        given, M = inputs(self.graph, "eased", len(shares)), self.tracing.inertia_matrix()
        alone = {rotor.place: rotor.inertia for rotor in self.coordinates.alone}
        eased = []
        for b, x, share in zip(self.coordinates.bristles, given, shares, strict=True):
            inertia = alone[b.on] if b.body is None else M[b.on, b.on] * (1.0 / b.multiplier**2)
            eased.append(choose((EASED * share) * inertia, x, x, 0.0))
        self.eased = {b.on: x for b, x in zip(self.coordinates.bristles, eased, strict=True)}
        made = list(self.tracing.drives)
        for b, extra in zip(self.coordinates.bristles, eased, strict=True):
            if b.body is not None:
                made[b.body] = replace(made[b.body], rotor=made[b.body].rotor + extra)
        self.tracing.drives = tuple(made)
        self.tracing.rotor = rotors(made, self.coordinates.mechanics.n)

    def springs(self) -> dict[int, Any]:
        """Spring torque on each rotor, by its coordinate."""
        return {r.place: r.torque(self.x, self.xd, self.contact) for r in self.coordinates.rotors}

    def pushes(self, motors: Values) -> Values:
        """Generalised forces on links and rotors, after gear losses."""
        made = self.coordinates.given(self.x, self.xd, motors, self.contact)
        carried = self.springs()
        for r in self.coordinates.rotors:
            made[r.place] = made[r.place] - r.at_motor(carried[r.place], self.signs[r.place])
        return made

    def friction(self, rotor: Rotor, signs: Values) -> Any:
        """Friction of a rotor outside the link dynamics."""
        if rotor.friction is None:
            return 0.0
        for b in self.coordinates.bristles:
            if b.body is None and b.on == rotor.place:
                return self.rubbed[b.place]
        return friction_torque(rotor.friction, self.xd[rotor.place], signs[rotor.place])

    def rotors(self, pushes: Values) -> Values:
        """Accelerations of the rotors outside the link dynamics."""
        return [
            self.free[r.place]
            * (pushes[r.place] - self.friction(r, self.signs))
            * (1.0 / (r.inertia + self.eased.get(r.place, 0.0)))
            for r in self.coordinates.alone
        ]

    def needed(self, xdd: Values, signs: Values) -> Values:
        """The required force on each link and rotor for accelerations, with friction in these directions."""
        tracing, m = self.tracing, self.coordinates.mechanics.n
        tau = tracing.inverse(tracing.qd, xdd[:m], self.ways(signs))
        carried = self.springs()
        tau += [xdd[r.place] * r.inertia + self.friction(r, signs) for r in self.coordinates.alone]
        for r in self.coordinates.rotors:
            tau[r.place] = tau[r.place] + r.at_motor(carried[r.place], signs[r.place])
        return tau


def inputs(graph: Graph, name: str, count: int, first: int = 0) -> list[Any]:
    """Symbols name[first] to name[count - 1]."""
    return [graph.input(f"{name}[{j}]") for j in range(first, count)]
