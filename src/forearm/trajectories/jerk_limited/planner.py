"""One motion under limits of velocity, acceleration and jerk, synchronised."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.trajectories.jerk_limited.compiled_joint import STATES, extremes_function
from forearm.trajectories.jerk_limited.failures import check_jerk, refuse
from forearm.trajectories.jerk_limited.lanes import (
    common_durations,
    first_durations,
    leaves_range,
    phases_of,
)
from forearm.trajectories.jerk_limited.motion import JerkMotion
from forearm.trajectories.joint import NEVER
from forearm.trajectories.limits import MotionLimits
from forearm.values import check_kind, check_number, frozen_array

Array = NDArray[np.float64]


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
    """The fastest synchronised motion from one state to another with limits of jerk, or one of a given
    duration.

    All joints take the smallest duration that is possible for every one of them; one that could be faster
    uses less jerk. A joint that starts beyond its limits of velocity or acceleration brakes first. Refused
    with the joint and the reason where there is no motion, or where it leaves the range of a joint.

    Args:
        q0, qd0, qdd0: joint coordinates, velocities and accelerations (n,) at the start.
        q1, qd1, qdd1: those at the end.
        limits: range, velocity, acceleration and jerk of the joints.
        duration: of the motion, s; None: the smallest.
    """
    if type(limits) is not MotionLimits:
        check_kind(limits, MotionLimits, "jerk_limited, limits")
    limits.check_one("jerk_limited")
    check_jerk(limits, "jerk_limited")
    n = limits.n
    ends = np.empty((6, n))
    for row, name, value in zip(ends, STATES, (q0, qd0, qdd0, q1, qd1, qdd1), strict=True):
        known = type(value) is np.ndarray and value.dtype == np.float64 and value.shape == (n,)
        row[:] = value if known else frozen_array(value, (n,), f"jerk_limited, {name}")
    columns = ends.reshape(6, n, 1)
    lanes = (*columns, *limits.columns)
    if duration is None:
        first = first_durations(lanes, np.zeros((n, 1)))
        T = float(np.maximum.reduce(first, axis=None))
    else:
        T = check_number(duration, "jerk_limited, duration", minimum=0.0)
    asked = np.full((n, 1), T)
    phases, jerks, blocked = phases_of(lanes, asked)
    if not (T < NEVER and blocked.max() == 0.0):
        if duration is None and T < NEVER:
            asked[:] = T = float(common_durations(lanes, n, np.array([T]))[0])
            phases, jerks, blocked = phases_of(lanes, asked)
        else:
            for row, name in zip(ends, STATES, strict=True):
                frozen_array(row, (n,), f"jerk_limited, {name}")
            refuse(lanes, limits, duration, None, "jerk_limited")
    if limits.is_bounded and leaves_range(lanes, phases, jerks, limits.lower, limits.upper).any():
        refuse(lanes, limits, duration, extremes_function().call(*lanes[:3], phases, jerks), "jerk_limited")
    points, velocities, accelerations = ends.reshape(2, 3, n).transpose(1, 0, 2)
    return JerkMotion(points, velocities, accelerations, phases[None], jerks[None], np.array([T]))
