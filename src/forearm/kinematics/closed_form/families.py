"""Branches of one pose with the families of its singular ones: members within the limits, and nearest to a
configuration.
"""

from __future__ import annotations

import numpy as np

from forearm.arm.arm import Arm
from forearm.kinematics.closed_form.checked import Checked
from forearm.kinematics.closed_form.polishing import polished
from forearm.kinematics.closed_form.singular import DOUBLE_ROOT, free_joints, is_singular
from forearm.kinematics.closed_form.solver import REACHED, solver_of
from forearm.kinematics.limits import differences, limits_of, placed
from forearm.kinematics.numerical import inverse_numeric
from forearm.spatial import Flags, Floats

# Tolerance of a family member sought within the limits (m, rad), and number of starts.
FOUND = 1e-11
STARTS = 4


def gathered(arm: Arm, T: Floats, found: Checked, limits: bool, near: Floats | None) -> Checked:
    """The branches of the pose, with a family member within the limits if there is one, and the member
    reached from `near`.
    """
    given = Checked._make(values[0] for values in found)
    for k in np.flatnonzero(given.free.any(axis=-1) & ~given.inside):
        if not (_family(arm, given, given.q[k], given.free[k]) & given.inside).any():
            given = _brought_inside(arm, T, given, given.q[k])
    if near is not None and given.singular.any():
        given = with_solutions_from(arm, T, given, near, limits, near)
    return given


def with_solutions_from(
    arm: Arm, T: Floats, given: Checked, start: Floats, limits: bool, near: Floats | None
) -> Checked:
    """The branches with the solution that Newton's steps from a configuration (n,) reach, if valid."""
    q, error = polished(arm, start[None], T[None], nearly=np.inf)
    q, inside = placed(arm, q, limits, near)
    return _with(arm, T, given, q[0]) if error[0] < REACHED and inside[0] else given


def _brought_inside(arm: Arm, T: Floats, given: Checked, q: Floats) -> Checked:
    """The branches with a solution within the limits, sought from one (n,) outside."""
    start = np.clip(q, *limits_of(arm))
    found = inverse_numeric(arm, T, start=start, position_only=arm.n == 3, tolerance=FOUND, starts=STARTS)
    return _with(arm, T, given, found.q) if found.solved else given


def _with(arm: Arm, T: Floats, given: Checked, chosen: Floats) -> Checked:
    """The branches with another solution (n,), which replaces the nearest of its family: one member
    represents it.
    """
    is_odd = bool(is_singular(arm, chosen[None])[0])
    if not is_odd and given.inside.any():
        return given  # it is already among the branches
    free = free_joints(arm, chosen[None], T[None])[0] & is_odd
    family = np.flatnonzero(_family(arm, given, chosen, free))
    here, certain = np.array([True]), np.array([solver_of(arm).is_exact])
    new = Checked(chosen[None], here, here, np.array([is_odd]), certain, free[None], given.doubtful)
    at = len(given.q)
    if family.size:
        counted = family[given.inside[family]]
        family = counted if counted.size else family
        at = int(family[np.argmin((differences(arm, given.q[family], chosen) ** 2).sum(axis=-1))])
    return Checked._make(
        np.concatenate([old[:at], one, old[at + 1 :]]) if old.ndim else old
        for old, one in zip(given, new, strict=True)
    )


def _family(arm: Arm, given: Checked, q: Floats, free: Flags) -> Flags:
    """The singular branches (m,) that differ from a solution (n,) only in its free joints."""
    apart = differences(arm, given.q, q)
    family: Flags = given.exists & given.singular & ((apart < DOUBLE_ROOT) | free).all(axis=-1)
    return family
