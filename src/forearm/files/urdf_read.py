"""From URDF to an Arm. What has no place in an arm is ignored and reported, once per kind."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.drive import Friction, Motor
from forearm.arm.joint import Frame, Joint, Kind, Limits, Mimic
from forearm.arm.link import Link
from forearm.arm.tree import MAX_LINKS
from forearm.errors import IgnoredWarning, InputError, located, shorten, suggest
from forearm.reading.xml import Element, number, parse_xml
from forearm.spatial import TENSOR, Floats, rotation_rpy, turn_inertia
from forearm.values import LARGEST

MAX_KINDS_REPORTED = 50
MOST_OF_TAG = {"link": MAX_LINKS, "joint": 2 * MAX_LINKS}
KINDS: dict[str, Kind] = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
}

# What is read of each element: tag -> (attributes, child elements). All else is reported as ignored.
READ: dict[str, tuple[set[str], set[str]]] = {
    "robot": ({"name", "version"}, {"link", "joint", "transmission"}),
    "link": ({"name"}, {"inertial"}),
    "inertial": (set(), {"origin", "mass", "inertia"}),
    "origin": ({"xyz", "rpy"}, set()),
    "mass": ({"value"}, set()),
    "inertia": ({"ixx", "ixy", "ixz", "iyy", "iyz", "izz"}, set()),
    "joint": ({"name", "type"}, {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic"}),
    "parent": ({"link"}, set()),
    "child": ({"link"}, set()),
    "axis": ({"xyz"}, set()),
    "limit": ({"lower", "upper", "effort", "velocity"}, set()),
    "dynamics": ({"damping", "friction"}, set()),
    "mimic": ({"joint", "multiplier", "offset"}, set()),
    "transmission": ({"name", "type"}, {"type", "joint", "actuator", "mechanicalReduction"}),
    "actuator": ({"name"}, {"mechanicalReduction", "motorInertia"}),
}
# What may stand several times; of anything else only the first counts.
REPEATABLE = {"link", "joint", "transmission", "actuator", "visual", "collision", "gazebo", "material"}
# Inside <transmission>, <joint> only names one and carries its hardware interface.
TRANSMISSION_JOINT: tuple[set[str], set[str]] = ({"name"}, set())


def arm_from_urdf(data: bytes, name: str, hand: str | None = None) -> Arm:
    """The arm in URDF text called `name` in messages."""
    return arm_from_robot(parse_xml(data, name, MOST_OF_TAG), name, hand)


def arm_from_robot(robot: Element, name: str, hand: str | None = None) -> Arm:
    """The arm in the root element of a URDF called `name` in messages."""
    if robot.tag != "robot":
        raise InputError(
            f"{name}, line {robot.line}: expected <robot> at the root of a URDF, got <{robot.tag:.40}>."
        )
    if any(tag.startswith("xacro:") for tag in _tags(robot)) or any(
        a.startswith("xacro:") for a in robot.attributes
    ):
        raise InputError(f"{name}: this is a xacro file; expand it first: xacro {name} > arm.urdf")
    reader = _Reader(name)
    links = [reader.link(element) for element in robot.all("link")]
    joints = [reader.joint(element) for element in robot.all("joint")]
    joints = reader.with_transmissions(robot.all("transmission"), joints)
    reader.note_ignored(robot)
    with located(name):
        arm = Arm(
            name=robot.attributes.get("name", "").strip() or Path(name).stem,
            links=tuple(links),
            tree=tuple(joints),
            hand=hand,  # type: ignore[arg-type]
        )
    reader.warn_ignored()
    return arm


class _Reader:
    """Reads the elements of one file: knows its name for messages and collects what it reads over."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ignored: dict[str, tuple[int, int]] = {}

    def link(self, element: Element) -> Link:
        name = self._attribute(element, "name", "<link>")
        where = f"{self.name}, line {element.line}, link {shorten(name)}"
        inertial = element.first("inertial")
        if inertial is None:
            with located(where):
                return Link(name=name)
        xyz, rpy = self._origin(inertial, where)
        mass_element, tensor = inertial.first("mass"), inertial.first("inertia")
        mass = self._number(mass_element, "value", where) if mass_element is not None else 0.0
        inertia = np.zeros((3, 3))
        if tensor is not None:
            for key, (i, k) in TENSOR.items():
                inertia[i, k] = inertia[k, i] = self._number(
                    tensor, f"i{key}", where, None if i == k else 0.0
                )
        if rpy.any():
            inertia = turn_inertia(rotation_rpy(rpy), inertia)
        with located(where):
            return Link(name=name, mass=mass, com=xyz, inertia=inertia)

    def joint(self, element: Element) -> Joint:
        name = self._attribute(element, "name", "<joint>")
        where = f"{self.name}, line {element.line}, joint {shorten(name)}"
        given = self._attribute(element, "type", where)
        if given not in KINDS:
            if given in ("floating", "planar"):
                raise InputError(
                    f"{where}: joints of type {given!r} are not supported; write their freedoms as "
                    "prismatic and revolute joints with links of no mass between them."
                )
            raise InputError(f"{where}: unknown type {shorten(given)}; {suggest(given, KINDS)}")
        kind = KINDS[given]
        xyz, rpy = self._origin(element, where)
        axis_element = element.first("axis")
        axis = np.array([0.0, 0.0, 1.0] if kind == "fixed" else [1.0, 0.0, 0.0])  # x is URDF's default
        if axis_element is not None and kind != "fixed":
            axis = self._vector(axis_element, "xyz", where)
        self._note_pointless(element, given)
        ends = {tag: self._child(element, tag, where) for tag in ("parent", "child")}
        limit = element.first("limit") if kind != "fixed" else None
        with located(where, file=self.name):
            return Joint(
                name=name,
                kind=kind,
                parent=self._attribute(ends["parent"], "link", where),
                child=self._attribute(ends["child"], "link", where),
                placement=Frame(xyz=xyz, rpy=rpy, axis=axis),
                limits=self._limits(element, given, where),
                max_effort=self._bound(limit, "effort", where),
                max_speed=self._bound(limit, "velocity", where),
                mimic=self._mimic(element.first("mimic"), kind, where),
                friction=self._friction(element.first("dynamics"), kind, where),
            )

    def _note_pointless(self, element: Element, given: str) -> None:
        """What a fixed or a continuous joint has no use for is not read, and said so."""
        for tag in ("axis", "limit", "dynamics") if given == "fixed" else ():
            for child in element.all(tag):
                self._count(f"<{tag}> of a fixed joint", child.line)
        for child in element.all("limit") if given == "continuous" else ():
            for key in ("lower", "upper"):
                if key in child.attributes:
                    self._count(f"attribute {key!r} of a continuous joint's <limit>", child.line)

    def _limits(self, element: Element, given: str, where: str) -> Limits:
        limit = element.first("limit")
        if given in ("continuous", "fixed"):
            return Limits()
        if limit is None:
            self._count(f"that a {given} joint has no <limit> (taken as unlimited)", element.line)
            return Limits()
        # Some write the largest float there is for no limit, so these two are not bounded like other numbers.
        lower, upper = (self._number(limit, key, where, 0.0, math.inf) for key in ("lower", "upper"))
        return Limits(-math.inf if lower <= -LARGEST else lower, math.inf if upper >= LARGEST else upper)

    def _mimic(self, element: Element | None, kind: Kind, where: str) -> Mimic | None:
        if element is None:
            return None
        if kind == "fixed":
            self._count("<mimic> of a fixed joint, which stays where it is", element.line)
            return None
        return Mimic(
            joint=self._attribute(element, "joint", where),
            multiplier=self._number(element, "multiplier", where, 1.0),
            offset=self._number(element, "offset", where, 0.0),
        )

    def _friction(self, element: Element | None, kind: Kind, where: str) -> Friction | None:
        if element is None or kind == "fixed":
            return None
        damping, dry = (self._number(element, key, where, 0.0) for key in ("damping", "friction"))
        if damping == 0.0 and dry == 0.0:
            return None
        return Friction(side="joint", viscous=damping, coulomb=(dry, -dry))

    def with_transmissions(self, elements: Iterable[Element], joints: list[Joint]) -> list[Joint]:
        """The joints with the reductions of simple transmissions as gear ratios."""
        by_name = {joint.name: joint for joint in joints}
        geared: dict[str, Joint] = {}
        for element in elements:
            name, motor = self.transmission(element, by_name)
            if motor is not None and name in geared:
                self._count("a second <transmission> of a joint", element.line)
            elif motor is not None:
                geared[name] = dataclasses.replace(by_name[name], motor=motor)
        return [geared.get(joint.name, joint) for joint in joints]

    def transmission(self, element: Element, by_name: dict[str, Joint]) -> tuple[str, Motor | None]:
        """The joint of a simple transmission and its motor; None where it says nothing of one."""
        where = (
            f"{self.name}, line {element.line}, transmission {shorten(element.attributes.get('name', ''))}"
        )
        named = [self._attribute(e, "name", where) for e in element.all("joint")]
        actuators = list(element.all("actuator"))
        reductions = [r for e in (element, *actuators) for r in e.all("mechanicalReduction")]
        inertias = [r for e in actuators for r in e.all("motorInertia")]
        if len(named) != 1 or len(reductions) > 1 or len(inertias) > 1:
            self._count("<transmission> that is not one joint on one actuator", element.line)
            return "", None
        joint = by_name.get(named[0])
        if joint is None:  # files cut out of larger robots keep such; it moves nothing
            self._count("<transmission> of a joint that is missing", element.line)
            return "", None
        ratio = self._text_number(reductions[0], where) if reductions else 1.0
        rotor = self._text_number(inertias[0], where) if inertias else 0.0
        if joint.kind == "fixed" or (ratio == 1.0 and rotor == 0.0):
            return joint.name, None
        with located(where):
            return joint.name, Motor(gear_ratio=ratio, rotor_inertia=rotor)

    def note_ignored(self, robot: Element) -> None:
        """Count every element and attribute that was not read, below elements that were."""
        stack = [(robot, READ["robot"])]
        while stack:
            element, (attributes, tags) = stack.pop()
            for key in element.attributes:
                if key not in attributes and not key.startswith("xmlns"):
                    self._count(f"attribute {key!r:.60} of <{element.tag}>", element.line)
            seen: set[str] = set()
            for child in element.children:
                if child.tag in seen and child.tag not in REPEATABLE:
                    self._count(f"a second <{child.tag}> in <{element.tag}>", child.line)
                    continue
                seen.add(child.tag)
                if child.tag not in tags:
                    self._count(f"<{child.tag:.60}> in <{element.tag}>", child.line)
                elif element.tag == "transmission" and child.tag == "joint":
                    stack.append((child, TRANSMISSION_JOINT))
                elif (child.tag in READ and element.tag != "transmission") or child.tag == "actuator":
                    stack.append((child, READ[child.tag]))

    def warn_ignored(self) -> None:
        """One warning for each kind of ignored content."""
        in_file_order = sorted(self.ignored.items(), key=lambda entry: entry[1][1])
        if len(in_file_order) > MAX_KINDS_REPORTED:
            more = len(in_file_order) - MAX_KINDS_REPORTED
            in_file_order = [
                *in_file_order[:MAX_KINDS_REPORTED],
                (f"{more} more kinds of things", in_file_order[-1][1]),
            ]
        for what, (count, line) in in_file_order:
            times = "" if count == 1 else f", {count} times"
            warnings.warn(
                f"{self.name}: ignored {what}{times} (first in line {line})", IgnoredWarning, stacklevel=6
            )

    def _count(self, what: str, line: int) -> None:
        count, first = self.ignored.get(what, (0, line))
        self.ignored[what] = (count + 1, min(first, line))

    def _origin(self, element: Element, where: str) -> tuple[Floats, Floats]:
        origin = element.first("origin")
        if origin is None:
            return np.zeros(3), np.zeros(3)
        return (self._vector(origin, "xyz", where, "0 0 0"), self._vector(origin, "rpy", where, "0 0 0"))

    def _child(self, element: Element, tag: str, where: str) -> Element:
        child = element.first(tag)
        if child is None:
            raise InputError(f"{where}: <{tag} link=...> is missing.")
        return child

    def _attribute(self, element: Element, key: str, where: str) -> str:
        if not element.attributes.get(key):
            place = where if where.startswith(self.name) else f"{self.name}, line {element.line}, {where}"
            raise InputError(f"{place}: <{element.tag}> needs the attribute {key!r}.")
        return element.attributes[key]

    def _vector(self, element: Element, key: str, where: str, default: str | None = None) -> Floats:
        text = element.attributes.get(key, default)
        if text is None:
            raise InputError(f"{where}: <{element.tag}> needs the attribute {key!r}.")
        words = text.split()
        if len(words) != 3:
            raise InputError(f"{where}: {key} of <{element.tag}> must be three numbers, got {shorten(text)}.")
        return np.array([self._float(word, f"{key} of <{element.tag}>", where) for word in words])

    def _number(
        self, element: Element, key: str, where: str, default: float | None = None, largest: float = LARGEST
    ) -> float:
        text = element.attributes.get(key)
        if text is None:
            if default is None:
                raise InputError(f"{where}: <{element.tag}> needs the attribute {key!r}.")
            return default
        return self._float(text, f"{key} of <{element.tag}>", where, largest)

    def _bound(self, limit: Element | None, key: str, where: str) -> float | None:
        return None if limit is None or key not in limit.attributes else self._number(limit, key, where)

    def _text_number(self, element: Element, where: str) -> float:
        return self._float(element.text, f"<{element.tag}>", where)

    def _float(self, text: str, what: str, where: str, largest: float = LARGEST) -> float:
        return number(text, what, where, largest)


def _tags(root: Element) -> Iterator[str]:
    stack = [root]
    while stack:
        element = stack.pop()
        yield element.tag
        stack.extend(element.children)
