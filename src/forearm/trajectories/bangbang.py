"""Motion of all joints from one state to another by constant maximal accelerations,
synchronised: one plan or many.

Each joint accelerates fully, holds a velocity, accelerates fully; all take the same time. Waters III. A joint
that starts faster than its limit holds none above it: the first phase brakes it to the limit or below.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import gt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.errors import InputError
from forearm.trajectories.failures import PlanStatus, refuse, statuses
from forearm.trajectories.joint import NEVER, braked, durations, later, phases
from forearm.trajectories.limits import MotionLimits
from forearm.trajectories.switching import Switching
from forearm.trajectories.synchronise import common_duration, common_durations, is_possible
from forearm.values import LARGEST, as_floats, as_shape, check_kind, check_number, frozen_array

Array = NDArray[np.float64]
ROWS = 1024  # plans computed together: what is between the steps stays in the nearest caches
STATES = ("q0", "qd0", "q1", "qd1")


@dataclass(frozen=True, eq=False)
class Plans:
    """Many plans. The first phase of a joint goes from qd0 to the velocity held, the last from there to qd1,
    both at full acceleration.

    Attributes:
        q0, qd0, q1, qd1: states (B, n) from which and to which they go.
        limits: what they were planned within.
        status: (B,), 0 where there is a plan; elsewhere all that follows is NaN.
        duration: of the motions (B,), s.
        held: velocities (B, n) of the second phase.
        phases: times of the three phases of each joint, (B, n, 3), s.
    """

    q0: Array
    qd0: Array
    q1: Array
    qd1: Array
    limits: MotionLimits
    status: NDArray[np.int8]
    duration: Array
    held: Array
    phases: Array

    def __len__(self) -> int:
        return len(self.status)

    @property
    def accelerations(self) -> Array:
        """The accelerations of the three phases, (B, n, 3)."""
        return _accelerations(self.qd0, self.held, self.qd1, self.limits.acceleration)

    def __getitem__(self, index: int) -> Switching:
        """One of them as a motion; an error with the reason where it was not planned."""
        if self.status[index] != PlanStatus.PLANNED:
            raise InputError(f"plans[{index}]: {PlanStatus(int(self.status[index])).reason}.")
        return Switching(
            points=np.stack([self.q0[index], self.q1[index]]),
            velocities=np.stack([self.qd0[index], self.qd1[index]]),
            phases=self.phases[index][None],
            accelerations=self.accelerations[index][None],
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

    All joints take the smallest duration that is possible for every one of them. A joint that starts faster
    than its limit brakes first. Refused with the joint and the reason where there is no motion. Waters III.

    Args:
        q0, qd0: joint coordinates and velocities (n,) at the start.
        q1, qd1: those at the end.
        limits: range, velocity and acceleration of the joints.
        duration: of the motion, s; None: the smallest.
    """
    check_kind(limits, MotionLimits, "bang_bang, limits")
    limits.check_one("bang_bang")
    x0, v0, x1, v1 = (
        frozen_array(value, (limits.n,), f"bang_bang, {name}")
        for name, value in zip(STATES, (q0, qd0, q1, qd1), strict=True)
    )
    # A joint at a time in plain floats: for one plan that costs half of what NumPy's calls do.
    # The bits are the same.
    a, v, lower, upper = limits.rows
    start = [x0.tolist(), v0.tolist()]
    braking = None
    if any(map(gt, map(abs, start[1]), v)):
        *start, braking = map(list, zip(*map(braked, *start, a, v, lower, upper), strict=True))
    ends = [*start, x1.tolist(), v1.tolist(), a, v]
    spans = list(map(durations, *ends, lower, upper))
    if braking is not None:
        spans = list(map(later, spans, braking))
    if duration is None:
        T = common_duration(spans)
        fits = T < NEVER
    else:
        T = check_number(duration, "bang_bang, duration", minimum=0.0)
        fits = all(is_possible(T, *span) for span in spans)
    if not fits:
        refuse((x0, v0, x1, v1), limits, duration, "bang_bang")
    left = [T] * limits.n if braking is None else [T - time for time in braking]
    made = np.array(list(map(phases, *ends, left)))
    if braking is not None:
        made[:, 0] += braking
    return Switching(
        points=np.stack([x0, x1]),
        velocities=np.stack([v0, v1]),
        phases=made[None, :, :3],
        accelerations=_accelerations(v0, made[:, 3], v1, limits.acceleration)[None],
    )


