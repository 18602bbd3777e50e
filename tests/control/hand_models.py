"""Laws in the hand's space on reference dynamics and kinematics, and arms and samples to ask them with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from arms import limits_of
from numpy.typing import NDArray

import forearm as fa
from forearm import Arm
from forearm.control.controller import Sample
from forearm.control.controllers.arm_law import ArmLaw
from forearm.control.controllers.forces import Directions
from forearm.control.controllers.formulas import LawInputs
from forearm.control.controllers.hand_formulas import HandState

Floats = NDArray[np.float64]


@dataclass
class ReferenceHand:
    """The reference dynamics and kinematics, with friction by NumPy's own words."""

    arm: Arm

    def inverse(self, q: Floats, qd: Floats, qdd: Floats, ahead: Floats) -> Floats:
        directions = Directions.of(self.arm)
        if directions is not None:
            qd = np.where(directions.dry & ((qd == 0.0) | (qd * ahead < 0.0)), ahead, qd)
        return fa.dynamics.inverse(self.arm, q, qd, qdd)

    def gravity(self, q: Floats) -> Floats:
        return fa.dynamics.gravity(self.arm, q)

    def inertia_matrix(self, q: Floats) -> Floats:
        return fa.dynamics.inertia_matrix(self.arm, q)

    def hand(self, q: Floats, qd: Floats, qdd: Floats | None = None) -> HandState:
        made = fa.kinematics.hand_motion(self.arm, q, qd, qdd)
        velocity = np.concatenate([made.velocity, made.angular_velocity])
        acceleration = np.concatenate([made.acceleration, made.angular_acceleration])
        J = fa.kinematics.jacobian(self.arm, q)
        return HandState(made.pose[:3, :3], made.position, J, velocity, acceleration)


def by_numbers(law: ArmLaw, *sample: Floats) -> tuple[Floats, Floats | None]:
    """Torques and the next state of a law by the same text over numbers."""
    x = LawInputs(**dict(zip(law.reads, sample, strict=True)), **law.numbers)
    tau = np.asarray(law.torques(x, ReferenceHand(law.arm)), dtype=np.float64)
    return tau, None if law.state_next is None else law.state_next(x)


def hand_sample(arm: Arm, seed: int, off: float = 0.1) -> Sample:
    """A generic sample: away from what is wanted, moving, in the middle half of the joints' ranges."""
    rng = np.random.default_rng([seed, arm.n])
    low, high = limits_of(arm)
    q = low + (high - low) * rng.uniform(0.25, 0.75, arm.n)
    wanted = (q + rng.uniform(-off, off, arm.n), *rng.uniform(-0.6, 0.6, (2, arm.n)))
    ahead = tuple(x + 0.01 * rng.uniform(-0.6, 0.6, arm.n) for x in wanted)
    return Sample(0, 0.0, q, rng.uniform(-0.6, 0.6, arm.n), None, wanted, ahead)


def hand_acceleration(arm: Arm, q: Floats, qd: Floats, qdd: Floats) -> Floats:
    """(6,) by differences of velocities of the hand along q + t qd + t^2 qdd / 2, and no formula for J'."""
    h = 1e-4
    steps = np.array([-2.0, -1.0, 1.0, 2.0]) * h
    rates = [
        fa.kinematics.jacobian(arm, q + t * qd + 0.5 * t * t * qdd) @ (qd + t * qdd) for t in steps.tolist()
    ]
    return np.asarray((rates[0] - 8.0 * rates[1] + 8.0 * rates[2] - rates[3]) / (12.0 * h))
