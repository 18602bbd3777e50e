"""Reference of the motors behind springs along a motion, at every period, computed in advance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forearm.arm.arm import Arm
from forearm.control.bookkeeping import check_motion
from forearm.control.controller import Sample
from forearm.control.options import TIMING, LoopTiming
from forearm.control.reference import Motion, sampled
from forearm.dynamics.elastic import check_invertible, elastic_inverse_along
from forearm.errors import InputError
from forearm.spatial import Floats
from forearm.trajectories.continuous_snap.derivatives import derivatives_of

SAME = 1e-6  # of a period: times this close are equal
Instant = tuple[Floats, Floats, Floats, Floats, Floats]


@dataclass(frozen=True, eq=False)
class MotorReference:
    """Reference over k + 1 periods: states of links and motors at their start, (k + 1, n) each, and torques
    for the middle of the period in which they act.
    """

    period: float
    q: Floats
    qd: Floats
    theta: Floats
    thetad: Floats
    tau: Floats

    def at(self, sample: Sample, name: str) -> Instant:
        """q, qd, theta, thetad, tau (n,) for a sample."""
        k = sample.k
        if abs(sample.t - k * self.period) > SAME * self.period * (k + 1) or k >= len(self.q):
            raise InputError(
                f"it was made for a motion of {self.period * (len(self.q) - 1):g} s sampled "
                f"every {self.period:g} s, got sample {k} at {sample.t:g} s; make one for "
                "this run.",
                name,
            )
        return self.q[k], self.qd[k], self.theta[k], self.thetad[k], self.tau[k]


def motor_reference(arm: Arm, motion: Motion, timing: LoopTiming = TIMING) -> MotorReference:
    """Elastic inverse dynamics along a motion, every half period.

    A torque held over a period acts like its value in the middle, up to an error of second order in the
    period.

    Args:
        arm: an arm with elastic joints, without backlash and rotor_axis.
        motion: a motion of continuous snap.
        timing: period and delay of the loop.
    """
    check_invertible(arm, "controller")
    check_motion(arm, motion)
    T = timing.period
    steps = len(sampled(arm, motion, T).t) - 1
    t = np.minimum(0.5 * T * np.arange(2 * steps + 1), motion.duration)
    states = derivatives_of(motion, t)
    made = elastic_inverse_along(arm, t, *states)
    starts = np.arange(steps + 1) * 2
    acting = np.minimum(starts + 1 + 2 * timing.delay, 2 * steps)
    rows = (states[0], states[1], made.theta, made.thetad)
    blocks = [np.ascontiguousarray(x[starts]) for x in rows] + [np.ascontiguousarray(made.tau[acting])]
    for block in blocks:  # controllers receive rows of them
        block.flags.writeable = False
    return MotorReference(T, *blocks)
