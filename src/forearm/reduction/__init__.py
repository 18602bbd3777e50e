"""Rewrite the arm so that its dynamics take fewer operations: frames, regrouped moments, and the recursions
on them.

Joint torques and energies are unchanged; forces and moments inside the joints are not.
"""

from forearm.reduction.base import BaseParameters, base_parameters
from forearm.reduction.regrouped import RegroupedArm, regrouped_arm

__all__ = ["BaseParameters", "RegroupedArm", "base_parameters", "regrouped_arm"]
