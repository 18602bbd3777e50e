"""All contributions of a joint's drive to the torque of the rigid arm."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.drive import Bearing, Friction, Motor, Transmission
from forearm.arm.moving import MovingBody
from forearm.drives.bearings import BearingLaw, bearing_friction
from forearm.drives.friction import FrictionLaw, KnownFriction, across, friction_torque
from forearm.drives.transmission import TransmissionLaw, curve_of, through
from forearm.model import Array
from forearm.spatial import Floats
from forearm.symbols import Expr, Graph, evaluate, gradient
from forearm.symbols.evaluate import substituted, transplanted
from forearm.symbols.graph import expressions
from forearm.symbols.region import stand_ins
from forearm.symbols.scalars import Scalar, sign
from forearm.values import frozen

# Force and moment at the joint's origin, in axes with z along the joint axis.
Reaction = tuple[Array, Array]


@frozen
class Drive:
    """The drive of one joint.

    Attributes:
        freedom: index of the degree of freedom that it drives.
        multiplier: multiplier of a joint that mimics this degree of freedom, else 1.
        ratio: |N| of the gear.
        friction, bearings, transmission: of the joint, as in `Joint`.
        rotor: N^2 J.
    """

    freedom: int
    multiplier: float
    ratio: Scalar
    friction: Friction | FrictionLaw | KnownFriction | None
    bearings: tuple[Bearing | BearingLaw, ...]
    transmission: Transmission | TransmissionLaw | None
    rotor: Scalar = 0.0

    @property
    def needs_reaction(self) -> bool:
        """Whether its friction depends on the reaction in its bearings."""
        return bool(self.bearings)

    @property
    def depends_on_load(self) -> bool:
        """Whether its friction depends on accelerations, through torques or reactions."""
        return bool(self.bearings) or self.transmission is not None

    @property
    def is_dry(self) -> bool:
        """Whether it can make a joint stick."""
        f = self.friction
        if isinstance(f, KnownFriction):
            f = None
        rubs = f is not None and (f.coulomb != (0.0, 0.0) or f.static not in (None, (0.0, 0.0)))
        return rubs or any(b.mu > 0.0 for b in self.bearings) or self.transmission is not None

    def torque(self, rigid: Scalar, reaction: Reaction | None, rate: Scalar, direction: Scalar) -> Scalar:
        """Motor torque times gear ratio, without the rotor: T(rigid + bearings + joint-side friction) +
        motor-side friction.

        Args:
            rigid: torque (force) of the rigid arm at the joint, N m (N).
            reaction: force and moment (3,) at the joint's origin, axes with z along the joint axis; None: no
                bearings.
            rate: qd of the joint, rad/s (m/s).
            direction: its sign, 1 or -1; at rest that of the motion about to begin, or 0.
        """
        load = rigid
        for bearing in self.bearings:
            assert reaction is not None
            load = load + bearing_friction(bearing, *reaction, direction)
        if self.friction is not None and self.friction.side == "joint":
            load = load + friction_torque(self.friction, rate, direction)
        if self.transmission is not None:
            load = through(self.transmission, load, direction)
        if self.friction is not None and self.friction.side == "motor":
            f = self.friction if isinstance(self.friction, KnownFriction) else self.at_joint
            load = load + friction_torque(f, rate, direction)
        return load

    def slopes(
        self, rigid: Scalar, reaction: Reaction | None, rate: Scalar, direction: Scalar
    ) -> Sequence[Scalar]:
        """d torque / d (rigid torque, force, moment); with respect to the rigid torque alone without a
        reaction.

        Args:
            rigid, reaction, rate, direction: as in `torque`.
        """
        if not self.depends_on_load:
            return [1.0] if reaction is None else [1.0, *[0.0] * 6]
        load = [rigid] if reaction is None else [rigid, *reaction[0], *reaction[1]]
        given = [*load, rate, direction]
        if symbol := next(expressions(self._figures), None):
            stand_in = stand_ins(symbol.graph, len(given))
            made = self._slopes_by(symbol.graph, stand_in)
            return list(substituted(symbol.graph, made, dict(zip(stand_in, given, strict=True))))
        graph, made = _traced_slopes(self, len(load))
        if any(isinstance(value, Expr) for value in given):
            return list(transplanted(graph, made, dict(enumerate(given))))
        return list(evaluate(graph, made, {graph.leaves[k]: value for k, value in enumerate(given)}))

    def _slopes_by(self, graph: Graph, given: Sequence[Expr]) -> list[Scalar]:
        """The slopes on a graph, with load, rate and direction as its inputs."""
        *load, rate, direction = given
        reaction = (np.array(load[1:4], dtype=object), np.array(load[4:], dtype=object)) if load[1:] else None
        return gradient(graph, self.torque(load[0], reaction, rate, direction), load)

    @property
    def _figures(self) -> list[Scalar]:
        """The quantities its friction depends on, besides rate and direction."""
        if isinstance(self.friction, KnownFriction):
            return [self.friction.torque]
        law = self.at_joint
        return [law.viscous, law.coulomb, law.static, law.stribeck_speed]

    @cached_property
    def at_joint(self) -> Friction | FrictionLaw:
        """Its friction reflected to the joint: |N| (B |N| qd + Tc) if it is the motor's."""
        f = self.friction or Friction()
        assert not isinstance(f, KnownFriction)
        if f.side == "joint":
            return f
        return across(f, self.ratio)


