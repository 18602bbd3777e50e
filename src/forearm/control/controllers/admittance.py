"""Admittance control: a measured force moves the reference like a mass on a spring and a damper, and a
position loop in operational space tracks it. Hogan 1985.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.control.controller import Sample
from forearm.control.controllers.arm_law import JOINTS, ArmLaw
from forearm.control.controllers.hand_formulas import admittance, admittance_next
from forearm.control.controllers.hand_gains import each_given, posture_numbers, task_of, usual_masses
from forearm.control.gains import critically_damped
from forearm.control.model_error import without_friction
from forearm.control.options import HAND, PERIOD, HandOptions
from forearm.errors import InputError
from forearm.records import flat, with_fields
from forearm.spatial import Floats
from forearm.values import check_number

MEANINGS = {
    "force": "measured: force, N, and moment, N m, on the hand at its origin, base axes",
    "state": "how far the force has moved the reference, m and rad, and the rates of that",
    "state_next": "the same a period later",
}
SOFT = 0.2  # of the bandwidth: default bandwidth of the admittance
OFF = 1e-6  # of a period: rounding of times
TERMS = 20  # terms of the exponential series, for matrices of norm at most 1


@with_fields
class Admittance:
    """M xdd + D xd + K x = F moves the reference by x in the directions `axes`, with F the measured force on
    the hand, base axes; `OperationalSpace` tracks it, and compensates the force itself.

    Without a force sensor in the loop (`control.run(..., hand_force=)`) F is 0.

    Args:
        arm: the controller's model of the arm.
        mass, damping, stiffness: M, D, K of each direction, one number or (m,); kg, N s/m, N/m, for rotations
            kg m^2, N m s/rad, N m/rad; None: the apparent mass of the hand in mid-range, critically damped
            with a fifth of the bandwidth.
        period: sampling period, s, over which a force is held.
        friction: whether friction is in the model.
        options: bandwidth, directions and posture.
    """

    @flat(options=HandOptions)
    def __init__(
        self,
        arm: Arm,
        mass: ArrayLike | None = None,
        damping: ArrayLike | None = None,
        stiffness: ArrayLike | None = None,
        *,
        period: float = PERIOD,
        friction: bool = True,
        options: HandOptions = HAND,
    ) -> None:
        task, soft = task_of(arm, options), SOFT * options.bandwidth
        m = len(task.rows)
        M = usual_masses(arm, task) if mass is None else each_given(mass, m, "Admittance, mass")
        K = soft * soft * M if stiffness is None else each_given(stiffness, m, "Admittance, stiffness")
        D = 2.0 * np.sqrt(K * M) if damping is None else each_given(damping, m, "Admittance, damping")
        if not (M > 0.0).all():
            raise InputError(f"expected numbers above 0, got {M.tolist()}.", "Admittance", "mass")
        gains = critically_damped(m, options.bandwidth)
        self.period = check_number(period, "Admittance, period", above=0.0)
        self.law = ArmLaw(
            "admittance",
            "Admittance: operational space to xd moved by M xdd + D xd + K x = F, less J^T F",
            arm if friction else without_friction(arm),
            {**dict.fromkeys(JOINTS, arm.n), "force": 6, "state": 2 * m},
            {"kp_hand": gains.kp, "kd_hand": gains.kd}
            | posture_numbers(arm, options)
            | {"mobility": 1.0 / M, "spring": K / M, "damper": D / M}
            | {"transition": held_response(M, D, K, self.period)},
            (task,),
            lambda x, model: admittance(x, model, task),
            lambda x: admittance_next(x, task),
            MEANINGS,
        )
        self.name = "admittance" if friction else "admittance, no friction"
        self.reset()

    @property
    def operations(self) -> float:
        """Operations of the law and of the reference motion, including the forward kinematics of the
        reference.
        """
        return self.law.operations

    @property
    def offset(self) -> Floats:
        """Present displacement of the reference, (m,), m and rad."""
        return self.state[: len(self.state) // 2].copy()

    def reset(self) -> None:
        """Reset the displacement to 0."""
        self.state = np.zeros(self.law.reads["state"])
        self.last: float | None = None  # time of the last call

    def command(self, sample: Sample) -> Floats:
        """Torques towards the displaced reference, whose state is then advanced."""
        apart = self.period if self.last is None else sample.t - self.last
        if abs(apart - self.period) > OFF * self.period:
            raise InputError(
                f"expected samples {self.period:g} s apart, got {apart:g} s; set it to the "
                "period of the loop.",
                "Admittance",
                "period",
            )
        self.last = sample.t
        force = np.zeros(6) if sample.force is None else sample.force
        inputs = (sample.q, sample.qd, *sample.wanted, sample.ahead[1], force, self.state)
        state, tau = self.law.command(*inputs)
        self.state = state
        return np.asarray(tau)


def held_response(mass: Floats, damping: Floats, stiffness: Floats, period: float) -> Floats:
    """Discrete transition of x and xd of M xdd + D xd + K x = F over a period with F held, (6 m,): the
    factors of x, xd and F in the next x, and in the next xd.
    """
    parts = []
    for M, D, K in zip(mass, damping, stiffness, strict=True):
        A = period * np.array([[0.0, 1.0, 0.0], [-K / M, -D / M, 1.0 / M], [0.0, 0.0, 0.0]])
        parts.append(_exponential(A)[:2].ravel())
    return np.ascontiguousarray(np.array(parts).T).ravel()


def _exponential(A: Floats) -> Floats:
    """e^A by scaling and squaring of its Taylor series."""
    halvings = max(0, math.ceil(math.log2(max(float(np.linalg.norm(A)), 1.0))))
    small, term = A / 2.0**halvings, np.eye(len(A))
    total = term.copy()
    for k in range(1, TERMS):
        term = term @ small / k
        total += term
    for _ in range(halvings):
        total = total @ total
    return total
