"""Bodies with joints, as in MuJoCo: the common form of a file and of a compiled model. No XML here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from forearm.arm.joint import Kind, Limits, Mimic
from forearm.files.mjcf.orientation import Placed
from forearm.spatial import Floats, MassProperties
from forearm.values import frozen

WORLD = "world"


@frozen
class ArmJoint:
    """One degree of freedom of a body: a rotation about an axis (3,) through `pos`, or a translation along
    it, both in the body's frame; at q = `ref` the body is at its written pose.
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


@frozen
class ArmBody:
    """A body: its pose in the parent, its joints in order, and its mass properties.

    `loose` gives the location of a free or ball joint that moves it, `unknown_mass` the reason why its mass
    is unknown.
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
        """The body and its whole subtree, depth first."""
        stack = [self]
        while stack:
            body = stack.pop()
            yield body
            stack.extend(reversed(body.children))


@frozen
class BodyTree:
    """All data for an arm: the bodies on the world, gravity, the actuated joints (with their drives) and the
    coupled joints.
    """

    name: str
    bodies: tuple[ArmBody, ...]
    gravity: Floats
    driven: Mapping[str, ArmJoint] = field(default_factory=dict)
    mimics: Mapping[str, Mimic] = field(default_factory=dict)


def joints_of(bodies: Sequence[ArmBody]) -> dict[str, ArmJoint]:
    """All joints by name."""
    return {joint.name: joint for body in bodies for part in body.walk() for joint in part.joints}
