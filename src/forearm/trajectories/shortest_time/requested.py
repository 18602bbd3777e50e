"""Time-optimal plans of requests: waypoints become a path, limits those along it."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.progress import Progress
from forearm.trajectories.configurations import configurations
from forearm.trajectories.path_options import PathOptions
from forearm.trajectories.paths.splines import spline
from forearm.trajectories.planning import Plan
from forearm.trajectories.requests import Request
from forearm.trajectories.shortest_time.path_motion import PathMotion
from forearm.trajectories.shortest_time.time_optimal import time_optimal

SLACK = 1e-9  # rad, m: rounding tolerance of a range


def requested_plan(arm: Arm, request: Request, step: float = 1e-3, progress: Progress | None = None) -> Plan:
    """The fastest motion along a spline through a request's waypoints, within its limits and the arm's.

    Args:
        arm: the arm.
        request: a time-optimal request; for others the default path is used.
        step: time between samples of the plan, s.
        progress: called with the progress.
    """
    request = replace(request, time_optimal=request.time_optimal or True)
    options = cast(PathOptions, request.time_optimal)
    _refuse_velocities(request)
    way = configurations(arm, request)
    path = spline(way.q, options.continuity, name=request.name)
    made = time_optimal(
        arm, path, limits=request, options=options, dac=request.dac, step=step, progress=progress
    )
    _check_range(arm, request, made.motion)
    return replace(made, notes=(*way.notes, *made.notes))


def _refuse_velocities(request: Request) -> None:
    """Refuse velocities at waypoints, which the planner chooses, except rest at both ends."""
    last = len(request.waypoints) - 1
    for k, waypoint in enumerate(request.waypoints):
        for key, velocity in (("qd", waypoint.qd), ("hand_velocity", waypoint.hand_velocity)):
            if velocity is not None and (0 < k < last or np.nan_to_num(velocity).any()):
                raise InputError(
                    "a time-optimal plan chooses its own velocities, from rest to rest; omit "
                    "it, or set start_speed and end_speed.",
                    f"request {request.name!r}",
                    f"waypoint[{k + 1}]",
                    key,
                )


def _check_range(arm: Arm, request: Request, motion: object) -> None:
    """Refuse a path that leaves the range in the request."""
    assert isinstance(motion, PathMotion)
    least, most, _ = motion.extremes()
    for key, reached, sign in (("lower", least, 1.0), ("upper", most, -1.0)):
        given = getattr(request, key)
        if given is None:
            continue
        bound = np.broadcast_to(given, (arm.n,))
        beyond = np.flatnonzero(sign * (bound - reached) > SLACK)
        if beyond.size:
            j = int(beyond[0])
            raise InputError(
                f"the path through the waypoints brings {arm.joints[j].name} to "
                f"{reached[j]:.6g}, allowed is {bound[j]:.6g}; set a tolerance from the "
                "straight lines between the points, continuity = 1, or more points.",
                f"request {request.name!r}",
                key,
            )
