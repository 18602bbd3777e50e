"""Checks of the joints' limits."""

from __future__ import annotations

import math
from collections.abc import Iterator

from forearm.arm.arm import Arm
from forearm.arm.joint import Joint
from forearm.checking.finding import Finding, warning

MANY_TURNS = 8.0 * math.pi
LONG_STROKE = 20.0  # m
FAST = {"revolute": 200.0, "prismatic": 50.0}  # rad/s, m/s at the joint


def limit_findings(arm: Arm) -> list[Finding]:
    """Findings on empty ranges, many turns, strokes in millimetres, and zero speeds and efforts."""
    found = [f for joint in arm.joints for f in _joint(joint)]
    unlimited = [
        j.name for j in arm.joints if j.kind == "prismatic" and not all(map(math.isfinite, j.limits))
    ]
    if unlimited:
        text = f"prismatic joints without limits: {', '.join(unlimited)}. Give limits = [lower, upper] in m."
        found.append(Finding("warning", "limits-missing", ", ".join(unlimited), text))
    return found


def _joint(joint: Joint) -> Iterator[Finding]:
    lower, upper = joint.limits
    if lower == upper:
        text = f"its range is {lower:g} to {upper:g}, so it cannot move; lock it or widen it."
        yield warning(joint.name, "limits-empty", text)
    largest = max((abs(v) for v in joint.limits if math.isfinite(v)), default=0.0)
    if joint.kind == "revolute" and largest > MANY_TURNS:
        yield warning(
            joint.name, "units-limits", f"a limit of {largest:g} rad is many turns: it looks like degrees."
        )
    if joint.kind == "prismatic" and largest > LONG_STROKE:
        yield warning(joint.name, "units-limits", f"a limit of {largest:g} m: it looks like millimetres.")
    if joint.max_speed is not None and joint.max_speed > FAST[joint.kind]:
        unit = (
            "rad/s: it looks like degrees a second" if joint.kind == "revolute" else "m/s: it looks like mm/s"
        )
        yield warning(joint.name, "units-speed", f"max_speed is {joint.max_speed:g} {unit}.")
    for name in ("max_speed", "max_effort"):
        if getattr(joint, name) == 0.0:
            yield warning(joint.name, "limits-empty", f"{name} is 0, so it cannot move; omit it if unknown.")
