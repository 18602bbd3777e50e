"""Checks of solids whose dimensions look wrong by a factor of 1000."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from forearm.checking.finding import Finding, warning
from forearm.checking.magnitudes import LONGEST_ARM
from forearm.parts.database import Component

HEAVIEST = 1e5  # kg; more than a link of the largest cranes


def parts_findings(links: Iterable[Component]) -> list[Finding]:
    """Sections of parts that are longer than any arm, or heavier than any link."""
    found = []
    for link in links:
        for part in link.held:
            for section in part.held:
                mass, _, inertia = section.own
                across = 2.0 * math.sqrt(
                    np.linalg.eigvalsh(inertia / mass)[2]
                )  # twice its radius of gyration
                text = f"{across:.3g} m across" if across > LONGEST_ARM else f"{abs(mass):.3g} kg"
                if across > LONGEST_ARM or abs(mass) > HEAVIEST:
                    name = f"{link.name}, {part.name}, {section.name}"
                    found.append(
                        warning(name, "units-length", f"{text}: its dimensions look like millimetres.")
                    )
    return found
