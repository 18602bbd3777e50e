"""Inverse kinematics for code:
all closed-form branches, wrapped into the limits and checked by forward kinematics.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from forearm.arm.arm import Arm
from forearm.dynamics.fixed_step import Values
from forearm.errors import Advice, ModelError, Sentence
from forearm.kinematics.arguments import ORTHONORMAL
from forearm.kinematics.closed_form.branches import solve
from forearm.kinematics.closed_form.linear import dot
from forearm.kinematics.closed_form.recognition import geometry_of
from forearm.kinematics.limits import AT_LIMIT, TURN, limits_of, middle
from forearm.model import Array, Scalar, symbolic
from forearm.portable import total
from forearm.symbols.scalars import choose, hinge, root, sign

# m and rad: tolerance for a branch's pose error; at singular poses a lost bit costs about 1e-8
TRUE = 1e-7
EXACT = 1e-9  # m and rad: closed-form error allowed on an arm whose axes meet only approximately
MUCH = 6.0 * ORTHONORMAL * ORTHONORMAL  # sum of squares of the entries of R^T R - 1 that is allowed
# angles are within two and a half turns of the middle of their range, after whole turns are removed
WRAPS = 2
INVERSE = Advice("fa.kinematics.inverse", "'forearm kinematics --pose'")


def can_be_written(arm: Arm) -> bool:
    """Whether an arm has a closed form that can be generated."""
    try:
        geometry = geometry_of(arm)
    except ModelError:
        return False
    return geometry.uses_roots_only and geometry.miss <= EXACT


def branches(arm: Arm, T: Values, pose_at: Callable[[Values], Array]) -> Array:
    """(m, n) for a pose by rows; `pose_at` is the forward kinematics."""
    geometry = geometry_of(arm)
    if not geometry.uses_roots_only:
        raise ModelError(
            Sentence(
                "its joint 3 is a root of a quartic, for which no code is generated; use ", INVERSE, "."
            ),
            f"inverse_kinematics of {arm.name!r}",
        )
    if geometry.miss > EXACT:
        raise ModelError(
            Sentence(
                f"its axes meet or are parallel only approximately, to {geometry.miss:.1e} m or rad; use ",
                INVERSE,
                ", which corrects that.",
            ),
            f"inverse_kinematics of {arm.name!r}",
        )
    rows = [T[4 * i : 4 * i + 4] for i in range(4)]
    wrong: Scalar = 0.0
    if arm.n == 6:
        rows, wrong = _with_rotation(rows)
    return symbolic([_checked(arm, branch, rows, wrong, pose_at) for branch in solve(geometry, rows)])


def _with_rotation(T: list[Values]) -> tuple[list[Values], Scalar]:
    """The pose with R replaced by R (3 - R^T R) / 2, a rotation up to the square of the error; and a value
    above 0 if the error was large.

    No pose that the reference accepts is rejected: there each of six entries may be as large.
    """
    columns = [[T[i][j] for i in range(3)] for j in range(3)]
    gram = {(j, k): dot(columns[j], columns[k]) for j in range(3) for k in range(j, 3)}
    squares = total(x * x for x in (gram[j, k] - (1.0 if j == k else 0.0) for j, k in gram))
    half = {(j, k): (1.5 if j == k else 0.0) - 0.5 * x for (j, k), x in gram.items()}
    made = [
        [dot(T[i][:3], [half[min(j, k), max(j, k)] for j in range(3)]) for k in range(3)] for i in range(3)
    ]
    return [[*row, T[i][3]] for i, row in enumerate(made)] + [T[3]], hinge(squares - MUCH)


def _checked(
    arm: Arm, branch: Values, T: list[Values], wrong: Scalar, pose_at: Callable[[Values], Array]
) -> Values:
    """A branch moved by whole turns into the limits; NaN if it is invalid, or `wrong` is above 0."""
    found = pose_at(branch)
    entries = [(i, 3) for i in range(3)] if arm.n == 3 else [(i, j) for i in range(3) for j in range(4)]
    square: Any = 0.0
    for i, j in entries:
        off = found[i, j] - T[i][j]
        square = square + off * off
    wrong = wrong + hinge(square - TRUE * TRUE)
    placed = []
    for joint, x, centre, lower, upper in zip(arm.joints, branch, middle(arm), *limits_of(arm), strict=True):
        if joint.kind == "revolute":
            x = _wrapped(x, float(centre))
        for beyond in ([lower - x] if math.isfinite(lower) else []) + (
            [x - upper] if math.isfinite(upper) else []
        ):
            wrong = wrong + hinge(beyond - AT_LIMIT)
        placed.append(x)
    nothing = root(-sign(wrong))
    return [x + nothing for x in placed]


def _wrapped(x: Scalar, centre: float) -> Scalar:
    """The angle moved by whole turns to within half a turn of the centre."""
    turns = round(centre / TURN)
    centre -= TURN * turns
    for _ in range(WRAPS):
        off = x - centre
        x = choose(math.pi, off, x - TURN, choose(off, -math.pi, x + TURN, x))
    return x + TURN * turns if turns else x
