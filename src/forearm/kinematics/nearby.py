"""Local inverse kinematics: joint coordinates for a hand pose by Newton's steps from a nearby configuration,
for any arm, ignoring limits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.errors import InputError, shorten
from forearm.kinematics.arguments import as_coordinates
from forearm.kinematics.jacobian import jacobian
from forearm.kinematics.newton import HUGE, PATIENCE, Rows, Values, run_nearby
from forearm.kinematics.poses import forward
from forearm.spatial import Flags, Floats
from forearm.values import as_floats, frozen

TOLERANCE = 1e-12  # m and rad: about ten times the rounding of poses at a reach of one metre
MOST_JOINTS = 200  # of joints for which steps are unrolled, which takes some seconds to compile


@frozen
class Nearby:
    """A configuration (n,) or (B, n) found from a nearby one, whether the hand is within 1e-12 of the pose,
    and its error (m, rad).
    """

    q: Floats
    converged: Flags
    error: Floats


def solve_nearby(
    arm: Arm, poses: ArrayLike, near: ArrayLike, attitude: bool = True, held: Floats | None = None
) -> Nearby:
    """q with forward(arm, q) = poses (4, 4) or (B, 4, 4), each by Newton's steps from its row of `near` (n,)
    or (B, n).

    Without `attitude` only the positions count. Redundant arms take the shortest step; alternatively, `held`
    (k, n) are combinations of joints that keep their values of `near`. Not converged means: no solution
    nearby.
    """
    q, T = as_coordinates(arm, near, "near"), as_floats(poses, "poses")
    if T.shape != (*q.shape[:-1], 4, 4):
        raise InputError(
            f"expected shape {(*q.shape[:-1], 4, 4)} with near {q.shape}, got {shorten(T.shape)}.", "poses"
        )
    directions = None if held is None or not len(held) else np.linalg.svd(held)[2][len(held) :].T
    rows = T.reshape(-1, 4, 4)
    found, error = newton_rows(arm, rows, q.reshape(len(rows), arm.n), attitude, directions, HUGE)
    size = error.reshape(q.shape[:-1])
    return Nearby(found.reshape(q.shape), np.asarray(size <= TOLERANCE), size)


def full_steps(arm: Arm, T: Floats, q: Floats, count: int, attitude: bool) -> Floats:
    """Configurations (B, n) after whole steps to poses (B, 4, 4), whatever their errors then."""
    from forearm.kernels.numeric_ik import full_step_function

    step, rows = full_step_function(arm, attitude), T[:, :3].reshape(-1, 12)
    for _ in range(count):
        q = step(q, rows)
    return q


def newton_rows(
    arm: Arm,
    T: Floats,
    start: Floats,
    attitude: bool,
    directions: Floats | None = None,
    patience: float = PATIENCE,
) -> tuple[Floats, Floats]:
    """Result of Newton's steps from configurations (B, n) to poses (B, 4, 4), compiled, and the error (B,):
    the larger of distance and angle. NaN for NaN input.

    Joints move only along directions (n, r), if given.
    """
    ways = arm.n if directions is None else directions.shape[1]
    if arm.n > MOST_JOINTS or not ways or not len(T):
        found, squares = reference(arm, T, start, attitude, directions, patience)
    else:
        from forearm.kernels.numeric_ik import newton_function

        rows = [start, T[:, :3].reshape(-1, 12), np.full((len(T), 1), patience)]
        if directions is not None:
            rows.append(np.tile(directions.reshape(1, -1), (len(T), 1)))
        found, squares = newton_function(arm, attitude, None if directions is None else ways)(*rows)
    return found, np.sqrt(squares.max(axis=1))


def reference(
    arm: Arm, T: Floats, start: Floats, attitude: bool, directions: Floats | None, patience: float
) -> tuple[Floats, Floats]:
    """The same over NumPy arrays, one entry per pose: configurations (B, n), and their squared errors."""

    def hand(q: Values) -> tuple[Rows, Rows]:
        at = _stacked(q, len(T))
        return list(np.moveaxis(forward(arm, at), 0, -1)), list(np.moveaxis(jacobian(arm, at), 0, -1))

    rows = None if directions is None else directions.tolist()
    q, squares = run_nearby(hand, list(np.moveaxis(T, 0, -1)), list(start.T), attitude, patience, rows)
    return _stacked(q, len(T)), _stacked(squares, len(T))


def _stacked(columns: Values, count: int) -> Floats:
    """Columns of values, or of one value for all, as rows (count, ...)."""
    made = np.empty((count, len(columns)))
    for k, column in enumerate(columns):
        made[:, k] = column
    return made