@lru_cache(maxsize=256)
def _traced_slopes(drive: Drive, count: int) -> tuple[Graph, list[Scalar]]:
    """The derivatives of a drive's torque in the load entries, on a graph that begins with its inputs."""
    graph = Graph()
    return graph, drive._slopes_by(graph, [graph.input(f"x[{k}]") for k in range(count + 2)])


@lru_cache(maxsize=64)
def drives_of(arm: Arm) -> tuple[Drive, ...]:
    """The drives of the moving bodies, in their order; physically impossible gear curves are refused here."""
    made = tuple(_drive(body) for body in arm.moving.bodies)
    for drive in made:
        if isinstance(drive.transmission, Transmission):
            curve_of(drive.transmission)
    return made


def _drive(body: MovingBody) -> Drive:
    joint = body.joint
    motor = joint.motor or Motor()
    friction, bearings, gear = joint.friction, joint.bearings, joint.transmission
    ratio, rotor = abs(motor.gear_ratio), motor.reflected_inertia
    return Drive(body.freedom, body.multiplier, ratio, friction, bearings, gear, rotor)


def needs_reactions(arm: Arm) -> bool:
    """Whether any friction depends on the reactions in bearings."""
    return any(drive.needs_reaction for drive in drives_of(arm))


def held_freedoms(arm: Arm) -> list[bool]:
    """For each degree of freedom whether friction can make it stick."""
    made = [False] * arm.n
    for drive in drives_of(arm):
        made[drive.freedom] = made[drive.freedom] or drive.is_dry
    return made


def count_of_loads(arm: Arm) -> int:
    """Count the load entries of drives with load-dependent friction: a torque each, and six reactions."""
    return (7 if needs_reactions(arm) else 1) * sum(drive.depends_on_load for drive in drives_of(arm))


def depends_on_load(arm: Arm) -> bool:
    """Whether any friction depends on accelerations."""
    return any(drive.depends_on_load for drive in drives_of(arm))


def is_simple(arm: Arm) -> bool:
    """Whether all friction is viscous and Coulomb only."""
    return not any(
        d.depends_on_load
        or (isinstance(d.friction, Friction | FrictionLaw) and d.friction.static is not None)
        for d in drives_of(arm)
    )


def rotor_inertia(arm: Arm) -> Floats:
    """N^2 J of the drives of each degree of freedom, (n,); a mimicking joint counts with its squared
    multiplier.
    """
    return np.array(rotors(drives_of(arm), arm.n), dtype=np.float64)


def rotors(drives: Sequence[Drive], n: int) -> list[Scalar]:
    """The inertia that rotors add to n degrees of freedom."""
    reflected: list[Scalar] = [0.0] * n
    for drive in drives:
        added = drive.multiplier * drive.multiplier * drive.rotor
        reflected[drive.freedom] = reflected[drive.freedom] + added
    return reflected


def driven(
    drives: Sequence[Drive],
    torques: Sequence[Scalar],
    reactions: Sequence[Reaction] | None,
    rates: Sequence[Scalar],
    directions: Sequence[Scalar] | None = None,
) -> list[Scalar]:
    """The drive torque of each joint, without rotors, from the rigid arm's torques and, if needed, reactions.

    Directions are the signs of the rates by default.
    """
    given: list[Any] = [None] * len(torques) if reactions is None else list(reactions)
    ways = [sign(rate) for rate in rates] if directions is None else directions
    return [
        d.torque(*values)
        for d, values in zip(drives, zip(torques, given, rates, ways, strict=True), strict=True)
    ]
