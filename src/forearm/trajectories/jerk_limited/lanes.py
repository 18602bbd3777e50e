"""Synchronised plans, one lane per joint: the shortest duration feasible for all joints of a plan, their
phases, and whether they stay in range.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from forearm.spatial import Flags, Floats, Indices
from forearm.trajectories.jerk_limited.compiled_joint import (
    duration_function,
    extremes_function,
    phases_function,
)
from forearm.trajectories.joint import NEVER

Lanes = Sequence[Floats]  # q0, qd0, qdd0, q1, qd1, qdd1, velocity, acceleration, jerk, (m, 1) each
# intervals of a joint, at most: the gap of its change of velocity and, before and after that, one in which
# the distance is too long and one in which it is too short, f of `duration` being concave and then convex
BLOCKED = 5
CLOSE = 2.0**-44  # relative: durations that differ by less are equal


def first_durations(lanes: Lanes, after: Floats) -> Floats:
    """The first feasible duration from `after` (m, 1) on of each joint, (m, 1)."""
    found: Floats = duration_function().call(*lanes, after)
    T = found[:, :1]
    again = found[:, 1] > 0.0
    if again.any():
        # T is the end of the gap, after which there is no other
        T = np.array(T)
        T[again] = duration_function().call(*(x[again] for x in lanes), T[again])[:, :1]
    return T


def common_durations(lanes: Lanes, n: int, after: Floats) -> Floats:
    """The first duration from `after` (b,) on that is feasible for all n joints of each plan, (b,); NEVER or
    NaN if there is none.
    """
    T = np.array(after)
    rows = np.arange(len(T))
    for _ in range(BLOCKED * n + 1):
        mine = of_plans(lanes, rows, n)
        first = first_durations(mine, np.repeat(T[rows], n)[:, None]).reshape(-1, n)
        later = np.maximum.reduce(first, axis=1)
        moved = later > T[rows] * (1.0 + CLOSE)
        T[rows] = later
        # a joint that can take its own duration may not be able to take that of another
        rows = rows[moved & (np.minimum.reduce(first, axis=1) < later) & (later < NEVER)]
        if not rows.size:
            break
    return T


def phases_of(
    lanes: Lanes, T: Floats, out: tuple[Floats, Floats, Floats] | None = None
) -> tuple[Floats, ...]:
    """Durations of phases (m, 15), jerks in them (m, 15) and whether the duration is infeasible (m, 1), for
    durations (m, 1).
    """
    call = phases_function().call
    made: tuple[Floats, ...] = call(*lanes, T) if out is None else call(*lanes, T, out=out)
    return made


def places_of(lanes: Lanes) -> Floats:
    """Minimum and maximum position of each joint, (n, 2), on the fastest motion of one plan."""
    n = len(lanes[0])
    T = np.repeat(common_durations(lanes, n, np.zeros(1)), n)[:, None]
    phases, jerks, _ = phases_of(lanes, T)
    places: Floats = extremes_function().call(*lanes[:3], phases, jerks)
    return places


def leaves_range(lanes: Lanes, phases: Floats, jerks: Floats, lower: Floats, upper: Floats) -> Flags:
    """Whether joints leave their range (m,) by more than rounding."""
    places: Floats = extremes_function().call(*lanes[:3], phases, jerks)
    doubt = 1e-12 * (np.abs(lanes[0][:, 0]) + np.abs(lanes[3][:, 0]) + (places[:, 1] - places[:, 0]))
    return (places[:, 0] < lower - doubt) | (places[:, 1] > upper + doubt)


def of_plans(lanes: Lanes, plans: Indices, n: int) -> Lanes:
    """The lanes of these plans."""
    if len(plans) * n == len(lanes[0]):
        return lanes
    rows = (plans[:, None] * n + np.arange(n)).ravel()
    return [x[rows] for x in lanes]
