"""`forearm plan`: from where to go to how, with torques and voltages."""

from __future__ import annotations

import argparse
import dataclasses
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.cli.command import Command, add_arm, add_json, complain, group, names_of, show_json
from forearm.cli.loading import load
from forearm.cli.loop_options import add_dac, read_dac
from forearm.cli.numbers import POSITIVE, Whole
from forearm.cli.outputs import add_plot, check_output, check_picture, tell_written
from forearm.cli.poses import add_form, read_form, read_pose
from forearm.cli.progress import ProgressBar
from forearm.cli.states import add_state, read_numbers, read_state
from forearm.cli.terminal import show
from forearm.errors import InputError
from forearm.logs.table import ENDINGS
from forearm.spatial import Floats
from forearm.trajectories.jerk_limited.motion import JerkMotion
from forearm.trajectories.line_speed import PROFILES
from forearm.trajectories.lines import HandLine, hand_line
from forearm.trajectories.planning import Plan, plan
from forearm.trajectories.requests import Request, Waypoint
from forearm.trajectories.switching import Switching

USUAL_SPEED = 0.1  # m/s
OF_LINES = ("hand_speed", "hand_acceleration", "profile", "free_attitude")
OF_POINTS = ("acceleration", "velocity", "jerk")
GOAL = re.compile(r"through, segment (\d+), joint (\d+): |request '[^']*', waypoint\[(\d+)\]: ")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_arm(parser)
    parser.add_argument(
        "request",
        nargs="?",
        metavar="REQUEST",
        help="waypoints and limits (.toml), or a saved motion (.json)",
    )
    add_state(parser, "q", "where the motion starts, without a request file, rad (m) (default: zero)")
    parser.add_argument(
        "--step",
        type=POSITIVE,
        default=1e-3,
        metavar="S",
        help="between samples, s, above 0 (default: 0.001)",
    )
    add_json(parser)
    points = group(parser, "through points")
    goals = (
        ("to", "A,B,...", "a posture, rad (m),"),
        ("pose", "X,Y,Z,...", "a pose of the hand, m and then --form,"),
    )
    for name, shape, what in goals:
        text = f"{what} to go to; may be repeated, in order"
        points.add_argument(
            f"--{name}", action="append", dest="goals", type=partial(_goal, name), metavar=shape, help=text
        )
    add_form(points)
    each = "one number, or one per joint"
    points.add_argument(
        "--acceleration",
        metavar="A,B,...",
        help=(
            f"largest accelerations, rad/s^2 (m/s^2), degrees/s^2 with --degrees; {each} "
            "(default: what torques, currents and voltages allow)"
        ),
    )
    points.add_argument(
        "--velocity",
        metavar="A,B,...",
        help=f"largest velocities, rad/s (m/s), degrees/s with --degrees; {each} (default: the arm's)",
    )
    points.add_argument(
        "--jerk",
        metavar="A,B,...",
        help=(
            f"largest jerks, rad/s^3 (m/s^3), degrees/s^3 with --degrees; {each} "
            "(default: none, accelerations jump)"
        ),
    )
    line = group(parser, "along a straight line of the hand")
    line.add_argument(
        "--line-to", action="append", metavar="X,Y,Z", help="to this point, m; may be repeated, in order"
    )
    line.add_argument(
        "--hand-speed",
        type=POSITIVE,
        metavar="V",
        help=f"along the line, m/s, above 0 (default: {USUAL_SPEED})",
    )
    line.add_argument(
        "--hand-acceleration",
        type=POSITIVE,
        metavar="A",
        help="along the line, m/s^2, above 0: the speed is a trapezoid",
    )
    line.add_argument(
        "--profile",
        choices=PROFILES,
        metavar="NAME",
        help=f"of the speed along the line: {names_of(PROFILES, 'quintic')}",
    )
    line.add_argument(
        "--free-attitude",
        action="store_true",
        help="along the line the hand may turn: for arms of few joints",
    )
    add_dac(parser, period=False)
    files = group(parser, "files")
    files.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write the samples: .csv or .parquet; or the motion, to be loaded again: .json",
    )
    add_plot(files, "the motion and the hand's path")
    add_plot(files, "a joint in the plane of position and velocity; needs --joint", "--phase")
    files.add_argument(
        "--joint", type=Whole(1), metavar="N", help="the joint of --phase, by its number from 1 on"
    )


