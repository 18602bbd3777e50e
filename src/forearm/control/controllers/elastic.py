"""Controllers for arms with elastic joints: PD on the motors, feedforward of the elastic model along a
motion, and state feedback of links and motors.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.arm.drive import Elasticity
from forearm.control.bookkeeping import pull_operations
from forearm.control.controller import Pair, Sample, check_arm
from forearm.control.controllers.arm_law import ArmLaw
from forearm.control.controllers.formulas import LawInputs, LawModel, Vector, pull
from forearm.control.elastic_gains import DAMPING, stable_state_gains
from forearm.control.gains import BANDWIDTH, joint_gains
from forearm.control.model_error import without_friction
from forearm.control.motor_reference import motor_reference
from forearm.control.options import TIMING, LoopTiming
from forearm.control.reference import Motion
from forearm.drives.elasticity import deflection_of
from forearm.errors import InputError
from forearm.model import symbolic
from forearm.records import flat, with_fields
from forearm.spatial import Floats

POSTURES = 9  # configurations along the motion in which feedback must be stable
MEASURED = {
    "q": "measured: motor angles over gear ratios, rad (m)",
    "qd": "measured: motor speeds over gear ratios, rad/s (m/s)",
}


def motor_pd(x: LawInputs, model: LawModel, springs: tuple[Elasticity | None, ...]) -> Vector:
    """tau = kp (theta_d - theta) + kd (qd_d - thetad) + g(q_d), with theta_d the motor position at which its
    spring holds g(q_d); measured q and qd are those of the motors. Tomei 1991.
    """
    held = model.gravity(x.q_wanted)
    pairs = zip(springs, held, strict=True)
    gives = symbolic([0.0 if s is None else deflection_of(s, g) for s, g in pairs])
    return pull(x.kp, x.kd, x.q, x.qd, x.q_wanted + gives, x.qd_wanted) + held


class MotorPD:
    """tau = M_jj (kp e + kd e') + g(q_d), with e the error of the motors from where their springs hold g(q_d)
    in the reference configuration: the links reach it without steady-state error. Tomei 1991.

    It needs sensors on the motors alone, and is stable for any gains stiff enough to hold the arm up.

    Args:
        arm: the controller's model of the arm.
        bandwidth: of the critically damped error dynamics, rad/s.
        inertias: factors of the gains (n,), kg m^2 (kg); None: M_jj in mid-range, rotors included.
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
        """Operations of gravity, springs and errors."""
        return self.law.operations

    def reset(self) -> None:
        """No state to reset."""

    def command(self, sample: Sample) -> Floats:
        """PD on the motors plus gravity torques."""
        q, qd, _ = sample.wanted
        tau: Floats = self.law.command(*motors_of(sample, self.name), q, qd)
        return tau


@with_fields
class ElasticFeedForward:
    """tau = motor torques that make the links follow the motion, springs and rotors included, + M_jj (kp e +
    kd e') with e the error of the motors from their reference.

    The feedforward is computed in advance, for the middle of the period in which each torque acts. The motion
    needs four derivatives. Sensors on the motors are required, unless there is no feedback.

    Args:
        arm: the controller's model of the arm, without backlash and rotor_axis.
        motion: the reference motion, of continuous snap.
        bandwidth: of the feedback, rad/s; None: no feedback.
        inertias: factors of its gains (n,), kg m^2 (kg); None: M_jj in mid-range.
        timing: period and delay of the loop.
    """

    name = "elastic feed-forward"

    @flat(timing=LoopTiming)
    def __init__(
        self,
        arm: Arm,
        motion: Motion,
        *,
        timing: LoopTiming = TIMING,
        bandwidth: float | None = BANDWIDTH,
        inertias: ArrayLike | None = None,
    ) -> None:
        self.reference = motor_reference(arm, motion, timing)
        self.gains = None if bandwidth is None else joint_gains(arm, bandwidth, inertias)

    @property
    def operations(self) -> float:
        """Operations of the errors and of adding them; feedforward computed in advance is not counted."""
        return 0.0 if self.gains is None else float(pull_operations() * len(self.gains.kp))

    def reset(self) -> None:
        """No state to reset."""

    def command(self, sample: Sample) -> Floats:
        """Torques of this period, corrected."""
        _, _, theta, thetad, tau = self.reference.at(sample, self.name)
        if self.gains is None:
            return tau
        q, qd = motors_of(sample, self.name)
        made: Floats = tau + pull(self.gains.kp, self.gains.kd, q, qd, theta, thetad)
        return made


@with_fields
class StateFeedback:
    """tau = `ElasticFeedForward` without feedback + gains on position and speed errors of link and motor, by
    pole placement for each joint separately, as two sampled masses with a spring in mid-range.

    Two poles are at -w, the bandwidth; those of the spring keep their frequency and are damped. Slowing them
    down to w as well (`elastic_bandwidth`) takes a torque against the spring, and makes arms of several
    joints unstable. w is reduced to at most half of the sampling limit, and further until the whole arm is
    stable in nine configurations along the motion, linearised. Sensors on both sides are required.

    Args:
        arm: the controller's model of the arm, without backlash and rotor_axis.
        motion: the reference motion, of continuous snap.
        bandwidth: w, rad/s.
        elastic_bandwidth: natural frequency of the spring poles, rad/s; None: that of the separate joint,
            sqrt(K / M + K / B), but at least w.
        damping: minimum damping ratio of these poles; 1: a double pole.
        timing: period and delay of the loop.
    """

    name = "state feedback"

    @flat(timing=LoopTiming)
    def __init__(
        self,
        arm: Arm,
        motion: Motion,
        *,
        timing: LoopTiming = TIMING,
        bandwidth: float = BANDWIDTH,
        elastic_bandwidth: float | None = None,
        damping: float = DAMPING,
    ) -> None:
        self.reference = motor_reference(arm, motion, timing)
        rows = np.linspace(0, len(self.reference.q) - 1, POSTURES).astype(int)
        self.gains, self.bandwidth = stable_state_gains(
            arm,
            self.reference.q[rows],
            bandwidth,
            timing.period,
            delay=timing.delay,
            elastic_bandwidth=elastic_bandwidth,
            damping=damping,
        )
        self._is_late = timing.delay == 1
        self.reset()

    @property
    def operations(self) -> float:
        """Operations of four errors and of adding them, and of the pending command with a delay."""
        n = len(self.gains.link)
        return float(2 * pull_operations() * n + (2 * n if self._is_late else 0))

    def reset(self) -> None:
        """Clear the pending command."""
        self._waiting = np.zeros(len(self.gains.link))

    def command(self, sample: Sample) -> Floats:
        """Torques of this period, corrected."""
        q, qd, theta, thetad, tau = self.reference.at(sample, self.name)
        if not sample.sees_links:
            raise InputError(
                "expected sensors on links and motors, got motor sensors alone; run it with "
                "sensors=Sensors(side='both').",
                self.name,
            )
        g, (motor, speed) = self.gains, motors_of(sample, self.name)
        made: Floats = pull(g.link, g.link_rate, sample.q, sample.qd, q, qd)
        made = made + pull(g.motor, g.motor_rate, motor, speed, theta, thetad)
        if self._is_late:
            made = made - g.waiting * self._waiting
            self._waiting = made
        return tau + made


def motors_of(sample: Sample, name: str) -> Pair:
    """Measured motor positions and speeds (n,); an error without sensors on motors."""
    if sample.motor is None:
        raise InputError(
            "expected sensors on the motors, got link sensors alone; run it with "
            "sensors=Sensors(side='motor') or 'both'.",
            name,
        )
    return sample.motor
