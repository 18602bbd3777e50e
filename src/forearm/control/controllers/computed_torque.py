"""Computed torque: inverse dynamics turns the arm into independent double integrators, which gains then
control. Dhanaraj 1.
"""

from __future__ import annotations

from forearm.arm.arm import Arm
from forearm.control.controller import Sample
from forearm.control.controllers.forces import law_of_model, named
from forearm.control.gains import BANDWIDTH, critically_damped
from forearm.control.model_error import without_friction
from forearm.spatial import Floats


class ComputedTorque:
    """tau = inverse dynamics at the measured q, qd and the acceleration qdd + kd e' + kp e: e'' + kd e' + kp
    e = 0.

    A reduced model takes fewer operations, but the errors become coupled. Joints at rest with dry friction
    are assumed to move as the reference does.

    Args:
        arm: the controller's model of the arm.
        bandwidth: of the critically damped error dynamics, rad/s.
        friction: whether friction is in the model.
        dropped: terms left out: "no-velocity-terms", "no-gravity" or "own-link-only"; None: full model.
    """

    def __init__(
        self, arm: Arm, *, bandwidth: float = BANDWIDTH, friction: bool = True, dropped: str | None = None
    ) -> None:
        self._law = law_of_model(arm if friction else without_friction(arm), "computed_torque", dropped)
        self.gains = critically_damped(arm.n, bandwidth)
        self.name = named("computed torque", friction, dropped)

    @property
    def operations(self) -> float:
        """Operations of the inverse dynamics, of the commanded acceleration, and of friction directions."""
        return self._law.counts.operations

    def reset(self) -> None:
        """No state to reset."""

    def command(self, sample: Sample) -> Floats:
        """Torques for an acceleration that makes the error decay."""
        gains = self.gains
        tau: Floats = self._law.call(sample.q, sample.qd, *sample.wanted, sample.ahead[1], gains.kp, gains.kd)
        return tau