@contextmanager
def _goals_named(given: argparse.Namespace, arm: Arm) -> Iterator[None]:
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
        raise InputError(f"{where}: {str(error)[found.end() :]}") from error


def _goal(kind: str, text: str) -> tuple[str, str]:
    return kind, text


def _run(given: argparse.Namespace) -> int:
    check_output("--output", given.output, (*ENDINGS, ".json"))
    check_picture("--plot", given.plot)
    check_picture("--phase", given.phase)
    arm = load(given.arm, hand=given.hand)
    if (given.phase is None) != (given.joint is None):
        raise InputError(
            "--phase: goes with --joint, the number of the joint that is drawn; give both or none."
        )
    wanted, dac = _wanted(given, arm), read_dac(given, arm)
    with ProgressBar(f"planning for {arm.name}"), _goals_named(given, arm):
        made = plan(arm, wanted, **_limits(given, arm), dac=dac, step=given.step)
    if isinstance(made.motion, HandLine) and not made.motion.feasible:
        return _infeasible(made, made.motion, given.json)
    with ProgressBar("writing files"):
        if given.phase:
            _draw_phase(made, given.phase, given.joint)
        if given.output:
            made.save(given.output)
        if given.plot:
            made.plot(given.plot)
    written = {"output": given.output, "plot": given.plot, "phase": given.phase}
    if given.json:
        show_json(_document(made) | written)
        return 0
    show(made.report())
    for text in made.warnings:
        complain(text, kind="warning")
    tell_written(written.values())
    return 0


def _infeasible(made: Plan, line: HandLine, as_json: bool) -> int:
    """Say what stands in the way of a line; nothing is written."""
    if as_json:
        problems = [dataclasses.asdict(problem) for problem in line.problems]
        show_json({"name": made.arm.name, "duration": made.duration, "feasible": False, "problems": problems})
    else:
        free = " Here: --free-attitude." if "attitude='free'" in line.message else ""
        complain(f"the line cannot be followed: {line.message}{free}")
    return 1


def _draw_phase(made: Plan, path: str, joint: int) -> None:
    from forearm.plots.figure import save_figure
    from forearm.plots.trajectories import phase_figure
    from forearm.trajectories.limits import arm_limits

    if not isinstance(made.motion, Switching):
        raise InputError(
            "--phase: a line of the hand, or a motion with limits of jerk, has no constant accelerations to "
            "draw; take --plot."
        )
    if not 1 <= joint <= made.arm.n:
        raise InputError(f"--joint: expected a number from 1 to {made.arm.n}, got {joint}.")
    limits = arm_limits(made.arm, 1.0) if made.limits is None else made.limits
    unit = "rad" if made.arm.joints[joint - 1].kind == "revolute" else "m"
    save_figure(phase_figure([made.motion], limits, joint - 1, unit=unit), path)


def _wanted(given: argparse.Namespace, arm: Arm) -> Any:
    """What was asked for: a file, postures and poses, or a line."""
    goals = " and ".join(f"--{kind}" for kind in dict.fromkeys(kind for kind, _ in given.goals or ()))
    ways = [
        name
        for name, value in (("REQUEST", given.request), (goals, goals), ("--line-to", given.line_to))
        if value
    ]
    if len(ways) != 1:
        got = " and ".join(ways) or "none of them"
        raise InputError(f"plan: give a request file, or --to (or --pose), or --line-to; got {got}.")
    if given.request:
        _refuse(
            given,
            ("q", "degrees", "form", *OF_POINTS, *OF_LINES),
            "a request or motion file says that itself; write it there.",
        )
        return given.request
    start = np.zeros(arm.n) if given.q is None else read_state(arm, given.q, "q", given.degrees)
    if given.line_to:
        _refuse(
            given,
            (*OF_POINTS, "form"),
            "it belongs to --to; a line takes --hand-speed and --hand-acceleration.",
        )
    else:
        _refuse(given, OF_LINES, "it belongs to --line-to, a straight line of the hand; leave it out.")
    wanted = _line(given, arm, start) if given.line_to else _points(given, arm, start)
    if given.q is None:
        _refuse_zeros(arm)
    return wanted


