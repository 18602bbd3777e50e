"""Controllers of arms with elastic joints, which know of motors behind springs: PD on the motors, torques of
the elastic model along a motion, and feedback of links and motors together.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.arm.drive import Elasticity
from forearm.control.bookkeeping import pull_operations
from forearm.control.controller import Sample, check_arm
from forearm.control.controllers.arm_law import ArmLaw
from forearm.control.controllers.formulas import LawModel, Vector, pull
from forearm.control.controllers.hand_formulas import HandInputs
from forearm.control.elastic_gains import DAMPING, stable_state_gains
from forearm.control.gains import BANDWIDTH, joint_gains
from forearm.control.model_error import without_friction
from forearm.control.motor_reference import motor_reference
from forearm.control.reference import Motion
from forearm.drives.elasticity import deflection_of
from forearm.errors import InputError

Floats = NDArray[np.float64]
POSTURES = 9  # of the motion, in which feedback must be stable
MEASURED = {
    "q": "measured: motor angles over gear ratios, rad (m)",
    "qd": "measured: motor speeds over gear ratios, rad/s (m/s)",
}


def motor_pd(x: HandInputs, model: LawModel, springs: tuple[Elasticity | None, ...]) -> Vector:
    """tau = kp (theta_d - theta) + kd (qd_d - thetad) + g(q_d), where theta_d is how far the motor must turn
    for its spring to carry g at q_d; measured q and qd are those of the motors. Tomei 1991.
    """
    held = model.gravity(x.q_wanted)
    pairs = zip(springs, held, strict=True)
    gives = np.array([0.0 if s is None else deflection_of(s, g) for s, g in pairs], dtype=object)
    return pull(x.kp, x.kd, x.q, x.qd, x.q_wanted + gives, x.qd_wanted) + held


class MotorPD:
    """tau = M_jj (kp e + kd e') + g(q_d), with the errors of the motors from where their springs carry g(q_d)
    at the posture wanted: the links come to it without an error. Tomei 1991.

    It needs sensors on the motors alone, and is stable for any gains stiff enough to hold the arm up.

    Args:
        arm: the arm that the controller believes in.
        bandwidth: of critically damped errors, rad/s.
        inertias: what gains are multiplied by (n,), kg m^2 (kg); None: M_jj in mid-range, rotors included.
    """

    name = "PD on motors"

    def __init__(self, arm: Arm, *, bandwidth: float = BANDWIDTH, inertias: ArrayLike | None = None) -> None:
        check_arm(arm)
        self.gains = joint_gains(arm, bandwidth, inertias)
        self.law = ArmLaw(
            "motor_pd",
            "PD on motors: kp e + kd e' + g(q_wanted), e from where springs carry g(q_wanted)",
            without_friction(arm),
            dict.fromkeys(("q", "qd", "q_wanted", "qd_wanted"), arm.n),
            {"kp": self.gains.kp, "kd": self.gains.kd},
            (),
            partial(motor_pd, springs=tuple(joint.elasticity for joint in arm.joints)),
            meanings=MEASURED,
        )

    @property
    def operations(self) -> float:
        """Those of gravity, of the springs and of the errors."""
        return self.law.operations

    def reset(self) -> None:
        """Nothing is kept."""

    def command(self, sample: Sample) -> Floats:
        """Spring and damper at the motors, and what holds the arm."""
        q, qd, _ = sample.wanted
        tau: Floats = self.law.command(*motors_of(sample, self.name), q, qd)
        return tau


class ElasticFeedForward:
    """tau = what the motors must give for the links to follow the motion, springs and rotors included, + M_jj
    (kp e + kd e') with the errors of the motors from where they must be.

    All of it is computed beforehand, torques for the middle of the period in which they act. The motion needs
    four derivatives. It needs sensors on the motors, unless there is no feedback.

    Args:
        arm: the arm that the controller believes in, without backlash and rotor_axis.
        motion: the wanted motion, of continuous snap.
        period: sampling period, s.
        delay: periods until a command acts, 0 or 1.
        bandwidth: of the feedback, rad/s; None: none.
        inertias: what its gains are multiplied by (n,), kg m^2 (kg); None: M_jj in mid-range.
    """

    name = "elastic feed-forward"

    def __init__(
        self,
        arm: Arm,
        motion: Motion,
        *,
        period: float = 1e-3,
        delay: int = 0,
        bandwidth: float | None = BANDWIDTH,
        inertias: ArrayLike | None = None,
    ) -> None:
        self.reference = motor_reference(arm, motion, period, delay)
        self.gains = None if bandwidth is None else joint_gains(arm, bandwidth, inertias)

    @property
    def operations(self) -> float:
        """Those of the errors and of adding them; what is computed beforehand is not counted."""
        return 0.0 if self.gains is None else float(pull_operations() * len(self.gains.kp))

    def reset(self) -> None:
        """Nothing is kept."""

    def command(self, sample: Sample) -> Floats:
        """The torques of this period, corrected."""
        _, _, theta, thetad, tau = self.reference.at(sample, self.name)
        if self.gains is None:
            return tau
        q, qd = motors_of(sample, self.name)
        made: Floats = tau + pull(self.gains.kp, self.gains.kd, q, qd, theta, thetad)
        return made


class StateFeedback:
    """tau = that of `ElasticFeedForward` without feedback + gains on the errors of position and speed of link
    and motor, which put the poles of each joint by itself, two masses with a spring in mid-range, sampled.

    Two are at -w, the bandwidth; the spring's are left as fast as they are, and damped. To slow them down to
    w as well (`elastic_bandwidth`) takes a torque against the spring, and makes arms of several joints
    unstable. w is held back to half of what sampling bears, and until the whole arm is stable in nine
    postures of the motion, linearised. It needs sensors on both sides.

    Args:
        arm: the arm that the controller believes in, without backlash and rotor_axis.
        motion: the wanted motion, of continuous snap.
        period: sampling period, s.
        delay: periods until a command acts, 0 or 1.
        bandwidth: w, rad/s.
        elastic_bandwidth: how fast the poles of springs are, rad/s; None: as fast as each joint swings by
            itself, sqrt(K / M + K / B), but no slower than w.
        damping: damping ratio of these poles, at least; 1: both at one place.
    """

    name = "state feedback"

    def __init__(
        self,
        arm: Arm,
        motion: Motion,
        *,
        period: float = 1e-3,
        delay: int = 0,
        bandwidth: float = BANDWIDTH,
        elastic_bandwidth: float | None = None,
        damping: float = DAMPING,
    ) -> None:
        self.reference = motor_reference(arm, motion, period, delay)
        rows = np.linspace(0, len(self.reference.q) - 1, POSTURES).astype(int)
        self.gains, self.bandwidth = stable_state_gains(
            arm,
            self.reference.q[rows],
            bandwidth,
            period,
            delay=delay,
            elastic_bandwidth=elastic_bandwidth,
            damping=damping,
        )
        self._is_late = delay == 1
        self.reset()

    @property
    def operations(self) -> float:
        """Those of four errors and of adding them, and of what waits under a delay."""
        n = len(self.gains.link)
        return float(2 * pull_operations() * n + (2 * n if self._is_late else 0))

    def reset(self) -> None:
        """Nothing waits to act."""
        self._waiting = np.zeros(len(self.gains.link))

    def command(self, sample: Sample) -> Floats:
        """The torques of this period, corrected."""
        q, qd, theta, thetad, tau = self.reference.at(sample, self.name)
        if not sample.sees_links:
            raise InputError(
                f"{self.name}: expected sensors on links and motors, got those on motors alone; run it with "
                "sensors=Sensors(side='both')."
            )
        g, (motor, speed) = self.gains, motors_of(sample, self.name)
        made: Floats = pull(g.link, g.link_rate, sample.q, sample.qd, q, qd)
        made = made + pull(g.motor, g.motor_rate, motor, speed, theta, thetad)
        if self._is_late:
            made = made - g.waiting * self._waiting
            self._waiting = made
        return tau + made


def motors_of(sample: Sample, name: str) -> tuple[Floats, Floats]:
    """Measured positions and speeds of the motors (n,); an error where sensors do not tell them."""
    if sample.motor is None:
        raise InputError(
            f"{name}: expected sensors on the motors, got those on links alone; run it with "
            "sensors=Sensors(side='motor') or 'both'."
        )
    return sample.motor
