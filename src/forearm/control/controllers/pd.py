"""Each joint by itself: position and velocity errors, gravity carried or not, the error summed up or not."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.control.controller import Sample
from forearm.control.controllers.forces import gravity_of
from forearm.control.gains import BANDWIDTH, Gains, critically_damped, joint_inertias
from forearm.values import frozen_array

Floats = NDArray[np.float64]
OF_ERROR = 5  # operations per joint: two differences, two products, a sum
OF_SUM = 3  # more with an integral: added up, times gain and period, added


def joint_gains(arm: Arm, bandwidth: float, inertias: ArrayLike | None, integral: bool = False) -> Gains:
    """Critically damped, times inertias d (n,): by default what each joint moves by itself,
    M_jj in mid-range.

    Where d is less than M_jj, ki is less by d / M_jj again:
    kp kd > ki M_jj keeps the joint from swinging (Routh's criterion).
    """
    own = joint_inertias(arm)
    d = own if inertias is None else frozen_array(inertias, (arm.n,), "inertias")
    made = critically_damped(arm.n, bandwidth, integral).scaled(d)
    return Gains(made.kp, made.kd, made.ki * np.minimum(1.0, d / own))


class PD:
    """tau = M_jj (kp e + kd e') + g(q): a spring and a damper at every joint."""

    def __init__(
        self,
        arm: Arm,
        *,
        bandwidth: float = BANDWIDTH,
        inertias: ArrayLike | None = None,
        gravity: bool = True,
    ) -> None:
        self.gains = joint_gains(arm, bandwidth, inertias)
        self.gravity = gravity_of(arm) if gravity else None
        self.name = "PD + gravity" if gravity else "PD"

    @property
    def operations(self) -> float:
        """Those of the errors, and of gravity with adding it."""
        n = len(self.gains.kp)
        return OF_ERROR * n + (0 if self.gravity is None else self.gravity.operations + n)

    def reset(self) -> None:
        """Nothing is kept."""

    def command(self, sample: Sample) -> Floats:
        """Spring, damper, and what holds the arm."""
        q, qd, _ = sample.wanted
        tau = self.gains.kp * (q - sample.q) + self.gains.kd * (qd - sample.qd)
        return np.asarray(tau if self.gravity is None else tau + self.gravity.at(sample.q, sample.qd, qd))


class PID:
    """tau = M_jj (kp e + kd e' + ki sum of e T) + g(q): what stays of the error is worked
    off, at some swinging.
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
        self.gravity = gravity_of(arm) if gravity else None
        self.name = "PID + gravity" if gravity else "PID"
        self.reset()

    @property
    def operations(self) -> float:
        """Those of the errors and their sum, and of gravity with adding it."""
        n = len(self.gains.kp)
        return (OF_ERROR + OF_SUM) * n + (0 if self.gravity is None else self.gravity.operations + n)

    def reset(self) -> None:
        """Begin to sum up anew."""
        self.sum = np.zeros(len(self.gains.kp))
        self.last: tuple[float, Floats] | None = None

    def command(self, sample: Sample) -> Floats:
        """Spring, damper, what was summed up before this sample, and what holds the arm."""
        q, qd, _ = sample.wanted
        error = q - sample.q
        if self.last is not None:
            self.sum = self.sum + (sample.t - self.last[0]) * self.last[1]
        self.last = sample.t, error
        tau = self.gains.kp * error + self.gains.kd * (qd - sample.qd) + self.gains.ki * self.sum
        return np.asarray(tau if self.gravity is None else tau + self.gravity.at(sample.q, sample.qd, qd))
