"""Planning status: success or the reason of failure, a number for each plan."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum

from forearm.symbols.scalars import Scalar, choose, maximum
from forearm.trajectories.joint import NEVER
from forearm.values import LARGEST

BEYOND = math.nextafter(LARGEST, math.inf)  # the smallest number that is too large


class PlanStatus(IntEnum):
    """Planning status: success or the reason of failure."""

    PLANNED = 0
    NO_NUMBER = 1
    TOO_FAST = 2
    OUT_OF_RANGE = 3
    NO_ROOM = 4
    NOTHING_COMMON = 5
    DURATION = 6
    TOO_HARD = 7

    @property
    def reason(self) -> str:
        """The status in words."""
        return REASONS[self]


REASONS = {
    PlanStatus.PLANNED: "planned",
    PlanStatus.NO_NUMBER: "a number of the request is not finite, or above 1e30",
    PlanStatus.TOO_FAST: "the end velocity exceeds the joint's limit",
    PlanStatus.OUT_OF_RANGE: "the start or the end lies outside the joint's range",
    PlanStatus.NO_ROOM: "the joint would have to reverse outside its range",
    PlanStatus.NOTHING_COMMON: ("no common duration: this joint cannot be that slow within its range"),
    PlanStatus.DURATION: "the requested duration is not feasible",
    PlanStatus.TOO_HARD: (
        "the end accelerates more than the joint may, or comes from a velocity at which it may not move"
    ),
}


def status_of(
    states: Sequence[Sequence[Scalar]],
    limits: Sequence[Sequence[Scalar]],
    shortest: Sequence[Scalar],
    T: Scalar,
    impossible: Scalar,
) -> Scalar:
    """The status as a number, from joint states (q0, qd0, q1, qd1), limits (acceleration, velocity, lower,
    upper) and shortest durations, one per joint, the shortest common duration T, NEVER if there is none, and
    whether the requested one is `impossible` (1, else 0).
    """
    unknown = too_fast = outside = longest = 0.0
    for x0, v0, x1, v1, (_, v, lower, upper), least in zip(
        *states, zip(*limits, strict=True), shortest, strict=True
    ):
        for x in (x0, v0, x1, v1):
            unknown = choose(abs(x), BEYOND, unknown, 1.0)  # NaN compares as false
        too_fast = choose(v, abs(v1), 1.0, too_fast)
        for x in (x0, x1):
            outside = choose(x, lower, 1.0, choose(upper, x, 1.0, outside))
        longest = maximum(longest, least)
    none = choose(longest, NEVER, float(PlanStatus.NOTHING_COMMON), float(PlanStatus.NO_ROOM))
    none = choose(0.0, outside, float(PlanStatus.OUT_OF_RANGE), none)
    none = choose(0.0, too_fast, float(PlanStatus.TOO_FAST), none)
    status = choose(T, NEVER, float(PlanStatus.DURATION) * impossible, none)
    return choose(0.0, unknown, float(PlanStatus.NO_NUMBER), status)
