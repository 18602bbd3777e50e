"""Why a jerk-limited motion was not planned: a status for each of many, a sentence for one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError
from forearm.spatial import Floats
from forearm.trajectories.jerk_limited.joint import ALLOWED
from forearm.trajectories.jerk_limited.lanes import Lanes, first_durations
from forearm.trajectories.limits import MotionLimits
from forearm.trajectories.plan_status import PlanStatus
from forearm.values import LARGEST


def check_jerk(limits: MotionLimits, what: str) -> None:
    """Refuse limits without a jerk limit."""
    if not limits.has_jerk:
        i = int(np.argwhere(limits.jerk >= LARGEST)[0][-1])
        raise InputError(
            f"must be finite, below {LARGEST:g}; bang_bang plans without a limit of jerk.",
            what,
            "limits",
            f"jerk of joint {i + 1}",
        )


def statuses(lanes: Sequence[Floats], bounds: Floats) -> NDArray[np.int8]:
    """Status of plans without a feasible duration, from the contents of `lanes` as (b, n) each, and bounds
    (2, b, n).
    """
    x0, _, _, x1, v1, a1, v, a, j = lanes
    known = np.logical_and.reduce([(np.abs(x) <= LARGEST).all(axis=1) for x in lanes[:6]])
    made = np.full(len(x0), PlanStatus.NO_NUMBER, np.int8)
    with np.errstate(all="ignore"):
        before = np.abs(v1 - 0.5 * a1 * np.abs(a1) / j)
        hard = (np.abs(a1) > a * ALLOWED) | (before > v * ALLOWED)
        made[known & hard.any(axis=1)] = PlanStatus.TOO_HARD
        outside = (np.minimum(x0, x1) < bounds[0]) | (np.maximum(x0, x1) > bounds[1])
        made[known & outside.any(axis=1)] = PlanStatus.OUT_OF_RANGE
        made[known & (np.abs(v1) > v * ALLOWED).any(axis=1)] = PlanStatus.TOO_FAST
    return made


def refuse(
    lanes: Lanes, limits: MotionLimits, asked: float | None, places: Floats | None, what: str
) -> NoReturn:
    """Raise the error that names the infeasible joint of one plan, and the reason; `places` are the minimum
    and maximum positions, (n, 2), of a motion that leaves the range.
    """
    n = limits.n
    bounds, shortest = np.stack([limits.lower, limits.upper]), first_durations(lanes, np.zeros((n, 1)))[:, 0]
    codes = statuses(lanes, bounds[..., None])
    wrong = (codes != PlanStatus.NO_NUMBER) | ~np.isfinite(shortest)
    if wrong.any():
        i = int(wrong.argmax())
        low, high = bounds[:, i].tolist()
        x0, _, _, x1, v1, a1, v, a, j = (float(x[i, 0]) for x in lanes)
        said = {
            PlanStatus.TOO_FAST: f"{v1!r}, allowed {v!r}. Use a lower velocity.",
            PlanStatus.OUT_OF_RANGE: (
                f"{x0!r} and {x1!r}, allowed {low!r} to {high!r}, in rad (m). Use other points."
            ),
            PlanStatus.TOO_HARD: (
                f"{a1!r}, from velocity {v1 - 0.5 * a1 * abs(a1) / j:.6g}, allowed {a!r} and {v!r}. Use a "
                "lower acceleration."
            ),
            PlanStatus.NO_NUMBER: "use smaller numbers.",
        }
        status = PlanStatus(int(codes[i]))
        raise InputError(f"{status.reason}: {said[status]}", what, f"joint {i + 1}")
    if places is not None:
        i = int(np.argmax((places[:, 0] < limits.lower) | (places[:, 1] > limits.upper)))
        low, high = bounds[:, i].tolist()
        raise InputError(
            f"{PlanStatus.NO_ROOM.reason}: it goes from {places[i, 0]:.6g} to "
            f"{places[i, 1]:.6g}, allowed {low!r} to {high!r}. Use lower velocities and "
            "accelerations.",
            what,
            f"joint {i + 1}",
        )
    assert asked is not None
    after = first_durations(lanes, np.full((n, 1), asked))[:, 0]
    late = after > asked * (1.0 + 1e-12)
    if late.any():
        i = int(late.argmax())
        next_one = "" if shortest[i] > asked else f", and after {asked!r} s from {after[i]:.6g} s"
        raise InputError(
            f"{PlanStatus.DURATION.reason}: got {asked!r} s; feasible from {shortest[i]:.6g} s{next_one}.",
            what,
            f"joint {i + 1}",
        )
    raise InputError(f"{PlanStatus.DURATION.reason}: got {asked!r} s.", what, "duration")
