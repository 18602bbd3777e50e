"""Bodies with joints, as MuJoCo has them: what a file and a compiled model are read into. No XML here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from forearm.arm.joint import Kind, Limits, Mimic
from forearm.files.mjcf.orientation import Placed
from forearm.spatial import Floats, MassProperties

WORLD = "world"


@dataclass(frozen=True, eq=False)
class ArmJoint:
    """One freedom of a body: a turn about an axis (3,) through `pos`, or a slide along it, both in the
    body's frame; at q = `ref` the body is where it is written.
    """

    name: str
    kind: Kind
    axis: Floats
    pos: Floats
    ref: float = 0.0
    limits: Limits = field(default_factory=Limits)
    armature: float = 0.0  # kg m^2 (kg), joint side
    viscous: float = 0.0
    coulomb: float = 0.0
    effort: float | None = None
    gear: float = 1.0
    where: str = ""


@dataclass(frozen=True, eq=False)
class ArmBody:
    """A body: where it sits in its parent, the joints that move it, in their order, and what it weighs.

    `loose` says where a free or a ball joint moves it, `unknown_mass` why its mass is not known.
    """

    name: str
    placed: Placed
    joints: tuple[ArmJoint, ...]
    properties: MassProperties
    children: tuple[ArmBody, ...] = ()
    sites: Mapping[str, Floats] = field(default_factory=dict)
    loose: str = ""
    unknown_mass: str = ""
    where: str = ""

    def walk(self) -> Iterator[ArmBody]:
        """It and everything on it, depth first."""
        stack = [self]
        while stack:
            body = stack.pop()
            yield body
            stack.extend(reversed(body.children))


@dataclass(frozen=True, eq=False)
class BodyTree:
    """Everything that an arm is made of: the bodies on the world, gravity there, the joints that actuators
    drive, as they are with them, and those that follow others.
    """

    name: str
    bodies: tuple[ArmBody, ...]
    gravity: Floats
    driven: Mapping[str, ArmJoint] = field(default_factory=dict)
    mimics: Mapping[str, Mimic] = field(default_factory=dict)


def joints_of(bodies: Sequence[ArmBody]) -> dict[str, ArmJoint]:
    """All joints by name."""
    return {joint.name: joint for body in bodies for part in body.walk() for joint in part.joints}
