"""The arm: a frozen, validated tree of rigid links, the starting point of everything in forearm."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.deviations import NONE, checked, kept
from forearm.arm.joint import DH, Joint
from forearm.arm.link import Link
from forearm.arm.moving import Moving, reduce_to_moving
from forearm.arm.named_values import named_values
from forearm.arm.tree import default_hand, depth_first, resolve_mimics, root_of
from forearm.errors import InputError, ModelError, located, missing_attribute, shorten
from forearm.portable import product
from forearm.reading.fields import (
    AngleField,
    ArrayField,
    ListField,
    NameField,
    ObjectField,
    PoseField,
    Radians,
)
from forearm.records import RecordField, declared, fields_of, record, set_field, text
from forearm.spatial import Floats
from forearm.values import MAX_TEXT, as_pose, check_choice, check_number, chosen, frozen_array

if TYPE_CHECKING:
    from forearm.reduction.base import BaseParameters
    from forearm.reduction.regrouped import RegroupedArm

Named = TypeVar("Named", Link, Joint)

STANDARD_GRAVITY = (0.0, 0.0, -9.81)
IDENTITY: Any = tuple(map(tuple, np.eye(4).tolist()))


@record
class Hand:
    """The frame to which hand positions, forces and payloads refer."""

    link: str = declared(NameField("name of the link that carries it"))
    pose: Floats = declared(PoseField((4, 4), "the hand in the frame of that link"), default=IDENTITY)


@record
class Arm:
    """A tree of rigid links with revolute, prismatic and fixed joints, its gravity, base, hand and drives.

    `joints` are the n movable joints (degrees of freedom), in the order of q. The base is the link that no
    joint moves. What is not a field has an error that suggests the nearest name, also for names of other
    packages.
    """

    name: str = declared(NameField("name of the arm"))
    links: tuple[Link, ...] = declared(ListField(RecordField(Link), doc="every link, in any order"))
    tree: tuple[Joint, ...] = declared(
        ListField(
            RecordField(Joint),
            doc="every joint, fixed and mimicking ones too; stored depth first, siblings in the given order",
        )
    )
    gravity: Floats = declared(
        ArrayField((3,), "free-fall acceleration in the base frame", "m / s^2"), default=STANDARD_GRAVITY
    )
    base: Floats = declared(PoseField((4, 4), "the base frame in the world"), default=IDENTITY)
    hand: Hand = declared(
        ObjectField(
            "the hand, or the name of its link; if absent, the leaf with the most degrees of freedom on its "
            "path, the first on a tie"
        ),
        default=None,
    )
    source: str = text("where the parameters come from", default="", max_length=MAX_TEXT)
    notes: str = text("what a user should know", default="", max_length=MAX_TEXT)
    deviations: Mapping[str, float] = declared(
        ObjectField(
            'standard deviations of measured parameters, by name: "link2.mass", "link2.com.x", '
            '"link2.inertia.xx" (about the centre of mass), "joint1.friction.coulomb.positive", '
            '"joint1.motor.rotor_inertia", "joint1.elasticity.stiffness"; no computation depends on them'
        ),
        default=NONE,
        unused=True,
    )
    home: Floats = declared(
        ObjectField(
            "the home position (n,), or some values by joint, rad (m); for others 0, or the middle of a "
            "range without it; no computation depends on it"
        ),
        default=None,
        unused=True,
    )

    def __post_init__(self) -> None:
        where = f"arm {self.name!r}"
        links = self.links
        root = root_of(links, self.tree)
        tree = depth_first(root, self.tree)
        order = {name: i for i, name in enumerate([root, *(j.child for j in tree)])}
        set_field(self, "tree", tree)
        set_field(self, "links", tuple(sorted(links, key=lambda link: order[link.name])))
        resolve_mimics(tree)
        hand = default_hand(links, tree) if self.hand is None else self.hand
        if not isinstance(hand, Hand | str):
            raise InputError(f"expected a Hand or the name of a link, got {shorten(hand)}.", where, "hand")
        set_field(self, "hand", hand if isinstance(hand, Hand) else Hand(link=hand))
        self.link(self.hand.link)
        conventions = {j.placement.convention for j in tree if isinstance(j.placement, DH)}
        if len(conventions) > 1:
            raise ModelError(
                "its joints mix the standard and the modified Denavit-Hartenberg convention; "
                "use one convention for all, or write the others as frames.",
                where,
            )
        set_field(self, "home", home_of(self.joints, self.home, f"{where}, home"))
        if self.deviations is not NONE:
            with located(f"{where}, deviations"):
                set_field(self, "deviations", checked(self.deviations, lambda: self.named_values))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return missing_attribute(self, name)

    @property
    def n(self) -> int:
        """The number of degrees of freedom: the length of q."""
        return len(self.joints)

    @cached_property
    def joints(self) -> tuple[Joint, ...]:
        """The movable joints (degrees of freedom), in the order of q."""
        return tuple(j for j in self.tree if j.kind != "fixed" and j.mimic is None)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The names of the movable joints, in the order of q."""
        return tuple(joint.name for joint in self.joints)

    @property
    def lower(self) -> Floats:
        """The lower limits of the movable joints (n,), rad (m); -inf: unlimited."""
        return np.array([joint.limits.lower for joint in self.joints], dtype=np.float64)

    @property
    def upper(self) -> Floats:
        """The upper limits of the movable joints (n,), rad (m); inf: unlimited."""
        return np.array([joint.limits.upper for joint in self.joints], dtype=np.float64)

    @property
    def max_speed(self) -> Floats:
        """The largest speeds of the movable joints (n,), rad/s (m/s); inf: unlimited."""
        return self._largest("max_speed")

    @property
    def max_effort(self) -> Floats:
        """The largest torques (forces) of the movable joints (n,), N m (N); inf: unlimited."""
        return self._largest("max_effort")

    def _largest(self, name: str) -> Floats:
        bounds = [getattr(joint, name) for joint in self.joints]
        return np.array([np.inf if bound is None else bound for bound in bounds], dtype=np.float64)

    @cached_property
    def moving(self) -> Moving:
        """The arm as used in computations: moving bodies only, links on fixed joints merged into them."""
        return reduce_to_moving(self.links, self.tree)

    @cached_property
    def is_serial(self) -> bool:
        """Whether the moving bodies form a single chain without mimicking joints."""
        return all(b.parent == i - 1 for i, b in enumerate(self.moving.bodies)) and not any(
            j.mimic for j in self.tree
        )

    @property
    def base_link(self) -> str:
        """The name of the base link, which no joint moves."""
        return self.links[0].name

    @property
    def mass(self) -> float:
        """The total mass of all links, base included, in kg."""
        return float(sum(link.mass for link in self.links))

    @cached_property
    def named_values(self) -> Mapping[str, float]:
        """The measurable parameters of links and drives, by the names used in `deviations`."""
        return MappingProxyType(named_values(self.links, self.tree))

    def link(self, name: str) -> Link:
        """The link with this name."""
        return _named(self.links, name, "link", self.name)

    def joint(self, name: str) -> Joint:
        """The joint with this name; fixed and mimicking joints count too."""
        return _named(self.tree, name, "joint", self.name)

    def replace(self, **changes: Any) -> Arm:
        """Return a copy with some fields changed, such as `gravity`, `base`, `hand`, `name`, `links`, `tree`.

        `hand` is a (4, 4) pose on the current hand link, the name of a link, or a `Hand`. Changing `base`
        alone tilts the arm: gravity stays fixed in the world, so its components in the base frame rotate; if
        both are given, both are used as given. A changed parameter loses its deviation unless `deviations` is
        given; joints keep their home position where their limits allow it.
        """
        fields = fields_of(self)
        for name in changes:
            check_choice(name, fields, "replace, field of an arm")
        if "base" in changes and "gravity" not in changes:
            new = as_pose(changes["base"], "base")
            changes["gravity"] = product(new[:3, :3].T, self.base[:3, :3], self.gravity)
        hand = changes.get("hand", self.hand)
        if not isinstance(hand, Hand | str | None):
            changes["hand"] = Hand(link=self.hand.link, pose=hand)
        if "tree" in changes and "home" not in changes:
            fields["home"] = kept_home(self, changes["tree"])
        if not self.deviations or "deviations" in changes:
            return Arm(**(fields | changes))
        made = Arm(**(fields | changes | {"deviations": NONE}))
        same = kept(self.deviations, self.named_values, made.named_values)
        return Arm(**(fields_of(made) | {"deviations": same})) if same else made

    def with_link(self, link: Link) -> Arm:
        """Return a copy in which this link replaces the link of the same name."""
        self.link(link.name)
        return self.replace(links=tuple(link if other.name == link.name else other for other in self.links))

    def with_joint(self, name: str, **changes: Any) -> Arm:
        """Return a copy with some fields of one joint changed.

        Args:
            name: name of the joint.
            **changes: new fields, such as `motor`, `friction`, `limits`, `max_effort`.
        """
        joint = self.joint(name)
        for name_ in changes:
            check_choice(name_, fields_of(joint), "with_joint, field of a joint")
        changed = type(joint)(**(fields_of(joint) | changes))
        return self.replace(tree=tuple(changed if other.name == name else other for other in self.tree))

    def with_drives(self, drives: Mapping[str, Any] | None = None, /, **every: Any) -> Arm:
        """Return a copy with other drives: `motor`, `friction`, `bearings`, `transmission`, `elasticity` of
        every movable joint, or by joint.

        `arm.with_drives(friction=Friction(coulomb=2.0))` sets this friction for every movable joint;
        `arm.with_drives({"joint1": {"motor": motor, "friction": {"viscous": 0.3}}})` changes one joint. A
        record replaces the present one, a mapping changes some of its fields, None removes it. A joint with
        `elasticity` needs a motor with a rotor_inertia.

        Args:
            drives: parts of drives by joint name; None: no changes by name.
            **every: drive parts for every movable joint.
        """
        from forearm.arm.change import with_drives

        return with_drives(self, drives, every)

    def rigid(self) -> Arm:
        """Return a copy without motors, rotor inertia, friction, bearings, transmissions and elasticity."""
        from forearm.arm.change import rigid

        return rigid(self)

    def lock(self, positions: Mapping[str, float]) -> Arm:
        """Return a copy with the named joints locked at these positions: fewer degrees of freedom, links
        merged. Waters IV.
        """
        from forearm.arm.change import lock

        return lock(self, positions)

    def with_payload(
        self,
        mass: float,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
        longest: float | None = None,
    ) -> Arm:
        """Return a copy with a payload in the hand. Waters IV.

        Args:
            mass: mass, kg.
            com: its centre of mass (3,) in the hand frame, m.
            inertia: tensor (3, 3) about `com`, hand axes, kg m^2; None: 0, or estimated from `longest`.
            longest: the longest dimension L, m, instead of `inertia`: a slender rod of unknown direction, J =
                m L^2 / 18 about every axis.
        """
        from forearm.arm.change import with_payload

        return with_payload(self, mass, com, inertia, longest)

    def with_values(self, values: Mapping[str, float]) -> Arm:
        """Return a copy with other parameter values by name: "link2.mass", "joint1.friction.viscous" and all
        others of `named_values`, "gravity.z", and "joint2.alpha" if joints are rows of a Denavit-Hartenberg
        table.
        """
        from forearm.arm.with_values import with_values

        return with_values(self, values)

    def scale_friction(self, factor: float) -> Arm:
        """Return a copy with viscous, Coulomb and static friction of every joint scaled by a factor >= 0,
        bristles included; bearings and gears are unchanged.
        """
        from forearm.arm.change import scale_friction

        return scale_friction(self, factor)

    def snap_angles(self, tolerance: float = 1e-4) -> Arm:
        """Return a copy in which joint angles within `tolerance` (rad) of a multiple of 45 degrees, such as
        1.5708, are exact, which saves operations. `arm.snap.rounded_angles` lists them.
        """
        from forearm.arm.snap import snap_angles

        return snap_angles(self, tolerance)

    def base_parameters(self) -> BaseParameters:
        """The base parameters: the combinations of inertial parameters that joint torques can identify, with
        labels.
        """
        from forearm.reduction.base import base_parameters

        return base_parameters(self)

    def regrouped(self) -> RegroupedArm:
        """The equivalent arm with regrouped parameters and shifted origins: same joint torques, fewer
        operations.
        """
        from forearm.reduction.regrouped import regrouped_arm

        return regrouped_arm(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the arm file (TOML). Reading it back yields an equal arm."""
        from forearm.files.armfile_write import save

        save(self, path)

    def to_urdf(self, path: str | os.PathLike[str]) -> None:
        """Write a URDF; a LossWarning lists what URDF cannot represent."""
        from forearm.files.urdf_write import save_urdf

        save_urdf(self, path)

    def to_mjcf(self, path: str | os.PathLike[str]) -> None:
        """Write MJCF, the XML of MuJoCo; a LossWarning lists what MJCF cannot represent."""
        from forearm.files.mjcf.write import save_mjcf

        save_mjcf(self, path)

    def __repr__(self) -> str:
        kinds = "".join("R" if j.kind == "revolute" else "P" for j in self.joints)
        shape = "serial" if self.is_serial else "tree"
        return f"<Arm {self.name!r}: {self.n} joints {kinds}, {shape}, {self.mass:.6g} kg>"

    def __str__(self) -> str:
        from forearm.arm.text import arm_report

        return arm_report(self).text()

    def _repr_html_(self) -> str:
        from forearm.arm.text import arm_report

        return arm_report(self).html()


def check_arm(arm: object, what: str, moves: bool = False) -> None:
    """Refuse anything but an Arm, or an arm without a movable joint if one is required."""
    if not isinstance(arm, Arm):
        raise InputError(f"expected an Arm, such as fa.load('puma560'), got {shorten(arm)}.", what)
    if moves and not arm.n:
        raise InputError(f"{arm.name!r} has no movable joint.", what)


def home_of(joints: Sequence[Joint], given: Any, where: str) -> Floats:
    """The home position (n,) within the limits, from an array or some values by joint."""
    names = [joint.name for joint in joints]
    values = given if isinstance(given, Mapping) else {}
    if given is not None and not isinstance(given, Mapping):
        values = dict(zip(names, ListField(AngleField(), len(names)).read(given, where), strict=True))
    home = dict(zip(names, map(usual_home, joints), strict=True))
    for name, value in values.items():
        joint = joints[names.index(check_choice(name, names, where))]
        place = f"{where}, {name}"
        home[name] = position = check_number(value, place)
        if isinstance(value, Radians) and joint.kind == "prismatic":
            raise InputError(
                "a length of a prismatic joint is in m, not an angle; write a plain number.", place
            )
        lower, upper = joint.limits
        if not lower <= position <= upper:
            raise ModelError(f"must be within the limits {lower:g} to {upper:g}, got {position:g}.", place)
    return frozen_array(list(home.values()), (len(names),), where)


def usual_home(joint: Joint) -> float:
    """0, or the middle of a range without it, or its only end."""
    lower, upper = joint.limits
    if lower <= 0.0 <= upper:
        return 0.0
    return lower if upper == math.inf else upper if lower == -math.inf else 0.5 * (lower + upper)


def kept_home(arm: Arm, tree: Sequence[Any]) -> dict[str, float]:
    """Positions at home that are not the usual ones, of joints that can still be there."""
    own = {j.name: x for j, x in zip(arm.joints, arm.home.tolist(), strict=True) if x != usual_home(j)}
    still = {j.name: j.limits for j in tree if isinstance(j, Joint) and j.kind != "fixed" and not j.mimic}
    return {
        name: x for name, x in own.items() if name in still and still[name].lower <= x <= still[name].upper
    }


def _named(items: tuple[Named, ...], name: str, what: str, arm: str) -> Named:
    return chosen({item.name: item for item in items}, name, f"arm {arm!r}, {what}")
