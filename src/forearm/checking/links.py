"""Checks on the mass properties of single links."""

from __future__ import annotations

import numpy as np

from forearm.arm.arm import Arm
from forearm.checking.finding import Finding

# Principal moments of a flat plate meet the inequality with equality; this much is rounding.
TRIANGLE_SLACK = 1e-9


def triangle_violations(arm: Arm) -> list[Finding]:
    """Links whose largest principal moment exceeds the sum of the others, which no body's can."""
    wrong = []
    for link in arm.links:
        low, middle, high = np.linalg.eigvalsh(link.inertia)
        if high > (low + middle) * (1.0 + TRIANGLE_SLACK) + TRIANGLE_SLACK * high:
            wrong.append((link.name, f"{link.name} ({low:.4g} + {middle:.4g} < {high:.4g} kg m^2)"))
    if not wrong:
        return []
    text = (
        "the principal moments violate the triangle inequality, which no real body can: "
        f"{', '.join(text for _, text in wrong)}. The arm can be computed with; "
        "usually a moment is missing, or refers to another point."
    )
    return [Finding("warning", "triangle-inequality", ", ".join(name for name, _ in wrong), text)]


def inertia_without_mass(arm: Arm) -> list[Finding]:
    """Links that have inertia but no mass."""
    names = [link.name for link in arm.links if link.mass == 0.0 and link.inertia.any()]
    if not names:
        return []
    text = (
        f"inertia without mass: {', '.join(names)}. Torques are right only if the mass has no effect there."
    )
    return [Finding("warning", "inertia-without-mass", ", ".join(names), text)]


def no_mass(arm: Arm) -> list[Finding]:
    """An arm none of whose moving links has mass or inertia: every torque of it is 0."""
    if not arm.n or any(b.mass or b.inertia.any() for b in arm.moving.bodies):
        return []
    text = (
        "no moving link has mass or inertia, so every torque of the rigid arm is 0. Give the links an "
        "inertial, or load a URDF with a density in kg/m^3 (density=2700.0, --density 2700), which "
        "its shapes then have."
    )
    return [Finding("warning", "no-mass", arm.name, text)]


def mass_without_inertia(arm: Arm) -> list[Finding]:
    """Links that have mass but no inertia: points."""
    names = [link.name for link in arm.links[1:] if link.mass > 0.0 and not link.inertia.any()]
    if not names:
        return []
    text = (
        f"mass without inertia: {', '.join(names)}. Each is treated as a point mass; give its "
        "inertia otherwise."
    )
    return [Finding("warning", "mass-without-inertia", ", ".join(names), text)]
