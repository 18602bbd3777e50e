"""The bodies below <worldbody>: pose, joints, mass and sites of each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from forearm.arm.joint import Limits
from forearm.errors import InputError
from forearm.files.mjcf.attributes import MjcfElement, largest_of
from forearm.files.mjcf.defaults import Defaults
from forearm.files.mjcf.geoms import UnknownMass, properties_of_geoms
from forearm.files.mjcf.orientation import ORIGIN, Placed, placed
from forearm.files.mjcf.settings import MjcfSettings
from forearm.files.mjcf.tree import WORLD, ArmBody, ArmJoint
from forearm.files.report import FileReport
from forearm.portable import matmul
from forearm.reading.xml import Element
from forearm.spatial import Floats, MassProperties, move_body

NOTHING: MassProperties = (0.0, np.zeros(3), np.zeros((3, 3)))
JOINT_TYPES = ("hinge", "slide", "ball", "free")
# Children of a body that generate bodies at compile time, or import them.
UNREADABLE = {
    "replicate": "write the copies out",
    "attach": "write the attached bodies into the file",
    "composite": "write its bodies out",
    "flexcomp": "remove it",
}
SOFT = ("composite", "flexcomp")  # on the world they are not part of an arm
WITHOUT_MOTION = {"camera", "light", "plugin", "layer"}


@dataclass
class Content:
    """The direct children of a body, including those inside its frames."""

    joints: list[tuple[MjcfElement, Placed]] = field(default_factory=list)
    geoms: list[tuple[MjcfElement, Placed]] = field(default_factory=list)
    sites: list[tuple[MjcfElement, Placed]] = field(default_factory=list)
    inertials: list[tuple[MjcfElement, Placed]] = field(default_factory=list)
    bodies: list[tuple[Element, Placed, str | None]] = field(default_factory=list)


@dataclass(frozen=True)
class BodyReader:
    """Read bodies under the settings and defaults of one file."""

    settings: MjcfSettings
    defaults: Defaults
    report: FileReport
    names: Iterator[str]
    geoms: dict[str, list[tuple[MjcfElement, Placed]]] = field(default_factory=dict)  # by body

    def world(self, root: Element) -> tuple[ArmBody, ...]:
        """The bodies directly on the world."""
        content = Content()
        for element in root.all("worldbody"):
            for child in [child for child in element.children if child.tag in SOFT]:
                self.report.ignored(f"<{child.tag}> on the world", child)
                element.children.remove(child)
            self._collect(element, ORIGIN, element.attributes.get("childclass"), content)
        self.geoms[WORLD] = content.geoms
        return tuple(self._body(*inner) for inner in content.bodies)

    def _body(self, element: Element, outer: Placed, childclass: str | None) -> ArmBody:
        itself = MjcfElement(element, element.attributes)
        content = Content()
        self._collect(element, ORIGIN, self._childclass(itself, childclass), content)
        name = itself.name or next(self.names)
        self.geoms[name] = content.geoms
        if itself.number("gravcomp", 0.0) != 0.0:
            self.report.ignored("gravcomp", element)
        joints = [self._joint(joint, frame, name, i) for i, (joint, frame) in enumerate(content.joints)]
        properties, unknown = self._properties(itself, content)
        return ArmBody(
            name=name,
            placed=placed(itself, self.settings).on(outer),
            joints=tuple(joint for joint in joints if isinstance(joint, ArmJoint)),
            loose=next((joint for joint in joints if isinstance(joint, str)), ""),
            properties=properties,
            unknown_mass=unknown,
            sites={
                site.name: placed(site, self.settings).on(frame).pose
                for site, frame in content.sites
                if site.name and not site.has("fromto")
            },
            children=tuple(self._body(*inner) for inner in content.bodies),
            where=itself.where,
        )

    def _collect(self, element: Element, outer: Placed, childclass: str | None, content: Content) -> None:
        into = {
            "joint": content.joints,
            "freejoint": content.joints,
            "geom": content.geoms,
            "site": content.sites,
            "inertial": content.inertials,
        }
        for child in element.children:
            if child.tag in into:
                into[child.tag].append((self.defaults.of(child, childclass), outer))
            elif child.tag == "body":
                content.bodies.append((child, outer, childclass))
            elif child.tag == "frame":
                frame = MjcfElement(child, child.attributes)
                if frame.has("scale") or frame.has("massscale"):
                    raise InputError("scaling frames are not supported; expand the bodies.", frame.where)
                inner = placed(frame, self.settings).on(outer)
                self._collect(child, inner, self._childclass(frame, childclass), content)
            elif child.tag in UNREADABLE:
                raise InputError(
                    f"<{child.tag}> is not supported; {UNREADABLE[child.tag]}, or give the "
                    "compiled model to fa.from_mujoco.",
                    child.place,
                )
            elif child.tag not in WITHOUT_MOTION:
                self.report.ignored(f"<{child.tag:.40}>", child)

    def _childclass(self, element: MjcfElement, outer: str | None) -> str | None:
        name = element.values.get("childclass")
        return outer if not name else self.defaults.check(name, element.where)

    def _joint(self, joint: MjcfElement, frame: Placed, body: str, index: int) -> ArmJoint | str:
        """A hinge or a slide; for a joint with more degrees of freedom, its location and type."""
        kind = "free" if joint.tag == "freejoint" else joint.choice("type", JOINT_TYPES, "hinge")
        if kind in ("free", "ball"):
            return f"{joint.where} is a {kind} joint"
        settings = self.settings
        unit = math.pi / 180.0 if settings.degrees and kind == "hinge" else 1.0
        damping = joint.numbers("damping", 1, 3, default="0")
        self._note_forces(joint, damping)
        lower, upper = (bound * unit for bound in joint.bounds("range"))
        is_limited = joint.is_limited("limited", "range", settings.autolimits)
        effort = None
        if joint.is_limited("actuatorfrclimited", "actuatorfrcrange", settings.autolimits):
            effort = largest_of(joint, "actuatorfrcrange")
        pos, axis = joint.numbers("pos", 3, default="0 0 0"), joint.numbers("axis", 3, default="0 0 1")
        if not frame.is_origin:
            pos, axis = frame.xyz + matmul(frame.R, pos), matmul(frame.R, axis)
        return ArmJoint(
            name=joint.name or (f"{body}_joint" if index == 0 else f"{body}_joint{index + 1}"),
            kind="revolute" if kind == "hinge" else "prismatic",
            axis=axis,
            pos=pos,
            ref=joint.number("ref", 0.0) * unit,
            limits=Limits(lower, upper) if is_limited else Limits(),
            armature=joint.number("armature", 0.0),
            viscous=float(damping[0]),
            coulomb=joint.number("frictionloss", 0.0),
            effort=effort,
            where=joint.where,
        )

    def _note_forces(self, joint: MjcfElement, damping: Floats) -> None:
        if joint.numbers("stiffness", 1, 3, default="0").any() or joint.has("springdamper"):
            self.report.ignored("springs of joints (stiffness, springdamper)", joint.element)
        if damping[1:].any():
            self.report.ignored("damping beyond the linear term", joint.element)

    def _properties(self, body: MjcfElement, content: Content) -> tuple[MassProperties, str]:
        """Mass, centre and inertia, or the reason why they are unknown."""
        rule = self.settings.inertiafromgeom
        given = self._inertial(*content.inertials[0]) if content.inertials else None
        if rule == "false" or (rule == "auto" and given is not None):
            return self._bounded(given or NOTHING), ""
        try:
            found = properties_of_geoms(content.geoms, self.settings)
        except UnknownMass as why:
            return (
                NOTHING,
                f"{why}; give body {body.name!r} an <inertial>, or the compiled model to fa.from_mujoco.",
            )
        return self._bounded(found if given is None or found[0] > 0.0 else given), ""

    def _inertial(self, element: MjcfElement, frame: Placed) -> MassProperties:
        here = placed(element, self.settings).on(frame)
        if element.has("fullinertia"):
            xx, yy, zz, xy, xz, yz = element.numbers("fullinertia", 6)
            inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        else:
            inertia = np.diag(element.numbers("diaginertia", 3, default="0 0 0"))
        return move_body(here.pose, element.number("mass"), np.zeros(3), inertia)

    def _bounded(self, given: MassProperties) -> MassProperties:
        """Apply boundmass, boundinertia and balanceinertia to a body."""
        mass, com, inertia = given
        settings = self.settings
        if settings.boundmass > 0.0:
            mass = max(mass, settings.boundmass)
        if settings.boundinertia <= 0.0 and not settings.balanceinertia:
            return mass, com, inertia
        moments, axes = np.linalg.eigh(inertia)
        bounded = np.maximum(moments, settings.boundinertia)
        if settings.balanceinertia and bounded[0] + bounded[1] < bounded[2]:
            bounded = np.full(3, bounded.sum() / 3.0)
        if not np.array_equal(bounded, moments):  # otherwise the tensor stays as written, bit for bit
            turned = matmul(axes * bounded, axes.T)
            inertia = 0.5 * (turned + turned.T)
        return mass, com, inertia
