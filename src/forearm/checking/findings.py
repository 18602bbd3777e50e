"""All checks of one arm, most important first."""

from __future__ import annotations

from forearm.arm.arm import Arm
from forearm.checking.angles import angle_findings
from forearm.checking.balancing import Balance, balance, gravity_findings
from forearm.checking.bristles import bristle_findings
from forearm.checking.drives import drive_findings
from forearm.checking.elasticity import elasticity_findings
from forearm.checking.finding import Finding
from forearm.checking.limits import limit_findings
from forearm.checking.links import inertia_without_mass, mass_without_inertia, no_mass, triangle_violations
from forearm.checking.magnitudes import magnitude_findings
from forearm.checking.structure import structure_findings


def check(arm: Arm, cost: Balance | None = None) -> tuple[Finding, ...]:
    """Implausible properties of a loaded arm; no warnings for a sound one.

    Args:
        arm: the arm.
        cost: its balance; None: computed here.
    """
    known = balance(arm) if cost is None else cost
    return (
        *triangle_violations(arm),
        *inertia_without_mass(arm),
        *no_mass(arm),
        *mass_without_inertia(arm),
        *magnitude_findings(arm),
        *angle_findings(arm),
        *structure_findings(arm),
        *limit_findings(arm),
        *drive_findings(arm),
        *elasticity_findings(arm, known),
        *bristle_findings(arm),
        *gravity_findings(arm, known),
    )
