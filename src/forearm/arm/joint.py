"""A joint: the pose of the child link on its parent, and how it moves.

Every placement provides the same three quantities, so that other code need not know how the joint was
described: T_parent_child(q) = before . motion(axis, q) . after.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from forearm.arm.drive import Bearing, Elasticity, Friction, Motor, Transmission
from forearm.errors import InputError, ModelError
from forearm.portable import matmul, product
from forearm.reading.fields import (
    AngleField,
    ArrayField,
    DirectionField,
    ListField,
    NameField,
    ObjectField,
    Radians,
)
from forearm.records import RecordField, choice, declared, physical, record, set_field
from forearm.spatial import (
    RIGHT_ANGLE,
    Floats,
    pose,
    pose_xyz_rpy,
    rotation_about,
    rotation_x,
    rotation_z,
    rpy_of,
    squared_pose,
)
from forearm.values import frozen_array

Kind = Literal["revolute", "prismatic", "fixed"]
Convention = Literal["standard", "modified"]
KINDS: tuple[Kind, ...] = get_args(Kind)
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)


class Limits(NamedTuple):
    """The range of a joint coordinate.

    Args:
        lower: smallest q, rad or m; -inf: unlimited.
        upper: largest q, rad or m; inf: unlimited.
    """

    lower: float = -math.inf
    upper: float = math.inf


@dataclass(frozen=True)
class LimitsField:
    """A pair of numbers or angles, in order."""

    doc: str
    pair = ListField(AngleField(infinite=True), 2, "[lower, upper]")

    def read(self, value: Any, place: str) -> Limits:
        """The limits."""
        lower, upper = self.pair.read(value, place)
        if lower > upper or lower == math.inf or upper == -math.inf:
            raise ModelError(f"lower must not be above upper, got {lower:g} and {upper:g}.", place)
        return Limits(lower, upper)

    def schema(self) -> dict[str, Any]:
        """A pair."""
        return self.pair.schema() | {"description": self.doc}


@record
class DH:
    """Denavit-Hartenberg parameters in one of the two conventions; the joint axis is z.

    standard: T = Rz(theta) Tz(d) Tx(a) Rx(alpha), a and alpha after the joint (Swartz, Waters); modified: T =
    Rx(alpha) Tx(a) Rz(theta) Tz(d), a and alpha before the joint (Dhanaraj 2.2, Mata).
    """

    convention: Convention = choice("a and alpha after the joint, or before it (Craig)", CONVENTIONS)
    a: float = physical("length along x", "m", default=0.0)
    alpha: float = declared(AngleField("twist about x, rad"), default=0.0)
    d: float = physical("offset along z, to which q is added for a prismatic joint", "m", default=0.0)
    theta: float = declared(
        AngleField("angle about z, rad, to which q is added for a revolute joint"), default=0.0
    )

    @property
    def axis(self) -> Floats:
        """The joint's axis: z."""
        return np.array([0.0, 0.0, 1.0])

    @property
    def before(self) -> Floats:
        """The joint's frame at q = 0 in the parent link."""
        along_z = pose(rotation_z(self.theta), (0.0, 0.0, self.d))
        return along_z if self.convention == "standard" else matmul(self._along_x, along_z)

    @property
    def after(self) -> Floats:
        """The child link in the joint's moving frame."""
        return self._along_x if self.convention == "standard" else np.eye(4)

    @property
    def _along_x(self) -> Floats:
        return pose(rotation_x(self.alpha), (self.a, 0.0, 0.0))


@record
class Frame:
    """The joint's frame in the parent link and its axis in that frame, as in URDF; the child link's frame is
    the joint's moving frame.
    """

    xyz: Floats = declared(
        ArrayField((3,), "origin in the parent link's frame", "m"), default=(0.0, 0.0, 0.0)
    )
    rpy: Floats = declared(
        ArrayField(
            (3,),
            "roll, pitch, yaw in the parent link's axes: R = Rz(yaw) Ry(pitch) Rx(roll)",
            "rad",
            AngleField(),
        ),
        default=(0.0, 0.0, 0.0),
    )
    axis: Floats = declared(
        DirectionField("direction in the joint's frame, of any nonzero length"), default=(0.0, 0.0, 1.0)
    )

    def __post_init__(self) -> None:
        set_field(self, "axis", frozen_array(self.axis, (3,), "axis"))

    @staticmethod
    def from_pose(T: Floats, axis: Floats | None = None) -> Frame:
        """A placement from the joint's frame in the parent link.

        Args:
            T: the joint's frame (4, 4) in the parent link.
            axis: direction (3,) in the joint's frame; None: z.
        """
        frame = Frame(xyz=T[:3, 3], rpy=rpy_of(T[:3, :3]))
        return frame if axis is None else replace(frame, axis=axis)

    @property
    def before(self) -> Floats:
        """The joint's frame at q = 0 in the parent link."""
        return pose_xyz_rpy(self.xyz, self.rpy)

    @property
    def after(self) -> Floats:
        """The child link in the joint's moving frame: the same frame."""
        return np.eye(4)


@record
class Mimic:
    """A joint that follows another: q = multiplier x q(joint) + offset."""

    joint: str = declared(NameField("name of the leading joint"))
    multiplier: float = physical("q per rad or m of the leading joint", default=1.0)
    offset: float = physical("q where the leading joint is at 0", "rad (m)", default=0.0)


