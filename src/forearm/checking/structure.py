"""Checks of the structure: joints that move nothing, and a hand that no joint moves."""

from __future__ import annotations

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.elastic import link_side
from forearm.checking.finding import Finding, warning
from forearm.dynamics.reference import inertia_matrix
from forearm.spatial import Floats

# Against the largest of the joints' inertias: below this a joint carries nothing but rounding.
NOTHING = 1e-12


def structure_findings(arm: Arm) -> list[Finding]:
    """Joints behind which there is no inertia, and a hand that no joint moves."""
    found = []
    if arm.n:
        # behind a spring the rotor is on the other side of it
        carried = carried_inertia(link_side(arm), 0.3 + 0.37 * np.arange(arm.n, dtype=np.float64))
        for joint, value in zip(arm.joints, carried, strict=True):
            if value <= NOTHING * max(carried.max(), 1e-300):
                more = "" if joint.elasticity is not None else ", or its motor a rotor inertia"
                text = (
                    "it moves neither mass nor inertia, so the inertia matrix is singular and forward "
                    f"dynamics is impossible; give the links behind it mass{more}."
                )
                found.append(warning(joint.name, "moves-nothing", text))
    if arm.moving.frames[arm.hand.link][0] < 0 and arm.n:
        text = f"the hand is on {arm.hand.link}, which no joint moves; name another link as hand."
        found.append(Finding("warning", "hand-fixed", arm.hand.link, text))
    return found


def carried_inertia(arm: Arm, q: Floats) -> Floats:
    """What each freedom accelerates at q, the others held: the diagonal of the inertia
    matrix, rotors included.
    """
    return np.diag(inertia_matrix(arm, q))
