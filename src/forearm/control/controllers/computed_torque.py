"""Computed torque: the model turns the arm into independent double integrators, and gains
do the rest. Dhanaraj 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.control.controller import Sample
from forearm.control.controllers.forces import Directions, forces_of, named
from forearm.control.controllers.pd import OF_ERROR
from forearm.control.gains import BANDWIDTH, critically_damped
from forearm.control.model_error import without_friction

Floats = NDArray[np.float64]


class ComputedTorque:
    """tau = inverse dynamics at the measured q, qd and the acceleration qdd + kd e' + kp e:
    e'' + kd e' + kp e = 0.

    Without friction in its model, or with terms `dropped` from it, it computes less and the errors are no
    longer free of each other. Joints with dry friction that stand are taken to move as wanted.
    """

    def __init__(
        self, arm: Arm, *, bandwidth: float = BANDWIDTH, friction: bool = True, dropped: str | None = None
    ) -> None:
        model = arm if friction else without_friction(arm)
        self.forces, self.directions = forces_of(model, dropped), Directions.of(model)
        self.gains = critically_damped(arm.n, bandwidth)
        self.name = named("computed torque", friction, dropped)

    @property
    def operations(self) -> float:
        """Those of the inverse dynamics and of the acceleration that it is asked for."""
        return self.forces.operations + (OF_ERROR + 1) * len(self.gains.kp)

    def reset(self) -> None:
        """Nothing is kept."""

    def command(self, sample: Sample) -> Floats:
        """Torques for an acceleration that brings the error to 0."""
        q, qd, qdd = sample.wanted
        measured, rate, gains = sample.q, sample.qd, self.gains
        acceleration = qdd + gains.kd * (qd - rate) + gains.kp * (q - measured)
        if self.directions is not None:
            rate = self.directions.moving(rate, sample.ahead[1])
        return self.forces.at(measured, rate, acceleration)
