"""Content of a URDF that is neither read nor ordinary content for other programs."""

from __future__ import annotations

from forearm.files.report import FileReport
from forearm.reading.xml import Element

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
IN_TRANSMISSION: dict[str, tuple[set[str], set[str]]] = {
    "joint": ({"name", "role"}, set()),
    "actuator": READ["actuator"],
}


def note_ignored(robot: Element, report: FileReport) -> None:
    """Count every element and attribute that was neither read nor ordinary."""
    stack = [(robot, READ["robot"])]
    while stack:
        element, (attributes, tags) = stack.pop()
        for key in element.attributes:
            if key not in attributes and not key.startswith("xmlns"):
                report.ignored(f"attribute {key!r:.60} of <{element.tag}>", element)
        seen: set[str] = set()
        for child in element.children:
            if child.tag in seen and child.tag not in REPEATABLE:
                report.ignored(f"a second <{child.tag}> in <{element.tag}>", child)
            elif child.tag in tags:
                seen.add(child.tag)
                if element.tag != "transmission":
                    stack += [(child, READ[child.tag])] if child.tag in READ else []
                elif child.tag in IN_TRANSMISSION:
                    stack.append((child, IN_TRANSMISSION[child.tag]))
            elif child.tag not in ORDINARY.get(element.tag, ()):
                report.ignored(f"<{child.tag:.60}> in <{element.tag}>", child)
