"""Joint ranges, and angles wrapped into them, near a configuration, or to -pi to pi."""

from __future__ import annotations

import math

import numpy as np

from forearm.arm.arm import Arm
from forearm.errors import ModelError
from forearm.spatial import Flags, Floats
from forearm.symbols.scalars import Scalar, choose, maximum, minimum, rounded

# A joint that exceeds its limit by at most this (rad, m) counts as at the limit.
AT_LIMIT = 1e-10
TURN = 2.0 * math.pi


def limits_of(arm: Arm) -> tuple[Floats, Floats]:
    """Lower and upper limits of the freedoms, (n,) each, with those of mimic joints; infinite if open."""
    lower, upper = np.full(arm.n, -math.inf), np.full(arm.n, math.inf)
    for body in arm.moving.bodies:
        if body.multiplier != 0.0:
            ends = sorted((limit - body.offset) / body.multiplier for limit in body.joint.limits)
            lower[body.freedom], upper[body.freedom] = (
                max(lower[body.freedom], ends[0]),
                min(upper[body.freedom], ends[1]),
            )
    for joint, low, high in zip(arm.joints, lower, upper, strict=True):
        if low > high:
            raise ModelError(
                f"joint {joint.name!r} of {arm.name!r} has an empty range: its limits and those of joints "
                f"that mimic it leave {low:g} to {high:g}. Widen them."
            )
    return lower, upper


def middle(arm: Arm) -> Floats:
    """The middle (n,) of each joint's range; for an open range the value nearest to 0, half a turn from its
    end for a revolute joint.

    Every angle then has an equivalent within half a turn of the middle that is within the range, if any is.
    """
    lower, upper = limits_of(arm)
    both = np.isfinite(lower) & np.isfinite(upper)
    off = np.where(is_revolute(arm), 0.5 * TURN, 0.0)
    known = np.where(both, lower, 0.0), np.where(both, upper, 0.0)
    # clipping to a narrow closed range could swap its ends
    ends = np.where(both, 0.0, lower + off), np.where(both, 0.0, upper - off)
    return np.where(both, 0.5 * (known[0] + known[1]), np.clip(0.0, *ends))


def is_periodic(arm: Arm) -> Flags:
    """Per freedom, whether a whole turn changes nothing: joints that mimic it must make whole turns, too."""
    made = np.ones(arm.n, dtype=bool)
    for body in arm.moving.bodies:
        made[body.freedom] &= body.kind == "revolute" and float(body.multiplier).is_integer()
    return made


def is_revolute(arm: Arm) -> Flags:
    """Mask of revolute joints (n,)."""
    return np.array([j.kind == "revolute" for j in arm.joints], dtype=bool)


def placed(arm: Arm, q: Floats, limits: bool, near: Floats | None) -> tuple[Floats, Flags]:
    """Configurations (..., n) shifted by whole turns, and whether each is within the limits (always if not
    enforced).

    Of several turns within the limits, the nearest to `near` is taken, or to the middle of the range.
    """
    lower, upper, centre = bounds_of(arm, limits, near)
    with np.errstate(invalid="ignore"):  # nonexistent branches are NaN
        moved = np.where(is_revolute(arm), turned(q, lower, upper, centre), q)
        inside = excess(moved, lower, upper) <= AT_LIMIT
        return np.where(inside, np.clip(moved, lower, upper), moved), np.asarray(inside.all(axis=-1))


def bounds_of(arm: Arm, limits: bool, near: Floats | None) -> Floats:
    """What `placed` goes by, (3, n): lower and upper limits, infinite if not enforced, and the configuration
    near which whole turns are chosen.
    """
    if limits:
        return np.stack([*limits_of(arm), middle(arm) if near is None else near])
    return np.stack(
        [np.full(arm.n, -math.inf), np.full(arm.n, math.inf), np.zeros(arm.n) if near is None else near]
    )


def turned(x: Scalar, lower: Scalar, upper: Scalar, centre: Scalar) -> Scalar:
    """An angle shifted by whole turns: of those within the limits the nearest to the centre, or of all if
    none is within. Over any scalar.
    """
    wanted = rounded((centre - x) / TURN)
    least, most = -floor((x - lower + AT_LIMIT) / TURN), floor((upper + AT_LIMIT - x) / TURN)
    return x + TURN * choose(most, least, wanted, minimum(maximum(wanted, least), most))


def floor(x: Scalar) -> Scalar:
    """The largest integer that is not above x. Over any scalar."""
    nearest = rounded(x)
    return choose(x, nearest, nearest - 1.0, nearest)


def excess(x: Scalar, lower: Scalar, upper: Scalar) -> Scalar:
    """By how much a coordinate exceeds its limits, negative within. Over any scalar."""
    return maximum(lower - x, x - upper)


def differences(arm: Arm, first: Floats, second: Floats) -> Floats:
    """Difference of each joint between configurations (..., n), modulo whole turns."""
    plain = np.abs(first - second)
    return np.where(is_revolute(arm), np.abs(np.remainder(plain + 0.5 * TURN, TURN) - 0.5 * TURN), plain)


def behind_limits(arm: Arm, q: Floats) -> Floats:
    """Excess of each joint of configurations (..., n) beyond its limits, 0 within."""
    behind: Floats = np.maximum(excess(q, *limits_of(arm)), 0.0)
    return behind
