"""`forearm plan`: plan a motion, with its torques and voltages."""

from __future__ import annotations

import argparse
import dataclasses
from functools import partial
from pathlib import Path
from typing import Any

from forearm.arm.arm import Arm
from forearm.cli.command import Command, add_arm, add_json, complain, group, names_of, show_json
from forearm.cli.loading import load
from forearm.cli.loop_options import add_dac, read_dac
from forearm.cli.numbers import POSITIVE, Whole
from forearm.cli.outputs import add_plot, check_output, check_page, check_picture, tell_written
from forearm.cli.plan_goals import (
    USUAL_SPEED,
    check_ways,
    goals_named,
    infinite_limit,
    joint_limit,
    line_of,
    refuse,
    refuse_zeros,
    request_of_goals,
    start_of,
)
from forearm.cli.plan_time_optimal import add_time_optimal, check_options, fastest_plan, timing_document
from forearm.cli.poses import add_form
from forearm.cli.progress import ProgressBar
from forearm.cli.states import add_state
from forearm.cli.terminal import show
from forearm.drives.motor import DAC
from forearm.errors import InputError
from forearm.logs.table import ENDINGS
from forearm.trajectories.continuous_snap.motion import SmoothMotion
from forearm.trajectories.jerk_limited.motion import JerkMotion
from forearm.trajectories.line_speed import PROFILES
from forearm.trajectories.lines import HandLine
from forearm.trajectories.planning import TABLES, Plan, plan
from forearm.trajectories.requestfile import read_request
from forearm.trajectories.shortest_time.requested import requested_plan
from forearm.trajectories.switching import Switching

OF_LINES = ("hand_speed", "hand_acceleration", "profile", "free_attitude")
OF_POINTS = ("acceleration", "velocity", "jerk", "snap")
BOTH = (
    "--phase: needs --joint, the number of the joint to draw; give both or none. A --time-optimal "
    "plan needs no --joint."
)
OVER_PATH = "--joint: a time-optimal plan is drawn over its path, all joints in one; leave it out."


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_arm(parser)
    parser.add_argument(
        "request",
        nargs="?",
        metavar="REQUEST",
        help="waypoints and limits (.toml), or a saved motion (.json) or log",
    )
    add_state(parser, "q", "start configuration, without a request file, rad (m) (default: zero)")
    parser.add_argument(
        "--step",
        type=POSITIVE,
        default=1e-3,
        metavar="S",
        help="sampling period of the output, s, above 0 (default: 0.001)",
    )
    add_json(parser)
    points = group(parser, "through points")
    goals = (
        ("to", "A,B,...", "a configuration, rad (m),"),
        ("pose", "X,Y,Z,...", "a pose of the hand, m and then --form,"),
    )
    for name, shape, what in goals:
        text = f"{what} to move to; may be repeated, in order"
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
    points.add_argument(
        "--snap",
        metavar="A,B,...",
        help=(
            f"largest snaps, rad/s^4 (m/s^4), degrees/s^4 with --degrees; {each}, inf: snap that is "
            "continuous but unlimited, as elastic joints need (default: none, jerks jump)"
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
        help=f"speed along the line, m/s, above 0 (default: {USUAL_SPEED}); with --time-optimal a limit",
    )
    line.add_argument(
        "--hand-acceleration",
        type=POSITIVE,
        metavar="A",
        help="acceleration along the line, m/s^2, above 0: trapezoidal speed; with --time-optimal a limit",
    )
    line.add_argument(
        "--profile",
        choices=PROFILES,
        metavar="NAME",
        help=f"speed profile along the line: {names_of(PROFILES, 'quintic')}",
    )
    line.add_argument(
        "--free-attitude",
        action="store_true",
        help="let the hand rotate along the line: for arms with few joints",
    )
    add_time_optimal(parser)
    add_dac(parser, period=False)
    files = group(parser, "files")
    files.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write the samples: .csv or .parquet; or the motion, to be loaded again: .json",
    )
    add_plot(files, "the motion and the hand's path")
    add_plot(
        files,
        "a joint in the plane of position and velocity, needs --joint; of a time-optimal plan its path's",
        "--phase",
    )
    files.add_argument("--html", metavar="FILE", help="write a page about it for a browser: .html")
    files.add_argument(
        "--joint", type=Whole(1), metavar="N", help="the joint of --phase, by its number from 1 on"
    )


def _goal(kind: str, text: str) -> tuple[str, str]:
    return kind, text


def _run(given: argparse.Namespace) -> int:
    _check(given)
    arm = load(given.arm, hand=given.hand)
    dac = read_dac(given, arm)
    with ProgressBar(f"planning for {arm.name}") as bar, goals_named(given, arm):
        made = _planned(given, arm, dac, bar)
    if isinstance(made.motion, HandLine) and not made.motion.feasible:
        return _infeasible(made, made.motion, given.json)
    with ProgressBar("writing files"):
        if given.phase:
            _draw_phase(made, given.phase, given.joint)
        if given.output:
            made.save(given.output)
        if given.plot:
            made.plot(given.plot)
        if given.html:
            made.to_html(given.html)
    written = {"output": given.output, "plot": given.plot, "phase": given.phase, "html": given.html}
    if given.json:
        show_json(_document(made) | written)
        return 0
    show(made.report())
    for text in made.warnings:
        complain(text, kind="warning")
    tell_written(written.values())
    return 0


