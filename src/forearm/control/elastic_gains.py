"""Gains for motors behind springs: stability limits on the motor side, and pole placement for full state
feedback.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.control.gains import bearable, joint_inertias, largest_bandwidth
from forearm.control.linear_arm import LinearArm, linear_arm
from forearm.errors import InputError
from forearm.kinematics.arguments import states_of
from forearm.kinematics.limits import middle
from forearm.spatial import Floats
from forearm.values import as_floats, check_number

DAMPING = 0.7  # minimum damping ratio of a spring's mode
SEEN = 1.5  # rad per period: a spring mode that is faster counts as rigid for the loop
SETTLING = 0.05  # of the bandwidth: every error of a loop decays at least this fast
SLOWER = 0.9  # ratio of successive bandwidths in the search
LEAST = 0.05  # of the first: where the search ends


def stable_motor_inertias(
    arm: Arm, postures: ArrayLike, bandwidth: float, period: float, delay: int = 0
) -> Floats:
    """`stable_inertias` for gains on motors: M_jj (n,) in mid-range, rotors included, reduced where sampled
    gains would be unstable with the rotor alone, which is what a motor behind a spring accelerates at first.

    Args:
        arm: the arm.
        postures: configurations (m, n) to check.
        bandwidth: of the feedback, rad/s.
        period: sampling period, s.
        delay: periods until a command acts, 0 or 1.
    """
    (rows,) = states_of(arm, postures=np.atleast_2d(as_floats(postures, "postures")))
    most = 0.5 * largest_bandwidth(period, delay) / check_number(bandwidth, "bandwidth", above=0.0)
    arms = (linear_arm(arm, row) for row in rows)
    inverse = np.array([np.linalg.inv(x.M)[np.ix_(x.motors, x.motors)] for x in arms])
    return bearable(joint_inertias(arm), inverse, most)


def placed(joint: LinearArm, poles: list[complex], period: float, delay: int) -> Floats:
    """State feedback gains (k,) of one joint that place its sampled poles at e^(p T), and at 0 for a pending
    command; by Ackermann's formula for (F - 1) / T, which loses no digits for short periods.
    """
    F, G = joint.with_delay(period, delay)
    rate, into, size = F / period, G[:, 0] / period, len(F)
    wanted = [(np.exp(p * period) - 1.0) / period for p in poles] + [-1.0 / period] * delay
    columns = [into]
    for _ in range(size - 1):
        columns.append(rate @ columns[-1])
    last = np.linalg.solve(np.array(columns), np.eye(size)[-1])  # of the transposed matrix
    polynomial = np.eye(size, dtype=np.complex128)
    for p in wanted:
        polynomial = polynomial @ (rate - p * np.eye(size))
    return np.asarray((last @ polynomial).real)


@dataclass(frozen=True, eq=False)
class StateGains:
    """Gains (n,) of positions and speeds of link and motor, and with a delay of the pending command.

    Attributes:
        link, link_rate: of the link, N m/rad (N/m) and N m s/rad (N s/m); 0 for a rigid joint.
        motor, motor_rate: of the motor, over its gear ratio.
        waiting: of the feedback torque commanded one period before; 0 without a delay.
        poles: of each joint, 1/s: two of the bandwidth, and those of its spring unless it counts as rigid.
    """

    link: Floats
    link_rate: Floats
    motor: Floats
    motor_rate: Floats
    waiting: Floats
    poles: tuple[tuple[complex, ...], ...]

    def of(self, arm: LinearArm, delay: int) -> Floats:
        """The gain matrix for a linear arm, (n, 2 m) or with a delay (n, 2 m + n)."""
        n, m, rows = len(arm.motors), len(arm.M), np.arange(len(arm.motors))
        made = np.zeros((n, 2 * m + delay * n))
        for block, (link, motor) in enumerate(((self.link, self.motor), (self.link_rate, self.motor_rate))):
            made[rows, block * m + rows] += link
            made[rows, block * m + np.array(arm.motors)] += motor
        if delay:
            made[rows, 2 * m + rows] = self.waiting
        return made


def state_gains(
    arm: Arm,
    bandwidth: float,
    period: float,
    *,
    delay: int = 0,
    elastic_bandwidth: float | None = None,
    damping: float = DAMPING,
) -> StateGains:
    """Pole placement for each joint separately, as two sampled masses with a spring in mid-range: two poles
    at -w, and those of the spring at their own frequency, damped.

    Args:
        arm: the arm.
        bandwidth: w, rad/s.
        period: sampling period, s.
        delay: periods until a command acts, 0 or 1.
        elastic_bandwidth: natural frequency of the spring's two poles, rad/s; None: that of the separate
            joint, sqrt(K / M + K / B), but at least w.
        damping: their minimum damping ratio; 1: a double pole.
    """
    w, T = check_number(bandwidth, "bandwidth", above=0.0), check_number(period, "period", above=0.0)
    ratio = check_number(damping, "damping", above=0.0)
    if elastic_bandwidth is not None:
        check_number(elastic_bandwidth, "elastic_bandwidth", above=0.0)
    whole = linear_arm(arm, middle(arm))
    made, poles = np.zeros((arm.n, 5)), []
    for j in range(arm.n):
        joint = whole.joint(j)
        found: list[complex] = [-w, -w]
        if len(joint.M) == 2:
            swing, natural = _own_mode(joint)
            if swing * T > SEEN:
                joint = joint.lumped()
            else:
                rate = max(w, swing) if elastic_bandwidth is None else elastic_bandwidth
                share = max(ratio, natural) if elastic_bandwidth is None else ratio
                found += [complex(x) for x in np.roots([1.0, 2.0 * share * rate, rate * rate])]
        k = placed(joint, found, T, delay)
        states = [0, 1, 2, 3] if len(joint.M) == 2 else [1, 3]
        made[j, [*states, *([4] * delay)]] = k
        poles.append(tuple(found))
    link, motor, link_rate, motor_rate, waiting = made.T
    return StateGains(link, link_rate, motor, motor_rate, waiting, tuple(poles))


def _own_mode(joint: LinearArm) -> tuple[float, float]:
    """Natural frequency of link against rotor, rad/s, and damping ratio."""
    pull = np.array([-1.0, 1.0])
    mobility = float(pull @ np.linalg.inv(joint.M) @ pull)
    swing = math.sqrt(mobility * joint.K[1, 1])
    return swing, 0.5 * mobility * float(-joint.D[0, 1]) / swing


def stable_state_gains(
    arm: Arm,
    postures: Floats,
    bandwidth: float,
    period: float,
    *,
    delay: int = 0,
    elastic_bandwidth: float | None = None,
    damping: float = DAMPING,
) -> tuple[StateGains, float]:
    """`state_gains` with the largest bandwidth up to the given one for which the whole arm is stable,
    linearised in every configuration (m, n); and that bandwidth, at most half of the limit for one mass.
    """
    arms, asked = [linear_arm(arm, q) for q in postures], check_number(bandwidth, "bandwidth", above=0.0)
    w = first = min(asked, 0.5 * largest_bandwidth(period, delay))
    while w >= LEAST * first:
        gains = state_gains(arm, w, period, delay=delay, elastic_bandwidth=elastic_bandwidth, damping=damping)
        most = math.exp(-SETTLING * w * period)
        if all(x.radius(gains.of(x, delay), period, delay) <= most for x in arms):
            return gains, w
        w *= SLOWER
    raise InputError(
        f"{arm.name!r} is unstable under separate joint gains sampled every {period:g} s, at "
        f"{asked:g} rad/s or less; use a shorter period, springs with damping, or 'PD on "
        "motors'.",
        "state feedback",
    )
