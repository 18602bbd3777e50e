"""A joint: the pose of the child link on its parent, and how it moves.

Every placement provides the same three quantities, so that other code need not know how the joint was
described: T_parent_child(q) = before . motion(axis, q) . after.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import numpy as np

from forearm.arm.drive import Bearing, Elasticity, Friction, Motor, Transmission
from forearm.errors import InputError, ModelError, shorten
from forearm.portable import matmul, norm, product
from forearm.records import quantity, record, set_field
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
from forearm.values import LARGEST, as_floats, check_choice, check_kind, check_name, frozen_array, is_number

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


@record
class DH:
    """Denavit-Hartenberg parameters in one of the two conventions; the joint axis is z.

    standard: T = Rz(theta) Tz(d) Tx(a) Rx(alpha), a and alpha after the joint (Swartz, Waters); modified: T =
    Rx(alpha) Tx(a) Rz(theta) Tz(d), a and alpha before the joint (Dhanaraj 2.2, Mata).

    Args:
        convention: "standard" or "modified".
        a: length along x, m.
        alpha: twist about x, rad.
        d: offset along z, m; q is added to it for a prismatic joint.
        theta: angle about z, rad; q is added to it for a revolute joint.
    """

    convention: Convention
    a: float = 0.0
    alpha: float = 0.0
    d: float = 0.0
    theta: float = 0.0

    def __post_init__(self) -> None:
        if self.convention not in CONVENTIONS:
            raise InputError(
                "expected 'standard' (a, alpha after the joint) or 'modified' (Craig: before "
                f"it), got {shorten(self.convention)}.",
                "DH convention",
            )
        for name in ("a", "alpha", "d", "theta"):
            set_field(self, name, quantity(getattr(self, name), f"DH parameter {name}"))

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

    Args:
        xyz: origin (3,) in the parent link's frame, m.
        rpy: roll, pitch, yaw (3,) in the parent link's axes, rad.
        axis: direction (3,) in the joint's frame, of any nonzero length.
    """

    xyz: Floats = (0.0, 0.0, 0.0)  # type: ignore[assignment]
    rpy: Floats = (0.0, 0.0, 0.0)  # type: ignore[assignment]
    axis: Floats = (0.0, 0.0, 1.0)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        set_field(self, "xyz", frozen_array(self.xyz, (3,), "frame, xyz"))
        set_field(self, "rpy", frozen_array(self.rpy, (3,), "frame, rpy"))
        axis = frozen_array(self.axis, (3,), "axis")
        largest = float(np.abs(axis).max())
        if largest == 0.0:
            raise ModelError("must not be 0 0 0; give the direction of the joint, such as 0 0 1.", "axis")
        # Normalised only if not of unit length already, so that reading back what was
        # written does not change a bit.
        if abs(matmul(axis, axis) - 1.0) > 1e-15:
            axis = axis / largest
            axis = axis / norm(axis)
        set_field(self, "axis", frozen_array(axis, (3,), "axis"))

    @staticmethod
    def from_pose(T: Floats, axis: Floats | None = None) -> Frame:
        """A placement from the joint's frame in the parent link.

        Args:
            T: the joint's frame (4, 4) in the parent link.
            axis: direction (3,) in the joint's frame; None: z.
        """
        if axis is None:
            return Frame(xyz=T[:3, 3], rpy=rpy_of(T[:3, :3]))
        return Frame(xyz=T[:3, 3], rpy=rpy_of(T[:3, :3]), axis=axis)

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
    """A joint that follows another: q = multiplier x q(joint) + offset.

    Args:
        joint: name of the leading joint.
        multiplier: q per rad or m of the leading joint.
        offset: q where the leading joint is at 0, rad or m.
    """

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        check_name(self.joint, "joint")
        set_field(self, "multiplier", quantity(self.multiplier, "mimic, multiplier"))
        set_field(self, "offset", quantity(self.offset, "mimic, offset"))


