"""Computed torque: the model turns the arm into independent double integrators, and gains
do the rest. Dhanaraj 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.control.controller import Sample
from forearm.control.controllers.forces import law_of_model, named
from forearm.control.gains import BANDWIDTH, critically_damped
from forearm.control.model_error import without_friction

Floats = NDArray[np.float64]


class ComputedTorque:
    """tau = inverse dynamics at the measured q, qd and the acceleration qdd + kd e' + kp e:
    e'' + kd e' + kp e = 0.

    With less in its model it computes less, and the errors are no longer free of each other. Joints with dry
    friction that stand are taken to move as wanted.

    Args:
        arm: the arm that the controller believes in.
        bandwidth: of critically damped errors, rad/s.
        friction: whether friction is in its model.
        dropped: terms left out: "no-velocity-terms", "no-gravity" or "own-link-only"; None: none.
    """

    def __init__(
        self, arm: Arm, *, bandwidth: float = BANDWIDTH, friction: bool = True, dropped: str | None = None
    ) -> None:
        self._law = law_of_model(arm if friction else without_friction(arm), "computed_torque", dropped)
        self.gains = critically_damped(arm.n, bandwidth)
        self.name = named("computed torque", friction, dropped)

    @property
    def operations(self) -> float:
        """Those of the inverse dynamics, of the acceleration that it is asked for, and of directions."""
        return self._law.counts.operations

    def reset(self) -> None:
        """Nothing is kept."""

    def command(self, sample: Sample) -> Floats:
        """Torques for an acceleration that brings the error to 0."""
        gains = self.gains
        tau: Floats = self._law.call(sample.q, sample.qd, *sample.wanted, sample.ahead[1], gains.kp, gains.kd)
        return tau
