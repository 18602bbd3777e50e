"""Operational-space control laws, each written once for numbers and symbols, the source of machine code and
C. Khatib 1987, Hogan 1985.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from forearm.control.controllers.formulas import LawInputs, LawModel, Vector, pull
from forearm.control.controllers.hand_inertia import HandInertia, HandTask
from forearm.model import Array
from forearm.symbols.scalars import Scalar, atan2, maximum, minimum, root

TINY = 1e-150  # divisor in place of the sine of an angle of 0


@dataclass(frozen=True, eq=False)
class HandState:
    """The hand in base axes: attitude R (3, 3), origin p (3,), Jacobian J (6, n), velocity J qd and
    acceleration J qdd + J' qd, (6,) each, linear rows first.
    """

    R: Array
    p: Array
    J: Array
    velocity: Array
    acceleration: Array


class HandModel(LawModel, Protocol):
    """What an operational-space law needs from the controller's model of the arm."""

    def inertia_matrix(self, q: Vector) -> Array:
        """M (n, n)."""
        ...

    def hand(self, q: Vector, qd: Vector, qdd: Vector | None = None) -> HandState:
        """The motion of the hand; without qdd its acceleration is J' qd."""
        ...


@dataclass(frozen=True)
class ImpedanceTerms:
    """Optional terms of an impedance: Lambda (xdd - J' qd), velocity terms and friction of the model, a
    posture in the null space.
    """

    feedforward: bool = False
    velocity_terms: bool = False
    posture: bool = False


def gravity_compensation(x: LawInputs, model: LawModel) -> Vector:
    """tau = g(q) - kd qd."""
    held = model.gravity(x.q)
    return held if x.kd is None else held - x.kd * x.qd


def impedance(x: LawInputs, model: HandModel, task: HandTask, terms: ImpedanceTerms) -> Vector:
    """tau = J^T (K e + D e' [+ Lambda (xdd - J' qd)]) + g(q), or the full bias, plus torques M a of the
    posture in the null space of the hand. Hogan 1985.
    """
    here, there, rows = _here(x, model), _there(x, model), list(task.rows)
    J, rate = here.J[rows], (there.velocity - here.velocity)[rows]
    # Terms that a law omits are 0 here, and cost nothing over symbols.
    M = model.inertia_matrix(x.q)
    inertia = HandInertia.of(M, J, task)
    a = posture_acceleration(x) if terms.posture else np.zeros(len(x.q))
    second = (there.acceleration - here.acceleration)[rows] if terms.feedforward else np.zeros(len(rows))
    f = _times(x.stiffness, hand_error(there, here)[rows]) + inertia.force(second - J @ a)
    f = f + (_damped(x, inertia, rate) if x.damping is None else _times(x.damping, rate))
    if terms.velocity_terms:
        return J.T @ f + model.inverse(x.q, x.qd, a, x.qd_ahead)
    return J.T @ f + model.gravity(x.q) + M @ a


def operational_space(x: LawInputs, model: HandModel, task: HandTask) -> Vector:
    """Torques that accelerate the hand by xdd + kd e' + kp e, and the joints in its null space by the
    posture's acceleration a: inverse dynamics at a + M^-1 J^T Lambda (xdd + kd e' + kp e - J' qd - J a).

    That is J^T (Lambda (xdd + kd e' + kp e) + mu + p) + (1 - J^T Jbar^T) (M a + C qd + g) with Jbar = M^-1
    J^T Lambda. Khatib 1987.
    """
    here, there, rows = _here(x, model), _there(x, model), list(task.rows)
    e, rate = hand_error(there, here)[rows], (there.velocity - here.velocity)[rows]
    asked = (there.acceleration - here.acceleration)[rows] + x.kd_hand * rate + x.kp_hand * e
    return model.inverse(x.q, x.qd, _resolved(x, model, here.J[rows], asked, task), x.qd_ahead)


