"""The inverse kinematics that users ask for: every branch for one pose or for many, and in words what is the matter."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.errors import InputError, shorten
from forearm.kinematics.answers import IKBatch, IKResult
from forearm.kinematics.closed_form.checked import SAME, Checked, checked_branches
from forearm.kinematics.closed_form.geometry import Geometry, Parallel
from forearm.kinematics.closed_form.limits import behind_limits, placed
from forearm.kinematics.closed_form.nearest import distance_to_centre, nearest_posture
from forearm.kinematics.closed_form.newton import REACHED, polished
from forearm.kinematics.closed_form.recognition import geometry_of
from forearm.kinematics.closed_form.singular import free_joints, is_singular
from forearm.values import LARGEST, as_floats

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]
# A rotation may be this far from orthonormal; it is then made so.
ORTHONORMAL = 1e-6


class Given(NamedTuple):
    """Postures (m, n) of one pose: which count, which are singular, which joints can move there while the hand stands."""

    q: Floats
    valid: Truths
    singular: Truths
    free: Truths


def inverse(
    arm: Arm, T: ArrayLike, *, limits: bool = True, nearest: bool = False, near: ArrayLike | None = None
) -> IKResult | IKBatch:
    """Every posture that brings the hand to the pose T (4, 4), an `IKResult`; to poses (B, 4, 4), an `IKBatch`.

    With `limits` only postures within the joints' limits count. Whole turns are chosen nearest to `near` (n,), and branches
    of one pose come sorted by their distance from it. With `nearest` a pose that is not reached is answered by the posture
    that comes nearest. Of an arm with three joints only the hand's position is used. Waters II; Dhanaraj D.1.3.
    """
    geometry = known_geometry(arm)
    poses, single = as_poses(T)
    posture = as_posture(arm, near)
    found = checked_branches(arm, geometry, poses)
    if single:
        return _one(arm, geometry, poses[0], found, limits, nearest, posture)
    if nearest:
        raise InputError("inverse: nearest is for one pose (4, 4); ask for those of a batch one by one.")
    q, inside = placed(arm, found.q, limits, posture)
    valid = found.exists & inside
    q = np.where(valid[..., None], q, np.nan)
    return IKBatch(q, valid, np.asarray(valid.any(axis=1)), np.asarray((found.singular & valid).any(axis=1)))


def as_poses(T: ArrayLike) -> tuple[Floats, bool]:
    """Poses (B, 4, 4) from one or many, rotations made orthonormal to the last digit, and whether it was one."""
    poses = as_floats(T, "T")
    if poses.ndim not in (2, 3) or poses.shape[-2:] != (4, 4):
        raise InputError(f"T: a pose of shape (4, 4) or poses of shape (B, 4, 4) are needed; came {poses.shape}.")
    single = poses.ndim == 2
    poses = poses.reshape(-1, 4, 4)

    def refuse(bad: NDArray[np.bool_], reason: str) -> None:
        if bad.any():
            at = int(np.argmax(bad))
            raise InputError(f"T{'' if single else f'[{at}]'}: {reason}; came {shorten(poses[at].tolist(), 200)}.")

    flat = poses.reshape(-1, 16)
    refuse(np.asarray(~(np.abs(flat) < LARGEST).all(axis=1)), "every number must be finite")
    refuse(np.asarray((np.abs(flat[:, 12:] - [0.0, 0.0, 0.0, 1.0]) > 1e-12).any(axis=1)), "the last row of a pose is 0 0 0 1")
    R = poses[:, :3, :3]
    gram = np.swapaxes(R, -1, -2) @ R
    off = np.abs(gram - np.eye(3)).max(axis=(1, 2))
    refuse(off > ORTHONORMAL, f"the upper left 3x3 must be a rotation, its columns of length 1 and at right angles "
           f"to {ORTHONORMAL:g} (off by {off.max() if len(off) else 0.0:.2g}); orthonormalise it first")  # fmt: skip
    refuse(np.linalg.det(R) < 0.0, "the upper left 3x3 is a reflection; a rotation has determinant 1, so turn one axis round")
    for _ in range(2):
        R = 0.5 * R @ (3.0 * np.eye(3) - np.swapaxes(R, -1, -2) @ R)
    poses[:, :3, :3] = np.where((off > 1e-14)[:, None, None], R, poses[:, :3, :3])
    return poses, single


def as_posture(arm: Arm, near: ArrayLike | None) -> Floats | None:
    """A finite posture (n,), or nothing."""
    if near is None:
        return None
    posture = as_floats(near, "near")
    if posture.shape != (arm.n,) or not np.isfinite(posture).all():
        raise InputError(f"near: a posture of {arm.n} finite numbers is needed; came {shorten(posture.tolist())}.")
    return posture


def known_geometry(arm: Arm) -> Geometry:
    """The closed form of what should be an arm."""
    if not isinstance(arm, Arm):
        raise InputError(f"an Arm is needed, such as fa.load('puma560'); came {shorten(arm)}.")
    return geometry_of(arm)


def _one(arm: Arm, geometry: Geometry, T: Floats, found: Checked, limits: bool, nearest: bool, near: Floats | None) -> IKResult:
    """The answer for one pose."""
    q, inside = placed(arm, found.q[0], limits, near)
    left = int((found.exists[0] & ~inside).sum())
    given = Given(q, found.exists[0] & inside, found.singular[0], found.free[0])
    best = None if given.valid.any() else nearest_posture(arm, T, limits)
    if best is not None or (near is not None and given.singular.any()):
        # Where a family of solutions exists, another of it may be within the limits, exist at all, or be nearer.
        starts = [x for x in (near, best.q if best else None) if x is not None]
        tried, inside = placed(arm, _solutions(arm, T, np.array(starts)), limits, near)
        given = _with_more(arm, T, given, tried[inside])
    notes = [] if arm.n == 6 else ["only the hand's position was used, as the arm has three joints"]
    if best is not None and not given.valid.any():
        off = f"the nearest posture is {best.distance:.4g} m and {best.angle:.4g} rad off"
        message = "; ".join([_why_not(arm, geometry, T, found), off, *notes]) + "."
        return IKResult(np.empty((0, arm.n)), False, False, message, (), best if nearest else None)
    q, singular, free = given.q[given.valid], given.singular[given.valid], given.free[given.valid]
    if near is not None:
        q = q[np.argsort(np.abs(q - near).max(axis=-1), kind="stable")]
    undetermined = tuple(j.name for j, is_free in zip(arm.joints, np.asarray(free.any(axis=0)), strict=True) if is_free)
    if singular.any():
        notes.insert(0, _singular_note(undetermined))
    count = f"{len(q)} branch{'es' if len(q) > 1 else ''}"
    count += f", {left} more outside the limits" if limits and left > 0 else ""
    return IKResult(q, True, bool(singular.any()), "; ".join([count, *notes]) + ".", undetermined)


def _singular_note(undetermined: tuple[str, ...]) -> str:
    if not undetermined:
        return "singular: two branches meet here, and the hand cannot move in every direction"
    names = ", ".join(undetermined[:-1]) + " and " + undetermined[-1] if len(undetermined) > 1 else undetermined[0]
    return f"singular: {names} can move while the hand stands, so they are not determined: one solution is given for many"


def _solutions(arm: Arm, T: Floats, starts: Floats) -> Floats:
    """Where Newton's steps lead from the starts (S, n), if to the pose."""
    q, error = polished(arm, starts, np.repeat(T[None], len(starts), axis=0), nearly=np.inf, steps=40)
    return q[error < REACHED]


