"""Synchronised bang-bang motions of all joints between two states at maximum acceleration: one plan or many.

Each joint accelerates at its limit, holds a velocity, and accelerates at its limit again; all take the same
time. Waters III. A joint that starts above its velocity limit brakes to the limit or below in the first
phase.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.errors import InputError
from forearm.spatial import Floats
from forearm.trajectories.compiled_planner import STATES, planned
from forearm.trajectories.failures import refuse
from forearm.trajectories.limits import MotionLimits
from forearm.trajectories.plan_status import PlanStatus
from forearm.trajectories.switching import Switching
from forearm.trajectories.synchronise import accelerations
from forearm.values import as_floats, as_shape, check_kind, check_number, frozen, frozen_array

ROWS = 1024  # plans per block, so that intermediate results fit into the cache


@frozen
class Plans:
    """Many plans. The first phase of a joint goes from qd0 to the velocity held, the last from there to qd1,
    both at maximum acceleration.

    Attributes:
        q0, qd0, q1, qd1: start and end states (B, n).
        limits: limits of the plans.
        status: (B,), 0 if planned; otherwise all following fields are NaN.
        duration: of the motions (B,), s.
        held: velocities (B, n) of the second phase.
        phases: durations of the three phases of each joint, (B, n, 3), s.
    """

    q0: Floats
    qd0: Floats
    q1: Floats
    qd1: Floats
    limits: MotionLimits
    status: NDArray[np.int8]
    duration: Floats
    held: Floats
    phases: Floats

    def __len__(self) -> int:
        return len(self.status)

    @property
    def accelerations(self) -> Floats:
        """The accelerations of the three phases, (B, n, 3)."""
        return self._accelerations(slice(None))

    def _accelerations(self, rows: slice | int) -> Floats:
        a, held = self.limits.acceleration, self.held[rows]
        made = np.zeros((*held.shape, 3))
        made[..., 0], made[..., 2] = accelerations(
            self.qd0[rows], held, self.qd1[rows], a[rows] if a.ndim == 2 else a
        )
        return made

    def __getitem__(self, index: int) -> Switching:
        """One plan as a motion; an error with the reason if it failed."""
        if self.status[index] != PlanStatus.PLANNED:
            raise InputError(f"{PlanStatus(int(self.status[index])).reason}.", f"plans[{index}]")
        return Switching(
            points=np.stack([self.q0[index], self.q1[index]]),
            velocities=np.stack([self.qd0[index], self.qd1[index]]),
            phases=self.phases[index][None],
            accelerations=self._accelerations(index)[None],
        )


def bang_bang(
    q0: ArrayLike,
    qd0: ArrayLike,
    q1: ArrayLike,
    qd1: ArrayLike,
    limits: MotionLimits,
    duration: float | None = None,
) -> Switching:
    """The fastest synchronised motion from (q0, qd0) to (q1, qd1), or one of a given duration.

    All joints take the shortest duration feasible for every one of them. A joint that starts above its
    velocity limit brakes first. An infeasible motion is refused with the joint and the reason. Waters III.

    Args:
        q0, qd0: joint coordinates and velocities (n,) at the start.
        q1, qd1: those at the end.
        limits: range, velocity and acceleration of the joints.
        duration: of the motion, s; None: the shortest.
    """
    check_kind(limits, MotionLimits, "bang_bang, limits")
    limits.check_one("bang_bang")
    n = limits.n
    points, velocities = np.empty((2, n)), np.empty((2, n))
    states = points[0], velocities[0], points[1], velocities[1]
    for name, row, value in zip(STATES, states, (q0, qd0, q1, qd1), strict=True):
        is_row = type(value) is np.ndarray and value.dtype == np.float64 and value.shape == (n,)
        row[:] = value if is_row else as_shape(value, (n,), f"bang_bang, {name}")
    asked = None
    if duration is not None:
        asked = np.array([check_number(duration, "bang_bang, duration", minimum=0.0)])
    status, _, _, phases, rates = planned((*states, *limits.arrays), asked)
    if status[0] != 0.0:  # also if it is NaN
        for name, row in zip(STATES, states, strict=True):
            frozen_array(row, (n,), f"bang_bang, {name}")
        refuse(states, limits, duration, "bang_bang")
    return Switching(points, velocities, phases[None], rates[None])


def bang_bang_many(
    q0: ArrayLike,
    qd0: ArrayLike,
    q1: ArrayLike,
    qd1: ArrayLike,
    limits: MotionLimits,
    duration: ArrayLike | None = None,
) -> Plans:
    """Plans between many pairs of states, each the fastest or of its given duration.

    A joint that starts above its velocity limit brakes first. The status of each plan reports why it failed,
    if it did.

    Args:
        q0, qd0: joint coordinates and velocities (B, n) at the start.
        q1, qd1: those at the end.
        limits: range, velocity and acceleration of the joints, for all plans or one row each, (B, n).
        duration: of the motions (B,), s; None: the shortest of each.
    """
    states = dict(zip(STATES, (q0, qd0, q1, qd1), strict=True))
    (x0, v0, x1, v1), asked = many_states("bang_bang_many", states, limits, duration)
    B, n = x0.shape
    plans = Plans(
        x0, v0, x1, v1, limits, np.zeros(B, np.int8), np.empty(B), np.empty((B, n)), np.empty((B, n, 3))
    )
    if asked is not None:
        asked = np.where(np.isfinite(asked), asked, -1.0)[:, None]  # an infeasible duration for any joint
    _fill(plans, asked)
    return plans


def _fill(plans: Plans, asked: Floats | None) -> None:
    """Plan all rows, in blocks; shared limits are repeated once, for the rows of one block."""
    limits, most = plans.limits, min(len(plans), ROWS)
    shared = None
    if limits.count is None:
        shared = np.empty((4, most, limits.n))
        for bound, values in zip(shared, limits.arrays, strict=True):
            bound[:] = values
    status, rates = np.empty((most, 1)), np.empty((most, limits.n, 3))
    for first in range(0, len(plans), ROWS):
        rows = slice(first, min(first + ROWS, len(plans)))
        block = slice(0, rows.stop - first)
        bounds = [x[rows] for x in limits.arrays] if shared is None else shared[:, block]
        results = plans.duration[rows, None], plans.held[rows], plans.phases[rows]
        planned(
            (plans.q0[rows], plans.qd0[rows], plans.q1[rows], plans.qd1[rows], *bounds),
            None if asked is None else asked[rows],
            (status[block], *results, rates[block]),
        )
        if status[block].any():
            codes = status[block, 0]
            plans.status[rows] = np.where(np.isnan(codes), PlanStatus.NO_NUMBER, codes)
            for array in results:
                array[codes != PlanStatus.PLANNED] = np.nan


def many_states(
    what: str, states: Mapping[str, ArrayLike], limits: MotionLimits, duration: ArrayLike | None
) -> tuple[list[Floats], Floats | None]:
    """States (B, n) and durations (B,) of many plans, checked."""
    check_kind(limits, MotionLimits, f"{what}, limits")
    arrays: list[Floats] = []
    for name, value in states.items():
        known = isinstance(value, np.ndarray) and value.dtype == np.float64
        # copied once: batches are large
        array = (
            np.array(value, order="C") if known else np.ascontiguousarray(as_floats(value, f"{what}, {name}"))
        )
        rows = len(arrays[0]) if arrays else "B"
        if array.ndim != 2 or array.shape[1] != limits.n or rows not in ("B", len(array)):
            raise InputError(f"expected shape ({rows}, {limits.n}), got {array.shape}.", what, name)
        arrays.append(array)
    B = len(arrays[0])
    if limits.count not in (None, B):
        raise InputError(f"expected one for all, or {B} rows, got {limits.count}.", what, "limits")
    return arrays, None if duration is None else as_shape(duration, (B,), f"{what}, duration")
