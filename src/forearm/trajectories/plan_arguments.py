"""Arguments of `fa.plan`: a motion that fits the arm, or input for a request."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.errors import InputError, shorten
from forearm.kinematics.poses import forward
from forearm.trajectories.lines import HandLine
from forearm.trajectories.motion_files import PlannedMotion
from forearm.trajectories.requestfile import read_request
from forearm.trajectories.requests import Request, Waypoint
from forearm.values import as_floats

SAME = 1e-9  # m: admissible distance of two arms' hands at the ends of a line transferred between them


def check_for(arm: Arm, motion: PlannedMotion) -> None:
    """Refuse a motion with another number of joints, and a line of an arm whose hand is elsewhere at its
    ends.
    """
    n = motion.task.arm.n if isinstance(motion, HandLine) else motion.n
    if n != arm.n:
        raise InputError(f"the motion has {n} joints, {arm.name!r} has {arm.n}.", "plan")
    if isinstance(motion, HandLine) and motion.task.arm is not arm:
        followed = np.vstack(
            [stretch.q[[0, -1]] for stretch in motion.stretches if np.isfinite(stretch.q[0]).all()]
        )
        apart = np.abs(forward(arm, followed) - forward(motion.task.arm, followed)).max()
        if apart > SAME:
            raise InputError(
                f"the line was made for {motion.task.arm.name!r}; with its joints the hand of "
                f"{arm.name!r} would be {apart:.3g} m (or rad) off. Make the line with "
                "hand_line for this arm.",
                "plan",
            )


def as_request(arm: Arm, given: Any) -> Request:
    """Convert the input to a request: a request, the path of its file, configurations or waypoints."""
    if isinstance(given, Request):
        return given
    if isinstance(given, str | os.PathLike):
        return read_request(given)
    if isinstance(given, list | tuple) and any(isinstance(point, Waypoint) for point in given):
        return Request(given, name="plan")
    rows = as_floats(given, "plan, request")
    if rows.ndim != 2 or rows.shape[1] != arm.n:
        raise InputError(
            f"expected a Request, the path of its file, or configurations of shape (k, {arm.n}"
            f"), got {shorten(given)}.",
            "plan",
            "request",
        )
    return Request(rows)
