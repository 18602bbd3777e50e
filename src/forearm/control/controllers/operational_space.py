"""Operational-space control: the hand as a unit mass in every direction, redundant joints in its null space.
Khatib 1987.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.control.controller import Sample
from forearm.control.controllers.arm_law import JOINTS, ArmLaw
from forearm.control.controllers.hand_formulas import operational_space
from forearm.control.controllers.hand_gains import NEAR, posture_numbers, task_of
from forearm.control.gains import BANDWIDTH, critically_damped
from forearm.control.model_error import without_friction

Floats = NDArray[np.float64]


class OperationalSpace:
    """The hand accelerates by xdd + kd e' + kp e in the directions `axes`, so that e'' + kd e' + kp e = 0
    there; redundant joints take a posture, by default that of the reference motion.

    Args:
        arm: the controller's model of the arm.
        bandwidth: of critically damped gains, rad/s.
        axes: of x, y, z, rx, ry, rz, base axes; None: all for six joints and more, else x, y, z.
        posture: preferred joint coordinates (n,); None: those of the reference motion.
        avoid_limits: bandwidth, rad/s, with which joints are pushed back from the last tenth of their range;
            None: disabled.
        friction: whether friction is in the model.
        near: damping threshold near singular configurations, as a share of the mean mobility of the hand.
    """

    def __init__(
        self,
        arm: Arm,
        *,
        bandwidth: float = BANDWIDTH,
        axes: Iterable[str] | None = None,
        posture: ArrayLike | None = None,
        avoid_limits: float | None = None,
        friction: bool = True,
        near: float = NEAR,
    ) -> None:
        task = task_of(arm, axes, near)
        gains = critically_damped(len(task.rows), bandwidth)
        self.law = ArmLaw(
            "operational_space",
            "Operational space: inverse dynamics at a + M^-1 J^T Lambda (xdd + kd e' + kp e - J' qd - J a)",
            arm if friction else without_friction(arm),
            dict.fromkeys(JOINTS, arm.n),
            {"kp_hand": gains.kp, "kd_hand": gains.kd}
            | posture_numbers(arm, bandwidth, posture, avoid_limits),
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
