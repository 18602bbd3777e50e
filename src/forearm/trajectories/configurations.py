"""Waypoints of a request in joint coordinates: poses by inverse kinematics, hand velocities by the
Jacobian.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from forearm.arm.arm import Arm
from forearm.errors import InputError, ModelError
from forearm.kinematics import IKResult, inverse, inverse_numeric, joint_rates
from forearm.kinematics.angles import vector_of_matrix
from forearm.kinematics.limits import middle
from forearm.kinematics.poses import forward
from forearm.spatial import Floats
from forearm.trajectories.requests import Request, Waypoint
from forearm.values import frozen

POSITION_ONLY = 3  # joints: with so few, only the position of a pose is reached, and its orientation follows
TURNED = 1e-6  # rad: larger orientation errors are reported


@frozen
class Configurations:
    """Waypoints as q and qd (k, n), NaN where a velocity is open, and sentences on deviations from the
    request.
    """

    q: Floats
    qd: Floats
    notes: tuple[str, ...]


def configurations(arm: Arm, request: Request) -> Configurations:
    """The waypoints in joint coordinates; of the solutions for a pose, the one nearest to the previous
    waypoint.
    """
    request.check_for(arm)
    near = middle(arm)
    q, qd = np.empty((2, len(request.waypoints), arm.n))
    notes = []
    for k, waypoint in enumerate(request.waypoints):
        place = f"request {request.name!r}, waypoint[{k + 1}]"
        near = q[k] = _posture(arm, waypoint, near, place)
        qd[k] = _velocity(arm, waypoint, q[k], place)
        turned = 0.0
        if waypoint.pose is not None:
            error = forward(arm, q[k])[:3, :3].T @ waypoint.pose[:3, :3]
            turned = float(np.linalg.norm(vector_of_matrix(error)))
        if turned > TURNED:
            notes.append(
                f"waypoint[{k + 1}]: with {arm.n} joints the hand reaches the position but not the "
                f"orientation, which differs from the pose by {turned:.3g} rad."
            )
    if np.nan_to_num(qd[1:]).any():
        notes += _slowed(arm, qd, request.limits(arm, 1.0).velocity)
    return Configurations(q, qd, tuple(notes))


def _slowed(arm: Arm, qd: Floats, fastest: Floats) -> list[str]:
    """Clamp the velocities (k, n) of all waypoints but the first to the limits, and report it: the start
    velocity is a fact, later ones are choices.
    """
    notes = []
    for k, i in np.argwhere(np.abs(qd) > fastest):
        if k > 0:
            unit = "rad/s" if arm.joints[i].kind == "revolute" else "m/s"
            notes.append(
                f"waypoint[{k + 1}]: {arm.joints[i].name} passes at its limit of {fastest[i]:.4g} {unit} "
                f"instead of the requested {abs(qd[k, i]):.4g}."
            )
            qd[k, i] = np.copysign(fastest[i], qd[k, i])
    return notes


def _posture(arm: Arm, waypoint: Waypoint, near: Floats, place: str) -> Floats:
    if waypoint.q is not None:
        return np.broadcast_to(waypoint.q, (arm.n,))
    assert waypoint.pose is not None
    try:
        found = cast(IKResult, inverse(arm, waypoint.pose, near=near))
    except ModelError:  # no closed form
        answer = inverse_numeric(arm, waypoint.pose, start=near, position_only=arm.n == POSITION_ONLY)
        if not answer.solved:
            raise InputError(f"the pose was not reached. {answer.message}", place) from None
        return answer.q
    if not found.reachable:
        raise InputError(f"the pose cannot be reached. {found.message}", place)
    nearest: Floats = found.q[0]
    return nearest


def _velocity(arm: Arm, waypoint: Waypoint, q: Floats, place: str) -> Floats:
    """Joint rates for the hand velocity; three joints realise the linear part, and an angular part only if it
    is consistent with that.
    """
    if waypoint.hand_velocity is None:
        return np.broadcast_to(np.nan if waypoint.qd is None else waypoint.qd, (arm.n,))
    linear, angular = waypoint.hand_velocity[:3], waypoint.hand_velocity[3:]
    only_linear = arm.n == POSITION_ONLY and not angular.any()
    rates = joint_rates(arm, q, linear, None if only_linear else angular)
    if rates.met:
        return rates.rates
    if rates.singular:
        raise InputError(
            "not feasible, as the pose is singular. Leave the velocity open.", place, "hand_velocity"
        )
    raise InputError(
        f"not feasible with the {arm.n} joints of {arm.name!r}; the error would be "
        f"{np.abs(rates.error).max():.3g} m/s or rad/s. Leave the velocity open, or give q "
        "and qd.",
        place,
        "hand_velocity",
    )
