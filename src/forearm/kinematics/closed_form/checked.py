"""Valid branches: polished, verified by forward kinematics, without duplicates, with families at singular
poses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.kinematics.closed_form.geometry import Geometry
from forearm.kinematics.closed_form.polishing import REACHED, polished
from forearm.kinematics.closed_form.recognition import branches_of
from forearm.kinematics.closed_form.singular import free_joints, is_singular
from forearm.kinematics.limits import differences
from forearm.kinematics.numerical import inverse_numeric

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]
# Two branches coincide if no joint differs by more (rad, m).
SAME = 1e-6
# Two singular ones coincide if they differ by no more: a double root of an equation met to REACHED is
# known to its square root.
DOUBLE_ROOT = 10.0 * REACHED**0.5
# Poses per batch, to bound memory.
BLOCK = 4096
NOT_FAR = 0.1  # m, rad: if the best branch is farther off, the pose is out of reach
STARTS = 64  # starts of the iteration when all branches end close to a pose


@dataclass(frozen=True, eq=False)
class Checked:
    """For poses (B, 4, 4): branches q (B, m, n), whether they exist (B, m), are singular (B, m), and their
    free joints (B, m, n).
    """

    q: Floats
    exists: Truths
    singular: Truths
    free: Truths


def checked_branches(arm: Arm, geometry: Geometry, T: Floats) -> Checked:
    """Every branch of every pose, angles modulo 2 pi."""
    blocks = [_block(arm, geometry, T[start : start + BLOCK]) for start in range(0, max(len(T), 1), BLOCK)]
    return Checked(
        *(np.concatenate([getattr(b, name) for b in blocks]) for name in ("q", "exists", "singular", "free"))
    )


def _block(arm: Arm, geometry: Geometry, T: Floats) -> Checked:
    found = branches_of(geometry, T)
    B, m, n = found.shape
    poses = np.repeat(T, m, axis=0)
    flat = np.nan_to_num(found.reshape(-1, n), posinf=0.0, neginf=0.0)
    q, error = polished(arm, flat, poses)
    _iterate(arm, q.reshape(B, m, n), T, error.reshape(B, m))
    exists = error < REACHED
    singular = np.zeros(B * m, dtype=bool)
    singular[exists] = is_singular(arm, q[exists])
    free = np.zeros((B * m, n), dtype=bool)
    if singular.any():
        free[singular] = free_joints(arm, q[singular], poses[singular])
    q, free = q.reshape(B, m, n), free.reshape(B, m, n)
    exists, singular = exists.reshape(B, m), singular.reshape(B, m)
    q, exists = _once(arm, q, exists, singular, free, error.reshape(B, m))
    return Checked(q, exists, singular & exists, free & exists[..., None])


def _iterate(arm: Arm, q: Floats, T: Floats, error: Floats) -> None:
    """For poses that branches (B, m, n) approach but do not reach, iterate from other configurations, too,
    and store the nearest.

    This happens near singularities of arms whose axes meet only approximately: there Newton's steps from the
    branches of exactly meeting axes may end close to the pose.
    """
    best = np.argmin(error, axis=1)
    least = np.take_along_axis(error, best[:, None], axis=1)[:, 0]
    rows = np.flatnonzero((least >= REACHED) & (least < NOT_FAR))
    if not rows.size:
        return
    start = q[rows, best[rows]]
    found = inverse_numeric(arm, T[rows], start=start, limits=False, starts=STARTS, position_only=arm.n == 3)
    near, left = polished(arm, found.q, T[rows])
    better = left < least[rows]
    rows, near, left = rows[better], near[better], left[better]
    q[rows, best[rows]], error[rows, best[rows]] = near, left


def _once(
    arm: Arm, q: Floats, exists: Truths, singular: Truths, free: Truths, error: Floats
) -> tuple[Floats, Truths]:
    """Drop later branches that repeat an earlier one, or differ only along two joints with a common axis.

    Of two that meet, the one nearer to the pose is kept.
    """
    two = free.sum(axis=-1) == 2
    q, exists, error = q.copy(), exists.copy(), error.copy()
    for later in range(1, q.shape[1]):
        for earlier in range(later):
            apart = differences(arm, q[:, later], q[:, earlier])
            meeting = singular[:, earlier] & singular[:, later] & (apart < DOUBLE_ROOT).all(axis=-1)
            family = (two[:, earlier] & two[:, later])[:, None] & free[:, earlier] & free[:, later]
            same = meeting | ((apart < SAME) | family).all(axis=-1)
            repeats = same & exists[:, earlier] & exists[:, later]
            better = repeats & meeting & (error[:, later] < error[:, earlier])
            q[better, earlier], error[better, earlier] = q[better, later], error[better, later]
            exists[:, later] &= ~repeats
    return q, exists
