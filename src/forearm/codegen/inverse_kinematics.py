"""Inverse kinematics for code: every branch of the closed form, wrapped into the limits, checked by forward kinematics."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.errors import ModelError
from forearm.kinematics.closed_form.branches import solve
from forearm.kinematics.closed_form.limits import limits_of
from forearm.kinematics.closed_form.recognition import geometry_of
from forearm.model import Array, Scalar
from forearm.symbols.scalars import hinge, root, sign

TRUE = 1e-7  # m and rad: farther from the pose a branch does not exist; at singular poses a lost bit costs some 1e-8
EXACT = 1e-9  # m and rad: what the closed form may be off by on an arm whose axes meet only nearly
AT_LIMIT = 1e-10  # rad and m: so far behind its limit a joint is taken to be at it
TURN = 2.0 * math.pi
WRAPS = 2  # angles come within two turns of the middle of their range


def can_be_written(arm: Arm) -> bool:
    """Whether an arm has a closed form that is code."""
    try:
        geometry = geometry_of(arm)
    except ModelError:
        return False
    return geometry.uses_roots_only and geometry.miss <= EXACT


def branches(arm: Arm, T: list[Scalar], pose_at: Callable[[list[Scalar]], Array]) -> Array:
    """(m, n) for a pose by rows; `pose_at` is the forward kinematics."""
    geometry = geometry_of(arm)
    if not geometry.uses_roots_only:
        raise ModelError(
            f"inverse_kinematics of {arm.name!r}: its joint 3 is a root of a quartic, for which no code is written; "
            "fa.kinematics.inverse finds its branches."
        )
    if geometry.miss > EXACT:
        raise ModelError(
            f"inverse_kinematics of {arm.name!r}: its axes meet or are parallel only nearly, which leaves {geometry.miss:.1e} "
            "m or rad; fa.kinematics.inverse makes that good."
        )
    rows = [T[4 * i : 4 * i + 4] for i in range(4)]
    return np.array([_checked(arm, branch, rows, pose_at) for branch in solve(geometry, rows)], dtype=object)


def _checked(arm: Arm, branch: list[Scalar], T: list[list[Scalar]], pose_at: Callable[[list[Scalar]], Array]) -> list[Scalar]:
    """A branch with whole turns added where the limits ask for them; NaN where it is none."""
    found = pose_at(branch)
    entries = [(i, 3) for i in range(3)] if arm.n == 3 else [(i, j) for i in range(3) for j in range(4)]
    square: Any = 0.0
    for i, j in entries:
        off = found[i, j] - T[i][j]
        square = square + off * off
    wrong = hinge(square - TRUE * TRUE)
    placed = []
    for joint, x, lower, upper in zip(arm.joints, branch, *limits_of(arm), strict=True):
        if joint.kind == "revolute":
            x = _wrapped(x, _middle(float(lower), float(upper)))
        for beyond in ([lower - x] if math.isfinite(lower) else []) + ([x - upper] if math.isfinite(upper) else []):
            wrong = wrong + hinge(beyond - AT_LIMIT)
        placed.append(x)
    nothing = root(-sign(wrong))
    return [x + nothing for x in placed]


def _wrapped(x: Scalar, middle: float) -> Scalar:
    """Whole turns added until the angle is within half a turn of the middle."""
    for _ in range(WRAPS):
        off = x - middle
        x = x - TURN * (sign(off) * sign(hinge(abs(off) - math.pi)))
    return x


def _middle(lower: float, upper: float) -> float:
    """Of a range; 0 where it is open on both sides, the end where it is open on one."""
    if math.isfinite(lower) and math.isfinite(upper):
        return 0.5 * (lower + upper)
    return min(max(0.0, lower), upper)
