"""Gravity compensation: the arm can be moved by hand, and stays where it is left."""

from __future__ import annotations

from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.control.controller import Sample, check_arm
from forearm.control.controllers.arm_law import ArmLaw
from forearm.control.controllers.hand_formulas import gravity_compensation
from forearm.control.controllers.hand_gains import each_given
from forearm.spatial import Floats


class GravityCompensation:
    """tau = g(q) - d qd, independent of the reference.

    Args:
        arm: the controller's model of the arm.
        damping: d, one number or one per joint, N m s/rad (N s/m); None: 0.
    """

    def __init__(self, arm: Arm, *, damping: ArrayLike | None = None) -> None:
        check_arm(arm)
        self._is_damped = damping is not None
        numbers = {} if damping is None else {"kd": each_given(damping, arm.n, "damping")}
        self.law = ArmLaw(
            "gravity_compensation",
            "Gravity compensation: g(q) - kd qd" if numbers else "Gravity compensation: g(q)",
            arm,
            dict.fromkeys(("q", "qd") if numbers else ("q",), arm.n),
            numbers,
            (),
            gravity_compensation,
        )
        self.name = "gravity compensation"

    @property
    def operations(self) -> float:
        """Operations of gravity, and 2 per joint for the damping."""
        return self.law.operations

    def reset(self) -> None:
        """No state to reset."""

    def command(self, sample: Sample) -> Floats:
        """Gravity torques minus damping."""
        tau: Floats = self.law.command(*((sample.q, sample.qd) if self._is_damped else (sample.q,)))
        return tau
