"""One motion under limits of velocity, acceleration and jerk, synchronised."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from forearm.spatial import Floats
from forearm.trajectories.jerk_limited.compiled_joint import (
    STATES,
    duration_function,
    extremes_function,
    phases_function,
)
from forearm.trajectories.jerk_limited.failures import check_jerk, refuse
from forearm.trajectories.jerk_limited.lanes import Lanes, common_durations, leaves_range
from forearm.trajectories.jerk_limited.motion import JerkMotion
from forearm.trajectories.joint import NEVER
from forearm.trajectories.limits import MotionLimits
from forearm.values import check_kind, check_number, frozen_array

FLOAT = np.dtype(np.float64)


def jerk_limited(
    q0: ArrayLike,
    qd0: ArrayLike,
    qdd0: ArrayLike,
    q1: ArrayLike,
    qd1: ArrayLike,
    qdd1: ArrayLike,
    limits: MotionLimits,
    duration: float | None = None,
) -> JerkMotion:
    """The fastest synchronised jerk-limited motion between two states, or one of a given duration.

    All joints take the shortest duration feasible for every one of them; faster joints use less jerk. A joint
    that starts beyond its limits of velocity or acceleration brakes first. An infeasible motion, or one that
    leaves the range of a joint, is refused with the joint and the reason.

    Args:
        q0, qd0, qdd0: joint coordinates, velocities and accelerations (n,) at the start.
        q1, qd1, qdd1: those at the end.
        limits: range, velocity, acceleration and jerk of the joints.
        duration: of the motion, s; None: the shortest.
    """
    if type(limits) is not MotionLimits:
        check_kind(limits, MotionLimits, "jerk_limited, limits")
    limits.check_one("jerk_limited")
    check_jerk(limits, "jerk_limited")
    n = limits.n
    given: tuple[Any, ...] = (q0, qd0, qdd0, q1, qd1, qdd1)
    for x in given:
        if type(x) is not np.ndarray or x.dtype != FLOAT or x.shape != (n,):
            given = _converted(given, n)
            break
    ends = np.concatenate(given).reshape(6, n, 1)
    lanes = (*ends, *limits.columns)
    if duration is None:
        times, again = duration_function().call(*lanes, np.zeros((n, 1))).T.tolist()
        T = max(times)
        is_free = not any(again) and T < NEVER
    else:
        T, is_free = check_number(duration, "jerk_limited, duration", minimum=0.0), True
    asked = np.empty((n, 1))
    asked.fill(T)
    phases, jerks, blocked = phases_function().call(*lanes, asked)
    if not is_free or any(blocked.ravel().tolist()) or not T < NEVER:
        _converted(tuple(ends[:, :, 0]), n)
        T = NEVER if duration is not None else float(common_durations(lanes, n, np.zeros(1))[0])
        if not T < NEVER:
            refuse(lanes, limits, duration, None, "jerk_limited")
        asked.fill(T)
        phases, jerks, _ = phases_function().call(*lanes, asked)
    if limits.is_bounded:
        _check_range(lanes, limits, phases, jerks)
    for array in (ends, phases, jerks, asked):
        array.setflags(write=False)  # the motion has views of it
    points, velocities, accelerations = ends[::3, :, 0], ends[1::3, :, 0], ends[2::3, :, 0]
    return JerkMotion.frozen(points, velocities, accelerations, phases[None], jerks[None], asked[0])


def _converted(given: tuple[Any, ...], n: int) -> tuple[Floats, ...]:
    """States as arrays of n numbers, or an error that names the invalid one."""
    named = zip(STATES, given, strict=True)
    return tuple(frozen_array(x, (n,), f"jerk_limited, {name}") for name, x in named)


def _check_range(lanes: Lanes, limits: MotionLimits, phases: Floats, jerks: Floats) -> None:
    """Refuse end states outside a joint's range, and a motion that leaves it."""
    if leaves_range(lanes, phases, jerks, limits.lower, limits.upper).any():
        places = extremes_function().call(*lanes[:3], phases, jerks)
        refuse(lanes, limits, None, places, "jerk_limited")
