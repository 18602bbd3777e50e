"""Joint data for numeric inverse kinematics: ranges of the starts, and which joints move the hand."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.kinematics.limits import is_revolute, limits_of

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
UNLIMITED = 1.0  # m to both sides of 0, for prismatic joints without limits


def range_of(arm: Arm) -> tuple[Floats, Floats]:
    """Middle and half width, (n,) each, of the range of starts: the limits, but at most one turn.

    Joints that do not move the hand have zero width: they stay in the middle.
    """
    lower, upper = limits_of(arm)
    revolute = is_revolute(arm)
    most = np.where(revolute, math.pi, UNLIMITED)
    low_known, high_known = np.isfinite(lower), np.isfinite(upper)
    low = np.where(low_known, lower, np.where(high_known, upper - 2.0 * most, -most))
    high = np.where(high_known, upper, np.where(low_known, lower + 2.0 * most, most))
    half = 0.5 * (high - low)
    half = np.where(revolute, np.minimum(half, most), half)
    return 0.5 * (low + high), np.where(moves_hand(arm), half, 0.0)


def moves_hand(arm: Arm) -> Flags:
    """For each joint coordinate whether it moves the hand."""
    made = np.zeros(arm.n, dtype=bool)
    index = arm.moving.frames[arm.hand.link][0]
    while index >= 0:
        body = arm.moving.bodies[index]
        made[body.freedom] = True
        index = body.parent
    return made


def put_inside(q: Floats, lower: Floats, upper: Floats, periodic: Flags) -> Floats:
    """Configurations (..., n) moved within bounds: by full turns where possible, else clamped."""
    if np.all((q >= lower) & (q <= upper)):
        return q
    with np.errstate(invalid="ignore"):  # infinite bounds are never exceeded
        down = q - math.tau * np.ceil((q - upper) / math.tau)
        up = q + math.tau * np.ceil((lower - q) / math.tau)
        q = np.where(
            periodic & (q > upper) & (down >= lower),
            down,
            np.where(periodic & (q < lower) & (up <= upper), up, q),
        )
    return np.clip(q, lower, upper)
