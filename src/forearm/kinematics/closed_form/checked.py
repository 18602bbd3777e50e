"""Valid branches: looked at, polished where necessary, without duplicates, with families at singular
poses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from forearm.arm.arm import Arm
from forearm.kinematics.closed_form.around import Solutions, with_hidden_branches
from forearm.kinematics.closed_form.polishing import polished
from forearm.kinematics.closed_form.singular import DOUBLE_ROOT, SAME, free_joints, is_singular
from forearm.kinematics.closed_form.solver import (
    CLOSE,
    DOUBTFUL,
    INSIDE,
    OUTSIDE,
    REACHED,
    REGULAR,
    Solver,
    least_regularity,
    solver_of,
)
from forearm.kinematics.limits import differences, placed
from forearm.kinematics.nearby import newton_rows
from forearm.kinematics.numerical import inverse_numeric
from forearm.spatial import Flags, Floats

# Poses per batch, to bound memory.
BLOCK = 4096
NOT_FAR = 0.1  # m, rad: if the best branch is farther off, the pose is out of reach
STARTS = 64  # starts of the iteration when all branches end close to a pose


class Checked(NamedTuple):
    """For poses (B, 4, 4): branches q (B, m, n) with whole turns chosen; whether each exists (B, m), is
    within the limits, singular, certain; free joints (B, m, n); and whether more may exist (B,). For one pose
    the same without B.
    """

    q: Floats
    exists: Flags
    inside: Flags
    singular: Flags
    certain: Flags
    free: Flags
    doubtful: Flags


def checked_branches(solver: Solver, T: Floats, limits: bool, near: Floats | None) -> Checked:
    """Every branch of every pose."""
    starts = range(0, max(len(T), 1), BLOCK)
    return _joined([_block(solver, T[start : start + BLOCK], limits, near) for start in starts])


def _block(solver: Solver, T: Floats, limits: bool, near: Floats | None) -> Checked:
    B, m, n = len(T), solver.count, solver.arm.n
    T12 = T[:, :3].reshape(-1, 12)
    q, T12 = solver.branches(T12).reshape(-1, n), np.repeat(T12, m, axis=0)
    bounds = np.tile(solver.bounds(limits, near), (B, 1))
    inside, figures = solver.look(q, T12, bounds)
    close = np.flatnonzero(figures[:, 2] == CLOSE)
    if close.size:
        q[close], _ = newton_rows(solver.arm, T[close // m], q[close], n != 3)
        inside[close], figures[close] = solver.look(q[close], T12[close], bounds[close])
    kind = figures[:, 2].reshape(B, m)
    exists = (kind == INSIDE) | (kind == OUTSIDE)
    none = np.zeros((B, m), dtype=bool)
    free, doubtful = np.zeros((B, m, n), dtype=bool), np.zeros(B, dtype=bool)
    plain = Checked(inside.reshape(B, m, n), exists, kind == INSIDE, none, exists, free, doubtful)
    rows = np.flatnonzero(((kind == CLOSE) | (kind == DOUBTFUL)).any(axis=1))
    if not rows.size:
        return plain
    closer = _closer(solver, q.reshape(B, m, n)[rows], T[rows], limits, near)
    if closer.q.shape[1] > m:
        closer = _packed(closer, m)
    plain = _widened(plain, closer.q.shape[1])
    for values, others in zip(plain, closer, strict=True):
        values[rows] = others
    return plain


def _closer(solver: Solver, q: Floats, T: Floats, limits: bool, near: Floats | None) -> Checked:
    """A closer look at branches (B, m, n), of which some may meet, be singular or be missing."""
    arm = solver.arm
    poses = np.repeat(T, solver.count, axis=0)
    flat = np.nan_to_num(q.reshape(-1, arm.n), posinf=0.0, neginf=0.0)
    flat, error = polished(arm, flat, poses)
    regularity = solver.seen(flat, poses)[1]
    known = Solutions(flat.reshape(q.shape), error.reshape(q.shape[:2]), regularity.reshape(q.shape[:2]))
    doubtful = np.zeros(len(T), dtype=bool)
    if solver.is_exact:
        _iterate(arm, known, T)
    else:
        known, doubtful = with_hidden_branches(solver, known, T)
    q, error, regularity = known
    exists = error < REACHED
    singular, free = np.zeros_like(exists), np.zeros(q.shape, dtype=bool)
    suspects = exists & (regularity < REGULAR)
    singular[suspects] = is_singular(arm, q[suspects])
    if singular.any():
        free[singular] = free_joints(arm, q[singular], T[np.nonzero(singular)[0]])
    q, exists = _once(arm, q, exists, singular, free, error)
    singular &= exists
    certain = exists & (solver.is_exact | (regularity >= least_regularity(solver.geometry.miss)))
    q, inside = placed(arm, q, limits, near)
    return Checked(q, exists, exists & inside, singular, certain, free & exists[..., None], doubtful)


def _iterate(arm: Arm, known: Solutions, T: Floats) -> None:
    """Where branches approach a pose and none reaches it, store the result of an iteration: with axis 6 of a
    UR arm parallel to 2, 3 and 4, joint 6 must leave a triangle to them.
    """
    best = np.argmin(known.error, axis=1)
    rows = np.flatnonzero((known.error >= REACHED).all(axis=1) & (known.error.min(axis=1) < NOT_FAR))
    if rows.size:
        place = rows, best[rows]
        found = inverse_numeric(
            arm, T[rows], start=known.q[place], limits=False, starts=STARTS, position_only=arm.n == 3
        )
        known.q[place], known.error[place] = polished(arm, found.q, T[rows])
        known.regularity[place] = solver_of(arm).seen(known.q[place], T[rows])[1]


def _packed(found: Checked, m: int) -> Checked:
    """The same with existing branches first, and no more than m of the others."""
    first = np.argsort(~found.exists, axis=1, kind="stable")[:, : max(m, found.exists.sum(axis=1).max())]
    rows = np.arange(len(first))[:, None]
    return Checked._make(v[rows, first] if v.ndim > 1 else v for v in found)


def _joined(parts: list[Checked]) -> Checked:
    """The results of several blocks of poses as one."""
    widest = max(part.q.shape[1] for part in parts)
    parts = [_widened(part, widest) for part in parts]
    return Checked._make(map(np.concatenate, zip(*parts, strict=True)))


def _widened(found: Checked, m: int) -> Checked:
    """The same with m branches, of which the last do not exist."""
    short = m - found.q.shape[1]
    if not short:
        return found
    return Checked._make(
        np.pad(v, ((0, 0), (0, short), (0, 0))[: v.ndim]) if v.ndim > 1 else v for v in found
    )


def _once(
    arm: Arm, q: Floats, exists: Flags, singular: Flags, free: Flags, error: Floats
) -> tuple[Floats, Flags]:
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
