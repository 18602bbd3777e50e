"""Joint-space control laws, each written once for numbers and symbols, the source of machine code, C and
fixed point.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from forearm.symbols.scalars import Scalar, choose, maximum, minimum, sign

Vector = Any  # (n,): numbers or symbols


class LawModel(Protocol):
    """What a law needs from the controller's model of the arm."""

    def inverse(self, q: Vector, qd: Vector, qdd: Vector, ahead: Vector) -> Vector:
        """Inverse dynamics; for dry joints at rest or moving the wrong way, friction is that of moving
        `ahead`.
        """
        ...

    def gravity(self, q: Vector) -> Vector:
        """Torques that hold the arm still."""
        ...


@dataclass(frozen=True, eq=False)
class LawInputs:
    """Inputs of a law: measured and reference joints, the next reference velocity, and gains of joints, (n,)
    each; the measured `force` on the hand (6,); gains of m controlled directions; the state of a law, such as
    the sum of errors.

    `stiffness` and `damping` are (m,) or, row by row, (m m,). The posture is that of the reference joints
    unless `posture` (n,) is given; joints beyond `lower` and `upper` are pushed back by `push` (n,), 1/s^2.
    `mobility`, `spring` and `damper` are 1 / M, K / M and D / M of an admittance, `transition` (6 m,)
    advances its state by a period.
    """

    q: Vector = None
    qd: Vector = None
    q_wanted: Vector = None
    qd_wanted: Vector = None
    qdd_wanted: Vector = None
    qd_ahead: Vector = None
    force: Vector = None
    state: Vector = None
    kp_hand: Vector = None
    kd_hand: Vector = None
    stiffness: Vector = None
    damping: Vector = None
    ratio: Vector = None
    kp: Vector = None
    kd: Vector = None
    ki: Vector = None
    posture: Vector = None
    lower: Vector = None
    upper: Vector = None
    push: Vector = None
    mobility: Vector = None
    spring: Vector = None
    damper: Vector = None
    transition: Vector = None


def pull(kp: Scalar, kd: Scalar, q: Scalar, qd: Scalar, q_wanted: Scalar, qd_wanted: Scalar) -> Scalar:
    """kp e + kd e': a spring and a damper towards the reference."""
    return kp * (q_wanted - q) + kd * (qd_wanted - qd)


def moving(qd: Scalar, ahead: Scalar) -> tuple[Scalar, Scalar]:
    """Velocity and direction for dry friction: as measured, or those of the reference if a joint is at rest
    or moves the wrong way. Static friction must be overcome before motion is measured.
    """
    way, other = sign(qd), sign(ahead)
    # 0 if at rest or moving the wrong way, else at least 1: exact in fixed point
    agrees = way * (way + other)
    return choose(agrees, 1.0, ahead, qd), choose(agrees, 1.0, other, way)


def clamped(x: Scalar, most: float) -> Scalar:
    """x limited to +-most."""
    return maximum(minimum(x, most), -most) if math.isfinite(most) else x


def state_next(x: LawInputs) -> Vector:
    """The sum of the errors including this sample."""
    return x.state + (x.q_wanted - x.q)


def _pull(x: LawInputs) -> Vector:
    return pull(x.kp, x.kd, x.q, x.qd, x.q_wanted, x.qd_wanted)


def _pid(x: LawInputs) -> Vector:
    return _pull(x) + x.ki * x.state


def _feedforward(x: LawInputs, model: LawModel) -> Vector:
    return model.inverse(x.q_wanted, x.qd_wanted, x.qdd_wanted, x.qd_ahead)


def _computed_torque(x: LawInputs, model: LawModel) -> Vector:
    return model.inverse(x.q, x.qd, x.qdd_wanted + _pull(x), x.qd_ahead)


@dataclass(frozen=True)
class ControlLaw:
    """A law: the names of its inputs, and its torques."""

    inputs: tuple[str, ...]
    torques: Callable[[LawInputs, LawModel], Vector]


WANTED = ("q_wanted", "qd_wanted", "qdd_wanted", "qd_ahead")
BOTH = ("q", "qd", *WANTED, "kp", "kd")
ERRORS = ("q", "qd", "q_wanted", "qd_wanted", "kp", "kd")
SUMMED = (*ERRORS, "ki", "state")
CONTROL_LAWS = {
    "feedforward": ControlLaw(WANTED, _feedforward),
    "feedforward_pd": ControlLaw(BOTH, lambda x, model: _feedforward(x, model) + _pull(x)),
    "computed_torque": ControlLaw(BOTH, _computed_torque),
    "pd": ControlLaw(ERRORS, lambda x, model: _pull(x)),
    "pd_gravity": ControlLaw(ERRORS, lambda x, model: _pull(x) + model.gravity(x.q)),
    "pid": ControlLaw(SUMMED, lambda x, model: _pid(x)),
    "pid_gravity": ControlLaw(SUMMED, lambda x, model: _pid(x) + model.gravity(x.q)),
}
