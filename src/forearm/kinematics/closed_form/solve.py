"""Public inverse kinematics: every branch for one pose or for many, and diagnostics in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm, check_arm
from forearm.errors import InputError
from forearm.kinematics.answers import IKBatch, IKResult
from forearm.kinematics.arguments import as_poses
from forearm.kinematics.closed_form.checked import Checked, checked_branches
from forearm.kinematics.closed_form.families import gathered, with_solutions_from
from forearm.kinematics.closed_form.geometry import Parallel
from forearm.kinematics.closed_form.nearest import distance_to_centre, nearest_posture
from forearm.kinematics.closed_form.nearness import squared_distances
from forearm.kinematics.closed_form.solver import CLOSE, DOUBTFUL, INSIDE, OUTSIDE, REACHED, Solver, solver_of
from forearm.kinematics.limits import behind_limits, placed
from forearm.kinematics.nearby import newton_rows
from forearm.spatial import Floats
from forearm.values import as_finite, check_kind


def inverse(
    arm: Arm, T: ArrayLike, *, limits: bool = True, nearest: bool = False, near: ArrayLike | None = None
) -> IKResult | IKBatch:
    """All joint configurations that bring the hand to the pose T (4, 4), an `IKResult`; for poses (B, 4, 4),
    an `IKBatch`. Waters II; Dhanaraj D.1.3.

    Args:
        arm: the arm.
        T: the hand in the base frame, (4, 4) or (B, 4, 4); with three joints only its position counts.
        limits: whether to enforce the joint limits.
        nearest: whether to return the nearest configuration for a single unreachable pose.
        near: joint coordinates (n,) near which whole turns are chosen, and by the squared distance from which
            branches of one pose are sorted; None: the middle of the ranges (0 without limits), unsorted.
    """
    check_kind(limits, bool, "inverse, limits")
    check_kind(nearest, bool, "inverse, nearest")
    solver = known_solver(arm)
    poses, single = as_poses(T)
    posture = None if near is None else as_finite(near, (arm.n,), "near")
    if single:
        return _plain(solver, poses[0], limits, posture) or _one(solver, poses, limits, nearest, posture)
    if nearest:
        raise InputError(
            "nearest applies to a single pose (4, 4); call it for each pose of a batch.", "inverse"
        )
    found = checked_branches(solver, poses, limits, posture)
    valid, certain = found.inside, (found.certain & found.inside).sum(axis=1)
    q = np.where(valid[..., None], found.q, np.nan)
    reachable, singular = (np.asarray(each.any(axis=1)) for each in (valid, found.singular & valid))
    return IKBatch(q, valid, reachable, singular, certain)


def known_solver(arm: Arm) -> Solver:
    """The closed form of a checked arm."""
    check_arm(arm, "arm")
    return solver_of(arm)


def _plain(solver: Solver, T: Floats, limits: bool, near: Floats | None) -> IKResult | None:
    """The result for one pose if some branch is within the limits and none needs a closer look, else None.

    In terms of single numbers, which takes a tenth of the time of `_one`, where the result would be the same.
    """
    row, m = T[:3].reshape(12), solver.count
    q, rows, bounds = solver.branches(row), row[None].repeat(m, axis=0), solver.bounds(limits, near)
    placed, figures = solver.look(q, rows, bounds)
    kinds = figures[:, 2].tolist()
    if CLOSE in kinds:
        close = [k for k, kind in enumerate(kinds) if kind == CLOSE]
        q[close], _ = newton_rows(solver.arm, T[None].repeat(len(close), axis=0), q[close], solver.arm.n != 3)
        placed, figures = solver.look(q, rows, bounds)
        kinds = figures[:, 2].tolist()
    if INSIDE not in kinds or CLOSE in kinds or DOUBTFUL in kinds:
        return None
    inside = [k for k, kind in enumerate(kinds) if kind == INSIDE]
    q = placed if len(inside) == m else placed[inside]
    return _result(solver.arm, q, kinds.count(OUTSIDE), len(q), near)


def _one(solver: Solver, T: Floats, limits: bool, nearest: bool, near: Floats | None) -> IKResult:
    """The result for one pose (1, 4, 4)."""
    arm, found = solver.arm, checked_branches(solver, T, limits, near)
    given = gathered(arm, T[0], found, limits, near)
    best = None
    if not given.inside.any():
        best = nearest_posture(arm, T[0], limits)
        given = with_solutions_from(arm, T[0], given, best.q, limits, near)
    if best is not None and not given.inside.any():
        off = f"the nearest configuration is off by {best.distance:.4g} m and {best.angle:.4g} rad"
        message = "; ".join([_why_not(solver, T[0], found), off, *_position_note(arm)]) + "."
        return IKResult(np.empty((0, arm.n)), False, False, message, nearest=best if nearest else None)
    q, singular, free = given.q[given.inside], given.singular[given.inside], given.free[given.inside]
    names = [arm.joints[k].name for k in np.flatnonzero(free.any(axis=0))]
    certain = int((given.certain & given.inside).sum())
    notes = [_singular_note(tuple(names))] if singular.any() else []
    if given.doubtful:
        notes.append(_doubt_note(certain, len(q), solver.geometry.miss))
    left = int((given.exists & ~given.inside).sum())
    return _result(arm, q, left, certain, near, notes, tuple(names), bool(singular.any()))


def _result(
    arm: Arm,
    q: Floats,
    left: int,
    certain: int,
    near: Floats | None,
    notes: Sequence[str] = (),
    undetermined: tuple[str, ...] = (),
    singular: bool = False,
) -> IKResult:
    """The result with branches (m, n), besides which so many exist outside the limits."""
    if near is not None:
        q = q[np.argsort(squared_distances(q, near), kind="stable")]
    count = f"{len(q)} branch{'es' if len(q) > 1 else ''}"
    count += f", {left} more outside the limits" if left else ""
    message = "; ".join([count, *notes, *_position_note(arm)]) + "."
    return IKResult(q, True, singular, message, undetermined, certain=certain)


def _position_note(arm: Arm) -> list[str]:
    return [] if arm.n == 6 else ["only the hand's position was used, as the arm has three joints"]


def _doubt_note(certain: int, count: int, miss: float) -> str:
    """Why not all branches are certain."""
    beside = f"a singular posture, where the {miss:.2g} m or rad by which the arm's axes miss may hide one"
    if certain == count:
        return f"all are certain, and another was sought beside {beside}"
    return f"{certain} of them certain, {count - certain} found beside {beside} more"


def _singular_note(undetermined: tuple[str, ...]) -> str:
    if not undetermined:
        return "singular: two branches meet here, and the hand cannot move in every direction"
    names = (
        ", ".join(undetermined[:-1]) + " and " + undetermined[-1]
        if len(undetermined) > 1
        else undetermined[0]
    )
    subject = "they are" if len(undetermined) > 1 else "it is"
    return (
        f"singular: {names} can move while the hand stays fixed, so {subject} undetermined: one of many "
        "solutions is given"
    )


def _why_not(solver: Solver, T: Floats, found: Checked) -> str:
    """Why the pose is not reached."""
    arm, geometry = solver.arm, solver.geometry
    if found.exists[0].any():
        q, _ = placed(arm, found.q[0][found.exists[0]], True, None)
        behind = behind_limits(arm, q)
        least = behind[np.argmin(behind.max(axis=-1))]
        joint = arm.joints[int(np.argmax(least))]
        unit = "rad" if joint.kind == "revolute" else "m"
        what = (
            f"{len(q)} branches reach the pose, none"
            if len(q) > 1
            else "the one branch that reaches the pose is not"
        )
        return (
            f"{what} within the limits: {joint.name} would exceed its limit by at least "
            f"{least.max():.4g} {unit}"
        )
    if isinstance(geometry.carrier, Parallel) or geometry.backwards:
        return "out of reach"
    distance = distance_to_centre(arm, np.array(geometry.centre), T)
    if distance > REACHED:
        what = "hand" if geometry.wrist is None else "wrist's centre"
        return f"out of reach: the {what} stays at least {distance:.4g} m away"
    return "the wrist cannot orient the hand that way"