def _refuse_zeros(arm: Arm) -> None:
    """A motion begins at 0 unless --q says where; some joints cannot stand there."""
    for joint in arm.joints:
        low, high = joint.limits
        if not low <= 0.0 <= high:
            unit = "rad" if joint.kind == "revolute" else "m"
            raise InputError(
                f"--q: without it a motion begins with every joint at 0, and {joint.name} goes from "
                f"{low:.4g} to {high:.4g} {unit}; say where it begins."
            )


def _refuse(given: argparse.Namespace, names: tuple[str, ...], why: str) -> None:
    """An option that would do nothing is a mistake."""
    for name in names:
        if getattr(given, name) not in (None, False):
            raise InputError(f"--{name.replace('_', '-')}: {why}")


def _line(given: argparse.Namespace, arm: Arm, start: Floats) -> HandLine:
    to = np.array([read_numbers(text, "line-to", 3, "a point has") for text in given.line_to])
    if given.profile == "constant" and given.hand_acceleration is not None:
        raise InputError(
            "--hand-acceleration: a constant speed has none; leave it out, or take another --profile."
        )
    profile = given.profile or ("quintic" if given.hand_acceleration is None else "trapezoidal")
    speed = USUAL_SPEED if given.hand_speed is None else given.hand_speed
    attitude = "free" if given.free_attitude else "constant"
    return hand_line(arm, start, to, speed, given.hand_acceleration, profile, attitude)


def _points(given: argparse.Namespace, arm: Arm, start: Floats) -> Request:
    form = read_form(given.form)
    if given.form is not None and all(kind == "to" for kind, _ in given.goals):
        raise InputError("--form: it belongs to --pose; postures of --to are joint coordinates.")
    points = [Waypoint(q=start)]
    for kind, text in given.goals:
        if kind == "to":
            points.append(Waypoint(q=read_state(arm, text, "to", given.degrees)))
        else:
            points.append(Waypoint(pose=read_pose(text, form, given.degrees)))
    return Request(tuple(points), name="plan")


def _limits(given: argparse.Namespace, arm: Arm) -> dict[str, Any]:
    """The largest accelerations, velocities and jerks, where they are given."""
    named = {name: getattr(given, name) for name in OF_POINTS}
    return {name: _limit(arm, text, name, given.degrees) for name, text in named.items() if text}


def _limit(arm: Arm, text: str, name: str, degrees: bool) -> Floats:
    """One number for all joints, or one per joint, SI."""
    values = read_numbers(text, name, 1 if "," not in text else arm.n, f"{arm.name} needs")
    unit = np.array([math.pi / 180.0 if degrees and j.kind == "revolute" else 1.0 for j in arm.joints])
    limits: Floats = values * unit
    return limits


def _document(made: Plan) -> dict[str, Any]:
    document: dict[str, Any] = {
        "name": made.arm.name,
        "duration": made.duration,
        "warnings": list(made.warnings),
        "limited_by": None if made.limited_by is None else dataclasses.asdict(made.limited_by),
    }
    document |= {"feasible": True, "problems": []}
    document |= {
        "t": made.t,
        "q": made.q,
        "qd": made.qd,
        "qdd": made.qdd,
        "tau": made.tau,
        "voltage": made.voltage,
    }
    if isinstance(made.motion, Switching):
        document |= {
            "points": made.motion.points,
            "times": made.motion.times,
            "deviation": float(made.deviation or 0.0),
        }
    if isinstance(made.motion, JerkMotion):
        document |= {"points": made.motion.points, "times": made.motion.times}
    return document


COMMAND = Command(
    "forearm plan panda --to 0.5,0.2,0.3,-1.5,0.2,1.8,0.2 --q 0,-0.5,0,-2,0,1.5,0.7\n"
    "forearm plan puma560 --q 0,0.8,-1.6,0,0.5,0 --line-to 0.7,-0.1,1.1 -o motion.csv --plot motion.png",
    _add_arguments,
    _run,
)
