"""The coordinates of a simulated arm: those of its links, and the internal states of its drives.

In this order: the n degrees of freedom of the links; rotors behind springs, as motor angle / N; LuGre
bristles; currents of windings with inductance. For the last two the velocity is the state, z and i; the
position, its integral, is not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache

from forearm.arm.arm import Arm
from forearm.arm.drive import Elasticity, Friction, Transmission
from forearm.arm.elastic import elastic_freedoms, expanded, has_spinning_rotors, link_side, shaft_friction
from forearm.drives.bristles import Bristle
from forearm.drives.elasticity import contact_of, coupling_torque, flank
from forearm.drives.joint import Drive, drives_of
from forearm.drives.transmission import through
from forearm.errors import ModelError
from forearm.symbols.scalars import Scalar, choose, minimum, sign
from forearm.values import frozen


@frozen
class BristleAt:
    """A bristle: its coordinate, and that of the rubbing part, which moves `multiplier` times as fast. `body`
    is the moving body whose drive it belongs to, None for a rotor that is not a body of the mechanics.
    """

    place: int
    on: int
    multiplier: float
    body: int | None
    law: Bristle

    def speed(self, xd: Sequence[Scalar]) -> Scalar:
        """The level at which it slips."""
        return xd[self.on] if self.multiplier == 1.0 else self.multiplier * xd[self.on]


@frozen
class Rotor:
    """A rotor behind a spring: the degree of freedom of its motor, its coordinate and inertia B = N^2 J, and
    the index of its gap, None without backlash. `friction` is the motor's, on the joint side.
    """

    freedom: int
    place: int
    inertia: float
    elasticity: Elasticity
    transmission: Transmission | None
    friction: Friction | None
    gap: int | None

    def deflection(self, x: Sequence[Scalar]) -> Scalar:
        """Motor angle / N - joint angle; applied to rates, its rate."""
        return x[self.place] - x[self.freedom]

    def torque(self, x: Sequence[Scalar], xd: Sequence[Scalar], contact: Sequence[Scalar]) -> Scalar:
        """The torque in its spring."""
        side = 1.0 if self.gap is None else contact[self.gap]
        return coupling_torque(self.elasticity, self.deflection(x), self.deflection(xd), side)

    def at_motor(self, torque: Scalar, direction: Scalar) -> Scalar:
        """The motor torque needed for it, before the gear."""
        return torque if self.transmission is None else through(self.transmission, torque, direction)


@frozen
class Coordinates:
    """The coordinates of an arm. `mechanics` is the arm with the first of them as degrees of freedom: the
    links, and the rotors too if their spin acts on links; otherwise rotors are `alone`.
    """

    arm: Arm
    mechanics: Arm
    rotors: tuple[Rotor, ...]
    bristles: tuple[BristleAt, ...]
    windings: tuple[int, ...]

    @property
    def n(self) -> int:
        """The number of link coordinates."""
        return self.arm.n

    @cached_property
    def count(self) -> int:
        """The number of all coordinates."""
        return self.n + len(self.rotors) + len(self.bristles) + len(self.windings)

    @property
    def is_plain(self) -> bool:
        """Whether there are link coordinates only."""
        return self.count == self.n

    @cached_property
    def bodies(self) -> int:
        """The number of coordinates with mass: links and rotors."""
        return self.n + len(self.rotors)

    @property
    def alone(self) -> tuple[Rotor, ...]:
        """The rotors whose spin no link feels."""
        return () if self.mechanics.n > self.n else self.rotors

    @cached_property
    def motors(self) -> tuple[int, ...]:
        """For each degree of freedom the coordinate of its motor: the joint itself if the drive is rigid."""
        own = {rotor.freedom: rotor.place for rotor in self.rotors}
        return tuple(own.get(j, j) for j in range(self.n))

    @cached_property
    def gaps(self) -> tuple[Rotor, ...]:
        """The rotors with backlash, in the order of `contact`."""
        return tuple(rotor for rotor in self.rotors if rotor.gap is not None)

    @cached_property
    def currents(self) -> dict[int, int]:
        """The coordinates of currents, by degree of freedom."""
        first = self.count - len(self.windings)
        return {freedom: first + k for k, freedom in enumerate(self.windings)}

    @property
    def relaxing(self) -> range:
        """The coordinates of bristles and currents."""
        return range(self.bodies, self.count)

    @cached_property
    def dry(self) -> tuple[bool, ...]:
        """For each coordinate whether friction can make it stick."""
        made = [False] * self.count
        for drive, body in zip(drives_of(self.mechanics), self.mechanics.moving.bodies, strict=True):
            made[drive.freedom] |= _holds(drive, body.joint.friction)
        for rotor in self.rotors:
            made[rotor.place] = _rubs(rotor.friction) or rotor.transmission is not None
        return tuple(made)

    @cached_property
    def joint_of(self) -> tuple[int, ...]:
        """For each coordinate the degree of freedom of its joint."""
        made = list(range(self.n)) + [rotor.freedom for rotor in self.rotors]
        made += [made[b.on] for b in self.bristles]
        return (*made, *self.windings)

    def given(
        self, x: Sequence[Scalar], xd: Sequence[Scalar], motors: Sequence[Scalar], contact: Sequence[Scalar]
    ) -> list[Scalar]:
        """The torque on each coordinate: springs on the links behind them, motors (n) on rotors and other
        links.
        """
        made = [*motors, *([0.0] * (self.count - self.n))]
        for rotor in self.rotors:
            made[rotor.freedom] = rotor.torque(x, xd, contact)
            made[rotor.place] = motors[rotor.freedom]
        return made

    def flanks(self, x: Sequence[Scalar], xd: Sequence[Scalar], contact: Sequence[Scalar]) -> list[Scalar]:
        """For each gap a function that stays above 0 while it remains at its flank, or between both."""
        made = []
        for rotor, side in zip(self.gaps, contact, strict=True):
            e, ed = rotor.deflection(x), rotor.deflection(xd)
            upper, lower = (flank(rotor.elasticity, e, ed, way) for way in (1.0, -1.0))
            apart = minimum(-upper, -lower)
            made.append(choose(0.0, side, upper, choose(side, 0.0, lower, apart)))
        return made

    def next_contact(self, x: Sequence[Scalar], contact: Sequence[Scalar]) -> list[Scalar]:
        """From a flank into the gap, or out of the gap to the nearest flank."""
        near = (sign(rotor.deflection(x)) for rotor in self.gaps)
        return [choose(0.0, abs(side), 0.0, to) for side, to in zip(contact, near, strict=True)]

    def contacts(self, x: Sequence[Scalar], xd: Sequence[Scalar]) -> list[Scalar]:
        """The flank at which each gap is, from its deflection."""
        return [contact_of(r.elasticity, r.deflection(x), r.deflection(xd)) for r in self.gaps]


def _rubs(friction: Friction | None) -> bool:
    """Whether there is dry friction without bristles."""
    if friction is None or friction.bristle_stiffness is not None:
        return False
    return friction.coulomb != (0.0, 0.0) or friction.static not in (None, (0.0, 0.0))


def _holds(drive: Drive, friction: Friction | None) -> bool:
    return _rubs(friction) or any(b.mu > 0.0 for b in drive.bearings) or drive.transmission is not None


@lru_cache(maxsize=64)
def coordinates_of(arm: Arm, windings: bool = False) -> Coordinates:
    """The coordinates of an arm, with currents if voltages drive windings with inductance."""
    mechanics = expanded(arm) if has_spinning_rotors(arm) else link_side(arm)
    rotors: list[Rotor] = []
    for freedom in elastic_freedoms(arm):
        joint = arm.joints[freedom]
        motor, elasticity = joint.motor, joint.elasticity
        assert motor is not None
        assert elasticity is not None
        gap = sum(r.gap is not None for r in rotors) if elasticity.half_gap else None
        rotors.append(
            Rotor(
                freedom,
                arm.n + len(rotors),
                motor.reflected_inertia,
                elasticity,
                joint.transmission,
                shaft_friction(joint),
                gap,
            )
        )
    bristles = _bristles(mechanics, rotors if mechanics.n == arm.n else [], arm.n + len(rotors))
    wound = [j for j, joint in enumerate(arm.joints) if joint.motor is not None and joint.motor.inductance]
    return Coordinates(arm, mechanics, tuple(rotors), bristles, tuple(wound) if windings else ())


def refuse_drive_states(arm: Arm, where: str, instead: str = "") -> None:
    """Refuse an arm whose drives have internal states, which not every integrator supports."""
    found = coordinates_of(arm)
    what, without = [], []
    if found.rotors:
        what.append("elastic joints")
        without.append("without springs, arm.with_drives(elasticity=None)")
    if found.bristles:
        names = {arm.joints[found.joint_of[b.place]].name for b in found.bristles}
        what.append(f"LuGre friction in {', '.join(sorted(names))}")
        without.append("without bristle_stiffness and bristle_damping of friction")
    if what:
        raise ModelError(
            f"{arm.name!r} has {' and '.join(what)}, whose states are not simulated here. "
            f"{instead}Use the arm {' and '.join(without)}.",
            where,
        )


def _bristles(mechanics: Arm, alone: list[Rotor], first: int) -> tuple[BristleAt, ...]:
    """The bristles of the mechanics' drives, then those of rotors that are not bodies of it."""
    made: list[BristleAt] = []
    for k, (drive, body) in enumerate(zip(drives_of(mechanics), mechanics.moving.bodies, strict=True)):
        f = body.joint.friction
        if f is None or f.bristle_stiffness is None:
            continue
        across = drive.ratio * drive.ratio if f.side == "motor" else 1.0
        law = Bristle(drive.at_joint, across * f.bristle_stiffness, across * f.bristle_damping)
        made.append(BristleAt(first + len(made), drive.freedom, drive.multiplier, k, law))
    for rotor in alone:
        f = rotor.friction
        if f is not None and f.bristle_stiffness is not None:
            law = Bristle(f, f.bristle_stiffness, f.bristle_damping)
            made.append(BristleAt(first + len(made), rotor.place, 1.0, None, law))
    return tuple(made)