def _with_more(arm: Arm, T: Floats, given: Given, tried: Floats) -> Given:
    """The branches and the first of the solutions (S, n) that they do not show, which is mostly a singular one."""
    odd = is_singular(arm, tried)
    # A regular solution is among the branches already, if there are any.
    new = np.flatnonzero(odd | ~given.valid.any())
    if not new.size:
        return given
    chosen, is_odd = tried[new[0]], bool(odd[new[0]])
    free = free_joints(arm, chosen[None], T[None])[0] & is_odd
    # It stands for the branches that differ from it in free joints alone.
    apart = np.abs(np.remainder(given.q - chosen + np.pi, 2.0 * np.pi) - np.pi)
    replaced = given.singular & ((apart < SAME) | free).all(axis=-1)
    first = Given(chosen[None], np.array([True]), np.array([is_odd]), free[None])
    rest = given._replace(valid=given.valid & ~replaced)
    return Given(*(np.concatenate(pair) for pair in zip(first, rest, strict=True)))


def _why_not(arm: Arm, geometry: Geometry, T: Floats, found: Checked) -> str:
    """Why nothing reaches the pose."""
    if found.exists[0].any():
        q, _ = placed(arm, found.q[0][found.exists[0]], True, None)
        behind = behind_limits(arm, q)
        least = behind[np.argmin(behind.max(axis=-1))]
        joint = arm.joints[int(np.argmax(least))]
        unit = "rad" if joint.kind == "revolute" else "m"
        what = f"{len(q)} branches reach the pose, none" if len(q) > 1 else "the one branch that reaches the pose is not"
        return f"{what} within the limits: {joint.name} would be {least.max():.4g} {unit} behind its limit at best"
    if isinstance(geometry.carrier, Parallel) or geometry.backwards:
        return "out of reach"
    distance = distance_to_centre(arm, np.array(geometry.centre), T)
    if distance > REACHED:
        what = "hand" if geometry.wrist is None else "wrist's centre"
        return f"out of reach: the {what} comes no nearer than {distance:.4g} m"
    return "the wrist cannot turn the hand that way"
