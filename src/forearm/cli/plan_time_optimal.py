"""`forearm plan --time-optimal`: time-optimal motion along a path: options and output."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any

from forearm.arm.arm import Arm
from forearm.cli.command import group, names_of
from forearm.cli.numbers import NOT_NEGATIVE, POSITIVE, Whole
from forearm.cli.plan_goals import infinite_limit, line_places, refuse, refuse_zeros, request_of_goals
from forearm.cli.progress import ProgressBar
from forearm.cli.states import read_numbers
from forearm.drives.motor import DAC
from forearm.errors import InputError
from forearm.spatial import Floats
from forearm.trajectories.line_file import load_motion
from forearm.trajectories.path_options import POINTS, PathOptions
from forearm.trajectories.paths import from_motion, hand_lines
from forearm.trajectories.paths.splines import CONTINUITIES
from forearm.trajectories.planning import TABLES, Plan
from forearm.trajectories.recorded import read_motion
from forearm.trajectories.requests import Request
from forearm.trajectories.shortest_time.requested import requested_plan
from forearm.trajectories.shortest_time.time_optimal import MOST_POINTS, time_optimal

OF_JOINTS = ("acceleration", "velocity", "torque", "current", "voltage", "jerk")
OF_HAND = ("hand_speed", "hand_acceleration")
OF_PATH = ("path_jerk", "payload", "duration", "start_speed", "end_speed", "points", "tolerance")
ONLY_HERE = ("torque", "current", "voltage", "continuity", *OF_PATH)
TURNING = ("acceleration", "velocity", "jerk")  # what --degrees is about


def add_time_optimal(parser: argparse.ArgumentParser) -> None:
    """The options of the shortest time along a path."""
    fast = group(parser, "in the shortest time along a path")
    fast.add_argument(
        "--time-optimal",
        action="store_true",
        help=(
            "fastest motion within all limits, along a spline through the points, a hand line, or the "
            "path of the motion or log (.json, .csv, .parquet, .npz) given as REQUEST"
        ),
    )
    fast.add_argument(
        "--continuity",
        type=Whole(0, 4),
        metavar="N",
        help=f"continuity of the spline: {names_of(map(str, CONTINUITIES), '2')}; 0: lines with stops",
    )
    fast.add_argument(
        "--tolerance",
        type=POSITIVE,
        metavar="RAD",
        help="largest deviation from the straight lines between points, rad (m), above 0; for --line-to of "
        "the hand, m; for a log from its samples (default: unlimited)",
    )
    each = "one number, or one per joint"
    units = {
        "torque": "largest torques (forces), N m (N)",
        "current": "largest currents, A",
        "voltage": "largest voltages, V",
    }
    for name, what in units.items():
        own = "max_effort" if name == "torque" else "the motors'"
        fast.add_argument(
            f"--{name}", metavar="A,B,...", help=f"{what}; {each}, inf for none (default: {own})"
        )
    fast.add_argument(
        "--path-jerk",
        type=POSITIVE,
        metavar="X",
        help="largest d3s/dt3 of the path parameter, above 0 (default: none)",
    )
    fast.add_argument(
        "--payload",
        metavar="A,B",
        help="least and largest payload mass, kg: limits hold for the whole range (default: none)",
    )
    fast.add_argument(
        "--duration",
        type=POSITIVE,
        metavar="S",
        help="duration of the motion, s, above 0 (default: the shortest); with --snap too",
    )
    for end in ("start", "end"):
        fast.add_argument(
            f"--{end}-speed",
            type=NOT_NEGATIVE,
            metavar="V",
            help=f"ds/dt at the {end}, of the path parameter, at least 0 (default: 0)",
        )
    fast.add_argument(
        "--points",
        type=Whole(10, MOST_POINTS),
        metavar="N",
        help=f"intervals of the path, 10 to {MOST_POINTS} (default: {POINTS})",
    )


def check_options(given: argparse.Namespace, is_request: bool) -> None:
    """Refuse options without effect: all of these without --time-optimal, other planners' with it."""
    if is_request:
        said = ("q", "degrees", "form", "profile", "free_attitude", *OF_JOINTS, *OF_HAND, *OF_PATH)
        refuse(given, (*said, "continuity"), "a request or motion file defines that itself; write it there.")
    elif not given.time_optimal:
        only = [name for name in ONLY_HERE if name != "duration" or given.snap is None]
        refuse(given, only, "only with --time-optimal; add that, or leave it out.")
    else:
        refuse(given, ("snap",), "a time-optimal motion has no continuous snap; leave one of them out.")
        refuse(given, ("profile",), "the limits determine the speed of a time-optimal motion; leave it out.")
        if not given.goals:
            refuse(given, ("continuity",), "only with --to and --pose, a spline through points.")
        if not given.line_to:
            refuse(given, ("free_attitude",), "only with --line-to, a straight hand line.")
        if given.request:
            refuse(given, ("q", "form"), "a motion file defines that itself; leave it out.")
        if given.continuity not in (None, *CONTINUITIES):
            raise InputError(f"expected {names_of(map(str, CONTINUITIES))}, got '3'.", "--continuity")


def fastest_plan(
    given: argparse.Namespace, arm: Arm, start: Floats, dac: DAC | None, bar: ProgressBar
) -> Plan:
    """The time-optimal plan along goals, lines, or the path of a motion or log."""
    options, limits = _options(given), _limits(given, arm)
    if given.goals:
        request = request_of_goals(given, arm, start)
        _refuse_zeros(given, arm)
        wanted = Request(request.waypoints, name="plan", dac=dac, time_optimal=options, **limits)
        return requested_plan(arm, wanted, given.step, bar)
    asked = dataclasses.asdict(options) | {"tolerance": None}
    path: Any = given.request
    if given.line_to:
        attitude = "free" if given.free_attitude else "constant"
        places = line_places(given)
        _refuse_zeros(given, arm)
        path = hand_lines(arm, start, places, attitude, given.tolerance or 0.0)
    elif given.tolerance is not None:
        is_table = Path(path).suffix.lower() in TABLES
        path = from_motion(
            read_motion(arm, path) if is_table else load_motion(arm, path), tolerance=given.tolerance
        )
    return time_optimal(arm, path, **limits, **asked, dac=dac, step=given.step, progress=bar)


def _refuse_zeros(given: argparse.Namespace, arm: Arm) -> None:
    if given.q is None:
        refuse_zeros(arm)


def _options(given: argparse.Namespace) -> PathOptions:
    names = ("continuity", "tolerance", "duration", "points", "start_speed", "end_speed")
    said = {name: getattr(given, name) for name in names if getattr(given, name) is not None}
    if given.payload is not None:
        least, most = read_numbers(given.payload, "payload", 2, "the least and the most mass are").tolist()
        said["payload"] = (least, most)
    return PathOptions(**said)


def _limits(given: argparse.Namespace, arm: Arm) -> dict[str, Any]:
    limits: dict[str, Any] = {}
    for name in OF_JOINTS:
        if (text := getattr(given, name)) is not None:
            limits[name] = infinite_limit(arm, text, name, given.degrees and name in TURNING)
    for name in (*OF_HAND, "path_jerk"):
        if getattr(given, name) is not None:
            limits[name] = getattr(given, name)
    return limits


def timing_document(made: Plan) -> dict[str, Any]:
    """Additional JSON entries of a time-optimal plan."""
    if made.timing is None:
        return {}
    return {
        "s": made.timing.s,
        "speed": made.timing.speed,
        "maximum_speed": made.timing.maximum_speed,
        "limit": made.limit,
        "savings": [dataclasses.asdict(saving) for saving in made.timing.savings],
    }
