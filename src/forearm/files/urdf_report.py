"""Collect what is worth reporting about a URDF: unusual content that was ignored, and repairs."""

from __future__ import annotations

import warnings

from forearm.errors import IgnoredWarning, RepairWarning
from forearm.reading.xml import Element

MAX_KINDS_REPORTED = 20
MAX_REPAIRS_TOLD = 20

# What is read of each element: tag -> (attributes, child elements).
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
# Content of URDF and its usual extensions for other programs: shapes, colours, simulators, controllers.
ORDINARY: dict[str, set[str]] = {
    "robot": {"material", "gazebo", "ros2_control", "sensor", "mujoco"},
    "link": {"visual", "collision", "gazebo", "self_collision_checking", "collision_checking"},
    "joint": {"calibration", "safety_controller", "hardwareInterface", "gazebo"},
    "transmission": {"hardwareInterface"},
    "actuator": {"hardwareInterface"},
}
# Elements that may repeat; of all others only the first is read.
REPEATABLE = {"link", "joint", "transmission", "actuator"}
# Inside <transmission>, <joint> only names a joint and holds its hardware interface.
TRANSMISSION_JOINT: tuple[set[str], set[str]] = ({"name", "role"}, set())


class UrdfReport:
    """Kinds of ignored content, each with its count and first element, and repairs."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.kinds: dict[str, tuple[int, Element]] = {}
        self.repairs: list[str] = []

    def line(self, element: Element) -> str:
        """Where an element is: `line 12`, with its file if that is another one (included by xacro)."""
        return f"line {element.line}" if element.file == self.name else element.place

    def ignored(self, what: str, element: Element) -> None:
        """Count one ignored item of a kind."""
        times, first = self.kinds.get(what, (0, element))
        self.kinds[what] = (times + 1, min(first, element, key=_line))

    def repaired(self, what: str) -> None:
        """Record a value that was read differently from how it is written."""
        self.repairs.append(what)

    def note(self, robot: Element) -> None:
        """Count every element and attribute that was neither read nor ordinary, recursively."""
        stack = [(robot, READ["robot"])]
        while stack:
            element, (attributes, tags) = stack.pop()
            for key in element.attributes:
                if key not in attributes and not key.startswith("xmlns"):
                    self.ignored(f"attribute {key!r:.60} of <{element.tag}>", element)
            seen: set[str] = set()
            for child in element.children:
                if child.tag in seen and child.tag not in REPEATABLE:
                    self.ignored(f"a second <{child.tag}> in <{element.tag}>", child)
                elif child.tag in tags:
                    seen.add(child.tag)
                    stack += _inside(element, child)
                elif child.tag not in ORDINARY.get(element.tag, ()):
                    self.ignored(f"<{child.tag:.60}> in <{element.tag}>", child)

    def warn(self, stacklevel: int) -> None:
        """Issue one warning for all repairs and one for all ignored content, in file order."""
        repairs = _bounded(self.repairs, MAX_REPAIRS_TOLD, "more")
        if repairs:
            warnings.warn(f"{self.name}: repaired: {repairs}.", RepairWarning, stacklevel=stacklevel)
        in_file_order = sorted(self.kinds.items(), key=lambda item: item[1][1].line)
        kinds = [
            f"{what}{'' if times == 1 else f', {times} times'} (first in {self.line(first)})"
            for what, (times, first) in in_file_order
        ]
        ignored = _bounded(kinds, MAX_KINDS_REPORTED, "more kinds")
        if ignored:
            warnings.warn(f"{self.name}: ignored {ignored}.", IgnoredWarning, stacklevel=stacklevel)


def _line(element: Element) -> int:
    return element.line


def _bounded(told: list[str], most: int, others: str) -> str:
    more = len(told) - most
    return "; ".join([*told[:most], *([f"and {more} {others}"] if more > 0 else [])])


def _inside(element: Element, child: Element) -> list[tuple[Element, tuple[set[str], set[str]]]]:
    """The child elements that are read and may contain something to report."""
    if element.tag == "transmission" and child.tag == "joint":
        return [(child, TRANSMISSION_JOINT)]
    if child.tag == "actuator" or (child.tag in READ and element.tag != "transmission"):
        return [(child, READ[child.tag])]
    return []
