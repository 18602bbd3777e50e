"""Public inverse kinematics: every branch for one pose or for many, and diagnostics in words."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm, check_arm
from forearm.errors import InputError
from forearm.kinematics.answers import IKBatch, IKResult
from forearm.kinematics.arguments import as_poses
from forearm.kinematics.closed_form.checked import Checked, checked_branches
from forearm.kinematics.closed_form.families import gathered, with_solutions_from
from forearm.kinematics.closed_form.geometry import Geometry, Parallel
from forearm.kinematics.closed_form.nearest import distance_to_centre, nearest_posture
from forearm.kinematics.closed_form.nearness import squared_distances
from forearm.kinematics.closed_form.polishing import REACHED
from forearm.kinematics.closed_form.recognition import geometry_of
from forearm.kinematics.limits import behind_limits, placed
from forearm.values import as_finite, check_kind

Floats = NDArray[np.float64]


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
    geometry = known_geometry(arm)
    poses, single = as_poses(T)
    posture = None if near is None else as_finite(near, (arm.n,), "near")
    found = checked_branches(arm, geometry, poses)
    if single:
        return _one(arm, geometry, poses[0], found, limits, nearest, posture)
    if nearest:
        raise InputError(
            "inverse: nearest applies to a single pose (4, 4); call it for each pose of a batch."
        )
    q, inside = placed(arm, found.q, limits, posture)
    valid = found.exists & inside
    q = np.where(valid[..., None], q, np.nan)
    return IKBatch(q, valid, np.asarray(valid.any(axis=1)), np.asarray((found.singular & valid).any(axis=1)))


def known_geometry(arm: Arm) -> Geometry:
    """The closed form of a checked arm."""
    check_arm(arm, "arm")
    return geometry_of(arm)


def _one(
    arm: Arm, geometry: Geometry, T: Floats, found: Checked, limits: bool, nearest: bool, near: Floats | None
) -> IKResult:
    """The result for one pose."""
    given = gathered(arm, T, found, limits, near)
    best = None
    if not given.valid.any():
        best = nearest_posture(arm, T, limits)
        given = with_solutions_from(arm, T, given, best.q, limits, near)
    notes = [] if arm.n == 6 else ["only the hand's position was used, as the arm has three joints"]
    if best is not None and not given.valid.any():
        off = f"the nearest configuration is off by {best.distance:.4g} m and {best.angle:.4g} rad"
        message = "; ".join([_why_not(arm, geometry, T, found), off, *notes]) + "."
        return IKResult(np.empty((0, arm.n)), False, False, message, (), best if nearest else None)
    left = int((given.exists & ~given.valid).sum())
    q, singular, free = given.q[given.valid], given.singular[given.valid], given.free[given.valid]
    if near is not None:
        q = q[np.argsort(squared_distances(q, near), kind="stable")]
    undetermined = tuple(
        j.name for j, is_free in zip(arm.joints, np.asarray(free.any(axis=0)), strict=True) if is_free
    )
    if singular.any():
        notes.insert(0, _singular_note(undetermined))
    count = f"{len(q)} branch{'es' if len(q) > 1 else ''}"
    count += f", {left} more outside the limits" if limits and left > 0 else ""
    return IKResult(q, True, bool(singular.any()), "; ".join([count, *notes]) + ".", undetermined)


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


def _why_not(arm: Arm, geometry: Geometry, T: Floats, found: Checked) -> str:
    """Why the pose is not reached."""
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
