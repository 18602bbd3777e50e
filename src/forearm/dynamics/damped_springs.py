"""Deflection of springs under a known torque y(t), f(e) + D ed = y: algebraic without damping; with damping
the deflection e is a state that relaxes at the rate f' / D.
"""

from __future__ import annotations

import math

import numpy as np

from forearm.arm.drive import Elasticity
from forearm.drives.elasticity import deflection_of, spring_bend, spring_stiffness, spring_torque
from forearm.spatial import Floats
from forearm.symbols.scalars import Scalar, choose

MOST = 20  # iterations for the end of one interval
CLOSE = 4e-16  # of the deflection: smaller changes end the iteration
ROUNDING = 1e-15  # of the load: smaller damper torques are 0
TERMS = 20  # of the series for intervals much shorter than the relaxation time

Load = tuple[Scalar, Scalar, Scalar]  # a torque and its first and second time derivatives


def deflections(elasticity: Elasticity, load: Load, e: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """e, ed and edd under a load. Without damping they follow from it, and the given e is not used."""
    y, yd, ydd = load
    D = elasticity.damping
    if D:
        left = y - spring_torque(elasticity, e)
        # at rest, where the direction of friction would depend on rounding
        ed = choose(abs(left), ROUNDING * abs(y), 0.0, left) * (1.0 / D)
        return e, ed, (yd - spring_stiffness(elasticity, e) * ed) * (1.0 / D)
    e = deflection_of(elasticity, y)
    compliance = 1.0 / spring_stiffness(elasticity, e)
    ed = yd * compliance
    return e, ed, (ydd - spring_bend(elasticity, e) * (ed * ed)) * compliance


def settled(elasticity: Elasticity, load: Load) -> Scalar:
    """The deflection e after transients have decayed, to second order in D / f'; exact without damping.

    With e0 = f^-1(y): e = e0 + D e1 + D^2 e2, e1 = -e0d / f', e2 = -(e1d + f'' e1^2 / 2) / f'.
    """
    y, yd, ydd = load
    D, e0 = elasticity.damping, deflection_of(elasticity, y)
    if not D:
        return e0
    compliance, bend = 1.0 / spring_stiffness(elasticity, e0), spring_bend(elasticity, e0)
    rate = yd * compliance
    second = (ydd - bend * (rate * rate)) * compliance
    e1 = -rate * compliance
    e1d = (bend * (rate * rate) * compliance - second) * compliance
    return e0 + D * (e1 - D * compliance * (e1d + 0.5 * bend * (e1 * e1)))


def deflection_along(elasticity: Elasticity, t: Floats, load: tuple[Floats, ...], start: float) -> Floats:
    """The deflection e (T,) at times t (T,) under a load given with its derivatives (T,), from the initial
    value `start`.

    On each interval the equation is D ed = r(t) - K e with K = f' at its end and the remainder in r, a
    polynomial through its value at the start and its value and two derivatives at the end. This is solved
    exactly, for any D / K; for small D, e, ed and edd approach the steady state.
    """
    D, e = elasticity.damping, float(start)
    made = [e]
    rows = np.stack(load, axis=-1).tolist()
    for h, before, after in zip(np.diff(t).tolist(), rows[:-1], rows[1:], strict=True):
        e = _relaxed(elasticity, D, h, before[0], after, e)
        made.append(e)
    return np.array(made)


def _relaxed(elasticity: Elasticity, D: float, h: float, before: float, after: Load, e0: float) -> float:
    y, yd, ydd = after
    carried = spring_torque(elasticity, e0)
    e = e0
    for _ in range(MOST):
        K = float(spring_stiffness(elasticity, e))
        f = spring_torque(elasticity, e)
        ed = (y - f) / D
        r0 = before - carried + K * e0
        r = y - f + K * e, yd, ydd - spring_bend(elasticity, e) * ed * ed
        made = _straight(K / D * h, h, e0, r0 / K, (r[0] / K, r[1] / K, r[2] / K))
        is_done = not abs(made - e) > CLOSE * abs(made)
        e = made
        if is_done or elasticity.stiffness is not None:
            break
    return e


def _straight(z: float, h: float, e0: float, x0: float, x: Load) -> float:
    """e after h seconds of ed = (z / h) (x(t) - e), x a cubic from x0 that ends with the derivatives x."""
    value, rate, second = x[0], x[1] * h, 0.5 * x[2] * h * h
    cubic = value - rate + second - x0
    m = _moments(z)
    made: float = math.exp(-z) * e0 + value * m[0] - rate * m[1] + second * m[2] - cubic * m[3]
    return made


def _moments(z: float) -> list[float]:
    """The integrals of e^-x (x / z)^k from 0 to z, k = 0 to 3."""
    decay = math.exp(-z)
    if z >= 1.0:
        m = [1.0 - decay]
        for k in range(1, 4):
            m.append(k / z * m[-1] - decay)
        return m
    last, term = 0.0, z
    for j in range(TERMS):
        last += term / (j + 4)
        term *= -z / (j + 1)
    m = [last]
    for k in range(3, 0, -1):
        m.insert(0, (m[0] + decay) * z / k)
    return m
