"""Path following: the branch nearest to the previous one, unwrapped so that no joint jumps, and events along
the path.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.kinematics.answers import FollowedPath, PathEvent
from forearm.kinematics.arguments import as_poses
from forearm.kinematics.closed_form.checked import Checked, checked_branches
from forearm.kinematics.closed_form.nearness import nearest_branch
from forearm.kinematics.closed_form.polishing import polished
from forearm.kinematics.closed_form.singular import is_singular, scaled_jacobian
from forearm.kinematics.closed_form.solve import known_solver
from forearm.kinematics.closed_form.solver import REACHED
from forearm.kinematics.limits import placed
from forearm.spatial import Floats
from forearm.values import as_finite, check_kind

# Joint motion between two poses (rad, m) that counts as a jump.
JUMP = 1.0


def follow(arm: Arm, poses: ArrayLike, near: ArrayLike, *, limits: bool = True) -> FollowedPath:
    """Configurations along a path of poses, each nearest to the previous one. Dhanaraj D.1.3.

    At a singular pose, the family member nearest to the previous configuration is used. Unreached poses yield
    NaN, and the path continues from the last configuration.

    Args:
        arm: the arm.
        poses: the hand in the base frame, (B, 4, 4).
        near: joint coordinates (n,); the first configuration is the nearest to them.
        limits: whether to enforce the joint limits.
    """
    check_kind(limits, bool, "follow, limits")
    solver = known_solver(arm)
    T, single = as_poses(poses)
    if single:
        raise InputError(
            "expected a path of shape (B, 4, 4); for one pose use fa.kinematics.inverse with near.", "poses"
        )
    last = as_finite(near, (arm.n,), "near")
    found = checked_branches(solver, T, False, None)
    q = np.full((len(T), arm.n), np.nan)
    for k in range(len(T)):
        chosen = _nearest(arm, found, k, T[k], last, limits)
        if chosen is not None:
            q[k] = last = chosen
    events = tuple(sorted((*_unreached(q, found), *_passed(arm, q)), key=lambda event: event.index))
    return FollowedPath(q, not any(event.kind in ("unreachable", "jump") for event in events), events)


def _nearest(arm: Arm, found: Checked, k: int, T: Floats, last: Floats, limits: bool) -> Floats | None:
    """The branch of pose k nearest to the last configuration, or None."""
    q, inside = placed(arm, found.q[k][found.exists[k]], limits, last)
    candidates = list(q[inside])
    if found.singular[k].any() or not candidates:
        straight, error = polished(arm, last[None], T[None], nearly=np.inf)
        straight, inside = placed(arm, straight, limits, last)
        if inside[0] and error[0] < REACHED:
            candidates.append(straight[0])
    return candidates[nearest_branch(arm, np.array(candidates), last, limits)] if candidates else None


def _unreached(q: Floats, found: Checked) -> list[PathEvent]:
    """One event for each run of unreached poses."""
    missing = np.isnan(q[:, 0])
    starts = np.flatnonzero(missing & ~np.concatenate([[False], missing[:-1]]))
    events = []
    for start in (int(s) for s in starts):
        end = start + int(np.argmin(np.append(missing[start:], False))) - 1
        run = f"pose {start} is" if end == start else f"poses {start} to {end} are"
        some = found.exists[start : end + 1].any()
        how = "reached only outside the limits" if some else "out of reach"
        events.append(PathEvent(start, "unreachable", f"{run} {how}."))
    return events


def _passed(arm: Arm, q: Floats) -> list[PathEvent]:
    """Singular configurations, singularities crossed between two poses, and jumps."""
    reached = np.flatnonzero(~np.isnan(q[:, 0]))
    if not reached.size:
        return []
    path = q[reached]
    singular = is_singular(arm, path)
    side = np.where(singular, 0.0, np.sign(np.linalg.det(scaled_jacobian(arm, path))))
    events = []
    before = 0.0
    for i, k in enumerate(int(k) for k in reached):
        if singular[i]:
            events.append(PathEvent(k, "singular", f"pose {k} is singular: branches meet there."))
        elif before and side[i] != before and not singular[i - 1]:
            events.append(
                PathEvent(k, "crossing", f"before pose {k} a singularity was crossed, onto another branch.")
            )
        before = side[i] or before
        step = np.abs(path[i] - path[i - 1]) if i else np.zeros(arm.n)
        if step.max() > JUMP:
            joint = int(np.argmax(step))
            unit = "rad" if arm.joints[joint].kind == "revolute" else "m"
            text = (
                f"{arm.joints[joint].name} moves by {step[joint]:.3g} {unit} between poses "
                f"{reached[i - 1]} and {k}."
            )
            events.append(PathEvent(k, "jump", text))
    return events
