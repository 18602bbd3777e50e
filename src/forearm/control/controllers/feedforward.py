"""Feed-forward: the torques that the wanted motion needs, whatever the arm does.
Swartz's use of the Inverse Arm.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.control.controller import Sample
from forearm.control.controllers.forces import Directions, forces_of, named
from forearm.control.controllers.pd import OF_ERROR, joint_gains
from forearm.control.gains import BANDWIDTH
from forearm.control.model_error import without_friction

Floats = NDArray[np.float64]


class FeedForward:
    """tau = inverse dynamics of the wanted motion; nothing is measured, so that every error stays."""

    def __init__(self, arm: Arm, *, friction: bool = True, dropped: str | None = None) -> None:
        model = arm if friction else without_friction(arm)
        self.forces, self.directions = forces_of(model, dropped), Directions.of(model)
        self.name = named("feed-forward", friction, dropped)

    @property
    def operations(self) -> float:
        """Those of the inverse dynamics."""
        return self.forces.operations

    def reset(self) -> None:
        """Nothing is kept."""

    def command(self, sample: Sample) -> Floats:
        """The wanted motion's torques."""
        q, qd, qdd = sample.wanted
        if self.directions is not None:
            qd = self.directions.moving(qd, sample.ahead[1])
        return self.forces.at(q, qd, qdd)


class FeedForwardPD:
    """tau = inverse dynamics of the wanted motion + M_jj (kp e + kd e'), each joint's own inertia."""

    def __init__(
        self,
        arm: Arm,
        *,
        bandwidth: float = BANDWIDTH,
        inertias: ArrayLike | None = None,
        friction: bool = True,
        dropped: str | None = None,
    ) -> None:
        self.ahead = FeedForward(arm, friction=friction, dropped=dropped)
        self.gains = joint_gains(arm, bandwidth, inertias)
        self.name = named("feed-forward + PD", friction, dropped)

    @property
    def operations(self) -> float:
        """Those of the inverse dynamics, of the errors and of adding them."""
        return self.ahead.operations + (OF_ERROR + 1) * len(self.gains.kp)

    def reset(self) -> None:
        """Nothing is kept."""

    def command(self, sample: Sample) -> Floats:
        """The wanted motion's torques, corrected."""
        q, qd, _ = sample.wanted
        correction = self.gains.kp * (q - sample.q) + self.gains.kd * (qd - sample.qd)
        return np.asarray(self.ahead.command(sample) + correction)
