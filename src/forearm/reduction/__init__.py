"""The arm rewritten so that its dynamics take few operations:
frames, regrouped moments, and the recursions on them.

Joint torques and energies are preserved; forces and moments in the joints are not.
"""

from forearm.reduction.base import BaseParameters, base_parameters
from forearm.reduction.regrouped import RegroupedArm, regrouped_arm

__all__ = ["BaseParameters", "RegroupedArm", "base_parameters", "regrouped_arm"]