def bang_bang_many(
    q0: ArrayLike,
    qd0: ArrayLike,
    q1: ArrayLike,
    qd1: ArrayLike,
    limits: MotionLimits,
    duration: ArrayLike | None = None,
) -> Plans:
    """Plans from states to states, each the fastest or of its duration.

    A joint that starts faster than its limit brakes first. What cannot be planned is said in the status of
    that plan.

    Args:
        q0, qd0: joint coordinates and velocities (B, n) at the start.
        q1, qd1: those at the end.
        limits: range, velocity and acceleration of the joints, of all plans or a row for each, (B, n).
        duration: of the motions (B,), s; None: the smallest of each.
    """
    check_kind(limits, MotionLimits, "bang_bang_many, limits")
    x0, v0, x1, v1 = states = [
        _states(x, limits.n, name) for name, x in zip(STATES, (q0, qd0, q1, qd1), strict=True)
    ]
    B, n = len(x0), limits.n
    if any(len(state) != B for state in states):
        raise InputError(
            "bang_bang_many: all states must have the same number of rows, got "
            f"{', '.join(str(len(s)) for s in states)}."
        )
    if limits.count not in (None, B):
        raise InputError(f"bang_bang_many, limits: expected one for all, or {B} rows, got {limits.count}.")
    asked = None if duration is None else as_shape(duration, (B,), "bang_bang_many, duration")
    plans = Plans(
        x0, v0, x1, v1, limits, np.zeros(B, np.int8), np.empty(B), np.empty((B, n)), np.empty((B, n, 3))
    )
    for first in range(0, B, ROWS):
        rows = slice(first, min(first + ROWS, B))
        _fill(plans, rows, None if asked is None else asked[rows])
    return plans


def _fill(plans: Plans, rows: slice, asked: Array | None) -> None:
    """Plan these rows; joints first, so that the limits of a joint stand before its row."""
    limits, status = plans.limits, plans.status[rows]
    x0, v0, x1, v1 = (np.ascontiguousarray(getattr(plans, name)[rows].T) for name in STATES)
    a, v, lower, upper = (np.ascontiguousarray(x.T) for x in limits.of(rows))
    known = _are_numbers(x0, v0, x1, v1)
    if not known.all():
        x0, v0, x1, v1 = (np.where(known, x, 0.0) for x in (x0, v0, x1, v1))
    is_slow = (np.abs(v0) <= v).all()
    place, speed, braking = (x0, v0, 0.0) if is_slow else braked(x0, v0, a, v, lower, upper)
    ends = (place, speed, x1, v1, a, v)
    spans = durations(*ends, lower, upper)
    spans = spans if is_slow else later(spans, braking)
    T = common_durations(*spans)
    bad = np.flatnonzero(T >= NEVER)
    if bad.size:
        bounds = limits.of(np.arange(rows.start, rows.stop)[bad])
        status[bad] = statuses((x0.T[bad], v0.T[bad], x1.T[bad], v1.T[bad]), bounds, spans[0].T[bad])
    if asked is not None:
        status[(T < NEVER) & ~is_possible(asked, *spans).all(axis=0)] = PlanStatus.DURATION
        T = np.where(status == PlanStatus.PLANNED, asked, 0.0)
    status[~known] = PlanStatus.NO_NUMBER
    first, *times, held = phases(*ends, T if is_slow else T - braking)
    for i, t in enumerate((first if is_slow else first + braking, *times)):
        plans.phases[rows][..., i] = t.T
    plans.held[rows], plans.duration[rows] = held.T, T
    if status.any():
        for array in (plans.phases, plans.held, plans.duration):
            array[rows][status != PlanStatus.PLANNED] = np.nan


def _accelerations(v0: Array, held: Array, v1: Array, a: Array) -> Array:
    """Those of the three phases, (..., n, 3)."""
    made = np.zeros((*held.shape, 3))
    made[..., 0], made[..., 2] = np.sign(held - v0) * a, np.sign(v1 - held) * a
    return made


def _are_numbers(*states: Array) -> NDArray[np.bool_]:
    """Which plans (B,) can be computed with; NaN compares as false."""
    most = np.abs(states[0])
    for state in states[1:]:
        np.maximum(most, np.abs(state), out=most)
    known: NDArray[np.bool_] = np.all(most <= LARGEST, axis=0)
    return known


def _states(value: ArrayLike, n: int, name: str) -> Array:
    known = isinstance(value, np.ndarray) and value.dtype == np.float64
    # copied once: batches are large
    array = np.array(value) if known else as_floats(value, f"bang_bang_many, {name}")
    if array.ndim != 2 or array.shape[1] != n:
        raise InputError(f"bang_bang_many, {name}: expected shape (B, {n}), got {array.shape}.")
    return array
