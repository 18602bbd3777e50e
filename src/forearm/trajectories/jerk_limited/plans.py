"""Many jerk-limited motions between pairs of states."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.errors import InputError
from forearm.spatial import Floats
from forearm.trajectories.bangbang import many_states
from forearm.trajectories.jerk_limited.compiled_joint import STATES
from forearm.trajectories.jerk_limited.failures import check_jerk, statuses
from forearm.trajectories.jerk_limited.joint import PHASES
from forearm.trajectories.jerk_limited.lanes import (
    Lanes,
    common_durations,
    first_durations,
    leaves_range,
    of_plans,
    phases_of,
)
from forearm.trajectories.jerk_limited.motion import JerkMotion
from forearm.trajectories.joint import NEVER
from forearm.trajectories.limits import MotionLimits
from forearm.trajectories.plan_status import PlanStatus
from forearm.values import frozen

ROWS = 1024  # plans per block, so that intermediate results fit into the cache


@frozen
class JerkPlans:
    """Many plans.

    Attributes:
        q0, qd0, qdd0, q1, qd1, qdd1: start and end states (B, n).
        limits: limits of the plans.
        status: (B,), 0 if planned; otherwise all following fields are NaN.
        duration: of the motions (B,), s.
        phases: durations of the phases of constant jerk of each joint, (B, n, 15), s; many are 0.
        jerks: in these phases (B, n, 15).
    """

    q0: Floats
    qd0: Floats
    qdd0: Floats
    q1: Floats
    qd1: Floats
    qdd1: Floats
    limits: MotionLimits
    status: NDArray[np.int8]
    duration: Floats
    phases: Floats
    jerks: Floats

    def __len__(self) -> int:
        return len(self.status)

    def __getitem__(self, index: int) -> JerkMotion:
        """One plan as a motion; an error with the reason if it failed."""
        if self.status[index] != PlanStatus.PLANNED:
            raise InputError(f"{PlanStatus(int(self.status[index])).reason}.", f"plans[{index}]")
        return JerkMotion(
            points=np.stack([self.q0[index], self.q1[index]]),
            velocities=np.stack([self.qd0[index], self.qd1[index]]),
            accelerations=np.stack([self.qdd0[index], self.qdd1[index]]),
            phases=self.phases[index][None],
            jerks=self.jerks[index][None],
            segments=self.duration[index][None],
        )


def jerk_limited_many(
    q0: ArrayLike,
    qd0: ArrayLike,
    qdd0: ArrayLike,
    q1: ArrayLike,
    qd1: ArrayLike,
    qdd1: ArrayLike,
    limits: MotionLimits,
    duration: ArrayLike | None = None,
) -> JerkPlans:
    """Jerk-limited plans between many pairs of states, each the fastest or of its given duration.

    As in `jerk_limited`. The status of each plan reports why it failed, if it did.

    Args:
        q0, qd0, qdd0: joint coordinates, velocities and accelerations (B, n) at the start.
        q1, qd1, qdd1: those at the end.
        limits: range, velocity, acceleration and jerk of the joints, for all plans or one row each, (B, n).
        duration: of the motions (B,), s; None: the shortest of each.
    """
    what = "jerk_limited_many"
    given = dict(zip(STATES, (q0, qd0, qdd0, q1, qd1, qdd1), strict=True))
    (x0, v0, a0, x1, v1, a1), asked = many_states(what, given, limits, duration)
    check_jerk(limits, what)
    B, n = x0.shape
    shape = (B, n, PHASES)
    made = np.zeros(B, np.int8), np.empty(B), np.empty(shape), np.empty(shape)
    plans = JerkPlans(x0, v0, a0, x1, v1, a1, limits, *made)
    repeated = None
    if limits.count is None:
        repeated = [np.tile(x, (min(B, ROWS), 1)) for x in limits.columns]
    for first in range(0, B, ROWS):
        rows = slice(first, min(first + ROWS, B))
        lanes = [getattr(plans, name)[rows].reshape(-1, 1) for name in STATES]
        count = len(lanes[0])
        within = [x[rows.start * n : rows.stop * n] for x in limits.columns] if repeated is None else repeated
        _fill(plans, rows, [*lanes, *(x[:count] for x in within)], None if asked is None else asked[rows])
    return plans


def _fill(plans: JerkPlans, rows: slice, lanes: Lanes, asked: Floats | None) -> None:
    """Plan these rows."""
    limits, status = plans.limits, plans.status[rows]
    n, b = limits.n, rows.stop - rows.start
    made = (
        plans.phases[rows].reshape(-1, PHASES),
        plans.jerks[rows].reshape(-1, PHASES),
        np.empty((b * n, 1)),
    )
    T = np.maximum.reduce(first_durations(lanes, np.zeros((b * n, 1))).reshape(b, n), axis=1)
    good = T < NEVER
    if not good.all():
        of_rows = [x.reshape(b, n)[~good] for x in lanes]
        status[~good] = statuses(of_rows, _range(limits, rows)[:, ~good])
        T[~good] = 0.0
    if asked is not None:
        T = np.where(good & (asked >= 0.0) & (asked < NEVER), asked, 0.0)
    phases_of(lanes, np.repeat(T, n)[:, None], made)
    blocked = np.flatnonzero((made[2].reshape(b, n) > 0.0).any(axis=1) & good)
    if asked is not None:
        status[blocked] = PlanStatus.DURATION
        status[good & ~((asked >= 0.0) & (asked < NEVER))] = PlanStatus.DURATION
    elif blocked.size:
        mine = of_plans(lanes, blocked, n)
        T[blocked] = common_durations(mine, n, T[blocked])
        again = phases_of(mine, np.repeat(T[blocked], n)[:, None])
        for array, new in zip(made[:2], again[:2], strict=True):
            array.reshape(b, n, PHASES)[blocked] = new.reshape(-1, n, PHASES)
    if limits.is_bounded:
        _check_range(plans, rows, lanes, *made[:2])
    plans.duration[rows] = T
    if status.any():
        for result in (plans.duration, plans.phases, plans.jerks):
            result[rows][status != PlanStatus.PLANNED] = np.nan


def _check_range(plans: JerkPlans, rows: slice, lanes: Lanes, phases: Floats, jerks: Floats) -> None:
    """Set the status of plans that leave the range of a joint."""
    n, status = plans.limits.n, plans.status[rows]
    lower, upper = _range(plans.limits, rows)
    x0, x1 = (lanes[i].reshape(-1, n) for i in (0, 3))
    ends = ((x0 < lower) | (x0 > upper) | (x1 < lower) | (x1 > upper)).any(axis=1)
    bounds = [np.broadcast_to(x, x0.shape).reshape(-1) for x in (lower, upper)]
    left = leaves_range(lanes, phases, jerks, *bounds).reshape(-1, n).any(axis=1)
    planned = status == PlanStatus.PLANNED
    status[planned & left] = PlanStatus.NO_ROOM
    status[planned & ends] = PlanStatus.OUT_OF_RANGE


def _range(limits: MotionLimits, rows: slice) -> Floats:
    """Lower and upper bounds of these plans, (2, b, n)."""
    b = rows.stop - rows.start
    pair = (limits.lower, limits.upper)
    return np.stack([np.broadcast_to(x if x.ndim == 1 else x[rows], (b, limits.n)) for x in pair])
