"""Checks of angles that were rounded in the file."""

from __future__ import annotations

from forearm.arm.arm import Arm
from forearm.arm.snap import rounded_angles
from forearm.checking.finding import Finding

SHOWN = 6


def angle_findings(arm: Arm) -> list[Finding]:
    """Angles slightly off a multiple of 45 degrees."""
    found = rounded_angles(arm)
    if not found:
        return []
    shown = ", ".join(map(str, found[:SHOWN]))
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    text = (
        f"angles that look rounded: {shown}{more}. Exact right angles take fewer operations: unless they "
        "were measured, write them in full, or use arm.snap_angles() (forearm convert --snap-angles)."
    )
    return [Finding("warning", "rounded-angle", ", ".join(dict.fromkeys(a.joint for a in found)), text)]
