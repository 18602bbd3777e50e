"""Why planning failed: a number for each of many, a sentence with the joint for one."""

from __future__ import annotations

from enum import IntEnum
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError
from forearm.trajectories.joint import NEVER, braked, durations, later
from forearm.trajectories.limits import MotionLimits
from forearm.trajectories.synchronise import is_possible

Array = NDArray[np.float64]


class PlanStatus(IntEnum):
    """Whether planning succeeded, or why it failed."""

    PLANNED = 0
    NO_NUMBER = 1
    TOO_FAST = 2
    OUT_OF_RANGE = 3
    NO_ROOM = 4
    NOTHING_COMMON = 5
    DURATION = 6

    @property
    def reason(self) -> str:
        """The status in words."""
        return REASONS[self]


REASONS = {
    PlanStatus.PLANNED: "planned",
    PlanStatus.NO_NUMBER: "a number of the request is not finite, or above 1e30",
    PlanStatus.TOO_FAST: "the end is faster than the joint may move",
    PlanStatus.OUT_OF_RANGE: "the start or the end lies outside of the joint's range",
    PlanStatus.NO_ROOM: "the joint would have to turn round outside of its range",
    PlanStatus.NOTHING_COMMON: (
        "no duration is possible for all joints: this one cannot be so slow within its range"
    ),
    PlanStatus.DURATION: "the duration asked for is not possible",
}


def statuses(
    states: tuple[Array, Array, Array, Array], limits: tuple[Array, Array, Array, Array], shortest: Array
) -> NDArray[np.int8]:
    """Why plans between states (B, n) within limits (B, n) or (1, n) (acceleration, velocity, lower, upper)
    have no duration, given the shortest (B, n) of each joint, NEVER where there is none.
    """
    x0, _, x1, v1 = states
    _, velocity, lower, upper = limits
    made = np.full(len(x0), PlanStatus.NOTHING_COMMON, np.int8)
    made[(shortest >= NEVER).any(axis=1)] = PlanStatus.NO_ROOM
    outside = (x0 < lower) | (x0 > upper) | (x1 < lower) | (x1 > upper)
    made[outside.any(axis=1)] = PlanStatus.OUT_OF_RANGE
    made[(np.abs(v1) > velocity).any(axis=1)] = PlanStatus.TOO_FAST
    return made


def refuse(
    states: tuple[Array, Array, Array, Array], limits: MotionLimits, asked: float | None, what: str
) -> NoReturn:
    """Raise the error that says which joint of one plan stands in the way, and how."""
    x0, v0, x1, v1 = states
    a, v, lower, upper = limits.acceleration, limits.velocity, limits.lower, limits.upper
    place, speed, braking = braked(x0, v0, a, v, lower, upper)
    spans = later(durations(place, speed, x1, v1, a, v, lower, upper), braking)
    status, i = _first_in_the_way(states, limits, spans, asked)
    low, high, fastest = float(limits.lower[i]), float(limits.upper[i]), float(limits.velocity[i])
    shortest, start, end = (float(span[i]) for span in spans)
    if status == PlanStatus.TOO_FAST:
        said = f"{float(v1[i])!r}, allowed {fastest!r}. Give a lower velocity."
    elif status == PlanStatus.OUT_OF_RANGE:
        said = (
            f"{float(x0[i])!r} and {float(x1[i])!r}, allowed {low!r} to {high!r}, in rad "
            "(m). Give other points."
        )
    elif status == PlanStatus.NO_ROOM:
        first, last = x0[i] + 0.5 * v0[i] * abs(v0[i]) / a[i], x1[i] - 0.5 * v1[i] * abs(v1[i]) / a[i]
        said = (
            f"it stops at {first:.6g} and starts back from {last:.6g}, allowed {low!r} to {high!r}. "
            "Give lower velocities."
        )
    elif status == PlanStatus.DURATION:
        gap = (
            ""
            if end <= start
            else f" but not from {start:.6g} to {end:.6g} s"
            if end < NEVER
            else f" to {start:.6g} s only"
        )
        said = f"got {asked!r} s; possible from {shortest:.6g} s on{gap}."
    else:
        said = f"at most {start:.6g} s, another needs {float(spans[0].max()):.6g} s. Give lower velocities."
    raise InputError(f"{what}, joint {i + 1}: {status.reason}: {said}")


def _first_in_the_way(
    states: tuple[Array, Array, Array, Array],
    limits: MotionLimits,
    spans: tuple[Array, Array, Array],
    asked: float | None,
) -> tuple[PlanStatus, int]:
    x0, _, x1, v1 = states
    for i in range(limits.n):
        if abs(v1[i]) > limits.velocity[i]:
            return PlanStatus.TOO_FAST, i
        if min(x0[i], x1[i]) < limits.lower[i] or max(x0[i], x1[i]) > limits.upper[i]:
            return PlanStatus.OUT_OF_RANGE, i
        if spans[0][i] >= NEVER:
            return PlanStatus.NO_ROOM, i
    if asked is not None:
        return PlanStatus.DURATION, int(np.argmin(is_possible(asked, *spans)))
    return PlanStatus.NOTHING_COMMON, int(np.argmin(np.where(spans[2] >= NEVER, spans[1], NEVER)))
