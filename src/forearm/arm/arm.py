"""The arm: a frozen, validated tree of rigid links, the starting point of everything in forearm."""

from __future__ import annotations

import os
from collections.abc import Mapping
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
from forearm.errors import InputError, ModelError, located, shorten
from forearm.portable import product
from forearm.records import fields_of, record, set_field
from forearm.spatial import Floats
from forearm.values import as_pose, check_choice, check_kind, check_name, check_text, chosen, frozen_array

if TYPE_CHECKING:
    from forearm.reduction.base import BaseParameters
    from forearm.reduction.regrouped import RegroupedArm

Named = TypeVar("Named", Link, Joint)

STANDARD_GRAVITY = (0.0, 0.0, -9.81)
IDENTITY: Any = tuple(map(tuple, np.eye(4).tolist()))


@record
class Hand:
    """The frame to which hand positions, forces and payloads refer.

    Args:
        link: name of the link that carries it.
        pose: the hand (4, 4) in the frame of that link.
    """

    link: str
    pose: Floats = IDENTITY

    def __post_init__(self) -> None:
        set_field(self, "pose", as_pose(self.pose, "hand"))


@record
class Arm:
    """A tree of rigid links with revolute, prismatic and fixed joints, its gravity, base, hand and drives.

    `joints` are the n movable joints (degrees of freedom), in the order of q. The base is the link that no
    joint moves.

    Args:
        name: name of the arm.
        links: every link, in any order.
        tree: every joint, including fixed and mimicking ones; stored depth first, siblings in the given
            order.
        gravity: free-fall acceleration (3,) in the base frame, m/s^2.
        base: the base frame (4, 4) in the world.
        hand: the hand, or the name of its link; None: the leaf with the most degrees of freedom on its path,
            the first on a tie.
        source: where the parameters come from.
        notes: other remarks.
        deviations: standard deviations of measured parameters, by name: "link2.mass", "link2.com.x",
            "link2.inertia.xx" (about the centre of mass), "joint1.friction.coulomb.positive",
            "joint1.motor.rotor_inertia", "joint1.elasticity.stiffness". No computation depends on them.
    """

    name: str
    links: tuple[Link, ...]
    tree: tuple[Joint, ...]
    gravity: Floats = STANDARD_GRAVITY  # type: ignore[assignment]
    base: Floats = IDENTITY
    hand: Hand = None  # type: ignore[assignment]
    source: str = ""
    notes: str = ""
    deviations: Mapping[str, float] = NONE

    def __post_init__(self) -> None:
        check_name(self.name, "arm")
        for name in ("source", "notes"):
            check_text(getattr(self, name), f"arm {self.name!r}, {name}")
        links, tree = (self._records(name, kind) for name, kind in (("links", Link), ("tree", Joint)))
        root = root_of(links, tree)
        tree = depth_first(root, tree)
        order = {name: i for i, name in enumerate([root, *(j.child for j in tree)])}
        set_field(self, "tree", tree)
        set_field(self, "links", tuple(sorted(links, key=lambda link: order[link.name])))
        set_field(self, "gravity", frozen_array(self.gravity, (3,), "gravity"))
        set_field(self, "base", as_pose(self.base, "base"))
        resolve_mimics(tree)
        set_field(self, "hand", self._as_hand(self.hand, links))
        conventions = {j.placement.convention for j in tree if isinstance(j.placement, DH)}
        if len(conventions) > 1:
            raise ModelError(
                "its joints mix the standard and the modified Denavit-Hartenberg convention; "
                "use one convention for all, or write the others as frames.",
                f"arm {self.name!r}",
            )
        if self.deviations is not NONE:
            with located(f"arm {self.name!r}, deviations"):
                set_field(self, "deviations", checked(self.deviations, lambda: self.named_values))

    def _records(self, name: str, kind: type) -> tuple[Any, ...]:
        given = getattr(self, name)
        check_kind(given, (tuple, list), f"arm {self.name!r}, {name}")
        for record_ in given:
            check_kind(record_, kind, f"arm {self.name!r}, {name}")
        return tuple(given)

    def _as_hand(self, value: Any, in_file_order: tuple[Link, ...]) -> Hand:
        if isinstance(value, Hand):
            self.link(value.link)
            return value
        if isinstance(value, str):
            self.link(value)
            return Hand(link=value)
        if value is not None:
            raise InputError(
                f"expected a Hand or the name of a link, got {shorten(value)}.", f"arm {self.name!r}", "hand"
            )
        return Hand(link=default_hand(in_file_order, self.tree))

    @property
    def n(self) -> int:
        """The number of degrees of freedom: the length of q."""
        return len(self.joints)

    @cached_property
    def joints(self) -> tuple[Joint, ...]:
        """The movable joints (degrees of freedom), in the order of q."""
        return tuple(j for j in self.tree if j.kind != "fixed" and j.mimic is None)

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
        given.
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
        for field in changes:
            check_choice(field, fields_of(joint), "with_joint, field of a joint")
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


def _named(items: tuple[Named, ...], name: str, what: str, arm: str) -> Named:
    return chosen({item.name: item for item in items}, name, f"arm {arm!r}, {what}")
