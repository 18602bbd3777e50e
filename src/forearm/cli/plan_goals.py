"""What `forearm plan` is to plan, from its options: through configurations and poses, along straight lines
of the hand, or in the shortest time along a path.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.cli.poses import read_form, read_pose
from forearm.cli.states import read_numbers, read_per_joint, read_state
from forearm.drives.motor import DAC
from forearm.errors import InputError
from forearm.progress import Progress
from forearm.records import declaration, fields_of
from forearm.spatial import Floats
from forearm.trajectories.lines import HandLine, hand_line
from forearm.trajectories.motion_files import load_motion
from forearm.trajectories.path_options import PathLimits, PathOptions
from forearm.trajectories.paths import from_motion, hand_lines
from forearm.trajectories.planning import TABLES, Plan, plan
from forearm.trajectories.recorded import read_motion
from forearm.trajectories.requestfile import read_request
from forearm.trajectories.requests import Request, Waypoint
from forearm.trajectories.shortest_time.requested import requested_plan
from forearm.trajectories.shortest_time.time_optimal import time_optimal

USUAL_SPEED = 0.1  # m/s
OF_POINTS = ("acceleration", "velocity", "jerk", "snap")
OF_LINES = ("hand_speed", "hand_acceleration", "profile", "free_attitude")
OPTIONS = ("continuity", "tolerance", "duration", "points", "start_speed", "end_speed", "payload")
ONLY_FAST = ("torque", "current", "voltage", "path_jerk", *OPTIONS)
TURNING = ("acceleration", "velocity", "jerk", "snap")  # what --degrees is about
ITSELF = "a request or motion file defines that itself; write it there."


@contextmanager
def goals_named(given: argparse.Namespace, arm: Arm) -> Iterator[None]:
    """Errors about a goal name its option and the joint, instead of the segment that leads to it."""
    names = {f"joint {i} ({joint.name})": joint.name for i, joint in enumerate(arm.joints, 1)}
    goals: dict[str, str] = {}
    for k, (option, _) in enumerate(given.goals or (), 1):
        goals |= dict.fromkeys((f"segment {k}", f"waypoint[{k + 1}]"), f"--{option}")
    try:
        yield
    except InputError as error:
        at = next((i for i, part in enumerate(error.place) if part in goals), None)
        if at is not None:
            error.place = tuple((names | goals).get(part, part) for part in error.place[at:])
        raise


def check_goals(given: argparse.Namespace) -> None:
    """Require exactly one kind of goal, a file, configurations and poses, or a line; refuse options that
    would have no effect.
    """
    goals = " and ".join(f"--{kind}" for kind in dict.fromkeys(kind for kind, _ in given.goals or ()))
    kinds = {"REQUEST": given.request, goals: goals, "--line-to": given.line_to}
    ways = [name for name, value in kinds.items() if value]
    if len(ways) != 1:
        got = " and ".join(ways) or "none of them"
        raise InputError(f"give a request file, or --to (or --pose), or --line-to; got {got}.", "plan")
    fast, line = given.time_optimal, given.line_to
    itself = given.request and (is_request(given) or not fast)
    every = ("q", "degrees", "form", *OF_POINTS, *OF_LINES, *ONLY_FAST)
    rules: Iterable[tuple[Any, tuple[str, ...], str]] = (
        (itself, every, ITSELF),
        (
            not fast,
            tuple(name for name in ONLY_FAST if name != "duration" or given.snap is None),
            "only with --time-optimal; add that, or leave it out.",
        ),
        (fast, ("snap",), "a time-optimal motion has no continuous snap; leave one of them out."),
        (fast, ("profile",), "the limits determine the speed of a time-optimal motion; leave it out."),
        (not given.goals, ("continuity",), "only with --to and --pose, a spline through points."),
        (given.request, ("q", "form"), "a motion file defines that itself; leave it out."),
        (
            line and not fast,
            (*OF_POINTS, "form"),
            "only with --to; a line takes --hand-speed and --hand-acceleration.",
        ),
        (not line, OF_LINES[2 * fast :], "only with --line-to, a straight line of the hand."),
    )
    for applies, names, why in rules:
        for name in names:
            if applies and getattr(given, name) not in (None, False):
                raise InputError(why, f"--{name.replace('_', '-')}")


def is_request(given: argparse.Namespace) -> bool:
    """Whether REQUEST is a request, not a motion."""
    return given.request is not None and Path(given.request).suffix.lower() not in (*TABLES, ".json")


def planned(given: argparse.Namespace, arm: Arm, dac: DAC | None, progress: Progress) -> Plan:
    """The requested plan: from a file, configurations and poses, or a line."""
    if is_request(given):
        request = read_request(given.request).changed(dac=dac)
        if given.time_optimal or request.time_optimal is not None:
            return requested_plan(arm, request, given.step, progress)
        return plan(arm, request, step=given.step)
    if given.goals:
        request = _request(given, arm, dac)
        if given.time_optimal:
            return requested_plan(arm, request, given.step, progress)
        return plan(arm, request, step=given.step)
    if given.time_optimal:
        return _fastest(given, arm, dac, progress)
    return plan(arm, _line(given, arm) if given.line_to else given.request, dac=dac, step=given.step)


def _request(given: argparse.Namespace, arm: Arm, dac: DAC | None) -> Request:
    """The waypoints of --to and --pose after the start, with their limits."""
    form = read_form(given.form)
    if given.form is not None and all(kind == "to" for kind, _ in given.goals):
        raise InputError("only with --pose; --to takes joint coordinates.", "--form")
    goals = [
        Waypoint(q=read_state(arm, text, "to", given.degrees))
        if kind == "to"
        else Waypoint(pose=read_pose(text, form, given.degrees))
        for kind, text in given.goals
    ]
    return Request(
        [Waypoint(q=_start(given, arm)), *goals],
        name="plan",
        dac=dac,
        snap=None if given.snap is None else joint_limit(arm, given.snap, "snap", given.degrees),
        duration=None if given.time_optimal else given.duration,
        time_optimal=_options(given) if given.time_optimal else None,
        **fields_of(_limits(given, arm)),
    )


def _fastest(given: argparse.Namespace, arm: Arm, dac: DAC | None, progress: Progress) -> Plan:
    """The time-optimal plan along lines, or the path of a motion or log."""
    limits, options, path = _limits(given, arm), _options(given), given.request
    if given.line_to:
        places, attitude = _places(given), "free" if given.free_attitude else "constant"
        path = hand_lines(arm, _start(given, arm), places, attitude, options.tolerance or 0.0)
    elif options.tolerance is not None:
        is_table = Path(path).suffix.lower() in TABLES
        path = from_motion(read_motion(arm, path) if is_table else load_motion(arm, path), options.tolerance)
    options = replace(options, tolerance=None)
    return time_optimal(
        arm, path, limits=limits, options=options, dac=dac, step=given.step, progress=progress
    )


def _start(given: argparse.Namespace, arm: Arm) -> Floats:
    """The start configuration, (n,): that of --q, or every joint at 0 if that is within its limits."""
    if given.q is not None:
        return read_state(arm, given.q, "q", given.degrees)
    for joint in arm.joints:
        low, high = joint.limits
        if not low <= 0.0 <= high:
            unit = "rad" if joint.kind == "revolute" else "m"
            raise InputError(
                f"by default every joint starts at 0, but {joint.name} ranges from {low:.4g} "
                f"to {high:.4g} {unit}; give a start configuration.",
                "--q",
            )
    return np.zeros(arm.n)


def _places(given: argparse.Namespace) -> Floats:
    """The points of --line-to, (m, 3)."""
    return np.array([read_numbers(text, "line-to", 3, "a point has") for text in given.line_to])


def _line(given: argparse.Namespace, arm: Arm) -> HandLine:
    """The line of the hand, at the speed that options give."""
    if given.profile == "constant" and given.hand_acceleration is not None:
        raise InputError(
            "a constant speed has no acceleration; leave it out, or change --profile.", "--hand-acceleration"
        )
    profile = given.profile or ("quintic" if given.hand_acceleration is None else "trapezoidal")
    speed = USUAL_SPEED if given.hand_speed is None else given.hand_speed
    attitude = "free" if given.free_attitude else "constant"
    places = _places(given)
    return hand_line(arm, _start(given, arm), places, speed, given.hand_acceleration, profile, attitude)


def _options(given: argparse.Namespace) -> PathOptions:
    said = {name: getattr(given, name) for name in OPTIONS if getattr(given, name) is not None}
    if given.payload is not None:
        masses = read_numbers(given.payload, "payload", 2, "the least and the largest mass are")
        said["payload"] = tuple(masses.tolist())
    return PathOptions(**said)


def _limits(given: argparse.Namespace, arm: Arm) -> PathLimits:
    found = {}
    for name, field in declaration(PathLimits).items():
        value = getattr(given, name)
        if isinstance(value, str):
            value = joint_limit(arm, value, name, given.degrees)
        found[name] = None if value is None else field.read(value, f"--{name.replace('_', '-')}")
    return PathLimits(**found)


def joint_limit(arm: Arm, text: str, name: str, degrees: bool) -> Floats:
    """One number for all joints, or one per joint, SI, with inf for no limit."""
    text = re.sub(r"\binf\b", "1e30", text)
    values = read_numbers(text, name, 1) if "," not in text else read_per_joint(arm, text, name)
    turns = degrees and name in TURNING
    unit = np.array([math.pi / 180.0 if turns and j.kind == "revolute" else 1.0 for j in arm.joints])
    limits = values * unit
    return np.where(limits >= 1e28, np.inf, limits)  # 1e30 degrees are less in radians