@record
class Joint:
    """One joint of the tree: its two links, placement, limits and drive."""

    name: str = declared(NameField("its unique name"))
    kind: Kind = choice("how it moves", KINDS)
    parent: str = declared(NameField("name of the link before it"))
    child: str = declared(NameField("name of the link behind it"))
    placement: DH | Frame = declared(ObjectField("its pose on the parent link, and its axis", (DH, Frame)))
    limits: Limits = declared(LimitsField("[lower, upper], rad (m); if absent, unlimited"), default=Limits())
    max_speed: float | None = physical(
        "largest |qd|; if absent, unlimited", "rad / s (m / s)", default=None, minimum=0.0
    )
    max_effort: float | None = physical(
        "largest torque (force) on the joint side; if absent, unlimited", "N m (N)", default=None, minimum=0.0
    )
    mimic: Mimic | None = declared(
        RecordField(Mimic, "the joint that it follows: q = multiplier q(joint) + offset"), default=None
    )
    motor: Motor | None = declared(RecordField(Motor, "its motor and gear"), default=None)
    friction: Friction | None = declared(RecordField(Friction, "its friction"), default=None)
    bearings: tuple[Bearing, ...] = declared(
        ListField(RecordField(Bearing), doc="bearings with load-dependent friction"), default=()
    )
    transmission: Transmission | None = declared(
        RecordField(Transmission, "gear losses; if absent, lossless"), default=None
    )
    elasticity: Elasticity | None = declared(
        RecordField(Elasticity, "compliance between motor and link; if absent, the drive is rigid"),
        default=None,
    )

    def __post_init__(self) -> None:
        where = f"joint {self.name!r}"
        if self.kind == "fixed" and (self.mimic or self.has_drive):
            raise ModelError(
                "a fixed joint cannot have a motor, friction, bearing, transmission, elasticity or mimic.",
                where,
            )
        if self.friction is not None and self.friction.side == "motor" and self.motor is None:
            raise ModelError(
                "given on the motor side, but there is no motor with a gear_ratio.", where, "friction"
            )
        if self.elasticity is not None and self.mimic is not None:
            raise ModelError("a mimicking joint follows rigidly; leave elasticity out.", where, "elasticity")
        if self.elasticity is not None and (self.motor is None or self.motor.rotor_inertia == 0.0):
            raise ModelError(
                "a spring needs a rotor that moves by itself; give the joint a motor with a "
                "rotor_inertia above 0.",
                where,
                "elasticity",
            )
        for bearing in self.bearings:
            if (bearing.kind == "linear") != (self.kind == "prismatic"):
                raise ModelError(
                    f"a {self.kind} joint cannot have a {bearing.kind} bearing; linear bearings are for "
                    "prismatic joints, journal and thrust bearings for revolute ones.",
                    where,
                    "bearing",
                )
        if self.kind == "prismatic":
            self._refuse_angles(where)
        set_field(self, "limits", Limits(*map(float, self.limits)))

    def _refuse_angles(self, where: str) -> None:
        """Limits and gaps of a prismatic joint are lengths."""
        gap = None if self.elasticity is None else self.elasticity.half_gap
        for place, numbers in (("limits", self.limits), ("elasticity, half_gap", (gap,))):
            if any(isinstance(number, Radians) for number in numbers):
                raise InputError(
                    "lengths of a prismatic joint are in m, not angles; write plain numbers.", where, place
                )

    @property
    def has_drive(self) -> bool:
        """Whether the joint has a motor, friction, bearing, transmission or elasticity."""
        return bool(self.motor or self.friction or self.bearings or self.transmission or self.elasticity)

    @cached_property
    def before(self) -> Floats:
        """The joint's frame at q = 0 in the parent link, (4, 4); right angles within 1e-9 are made exact."""
        return _read_only(squared_pose(self.placement.before))

    @cached_property
    def axis(self) -> Floats:
        """The unit axis in the joint's frame, (3,); right angles within 1e-9 are made exact."""
        axis = np.array(self.placement.axis)
        axis[np.abs(axis) < RIGHT_ANGLE] = 0.0
        return _read_only(axis / abs(axis.sum()) if np.count_nonzero(axis) == 1 else axis)

    @cached_property
    def after(self) -> Floats:
        """The child link in the joint's moving frame, (4, 4)."""
        return _read_only(squared_pose(self.placement.after))

    def transform(self, q: float | Floats = 0.0) -> Floats:
        """The child link in the parent link at q: before . motion(axis, q) . after, shape (..., 4, 4)."""
        return np.asarray(product(self.before, motion(self.kind, self.axis, q), self.after))


def motion(kind: Kind, axis: Floats, q: float | Floats) -> Floats:
    """The joint's own motion at q: a rotation about the axis, a translation along it, or the identity; shape
    (..., 4, 4).
    """
    T = np.zeros((*np.shape(q), 4, 4))
    T[..., range(4), range(4)] = 1.0
    if kind == "revolute":
        T[..., :3, :3] = rotation_about(axis, q)
    elif kind == "prismatic":
        T[..., :3, 3] = np.asarray(q, dtype=float)[..., None] * axis
    return T


def _read_only(array: Floats) -> Floats:
    array.flags.writeable = False
    return array
