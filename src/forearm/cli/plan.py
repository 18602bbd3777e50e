"""`forearm plan`: plan a motion, with its torques and voltages."""

from __future__ import annotations

import argparse
import dataclasses
from functools import partial
from typing import Any

from forearm.cli.command import Command, complain, names_of, show_json
from forearm.cli.loading import load
from forearm.cli.loop_options import MOST_BITS, read_dac
from forearm.cli.options import (
    ARM,
    DEGREES,
    HTML,
    JSON,
    SECONDS,
    Group,
    Option,
    derived,
    finish,
    output,
    plot,
    state,
)
from forearm.cli.plan_goals import OPTIONS, USUAL_SPEED, check_goals, goals_named, is_request, planned
from forearm.cli.progress import ProgressBar
from forearm.drives.motor import constants_of
from forearm.errors import InputError, located
from forearm.kinematics.orientation import FORMS
from forearm.logs.table import ENDINGS
from forearm.reading.fields import ChoiceField, FlagField, NumberField, WholeField
from forearm.trajectories.continuous_snap.motion import SmoothMotion
from forearm.trajectories.jerk_limited.motion import JerkMotion
from forearm.trajectories.line_speed import PROFILES
from forearm.trajectories.lines import HandLine
from forearm.trajectories.path_options import PathLimits, PathOptions
from forearm.trajectories.planning import Plan
from forearm.trajectories.requests import Request
from forearm.trajectories.switching import Switching

BOTH = (
    "--phase: needs --joint, the number of the joint to draw; give both or none. A --time-optimal "
    "plan needs no --joint."
)
OVER_PATH = "--joint: a time-optimal plan is drawn over its path, all joints in one; leave it out."


class GoalOption(Option):
    """An option that may be repeated, and whose order among others counts."""

    def add_to(self, parser: argparse._ActionsContainer) -> tuple[Option, ...]:
        """Add it to a parser or group."""
        kind = self.dest
        parser.add_argument(
            self.name,
            action="append",
            dest="goals",
            type=lambda text: (kind, text),
            metavar=self.metavar,
            help=self.help,
        )
        return (self,)


def _limits(cls: type, *names: str) -> tuple[Option, ...]:
    """Options for limits of the joints, read once the arm is known."""
    return tuple(
        dataclasses.replace(
            option, reads=None, metavar="A,B,...", help=f"{option.help}; one number, or one per joint"
        )
        for option in derived(cls, *names)
    )


def _run(given: argparse.Namespace) -> int:
    check_goals(given)
    _check_phase(given)
    arm = load(given.arm, hand=given.hand)
    dac = read_dac(given, arm)
    if given.dac_range is not None:
        with located("--dac-range"):
            constants_of(arm)  # raises an error that names joints without them
    with ProgressBar(f"planning for {arm.name}") as bar, goals_named(given, arm):
        plan = planned(given, arm, dac, bar)
    if isinstance(plan.motion, HandLine) and not plan.motion.feasible:
        return _infeasible(plan, plan.motion, given.json)
    phase = partial(_draw_phase, plan, given.joint)
    files: dict[str, Any] = {"output": plan.save, "plot": plan.plot, "phase": phase, "html": plan.to_html}
    return finish(given, plan.report(), _document(plan), files, plan.warnings)


def _infeasible(plan: Plan, line: HandLine, as_json: bool) -> int:
    """Report why a line cannot be followed; nothing is written."""
    if as_json:
        problems = [dataclasses.asdict(problem) for problem in line.problems]
        show_json({"name": plan.arm.name, "duration": plan.duration, "feasible": False, "problems": problems})
    else:
        free = " Here: --free-attitude." if "attitude='free'" in line.message else ""
        complain(f"the line cannot be followed: {line.message}{free}")
    return 1


def _check_phase(given: argparse.Namespace) -> None:
    """Refuse a joint without a picture of it, and the reverse, before the work starts."""
    if given.joint is not None and given.phase is not None and given.time_optimal:
        raise InputError(OVER_PATH)
    may_be_path = given.time_optimal or is_request(given)
    if (given.joint is not None and given.phase is None) or (
        given.phase is not None and given.joint is None and not may_be_path
    ):
        raise InputError(BOTH)


def _draw_phase(plan: Plan, joint: int | None, path: str) -> None:
    from forearm.plots.figure import save_figure
    from forearm.plots.trajectories import phase_figure
    from forearm.trajectories.limits import arm_limits

    if plan.timing is not None:
        if joint is not None:
            raise InputError(OVER_PATH)
        plan.timing.plot(path)
        return
    if joint is None:
        raise InputError(BOTH)
    if not isinstance(plan.motion, Switching):
        raise InputError(
            "only plans through points without limits of jerk have constant accelerations to "
            "draw, and none of snap; use --plot, or --time-optimal.",
            "--phase",
        )
    if not 1 <= joint <= plan.arm.n:
        raise InputError(f"expected a number from 1 to {plan.arm.n}, got {joint}.", "--joint")
    limits = arm_limits(plan.arm, 1.0) if plan.limits is None else plan.limits
    unit = "rad" if plan.arm.joints[joint - 1].kind == "revolute" else "m"
    save_figure(phase_figure([plan.motion], limits, joint - 1, unit=unit), path)