def admittance(x: LawInputs, model: HandModel, task: HandTask) -> Vector:
    """Torques of `operational_space` for a reference displaced by the measured force: `state`, an offset and
    its rate, (m,) each, follows M xdd + D xd + K x = F; the force itself is compensated, -J^T F.
    """
    here, there, rows = _here(x, model), _there(x, model), list(task.rows)
    offset, speed = x.state[: len(rows)], x.state[len(rows) :]
    e = hand_error(there, here)[rows] + offset
    rate = (there.velocity - here.velocity)[rows] + speed
    second = x.mobility * x.force[rows] - x.damper * speed - x.spring * offset
    asked = (there.acceleration - here.acceleration)[rows] + second + x.kd_hand * rate + x.kp_hand * e
    qdd = _resolved(x, model, here.J[rows], asked, task)
    return model.inverse(x.q, x.qd, qdd, x.qd_ahead) - here.J.T @ x.force


def admittance_next(x: LawInputs, task: HandTask) -> Vector:
    """The state one period later, exact for a held force."""
    m = len(task.rows)
    parts = [x.transition[i * m : (i + 1) * m] for i in range(6)]
    known = (x.state[:m], x.state[m:], x.force[list(task.rows)])
    offset, speed = (sum(c * v for c, v in zip(parts[i : i + 3], known, strict=True)) for i in (0, 3))
    return np.concatenate([offset, speed])


def posture_acceleration(x: LawInputs) -> Vector:
    """Accelerations (n,) towards a posture, and away from the limits."""
    if x.posture is None:
        a = x.qdd_wanted + pull(x.kp, x.kd, x.q, x.qd, x.q_wanted, x.qd_wanted)
    else:
        a = x.kp * (x.posture - x.q) - x.kd * x.qd
    if x.push is None:
        return a
    inside = [_within(*each) for each in zip(x.q, x.lower, x.upper, strict=True)]
    return a + x.push * (np.array(inside) - x.q)


def hand_error(there: HandState, here: HandState) -> Array:
    """Pose error from here to there, (6,): translation, and rotation vector, base axes."""
    return np.concatenate([there.p - here.p, rotation_vector(there.R @ here.R.T)])


def rotation_vector(R: Array) -> Array:
    """Axis times angle of a rotation over any scalar; 0 for a half turn, whose axis R does not determine."""
    s = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine, cosine = root(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]), 0.5 * (R[0, 0] + R[1, 1] + R[2, 2] - 1.0)
    return s * (atan2(sine, cosine) / maximum(sine, TINY))


def _here(x: LawInputs, model: HandModel) -> HandState:
    return model.hand(x.q, x.qd)


def _there(x: LawInputs, model: HandModel) -> HandState:
    return model.hand(x.q_wanted, x.qd_wanted, x.qdd_wanted)


def _resolved(x: LawInputs, model: HandModel, J: Array, asked: Array, task: HandTask) -> Array:
    """Joint accelerations closest to the posture's in the kinetic-energy metric among those that produce the
    hand acceleration.
    """
    a, inertia = posture_acceleration(x), HandInertia.of(model.inertia_matrix(x.q), J, task)
    return a + inertia.accelerations(inertia.force(asked - J @ a))


def _damped(x: LawInputs, inertia: HandInertia, rate: Array) -> Array:
    """2 ratio sqrt(K_jj Lambda_j) e', with Lambda_j the apparent mass while the other directions are free."""
    m = len(rate)
    own = x.stiffness if len(x.stiffness) == m else x.stiffness[:: m + 1]
    pairs = zip(own, inertia.directions, rate, strict=True)
    return np.array([2.0 * x.ratio[0] * root(k * mass) * v for k, mass, v in pairs])


def _within(q: Scalar, lower: Scalar, upper: Scalar) -> Scalar:
    """q clamped to its limits; an infinite limit needs no comparison."""
    low, high = (isinstance(x, float) and math.isinf(x) for x in (lower, upper))
    q = q if low else maximum(q, lower)
    return q if high else minimum(q, upper)


def _times(K: Vector, v: Array) -> Scalar:
    """K v for a diagonal (m,) or full (m m,) matrix."""
    return K * v if len(K) == len(v) else K.reshape(len(v), len(v)) @ v
