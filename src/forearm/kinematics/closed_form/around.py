"""Solutions that hide beside singular postures of an arm whose axes meet only nearly.

The hand of the arm with axes that meet is within `miss` of this arm's at every configuration. So a solution
is a branch of the former for some pose within that distance of the given one: it is sought by Newton's
steps from the branches of poses around it. Where two branches meet, some of these poses have both, on either
side of where they meet, and from there the steps lead to one each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.kinematics.angles import matrix_of_vector
from forearm.kinematics.closed_form.singular import DOUBLE_ROOT, SAME, SINGULAR
from forearm.kinematics.closed_form.solver import CERTAIN, IN_LINE, REACHED, Solver, wrist_sine
from forearm.kinematics.limits import differences
from forearm.kinematics.nearby import full_steps, newton_rows
from forearm.kinematics.newton import HUGE, PATIENCE
from forearm.spatial import Flags, Floats

Places = NDArray[np.intp]

# Poses around: this many, in random directions, at these distances in turn, in units of the miss.
AROUND, AWAY = 48, (1.5, 5.0, 20.0)
FULL = 5  # of Newton's steps need not improve: in curved valleys those that must are short
MOST = 16  # solutions of an arm with six joints
AT_ONCE = 128  # poses, to bound memory


class Solutions(NamedTuple):
    """Configurations (B, m, n), the errors of the hand there (B, m), and regularities (B, m)."""

    q: Floats
    error: Floats
    regularity: Floats


def with_hidden_branches(solver: Solver, known: Solutions, T: Floats) -> tuple[Solutions, Flags]:
    """The branches of poses (B, 4, 4) with those that hide, for which m may become larger; and the poses (B,)
    beside singular postures, where they were sought.
    """
    arm, miss = solver.arm, solver.geometry.miss
    # Where two branches would meet just outside the arm's reach, both are off by up to the root of the miss.
    beside = (known.regularity < CERTAIN * miss) | (known.error > REACHED)
    hiding = (beside & (known.error < miss**0.5)) | (wrist_sine(solver.geometry, known.q) < IN_LINE * miss)
    doubtful = hiding.any(axis=1)
    for patience in (PATIENCE, HUGE):  # again for the poses that none reached
        rows = np.flatnonzero(doubtful & (patience == PATIENCE or (known.error >= REACHED).all(axis=1)))
        for part in np.split(rows, range(AT_ONCE, len(rows), AT_ONCE)) if rows.size else ():
            known = _with(arm, known, part, _sought(solver, T[part], patience))
    return known, doubtful


def _sought(solver: Solver, T: Floats, patience: float) -> Solutions:
    """Where Newton's steps end from every branch of the poses around each given one."""
    n, m = solver.arm.n, AROUND * solver.count
    steps = np.random.default_rng(1).standard_normal((AROUND, 6))
    away = solver.geometry.miss * np.resize(AWAY, (AROUND, 1))
    steps *= away / np.linalg.norm(steps, axis=1, keepdims=True)
    around = np.repeat(T[:, None, :3], AROUND, axis=1)
    around[..., :3] = matrix_of_vector(steps[:, 3:]) @ around[..., :3]
    around[..., 3] += steps[:, :3]
    starts = np.nan_to_num(solver.branches(around.reshape(-1, 12)).reshape(-1, n), posinf=0.0, neginf=0.0)
    poses = np.repeat(T, m, axis=0)
    q = np.nan_to_num(full_steps(solver.arm, poses, starts, FULL, n != 3))
    q, error = newton_rows(solver.arm, poses, q, n != 3, patience=patience)
    return Solutions(q.reshape(-1, m, n), error.reshape(-1, m), solver.seen(q, poses)[1].reshape(-1, m))


def _with(arm: Arm, known: Solutions, rows: Places, found: Solutions) -> Solutions:
    """The branches with each solution found (R, k, n) for the poses at `rows` that is not among them, the one
    nearest to its pose first, in place of branches that do not exist.
    """
    new = found.error < REACHED
    for j in range(known.q.shape[1]):
        one = Solutions(*(values[rows, j, None] for values in known))
        new &= ~((one.error < REACHED) & _same(arm, one, found))
    while new.any():
        (at,) = np.nonzero(new.any(axis=1))
        absent = known.error[rows[at]] >= REACHED
        if not absent.any(axis=1).all():
            if known.q.shape[1] == MOST:
                break
            known = _with_column(known)
            continue
        place = rows[at], np.argmax(absent, axis=1)
        best = np.argmin(np.where(new[at], found.error[at], np.inf), axis=1)
        others = Solutions(*(values[at] for values in found))
        for values, new_values in zip(known, others, strict=True):
            values[place] = new_values[range(len(at)), best]
        one = Solutions(*(values[place][:, None] for values in known))
        family = (one.regularity < SINGULAR**2) & (others.regularity < SINGULAR**2)  # one stands for all
        new[at] &= ~(family | _same(arm, one, others))
    return known


def _with_column(known: Solutions) -> Solutions:
    """The branches and one more for each pose, which does not exist."""
    q, error, regularity = known
    none = np.full((len(q), 1), np.inf)
    return Solutions(
        np.concatenate([q, np.zeros_like(q[:, :1])], axis=1),
        np.concatenate([error, none], axis=1),
        np.concatenate([regularity, 0.0 * q[:, :1, 0]], axis=1),
    )


def _same(arm: Arm, one: Solutions, others: Solutions) -> Flags:
    """Whether solutions (R, k, n) are the given one (R, 1, n): no joint differs by more than their errors
    leave open.
    """
    loose = sum(b.error / np.sqrt(np.maximum(b.regularity, SINGULAR**2)) for b in (one, others))
    within = np.minimum(SAME + 4.0 * loose, DOUBLE_ROOT)
    same: Flags = (differences(arm, one.q, others.q) < within[..., None]).all(axis=-1)
    return same