def _document(plan: Plan) -> dict[str, Any]:
    document: dict[str, Any] = {
        "name": plan.arm.name,
        "duration": plan.duration,
        "warnings": list(plan.warnings),
        "limited_by": None if plan.limited_by is None else dataclasses.asdict(plan.limited_by),
        "feasible": True,
        "problems": [],
        **{name: getattr(plan, name) for name in ("t", "q", "qd", "qdd", "tau", "voltage")},
    }
    motion, timing = plan.motion, plan.timing
    if isinstance(motion, Switching | JerkMotion | SmoothMotion):
        document |= {"points": motion.points, "times": motion.times}
    if isinstance(motion, Switching):
        document["deviation"] = float(plan.deviation or 0.0)
    if timing is not None:
        document |= {name: getattr(timing, name) for name in ("s", "speed", "maximum_speed")}
        document |= {"limit": plan.limit, "savings": [dataclasses.asdict(x) for x in timing.savings]}
    return document


COMMAND = Command(
    "forearm plan panda --to 0.5,0.2,0.3,-1.5,0.2,1.8,0.2 --q 0,-0.5,0,-2,0,1.5,0.7\n"
    "forearm plan puma560 --q 0,0.8,-1.6,0,0.5,0 --to 0.4,0.6,-1.2,0.3,0.7,0.2 --snap inf -o smooth.json\n"
    "forearm plan puma560 --q 0,0.8,-1.6,0,0.5,0 --line-to 0.7,-0.1,1.1 -o motion.csv --plot motion.png\n"
    "forearm plan panda --time-optimal --q 0,-0.5,0,-2,0,1.5,0.7 --to 0.5,0.2,0.3,-1.5,0.2,1.8,0.2 "
    "--html fast.html",
    (
        *ARM,
        Option(
            "request", "waypoints and limits (.toml), or a saved motion (.json) or log", "REQUEST", count="?"
        ),
        state("q", "start configuration, without a request file, rad (m) (default: zero)"),
        DEGREES,
        Option(
            "--step",
            "sampling period of the output, s, above 0 (default: 0.001)",
            reads=SECONDS,
            default=1e-3,
        ),
        JSON,
        Group(
            "through points",
            (
                GoalOption(
                    "--to", "a configuration, rad (m), to move to; may be repeated, in order", "A,B,..."
                ),
                GoalOption(
                    "--pose",
                    "a pose of the hand, m and then --form, to move to; may be repeated, in order",
                    "X,Y,Z,...",
                ),
                Option("--form", f"representation of orientation: {names_of(FORMS, 'rpy')}", "NAME"),
                *_limits(PathLimits, "acceleration", "velocity", "jerk"),
                *_limits(Request, "snap"),
            ),
        ),
        Group(
            "along a straight line of the hand",
            (
                Option("--line-to", "to this point, m; may be repeated, in order", "X,Y,Z", count="append"),
                Option(
                    "--hand-speed",
                    f"speed along the line, m/s (default: {USUAL_SPEED}); with --time-optimal a limit",
                    "V",
                    NumberField(above=0.0),
                ),
                Option(
                    "--hand-acceleration",
                    "acceleration along the line, m/s^2: trapezoidal speed; with --time-optimal a limit",
                    "A",
                    NumberField(above=0.0),
                ),
                Option(
                    "--profile",
                    f"speed profile along the line: {names_of(PROFILES, 'quintic')}",
                    reads=ChoiceField(PROFILES),
                ),
                Option(
                    "--free-attitude",
                    "let the hand rotate along the line: for arms with few joints",
                    reads=FlagField(),
                ),
            ),
        ),
        Group(
            "in the shortest time along a path",
            (
                Option(
                    "--time-optimal",
                    "fastest motion within all limits, along a spline through the points, a hand line, or "
                    "the path of the motion or log (.json, .csv, .parquet, .npz) given as REQUEST",
                    reads=FlagField(),
                ),
                *_limits(PathLimits, "torque", "current", "voltage"),
                *derived(PathLimits, "path_jerk"),
                *(
                    dataclasses.replace(option, default=None)
                    for option in derived(PathOptions, *OPTIONS, payload={"reads": None, "metavar": "A,B"})
                ),
            ),
        ),
        Group(
            "D/A converter in front of the motors",
            (
                Option(
                    "--dac-bits",
                    f"resolution, 2^N steps, N from 1 to {MOST_BITS}; needs --dac-range",
                    reads=WholeField("", 1, MOST_BITS),
                ),
                Option("--dac-range", "output range, -V to V, V above 0", "V", NumberField(above=0.0)),
                Option(
                    "--dac-gain",
                    "gain of the amplifiers after it, not 0 (default: the arm file's, or 1)",
                    reads=NumberField(),
                ),
            ),
        ),
        Group(
            "files",
            (
                output(
                    "write the samples: .csv or .parquet; or the motion, to be loaded again: .json",
                    *ENDINGS,
                    ".json",
                ),
                plot("the motion and the hand's path"),
                plot(
                    "a joint in the plane of position and velocity, needs --joint; of a time-optimal plan "
                    "its path's",
                    "--phase",
                ),
                HTML,
                Option(
                    "--joint",
                    "the joint of --phase, by its number from 1 on",
                    reads=WholeField("", 1, 10_000),
                ),
            ),
        ),
    ),
    _run,
)
