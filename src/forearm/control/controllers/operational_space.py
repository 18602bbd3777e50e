"""Operational-space control: the hand as a unit mass in every direction, redundant joints in its null space.
Khatib 1987.
"""

from __future__ import annotations

from forearm.arm.arm import Arm
from forearm.control.controller import Sample
from forearm.control.controllers.arm_law import JOINTS, ArmLaw
from forearm.control.controllers.hand_formulas import operational_space
from forearm.control.controllers.hand_gains import posture_numbers, task_of
from forearm.control.gains import critically_damped
from forearm.control.model_error import without_friction
from forearm.control.options import HAND, HandOptions
from forearm.records import flat, with_fields
from forearm.spatial import Floats


@with_fields
class OperationalSpace:
    """The hand accelerates by xdd + kd e' + kp e in the directions `axes`, so that e'' + kd e' + kp e = 0
    there; redundant joints take a posture, by default that of the reference motion.

    Args:
        arm: the controller's model of the arm.
        friction: whether friction is in the model.
        options: gains, directions and posture.
    """

    @flat(options=HandOptions)
    def __init__(self, arm: Arm, *, friction: bool = True, options: HandOptions = HAND) -> None:
        task = task_of(arm, options)
        gains = critically_damped(len(task.rows), options.bandwidth)
        self.law = ArmLaw(
            "operational_space",
            "Operational space: inverse dynamics at a + M^-1 J^T Lambda (xdd + kd e' + kp e - J' qd - J a)",
            arm if friction else without_friction(arm),
            dict.fromkeys(JOINTS, arm.n),
            {"kp_hand": gains.kp, "kd_hand": gains.kd} | posture_numbers(arm, options),
            (task,),
            lambda x, model: operational_space(x, model, task),
        )
        self.name = "operational space" if friction else "operational space, no friction"

    @property
    def operations(self) -> float:
        """Operations of the law, with the forward kinematics of the reference."""
        return self.law.operations

    def reset(self) -> None:
        """No state to reset."""

    def command(self, sample: Sample) -> Floats:
        """Torques that accelerate the hand as the law requires."""
        tau: Floats = self.law.command(sample.q, sample.qd, *sample.wanted, sample.ahead[1])
        return tau
