"""Goals of `forearm plan` from options: configurations, poses and straight hand lines."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from forearm.arm.arm import Arm
from forearm.cli.poses import read_form, read_pose
from forearm.cli.states import read_numbers, read_per_joint, read_state
from forearm.errors import InputError
from forearm.spatial import Floats
from forearm.trajectories.lines import HandLine, hand_line
from forearm.trajectories.requests import Request, Waypoint

USUAL_SPEED = 0.1  # m/s
GOAL = re.compile(
    r"(?:through|smooth), segment (\d+), joint (\d+)(?: \(.*?\))?: |request '[^']*', waypoint\[(\d+)\]: "
)


@contextmanager
def goals_named(given: argparse.Namespace, arm: Arm) -> Iterator[None]:
    """Errors about a goal name its option and the joint, instead of the segment that leads to it."""
    try:
        yield
    except InputError as error:
        found = GOAL.match(str(error))
        if found is None or given.goals is None:
            raise
        segment, joint, waypoint = (int(number or 0) for number in found.groups())
        option, _ = given.goals[(segment or waypoint - 1) - 1]
        where = f"--{option}, {arm.joints[joint - 1].name}" if joint else f"--{option}"
        raise InputError(f"{str(error)[found.end() :]}", where) from error


def check_ways(given: argparse.Namespace) -> None:
    """Require exactly one kind of goal: a file, configurations and poses, or a line."""
    goals = " and ".join(f"--{kind}" for kind in dict.fromkeys(kind for kind, _ in given.goals or ()))
    ways = [
        name
        for name, value in (("REQUEST", given.request), (goals, goals), ("--line-to", given.line_to))
        if value
    ]
    if len(ways) != 1:
        got = " and ".join(ways) or "none of them"
        raise InputError(f"give a request file, or --to (or --pose), or --line-to; got {got}.", "plan")


def start_of(given: argparse.Namespace, arm: Arm) -> Floats:
    """The start configuration, (n,)."""
    return np.zeros(arm.n) if given.q is None else read_state(arm, given.q, "q", given.degrees)


def refuse_zeros(arm: Arm) -> None:
    """Refuse the default start, every joint at 0, if that is outside a joint's limits."""
    for joint in arm.joints:
        low, high = joint.limits
        if not low <= 0.0 <= high:
            unit = "rad" if joint.kind == "revolute" else "m"
            raise InputError(
                f"by default every joint starts at 0, but {joint.name} ranges from {low:.4g} "
                f"to {high:.4g} {unit}; give a start configuration.",
                "--q",
            )


def refuse(given: argparse.Namespace, names: Sequence[str], why: str) -> None:
    """Refuse an option that would have no effect."""
    for name in names:
        if getattr(given, name) not in (None, False):
            raise InputError(f"{why}", f"--{name.replace('_', '-')}")


def line_places(given: argparse.Namespace) -> Floats:
    """The points of --line-to, (m, 3)."""
    return np.array([read_numbers(text, "line-to", 3, "a point has") for text in given.line_to])


def line_of(given: argparse.Namespace, arm: Arm, start: Floats) -> HandLine:
    """The line of the hand, at the speed that options give."""
    if given.profile == "constant" and given.hand_acceleration is not None:
        raise InputError(
            "a constant speed has no acceleration; leave it out, or change --profile.", "--hand-acceleration"
        )
    profile = given.profile or ("quintic" if given.hand_acceleration is None else "trapezoidal")
    speed = USUAL_SPEED if given.hand_speed is None else given.hand_speed
    attitude = "free" if given.free_attitude else "constant"
    return hand_line(arm, start, line_places(given), speed, given.hand_acceleration, profile, attitude)


def request_of_goals(given: argparse.Namespace, arm: Arm, start: Floats) -> Request:
    """The waypoints of --to and --pose, after the start."""
    form = read_form(given.form)
    if given.form is not None and all(kind == "to" for kind, _ in given.goals):
        raise InputError("only with --pose; --to takes joint coordinates.", "--form")
    points = [Waypoint(q=start)]
    for kind, text in given.goals:
        if kind == "to":
            points.append(Waypoint(q=read_state(arm, text, "to", given.degrees)))
        else:
            points.append(Waypoint(pose=read_pose(text, form, given.degrees)))
    return Request(tuple(points), name="plan")


def joint_limit(arm: Arm, text: str, name: str, degrees: bool) -> Floats:
    """One number for all joints, or one per joint, SI."""
    values = read_numbers(text, name, 1) if "," not in text else read_per_joint(arm, text, name)
    unit = np.array([math.pi / 180.0 if degrees and j.kind == "revolute" else 1.0 for j in arm.joints])
    limits: Floats = values * unit
    return limits


def infinite_limit(arm: Arm, text: str, name: str, degrees: bool) -> Floats:
    """The same, with inf for no limit."""
    values = joint_limit(arm, re.sub(r"\binf\b", "1e30", text), name, degrees)
    return np.where(values >= 1e28, np.inf, values)  # 1e30 degrees are less in radians
