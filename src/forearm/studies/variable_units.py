"""The units of a study's variables, for tables and axes."""

from __future__ import annotations

from forearm.arm.arm import Arm
from forearm.identification.report.rows import unit_of as drive_unit
from forearm.studies.variable import Variable

BY_WORD = {"mass": "kg", "com": "m", "inertia": "kg m^2", "gravity": "m/s^2"}  # anywhere in a name
BY_LAST = {"a": "m", "d": "m", "alpha": "rad", "theta": "rad", "bandwidth": "rad/s"}


def variable_unit(variable: Variable, arm: Arm) -> str:
    """The common unit of all parameters of a variable; none for factors, names and mixed units."""
    if variable.factor or not variable.distribution.is_numeric:
        return ""
    units = {_unit(target, arm) for target in variable.of}
    return units.pop() if len(units) == 1 else ""


def _unit(target: str, arm: Arm) -> str:
    owner, _, key = target.partition(".")
    if owner == "start":
        return next(("m" for joint in arm.joints if joint.name == key and joint.kind == "prismatic"), "rad")
    words = target.split(".")
    found = next((unit for word, unit in BY_WORD.items() if word in words), BY_LAST.get(words[-1], ""))
    joint = next((j.name for j in arm.tree if target.startswith(f"{j.name}.")), "")
    return found or (drive_unit(joint, target[len(joint) + 1 :], arm) if joint else "")
