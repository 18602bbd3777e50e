"""Read a URDF as an Arm. Content for other programs is ignored; invalid content is refused, or repaired if
harmless or if the caller allows it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.drive import Friction
from forearm.arm.joint import Frame, Joint, Kind, Limits, Mimic
from forearm.arm.link import Link, is_semidefinite, nearest_inertia
from forearm.arm.tree import MAX_LINKS
from forearm.errors import ForearmError, InputError, ModelError, located, shorten
from forearm.files.report import FileReport
from forearm.files.urdf_report import note_ignored
from forearm.files.urdf_structure import held, held_positions, implied_base, links_at_rest
from forearm.files.urdf_transmissions import with_transmissions
from forearm.files.urdf_values import attribute, bound, number, origin, vector
from forearm.reading.xml import Element, parse_xml
from forearm.spatial import TENSOR, Floats, MassProperties, rotation_rpy, turn_inertia
from forearm.values import check_choice, number_in

MOST_OF_TAG = {"link": MAX_LINKS, "joint": 2 * MAX_LINKS}
KINDS: dict[str, Kind] = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
}
UNSUPPORTED = ("floating", "planar", "spherical")  # the last is used by PyBullet
NO_MASS: MassProperties = (0.0, np.zeros(3), np.zeros((3, 3)))
LENIENT = "strict=False (forearm convert --lenient)"


@dataclass(frozen=True)
class Options:
    """Options for reading a URDF. `strict` refuses impossible values; otherwise the nearest possible ones are
    used. A `density` (kg/m^3) gives links without mass that of their shapes; `packages` maps the names in
    `package://` and `$(find ...)` to folders.
    """

    strict: bool = True
    density: float | None = None
    packages: Mapping[str, Path] = field(default_factory=dict)


def arm_from_urdf(data: bytes, name: str, hand: str | None = None, options: Options | None = None) -> Arm:
    """The arm in URDF text; messages refer to it as `name`."""
    return arm_from_robot(parse_xml(data, name, MOST_OF_TAG), name, hand, options or Options(), Path(name))


def arm_from_robot(robot: Element, name: str, hand: str | None, options: Options, path: Path) -> Arm:
    """The arm in the root element of a URDF or xacro file; mesh paths are relative to its `path`."""
    robot = expanded_robot(robot, path, options.packages)
    report = FileReport(name)
    reader = _Reader(options, path.parent, report)
    joints = reader.with_leaders([reader.joint(element) for element in robot.all("joint")])
    elements = list(robot.all("link"))
    names = [attribute(e, "name", f"{e.place}, <link>") for e in elements]
    implied = implied_base(names, joints)
    still = links_at_rest(names if implied is None else [implied, *names], joints)
    reader.hold_unsupported(joints, still)
    links = [reader.link(e, link in still) for link, e in zip(names, elements, strict=True)]
    if implied is not None:
        report.repaired(f"link {implied!r}, which joints name but no <link> defines, is the base")
        links.insert(0, Link(name=implied))
    joints = with_transmissions(joints, robot.all("transmission"), report)
    note_ignored(robot, report)
    with located(name):
        arm = Arm(
            name=robot.attributes.get("name", "").strip() or path.stem,
            links=tuple(links),
            tree=tuple(joints),
            hand=hand,  # type: ignore[arg-type]
        )
    report.warn(stacklevel=6)  # the caller of fa.load, from there
    return arm


def expanded_robot(robot: Element, path: Path, packages: Mapping[str, Path]) -> Element:
    """The root of the URDF in a file. xacro is expanded in files named .xacro, and refused in others."""
    if robot.tag != "robot":
        raise InputError(f"expected <robot> at the root of a URDF, got <{robot.tag:.40}>.", robot.place)
    if path.suffix.lower() == ".xacro":
        from forearm.files.xacro import expand_xacro  # imported here: most files are not xacro

        return expand_xacro(robot, path, packages, MOST_OF_TAG)
    for element in _elements(robot):
        if element.tag.startswith("xacro:"):
            raise InputError(
                f"<{element.tag:.40}> in a file that is not named .xacro; to have it "
                f"expanded, rename the file to {path.name}.xacro.",
                element.place,
            )
    return robot


class _Reader:
    """Read the elements of one file, collecting what is ignored and what is repaired."""

    def __init__(self, options: Options, folder: Path, report: FileReport) -> None:
        self.options = options
        self.folder = folder
        self.report = report
        self.unsupported: dict[str, tuple[str, Element]] = {}  # joint -> its type in the file, its element

    def link(self, element: Element, is_still: bool) -> Link:
        """; if it never moves, an impossible inertia is repaired.
        Without mass it gets that of its shapes, if there is a density.
        """
        name = element.attributes["name"]
        where = f"{element.place}, link {shorten(name)}"
        inertial = element.first("inertial")
        mass, com, inertia = NO_MASS if inertial is None else _mass_properties(inertial, where)
        if mass == 0.0 and not inertia.any():
            mass, com, inertia = self._of_shapes(element, where) or (mass, com, inertia)
        is_sound = mass < 0.0 or is_semidefinite(inertia, mass)
        if not is_sound and (is_still or not self.options.strict):
            given, inertia = inertia, nearest_inertia(inertia)
            line = self.report.line(element)
            self.report.repaired(_changed_inertia(name, line, given, inertia, is_still))
        try:
            with located(where):
                return Link(name=name, mass=mass, com=com, inertia=inertia)
        except ModelError as error:
            if not is_sound:
                error.problem += f" With {LENIENT} the nearest possible inertia is used."
            raise

    def _of_shapes(self, element: Element, where: str) -> MassProperties | None:
        if self.options.density is None:
            return None
        from forearm.files.urdf_shapes import shape_properties  # imported here: most files have masses

        try:
            return shape_properties(element, self.options.density, self.folder, self.options.packages, where)
        except ForearmError as error:
            if self.options.strict:
                raise
            why = str(ForearmError(error.problem.rstrip("."), *error.place[1:]))
            self.report.repaired(f"{why}: read without mass")
            return None

    def joint(self, element: Element) -> Joint:
        """The joint, without its transmission."""
        name = attribute(element, "name", f"{element.place}, <joint>")
        where = f"{element.place}, joint {shorten(name)}"
        given = self._given_kind(element, where)
        kind = KINDS[given]
        xyz, rpy = origin(element, where)
        axis_element = element.first("axis")
        axis = np.array([0.0, 0.0, 1.0] if kind == "fixed" else [1.0, 0.0, 0.0])  # URDF's default is x
        if axis_element is not None and kind != "fixed":
            axis = vector(axis_element, "xyz", where)
        ends = {tag: _child(element, tag, where) for tag in ("parent", "child")}
        limit = element.first("limit") if kind != "fixed" else None
        with located(where):
            return Joint(
                name=name,
                kind=kind,
                parent=attribute(ends["parent"], "link", where),
                child=attribute(ends["child"], "link", where),
                placement=Frame(xyz=xyz, rpy=rpy, axis=axis),
                limits=self._limits(element, given, where),
                max_effort=_finite(bound(limit, "effort", where)),
                max_speed=_finite(bound(limit, "velocity", where)),
                mimic=self._mimic(element.first("mimic"), kind, where),
                friction=_friction(element.first("dynamics"), kind, where),
            )

    def _given_kind(self, element: Element, where: str) -> str:
        given = attribute(element, "type", where)
        if given not in UNSUPPORTED:
            return check_choice(given, KINDS, f"{where}, type")
        self.unsupported[element.attributes["name"]] = (given, element)
        return "fixed"

    def _limits(self, element: Element, given: str, where: str) -> Limits:
        limit = element.first("limit")
        if given == "fixed":
            return Limits()
        if given == "continuous":
            self._note_limits(limit)
            return Limits()
        if limit is None:
            self.report.ignored(f"that a {given} joint has no <limit> (read as unlimited)", element)
            return Limits()
        lower, upper = (bound(limit, key, where) or 0.0 for key in ("lower", "upper"))
        if lower > upper:
            if self.options.strict:
                raise ModelError(
                    f"lower must not be above upper, got {lower:g} and {upper:g}. With "
                    f"{LENIENT} the joint has no limits.",
                    where,
                    "limits",
                )
            place = f"joint {shorten(element.attributes['name'])}, {self.report.line(element)}"
            self.report.repaired(f"{place}: lower limit {lower:g} above upper {upper:g}, read as unlimited")
            return Limits()
        return Limits(lower, upper)

    def _note_limits(self, limit: Element | None) -> None:
        """Report limits of less than a turn on a continuous joint, which has none."""
        for key in ("lower", "upper"):
            text = "" if limit is None else limit.attributes.get(key, "")
            if limit is not None and text and not _is_no_limit(text):
                self.report.ignored(f"attribute {key!r} of a continuous joint's <limit>", limit)

    def _mimic(self, element: Element | None, kind: Kind, where: str) -> Mimic | None:
        if element is None:
            return None
        if kind == "fixed":
            self.report.ignored("<mimic> of a fixed joint, which does not move", element)
            return None
        return Mimic(
            joint=attribute(element, "joint", where),
            multiplier=number(element, "multiplier", where, 1.0),
            offset=number(element, "offset", where, 0.0),
        )

    def hold_unsupported(self, joints: Iterable[Joint], still: set[str]) -> None:
        """Check joints of unsupported type, which were read as fixed: allowed on the base, or if the caller
        permits it.
        """
        for joint in joints:
            if joint.name not in self.unsupported:
                continue
            given, element = self.unsupported[joint.name]
            if self.options.strict and joint.parent not in still:
                raise InputError(
                    f"joints of type {given!r} are not supported; write their degrees of "
                    "freedom as prismatic and revolute joints with massless links between "
                    f"them, or read them as fixed with {LENIENT}.",
                    element.place,
                    f"joint {shorten(joint.name)}",
                )
            self.report.repaired(
                f"joint {shorten(joint.name)}, {self.report.line(element)}: of type {given}, read as fixed"
            )

    def with_leaders(self, joints: list[Joint]) -> list[Joint]:
        """The joints. Followers of a fixed joint are fixed at the resulting position; followers of a missing
        one become free if repairs are allowed.
        """
        names, positions = {joint.name for joint in joints}, held_positions(joints)
        made = []
        for joint in joints:
            mimic = joint.mimic
            if mimic is not None:
                what = f"joint {shorten(joint.name)}: mimics {shorten(mimic.joint)}"
                if joint.name in positions:
                    self.report.repaired(f"{what}, which is fixed, held at {positions[joint.name]:g}")
                    joint = held(joint, positions[joint.name])
                elif mimic.joint not in names and not self.options.strict:
                    self.report.repaired(f"{what}, which is missing, read as free")
                    joint = dataclasses.replace(joint, mimic=None)
            made.append(joint)
        return made


def _mass_properties(inertial: Element, where: str) -> MassProperties:
    xyz, rpy = origin(inertial, where)
    mass_element, tensor = inertial.first("mass"), inertial.first("inertia")
    mass = number(mass_element, "value", where) if mass_element is not None else 0.0
    inertia = np.zeros((3, 3))
    if tensor is not None:
        for key, (i, k) in TENSOR.items():
            inertia[i, k] = inertia[k, i] = number(tensor, f"i{key}", where, None if i == k else 0.0)
    return mass, xyz, turn_inertia(rotation_rpy(rpy), inertia) if rpy.any() else inertia


def _changed_inertia(name: str, line: str, given: Floats, taken: Floats, is_still: bool) -> str:
    old, new = (", ".join(f"{m:.4g}" for m in np.linalg.eigvalsh(J) + 0.0) for J in (given, taken))
    where = f"link {shorten(name)}{', which never moves' if is_still else ''}, {line}"
    return f"{where}: principal moments {old} kg m^2, physically impossible, replaced with {new}"


def _friction(element: Element | None, kind: Kind, where: str) -> Friction | None:
    if element is None or kind == "fixed":
        return None
    damping, dry = (number(element, key, where, 0.0) for key in ("damping", "friction"))
    if damping == 0.0 and dry == 0.0:
        return None
    return Friction(side="joint", viscous=damping, coulomb=(dry, -dry))


def _finite(value: float | None) -> float | None:
    """A bound, or None if it is absent or infinite."""
    return None if value is None or value == math.inf else value


def _is_no_limit(text: str) -> bool:
    """Whether an end of a continuous joint's range carries no information: 0, as exporters write, or a full
    turn.
    """
    turn = number_in(text)
    return turn is not None and (turn == 0.0 or not abs(turn) < 6.28)


def _child(element: Element, tag: str, where: str) -> Element:
    child = element.first(tag)
    if child is None:
        raise InputError(f"<{tag} link=...> is missing.", where)
    return child


def _elements(root: Element) -> Iterator[Element]:
    """All elements, in file order."""
    stack = [root]
    while stack:
        element = stack.pop()
        yield element
        stack.extend(reversed(element.children))
