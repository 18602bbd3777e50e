"""What reading a URDF has to report: what was ignored beside ordinary content, and what was repaired."""

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
# What URDF and its usual extensions have for other programs: shapes, colours, simulators, controllers.
ORDINARY: dict[str, set[str]] = {
    "robot": {"material", "gazebo", "ros2_control", "sensor", "mujoco"},
    "link": {"visual", "collision", "gazebo", "self_collision_checking", "collision_checking"},
    "joint": {"calibration", "safety_controller", "hardwareInterface", "gazebo"},
    "transmission": {"hardwareInterface"},
    "actuator": {"hardwareInterface"},
}
# What is read as often as it stands; of anything else that is read only the first counts.
REPEATABLE = {"link", "joint", "transmission", "actuator"}
# Inside <transmission>, <joint> only names one and carries its hardware interface.
TRANSMISSION_JOINT: tuple[set[str], set[str]] = ({"name", "role"}, set())


class UrdfReport:
    """Kinds of content that a file was read without, each with its count and first line, and the repairs."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.kinds: dict[str, tuple[int, int]] = {}
        self.repairs: list[str] = []

    def ignored(self, what: str, line: int) -> None:
        """One more of a kind."""
        times, first = self.kinds.get(what, (0, line))
        self.kinds[what] = (times + 1, min(first, line))

    def repaired(self, what: str) -> None:
        """Something that was taken otherwise than written."""
        self.repairs.append(what)

    def note(self, robot: Element) -> None:
        """Count every element and attribute that was not read and is not ordinary, below those that were."""
        stack = [(robot, READ["robot"])]
        while stack:
            element, (attributes, tags) = stack.pop()
            for key in element.attributes:
                if key not in attributes and not key.startswith("xmlns"):
                    self.ignored(f"attribute {key!r:.60} of <{element.tag}>", element.line)
            seen: set[str] = set()
            for child in element.children:
                if child.tag in seen and child.tag not in REPEATABLE:
                    self.ignored(f"a second <{child.tag}> in <{element.tag}>", child.line)
                elif child.tag in tags:
                    seen.add(child.tag)
                    stack += _inside(element, child)
                elif child.tag not in ORDINARY.get(element.tag, ()):
                    self.ignored(f"<{child.tag:.60}> in <{element.tag}>", child.line)

    def warn(self, stacklevel: int) -> None:
        """One warning for all repairs, one for all that was ignored, in file order."""
        repairs = _bounded(self.repairs, MAX_REPAIRS_TOLD, "more")
        if repairs:
            warnings.warn(f"{self.name}: repaired: {repairs}.", RepairWarning, stacklevel=stacklevel)
        in_file_order = sorted(self.kinds.items(), key=lambda item: item[1][1])
        kinds = [
            f"{what}{'' if times == 1 else f', {times} times'} (first in line {line})"
            for what, (times, line) in in_file_order
        ]
        ignored = _bounded(kinds, MAX_KINDS_REPORTED, "more kinds of things")
        if ignored:
            warnings.warn(f"{self.name}: ignored {ignored}.", IgnoredWarning, stacklevel=stacklevel)


def _bounded(told: list[str], most: int, others: str) -> str:
    more = len(told) - most
    return "; ".join([*told[:most], *([f"and {more} {others}"] if more > 0 else [])])


def _inside(element: Element, child: Element) -> list[tuple[Element, tuple[set[str], set[str]]]]:
    """What is read of a child that is itself read, where there is anything to say about it."""
    if element.tag == "transmission" and child.tag == "joint":
        return [(child, TRANSMISSION_JOINT)]
    if child.tag == "actuator" or (child.tag in READ and element.tag != "transmission"):
        return [(child, READ[child.tag])]
    return []
