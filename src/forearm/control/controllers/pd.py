"""Independent joint control: PD or PID on the joint errors, with or without gravity compensation."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.control.controller import Sample
from forearm.control.controllers.forces import law_of_model
from forearm.control.gains import BANDWIDTH, joint_gains
from forearm.control.model_error import without_friction
from forearm.spatial import Floats


class PD:
    """tau = M_jj (kp e + kd e') + g(q): a spring and a damper at every joint.

    Args:
        arm: the controller's model of the arm.
        bandwidth: of the critically damped error dynamics, rad/s.
        inertias: factors of the gains (n,), kg m^2 (kg); None: M_jj in mid-range.
        gravity: whether g(q) is added.
    """

    def __init__(
        self,
        arm: Arm,
        *,
        bandwidth: float = BANDWIDTH,
        inertias: ArrayLike | None = None,
        gravity: bool = True,
    ) -> None:
        self.gains = joint_gains(arm, bandwidth, inertias)
        self._law = law_of_model(without_friction(arm), "pd_gravity" if gravity else "pd")
        self.name = "PD + gravity" if gravity else "PD"

    @property
    def operations(self) -> float:
        """Operations of the errors, and of gravity and adding it."""
        return self._law.counts.operations

    def reset(self) -> None:
        """No state to reset."""

    def command(self, sample: Sample) -> Floats:
        """Spring, damper and gravity torques."""
        q, qd, _ = sample.wanted
        tau: Floats = self._law.call(sample.q, sample.qd, q, qd, self.gains.kp, self.gains.kd)
        return tau


class PID:
    """tau = M_jj (kp e + kd e' + ki sum of e T) + g(q): the integral removes steady-state errors, at the cost
    of some oscillation.

    Args:
        arm, bandwidth, inertias, gravity: as in `PD`.
    """

    def __init__(
        self,
        arm: Arm,
        *,
        bandwidth: float = BANDWIDTH,
        inertias: ArrayLike | None = None,
        gravity: bool = True,
    ) -> None:
        self.gains = joint_gains(arm, bandwidth, inertias, integral=True)
        self._law = law_of_model(without_friction(arm), "pid_gravity" if gravity else "pid")
        self.name = "PID + gravity" if gravity else "PID"
        self.reset()

    @property
    def operations(self) -> float:
        """Operations of the errors and their sum, and of gravity and adding it."""
        return self._law.counts.operations

    def reset(self) -> None:
        """Clear the sum of errors."""
        self.sum = np.zeros(len(self.gains.kp))
        self.last: tuple[float, Floats] | None = None

    def command(self, sample: Sample) -> Floats:
        """Spring, damper, integral up to the previous sample, and gravity torques."""
        q, qd, _ = sample.wanted
        gains = self.gains
        if self.last is not None:
            self.sum = self.sum + (sample.t - self.last[0]) * self.last[1]
        self.last = sample.t, q - sample.q
        tau: Floats = self._law.call(sample.q, sample.qd, q, qd, gains.kp, gains.kd, gains.ki, self.sum)[0]
        return tau
