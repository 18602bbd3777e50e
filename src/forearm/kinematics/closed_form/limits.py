"""Angles put where they are wanted: within limits, near a posture, or between -pi and pi."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm

Floats = NDArray[np.float64]
# A joint this far behind its limit (rad, m) is taken to be at it.
AT_LIMIT = 1e-10
TURN = 2.0 * math.pi


def limits_of(arm: Arm) -> tuple[Floats, Floats]:
    """Lower and upper limits, (n,) each, infinite where there are none."""
    return np.array([j.limits.lower for j in arm.joints]), np.array([j.limits.upper for j in arm.joints])


def placed(arm: Arm, q: Floats, limits: bool, near: Floats | None) -> tuple[Floats, NDArray[np.bool_]]:
    """Postures (..., n) with whole turns added, and whether each is within the limits (all are where they do not count).

    Of several turns that the limits allow, that nearest to `near` is taken, or to the middle of the range.
    """
    lower, upper = limits_of(arm)
    if not limits:
        lower, upper = np.full(arm.n, -np.inf), np.full(arm.n, np.inf)
    turns = np.array([j.kind == "revolute" for j in arm.joints])
    centre = _middle(lower, upper) if near is None else near
    with np.errstate(invalid="ignore"):  # branches that do not exist are NaN
        wanted = np.round((centre - q) / TURN)
        least, most = np.ceil((lower - AT_LIMIT - q) / TURN), np.floor((upper + AT_LIMIT - q) / TURN)
        k = np.where(least <= most, np.clip(wanted, least, np.maximum(most, least)), wanted)
        moved = np.where(turns, q + TURN * k, q)
        inside = (moved >= lower - AT_LIMIT) & (moved <= upper + AT_LIMIT)
        return np.where(inside, np.clip(moved, lower, upper), moved), np.asarray(inside.all(axis=-1))


def behind_limits(arm: Arm, q: Floats) -> Floats:
    """How far each joint of postures (..., n) is behind its limit, 0 within."""
    lower, upper = limits_of(arm)
    behind: Floats = np.maximum(np.maximum(lower - q, q - upper), 0.0)
    return behind


def _middle(lower: Floats, upper: Floats) -> Floats:
    """The middle of a range, 0 where it is open on both sides, the value nearest 0 where it is open on one."""
    both = np.isfinite(lower) & np.isfinite(upper)
    safe = np.where(both, lower, 0.0), np.where(both, upper, 0.0)
    return np.where(both, 0.5 * (safe[0] + safe[1]), np.clip(0.0, lower, upper))