@record
class Joint:
    """One joint of the tree: its two links, placement, limits and drive.

    Args:
        name: its unique name.
        kind: "revolute", "prismatic" or "fixed".
        parent, child: names of the links before and behind it.
        placement: its pose on the parent link, and its axis.
        limits: range of q, rad or m; default: unlimited.
        max_speed: largest |qd|, rad/s (m/s); None: unlimited.
        max_effort: largest torque (force) on the joint side, N m (N); None: unlimited.
        mimic: the joint that it follows; None: a degree of freedom, unless fixed.
        motor, friction: its drive; None: not modelled.
        bearings: bearings with load-dependent friction.
        transmission: gear losses; None: lossless.
        elasticity: spring, damper and backlash between motor and link; None: the drive is rigid.
    """

    name: str
    kind: Kind
    parent: str
    child: str
    placement: DH | Frame
    limits: Limits = Limits()
    max_speed: float | None = None
    max_effort: float | None = None
    mimic: Mimic | None = None
    motor: Motor | None = None
    friction: Friction | None = None
    bearings: tuple[Bearing, ...] = ()
    transmission: Transmission | None = None
    elasticity: Elasticity | None = None

    def __post_init__(self) -> None:
        check_name(self.name, "joint")
        check_name(self.parent, "link")
        check_name(self.child, "link")
        where = f"joint {self.name!r}"
        check_choice(self.kind, KINDS, f"{where}, kind")
        check_kind(self.placement, (DH, Frame), f"{where}, placement")
        drives = {
            "mimic": Mimic,
            "motor": Motor,
            "friction": Friction,
            "transmission": Transmission,
            "elasticity": Elasticity,
        }
        for name, kind in drives.items():
            check_kind(getattr(self, name), (kind, type(None)), f"{where}, {name}")
        check_kind(self.bearings, (tuple, list), f"{where}, bearings")
        for bearing in self.bearings:
            check_kind(bearing, Bearing, f"{where}, bearings")
        set_field(self, "limits", _checked_limits(self.limits, where))
        for name in ("max_speed", "max_effort"):
            if getattr(self, name) is not None:
                set_field(self, name, quantity(getattr(self, name), f"{where}, {name}", minimum=0.0))
        set_field(self, "bearings", tuple(self.bearings))
        if self.kind == "fixed" and (self.mimic or self.has_drive):
            raise ModelError(
                "a fixed joint cannot have a motor, friction, bearing, transmission, elasticity or mimic.",
                where,
            )
        if self.friction is not None and self.friction.side == "motor" and self.motor is None:
            raise ModelError(
                "given on the motor side, but there is no motor with a gear_ratio.", where, "friction"
            )
        if self.elasticity is not None:
            self._check_elasticity(where)
        for bearing in self.bearings:
            if (bearing.kind == "linear") != (self.kind == "prismatic"):
                raise ModelError(
                    f"a {self.kind} joint cannot have a {bearing.kind} bearing; linear "
                    "bearings are for prismatic joints, journal and thrust bearings for "
                    "revolute ones.",
                    where,
                    "bearing",
                )

    def _check_elasticity(self, where: str) -> None:
        """A spring requires a rotor with its own inertia."""
        if self.mimic is not None:
            raise ModelError("a mimicking joint follows rigidly; leave elasticity out.", where, "elasticity")
        if self.motor is None or self.motor.rotor_inertia == 0.0:
            raise ModelError(
                "a spring needs a rotor that moves by itself; give the joint a motor with a "
                "rotor_inertia above 0.",
                where,
                "elasticity",
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


def _checked_limits(value: object, where: str) -> Limits:
    if not isinstance(value, tuple | list | np.ndarray) or len(value) != 2:
        raise InputError(f"expected a pair [lower, upper], got {shorten(value)}.", where, "limits")
    if not all(map(is_number, value)):
        raise InputError(f"expected numbers, got {shorten(value)}.", where, "limits")
    lower, upper = map(float, as_floats(value, f"{where}, limits"))
    if any(math.isfinite(v) and abs(v) > LARGEST for v in (lower, upper)):
        raise InputError(f"no number may exceed {LARGEST:g}; write inf for no limit.", where, "limits")
    if math.isnan(lower) or math.isnan(upper) or lower > upper or lower == math.inf or upper == -math.inf:
        raise ModelError(f"lower must not be above upper, got {lower:g} and {upper:g}.", where, "limits")
    return Limits(lower, upper)
