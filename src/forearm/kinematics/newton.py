"""The joint coordinates that put the hand where it should be, by Newton's iteration from a
posture nearby: for any arm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.kinematics.angles import vector_of_matrix
from forearm.kinematics.arguments import as_coordinates
from forearm.kinematics.jacobian import jacobian
from forearm.kinematics.poses import forward
from forearm.values import as_shape

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

TOLERANCE = 1e-12  # m and rad: some ten times what poses of a reach of a metre round to
STEPS = 40
# steps in which what is missing must at least halve: otherwise there is nothing to be found nearby
PATIENCE = 8
LONGEST = 0.5  # rad or m a step: beyond it the linear picture means nothing
# Steps are damped where a singular value is below this part of the largest:
# they then creep instead of leaping.
NEAR_SINGULAR = 1e-6
# of the largest singular value: below it a direction of the joints is taken not to move the hand
NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class Nearby:
    """A posture (n,) or (B, n) found from one nearby, whether the hand is there to 1e-12,
    how far it is off (m, rad).
    """

    q: Floats
    converged: Flags
    error: Floats


def solve_nearby(
    arm: Arm, poses: ArrayLike, near: ArrayLike, attitude: bool = True, held: Floats | None = None
) -> Nearby:
    """q with forward(arm, q) = poses (4, 4) or (B, 4, 4), each by Newton's iteration from its row of
    `near` (n,) or (B, n).

    Without `attitude` only the positions count. Arms with more joints than that needs take the shortest
    way; `held` (k, n) are combinations of joints that stay as they are in `near` instead. Not converged
    means: no such posture nearby.
    """
    q = as_coordinates(arm, near, "near")
    T = as_shape(poses, (*q.shape[:-1], 4, 4), "poses")
    held = np.zeros((0, arm.n)) if held is None else held
    found, error = _iterated(arm, T.reshape(-1, 4, 4), q.reshape(-1, arm.n), attitude, held)
    size = error.reshape(q.shape[:-1])
    return Nearby(found.reshape(q.shape), np.asarray(size <= TOLERANCE), size)


def _iterated(arm: Arm, T: Floats, start: Floats, attitude: bool, held: Floats) -> tuple[Floats, Floats]:
    """The best postures (B, n) and what they miss (B,); a row is left alone when it is there,
    or when nothing helps it.
    """
    best_q, q, error = start.copy(), start.copy(), way_between(forward(arm, start), T, attitude)
    best = _size(error)
    mark, rows = best.copy(), np.flatnonzero(np.isfinite(best))
    for count in range(1, STEPS + 1):
        if not rows.size:
            break
        wanted = np.concatenate([error[rows], (start[rows] - q[rows]) @ held.T], axis=-1)
        step = damped_step(_rows(jacobian(arm, q[rows]), attitude, held), wanted, NEAR_SINGULAR)
        length = np.abs(step).max(axis=-1, initial=0.0)[:, None]
        q[rows] += step * np.minimum(1.0, LONGEST / np.maximum(length, LONGEST))
        error[rows] = way_between(forward(arm, q[rows]), T[rows], attitude)
        size, before = _size(error[rows]), best[rows]
        better = size < before
        best_q[rows[better]], best[rows[better]] = q[rows[better]], size[better]
        # Steps go on after the tolerance is met as long as they halve what is left:
        # the last is cheap and leaves rounding.
        going = (size < 0.5 * before) | (best[rows] > TOLERANCE)
        if count % PATIENCE == 0:
            going &= best[rows] <= 0.5 * mark[rows]
            mark[rows] = best[rows]
        rows = rows[going]
    return best_q, best


def way_between(at: Floats, T: Floats, attitude: bool = True) -> Floats:
    """What moves a frame from poses `at` to T (..., 4, 4): m and rad in base axes, (..., 6);
    without attitude (..., 3).
    """
    shift = T[..., :3, 3] - at[..., :3, 3]
    if not attitude:
        return shift
    turn = vector_of_matrix(T[..., :3, :3] @ np.swapaxes(at[..., :3, :3], -1, -2))
    return np.concatenate([shift, turn], axis=-1)


def damped_step(J: Floats, wanted: Floats, near_singular: float) -> Floats:
    """The least x with J x = wanted (...,), damped in each direction whose singular value is below
    that part of the largest.
    """
    known = np.asarray(np.isfinite(J).all(axis=(-2, -1)) & np.isfinite(wanted).all(axis=-1))
    if min(J.shape[-2:]) == 0:
        return np.zeros((*J.shape[:-2], J.shape[-1]))
    safe = np.where(known[..., None, None], J, np.zeros_like(J))
    aim = np.where(known[..., None], wanted, np.nan)
    inverse, regular = _inverses(safe, near_singular)
    if regular.all():
        return np.asarray((inverse @ aim[..., None])[..., 0])
    U, s, Vt = np.linalg.svd(safe, full_matrices=False)
    floor = near_singular * s[..., :1]
    damping = np.where(s < floor, floor**2 - s**2, 0.0)
    gain = s / np.where(s == 0.0, 1.0, s**2 + damping)
    step: Floats = np.einsum("...kn,...k,...rk,...r->...n", Vt, gain, U, aim)
    return np.where(regular[..., None], (inverse @ np.nan_to_num(aim)[..., None])[..., 0], step)


def least_solution(J: Floats, wanted: Floats) -> Floats:
    """The least x (m, n) with J x = wanted, J (m, r, n) finite;
    directions that do not move the hand are left out.
    """
    inverse, regular = _inverses(J, NOTHING)
    if not regular.all():
        inverse = np.where(regular[:, None, None], inverse, np.linalg.pinv(J, rcond=NOTHING))
    return np.asarray((inverse @ wanted[..., None])[..., 0])


def _inverses(J: Floats, near_singular: float) -> tuple[Floats, Flags]:
    """Inverses of square J (..., n, n), and for which |J| |J^-1| >= s_max / s_min makes sure that
    nothing is to be damped.
    """
    none = np.zeros(J.shape[:-2], dtype=bool)
    if J.shape[-2] != J.shape[-1]:
        return np.zeros((*J.shape[:-2], J.shape[-1], J.shape[-2])), none
    try:
        inverse = np.linalg.inv(J)
    except np.linalg.LinAlgError:
        return np.zeros_like(J), none
    condition = np.linalg.norm(J, axis=(-2, -1)) * np.linalg.norm(inverse, axis=(-2, -1))
    regular = np.asarray(condition * near_singular < 1.0)
    return np.where(regular[..., None, None], inverse, 0.0), regular


def _rows(J: Floats, attitude: bool, held: Floats) -> Floats:
    rows = J if attitude else J[..., :3, :]
    return np.concatenate([rows, np.broadcast_to(held, (*J.shape[:-2], *held.shape))], axis=-2)


def _size(error: Floats) -> Floats:
    size: Floats = np.abs(error).max(axis=-1, initial=0.0)
    return size
