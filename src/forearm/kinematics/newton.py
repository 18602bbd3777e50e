"""The joint coordinates that put the hand where it should be, by Newton's iteration from a posture nearby: for any arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.errors import InputError, shorten
from forearm.kinematics.angles import vector_of_matrix
from forearm.kinematics.jacobian import jacobian
from forearm.kinematics.poses import as_coordinates, forward
from forearm.values import as_floats

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

TOLERANCE = 1e-12  # m and rad: some ten times what poses of a reach of a metre round to
STEPS = 40
LONGEST = 0.5  # rad or m a step: beyond it the linear picture means nothing
# Steps are damped where a singular value is below this part of the largest: they then creep instead of leaping.
NEAR_SINGULAR = 1e-6


@dataclass(frozen=True, eq=False)
class Nearby:
    """A posture (n,) or (B, n) found from one nearby, whether the hand is there to 1e-12, how far it is off (m, rad)."""

    q: Floats
    converged: Flags
    error: Floats


def solve_nearby(arm: Arm, poses: ArrayLike, near: ArrayLike, attitude: bool = True, held: Floats | None = None) -> Nearby:
    """q with forward(arm, q) = poses (4, 4) or (B, 4, 4), each by Newton's iteration from its row of `near` (n,) or (B, n).

    Without `attitude` only the positions count. Arms with more joints than that needs take the shortest way; `held` (k, n) are
    combinations of joints that stay as they are in `near` instead. Not converged means: no such posture nearby.
    """
    q, T = as_coordinates(arm, near, "near"), as_floats(poses, "poses")
    if T.shape != (*q.shape[:-1], 4, 4):
        raise InputError(f"poses: shape {(*q.shape[:-1], 4, 4)} is needed beside near {q.shape}; came {shorten(T.shape)}.")
    start, held = q.copy(), np.zeros((0, arm.n)) if held is None else held
    error = _error(arm, q, T, attitude)
    best, best_q = _size(error), q.copy()
    for _ in range(STEPS):
        wanted = np.concatenate([error, np.einsum("kn,...n->...k", held, start - q)], axis=-1)
        step = damped_step(_rows(jacobian(arm, q), attitude, held), wanted, NEAR_SINGULAR)
        length = np.abs(step).max(axis=-1, initial=0.0)[..., None]
        q = q + step * np.minimum(1.0, LONGEST / np.maximum(length, LONGEST))
        error = _error(arm, q, T, attitude)
        better = _size(error) < best
        best_q, best = np.where(better[..., None], q, best_q), np.where(better, _size(error), best)
        # Steps go on after the tolerance is met as long as they help: the last one is nearly free and leaves rounding.
        if not (better | ((best > TOLERANCE) & np.isfinite(best))).any():
            break
    return Nearby(best_q, np.asarray(best <= TOLERANCE), best)


def damped_step(J: Floats, wanted: Floats, near_singular: float) -> Floats:
    """The least x with J x = wanted (...,), damped in each direction whose singular value is below that part of the largest."""
    known = np.asarray(np.isfinite(J).all(axis=(-2, -1)) & np.isfinite(wanted).all(axis=-1))
    if min(J.shape[-2:]) == 0:
        return np.zeros((*J.shape[:-2], J.shape[-1]))
    U, s, Vt = np.linalg.svd(np.where(known[..., None, None], J, np.zeros_like(J)), full_matrices=False)
    floor = near_singular * s[..., :1]
    damping = np.where(s < floor, floor**2 - s**2, 0.0)
    gain = s / np.where(s == 0.0, 1.0, s**2 + damping)
    step: Floats = np.einsum("...kn,...k,...rk,...r->...n", Vt, gain, U, np.where(known[..., None], wanted, np.nan))
    return step


def _rows(J: Floats, attitude: bool, held: Floats) -> Floats:
    rows = J if attitude else J[..., :3, :]
    return np.concatenate([rows, np.broadcast_to(held, (*J.shape[:-2], *held.shape))], axis=-2)


def _error(arm: Arm, q: Floats, T: Floats, attitude: bool) -> Floats:
    """What the hand still has to move and turn by, base axes, (..., 6) or (..., 3)."""
    at = forward(arm, q)
    shift = T[..., :3, 3] - at[..., :3, 3]
    if not attitude:
        return shift
    turn = vector_of_matrix(T[..., :3, :3] @ np.swapaxes(at[..., :3, :3], -1, -2))
    return np.concatenate([shift, turn], axis=-1)


def _size(error: Floats) -> Floats:
    size: Floats = np.abs(error).max(axis=-1, initial=0.0)
    return size