def _infeasible(made: Plan, line: HandLine, as_json: bool) -> int:
    """Report why a line cannot be followed; nothing is written."""
    if as_json:
        problems = [dataclasses.asdict(problem) for problem in line.problems]
        show_json({"name": made.arm.name, "duration": made.duration, "feasible": False, "problems": problems})
    else:
        free = " Here: --free-attitude." if "attitude='free'" in line.message else ""
        complain(f"the line cannot be followed: {line.message}{free}")
    return 1


def _draw_phase(made: Plan, path: str, joint: int | None) -> None:
    from forearm.plots.figure import save_figure
    from forearm.plots.trajectories import phase_figure
    from forearm.trajectories.limits import arm_limits

    if made.timing is not None:
        if joint is not None:
            raise InputError(OVER_PATH)
        made.timing.plot(path)
        return
    if joint is None:
        raise InputError(BOTH)
    if not isinstance(made.motion, Switching):
        raise InputError(
            "only plans through points without limits of jerk have constant accelerations to "
            "draw, and none of snap; use --plot, or --time-optimal.",
            "--phase",
        )
    if not 1 <= joint <= made.arm.n:
        raise InputError(f"expected a number from 1 to {made.arm.n}, got {joint}.", "--joint")
    limits = arm_limits(made.arm, 1.0) if made.limits is None else made.limits
    unit = "rad" if made.arm.joints[joint - 1].kind == "revolute" else "m"
    save_figure(phase_figure([made.motion], limits, joint - 1, unit=unit), path)


def _planned(given: argparse.Namespace, arm: Arm, dac: DAC | None, bar: ProgressBar) -> Plan:
    """The requested plan: from a file, configurations and poses, or a line."""
    if _is_request(given):
        request = read_request(given.request).changed(None, None, dac)
        if given.time_optimal or request.time_optimal is not None:
            return requested_plan(arm, request, given.step, bar)
        return plan(arm, request, step=given.step)
    if given.request and not given.time_optimal:
        return plan(arm, given.request, dac=dac, step=given.step)
    start = start_of(given, arm)
    if given.time_optimal:
        return fastest_plan(given, arm, start, dac, bar)
    wanted = line_of(given, arm, start) if given.line_to else request_of_goals(given, arm, start)
    if given.q is None:
        refuse_zeros(arm)
    limits = {name: getattr(given, name) for name in OF_POINTS if getattr(given, name)}
    read = {
        name: (infinite_limit if name == "snap" else joint_limit)(arm, text, name, given.degrees)
        for name, text in limits.items()
    }
    return plan(arm, wanted, **read, duration=given.duration, dac=dac, step=given.step)


def _is_request(given: argparse.Namespace) -> bool:
    return given.request is not None and Path(given.request).suffix.lower() not in (*TABLES, ".json")


def _check(given: argparse.Namespace) -> None:
    """Refuse impossible requests and options without effect before the work starts."""
    check_output("--output", given.output, (*ENDINGS, ".json"))
    check_picture("--plot", given.plot)
    check_picture("--phase", given.phase)
    check_page("--html", given.html)
    check_ways(given)
    check_options(given, _is_request(given))
    if given.joint is not None and (given.phase is None or given.time_optimal):
        raise InputError(BOTH if given.phase is None else OVER_PATH)
    if given.time_optimal:
        return
    if given.phase is not None and given.joint is None and not _is_request(given):
        raise InputError(BOTH)
    if given.request:
        refuse(
            given,
            ("q", "degrees", "form", *OF_POINTS, *OF_LINES),
            "a request or motion file defines that itself; write it there.",
        )
    elif given.line_to:
        refuse(
            given, (*OF_POINTS, "form"), "only with --to; a line takes --hand-speed and --hand-acceleration."
        )
    else:
        refuse(given, OF_LINES, "only with --line-to; leave it out.")


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
    if isinstance(made.motion, JerkMotion | SmoothMotion):
        document |= {"points": made.motion.points, "times": made.motion.times}
    return document | timing_document(made)


COMMAND = Command(
    "forearm plan panda --to 0.5,0.2,0.3,-1.5,0.2,1.8,0.2 --q 0,-0.5,0,-2,0,1.5,0.7\n"
    "forearm plan puma560 --q 0,0.8,-1.6,0,0.5,0 --to 0.4,0.6,-1.2,0.3,0.7,0.2 --snap inf -o smooth.json\n"
    "forearm plan puma560 --q 0,0.8,-1.6,0,0.5,0 --line-to 0.7,-0.1,1.1 -o motion.csv --plot motion.png\n"
    "forearm plan panda --time-optimal --q 0,-0.5,0,-2,0,1.5,0.7 --to 0.5,0.2,0.3,-1.5,0.2,1.8,0.2 "
    "--html fast.html",
    _add_arguments,
    _run,
)
