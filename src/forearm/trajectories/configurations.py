"""What a request's waypoints are in joint coordinates: poses by inverse kinematics, hand velocities by the Jacobian."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.errors import InputError, ModelError
from forearm.kinematics import IKResult, inverse, inverse_numeric, joint_rates
from forearm.kinematics.closed_form.limits import limits_of
from forearm.trajectories.requests import Request, Waypoint

Array = NDArray[np.float64]


def configurations(arm: Arm, request: Request) -> tuple[Array, Array]:
    """q and qd (k, n), NaN where a velocity is open; a pose's posture is the branch nearest to the one before it."""
    request.check_for(arm)
    lower, upper = limits_of(arm)
    near = np.where(np.isfinite(lower) & np.isfinite(upper), 0.5 * (lower + upper), 0.0)
    q, qd = np.empty((2, len(request.waypoints), arm.n))
    for k, waypoint in enumerate(request.waypoints):
        place = f"request {request.name!r}, waypoint[{k + 1}]"
        near = q[k] = _posture(arm, waypoint, near, place)
        qd[k] = _velocity(arm, waypoint, q[k], place)
    return q, qd


def _posture(arm: Arm, waypoint: Waypoint, near: Array, place: str) -> Array:
    if waypoint.q is not None:
        return waypoint.q
    assert waypoint.pose is not None
    try:
        found = cast(IKResult, inverse(arm, waypoint.pose, near=near))
    except ModelError:  # no closed form
        answer = inverse_numeric(arm, waypoint.pose, start=near)
        if not answer.solved:
            raise InputError(f"{place}: the pose was not reached. {answer.message}") from None
        return answer.q
    if not found.reachable:
        raise InputError(f"{place}: the pose cannot be reached. {found.message}")
    posture: Array = found.q[int(np.argmin(np.abs(found.q - near).sum(axis=1)))]
    return posture


def _velocity(arm: Arm, waypoint: Waypoint, q: Array, place: str) -> Array:
    if waypoint.hand_velocity is None:
        return np.full(arm.n, np.nan) if waypoint.qd is None else waypoint.qd
    rates = joint_rates(arm, q, waypoint.hand_velocity[:3], waypoint.hand_velocity[3:])
    if np.any(rates.singular):
        raise InputError(f"{place}, hand_velocity: the pose is singular, so it cannot be had. Leave the velocity open.")
    return np.asarray(rates.rates)
