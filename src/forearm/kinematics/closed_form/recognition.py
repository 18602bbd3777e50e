"""Recognition of an arm's closed form from its axes at q = 0, or the reason why it has none, in millimetres
and degrees.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from forearm.arm.arm import Arm
from forearm.errors import Advice, ModelError, Sentence
from forearm.kinematics.closed_form.branches import solve
from forearm.kinematics.closed_form.geometry import (
    Geometry,
    Parallel,
    in_hand,
    parallel_geometry,
    position_geometry,
    spherical_geometry,
)
from forearm.kinematics.closed_form.joint3 import needs_quartic, third_joint
from forearm.kinematics.closed_form.position_ik import Third
from forearm.kinematics.closed_form.quartic import third_joint_quartic
from forearm.kinematics.closed_form.screws import MEETING, Screws, angle_between, meeting_point, screws_of
from forearm.kinematics.jacobian import jacobian
from forearm.kinematics.newton import pose_error
from forearm.kinematics.poses import forward
from forearm.portable import dot, norm
from forearm.spatial import Floats

# Number of configurations for testing the closed form, and its required accuracy before Newton's steps.
TRIALS = 6
PLAUSIBLE = 1e-3
# Singular value (m, rad) that the Jacobian exceeds somewhere if the joints move the hand in all directions.
MOVES = 1e-6


@lru_cache(maxsize=64)
def geometry_of(arm: Arm) -> Geometry:
    """The closed form of an arm, or a ModelError that says why it has none."""
    if not arm.is_serial:
        raise _refusal(arm, "it is a tree or has mimic joints")
    if arm.n not in (3, 6):
        raise _refusal(
            arm, f"it has {arm.n} joints, and closed forms are for 6, or for 3 that place the hand's origin"
        )
    if arm.moving.frames[arm.hand.link][0] != arm.n - 1:
        raise _refusal(arm, f"its hand is on link {arm.hand.link!r}, which does not move with the last joint")
    screws = screws_of(arm)
    found = _position_only(screws) if arm.n == 3 else _six_joints(screws)
    if isinstance(found, str):
        raise _refusal(arm, found)
    rng = np.random.default_rng(1)
    q = (4.0 * rng.random((TRIALS, arm.n)) - 2.0) * np.array([1.0 if r else 0.3 for r in screws.revolute])
    if np.linalg.svd(jacobian(arm, q)[:, : arm.n], compute_uv=False)[:, -1].max() < MOVES:
        what = "hand's origin" if arm.n == 3 else "hand"
        raise _refusal(
            arm,
            f"its joints do not move the {what} in all directions, at any of {TRIALS} configurations tried",
        )
    found = replace(
        found, uses_roots_only=isinstance(found.carrier, Parallel) or not needs_quartic(found.carrier)
    )
    miss = _trial(arm, found, q)
    if miss > PLAUSIBLE:
        raise _refusal(arm, f"its closed form ({found.kind}) is off by {miss:.2g} m or rad")
    return replace(found, miss=miss)


def third_for(geometry: Geometry) -> Third:
    """The solver for joint 3 over arrays: square roots if they suffice, otherwise the quartic."""
    return third_joint if geometry.uses_roots_only else third_joint_quartic


def branches_of(geometry: Geometry, T: Floats) -> Floats:
    """Every branch for poses (B, 4, 4) as an array (B, branches, n), existing or not."""
    entries = np.moveaxis(T, 0, -1)
    with np.errstate(all="ignore"):  # nonexistent branches may divide by 0
        found = solve(geometry, entries, third_for(geometry))
    made = np.empty((len(T), len(found), geometry.n))
    for k, branch in enumerate(found):
        for j, x in enumerate(branch):
            made[:, k, j] = x
    return made


def _six_joints(screws: Screws) -> Geometry | str:
    """The first matching decoupling, or the reasons why none matches."""
    reasons = []
    for backwards, part in ((False, screws), (True, screws.backwards())):
        names = (6, 5, 4, 3, 2, 1) if backwards else (1, 2, 3, 4, 5, 6)
        for found in (_spherical(part, backwards, names), _parallel(part, backwards, names)):
            if isinstance(found, Geometry):
                return found
            reasons.append(found)
    return "; ".join(reasons)


def _spherical(screws: Screws, backwards: bool, names: tuple[int, ...]) -> Geometry | str:
    w, p = screws.w[3:], screws.p[3:]
    last = ", ".join(str(i) for i in sorted(names[3:]))
    if not all(screws.revolute[3:]):
        return f"axes {last} are not all revolute"
    for i in (0, 1):
        if angle_between(w[i], w[i + 1]) < MEETING:
            return f"axes {names[3 + i]} and {names[4 + i]} are parallel"
    centre, miss = meeting_point(w, p)
    if miss > MEETING:
        return f"axes {last} miss a common point by {1e3 * miss:.3g} mm"
    return spherical_geometry(screws, centre, backwards)


def _parallel(screws: Screws, backwards: bool, names: tuple[int, ...]) -> Geometry | str:
    w, p = screws.w, screws.p
    middle = ", ".join(str(i) for i in sorted(names[1:4]))
    if not all(screws.revolute):
        return f"parallel axes {middle} would help only if all joints were revolute"
    apart = max(angle_between(w[1], w[2]), angle_between(w[1], w[3]))
    if apart > MEETING:
        return f"axes {middle} are not parallel, by {np.degrees(apart):.3g} degrees"
    for i, j in ((0, 1), (3, 4), (4, 5)):
        if angle_between(w[i], w[j]) < MEETING:
            return f"axes {names[i]} and {names[j]} are parallel"
    centre, miss = meeting_point(w[4:], p[4:])
    if miss > MEETING:
        return (
            f"axes {middle} are parallel, but axes {names[4]} and {names[5]} miss each other "
            f"by {1e3 * miss:.3g} mm"
        )
    for i, j in ((1, 2), (2, 3)):
        off = p[j] - p[i]
        if norm(off - dot(off, w[1]) * w[1]) < MEETING:
            return f"axes {names[i]} and {names[j]} coincide"
    return parallel_geometry(screws, centre, backwards)


def _position_only(screws: Screws) -> Geometry | str:
    point = screws.home[:3, 3]
    off = point - screws.p[2]
    lever = norm(off - dot(off, screws.w[2]) * screws.w[2])
    if screws.revolute[2] and lever < MEETING:
        return (
            "the hand's origin is on the axis of joint 3, which then does not move it; give the arm a "
            "hand beside that axis"
        )
    position = position_geometry(screws, point)
    return Geometry(
        "three joints place the hand's origin", 3, position, None, in_hand(screws, point), False, (1.0,) * 3
    )


def _trial(arm: Arm, geometry: Geometry, q: Floats) -> float:
    """Largest error of the best branch over some configurations."""
    T = forward(arm, q)
    found = branches_of(geometry, T)
    hand = forward(arm, found.reshape(-1, arm.n)).reshape(*found.shape[:2], 4, 4)
    # one pose over all its branches: (3, 4, B, 1) beside (3, 4, B, m)
    wanted, at = np.moveaxis(T, 0, -1)[..., None], np.moveaxis(hand, (0, 1), (2, 3))
    _, squares = pose_error(list(wanted), list(at), attitude=arm.n != 3)
    errors = np.nan_to_num(np.sqrt(np.max(squares, axis=0)), nan=np.inf)
    return float(errors.min(axis=1).max())


def _refusal(arm: Arm, reason: str) -> ModelError:
    return ModelError(
        Sentence(
            f"there is no closed form, as {reason}. ",
            Advice("fa.kinematics.inverse_numeric", "'forearm kinematics --numeric'"),
            " works for any arm.",
        ),
        f"inverse kinematics of {arm.name!r}",
    )
