"""`forearm control compare`: every controller on one motion of one arm, and its tracking error."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.elastic import is_elastic
from forearm.cli.command import Command, complain
from forearm.cli.controlled import clock_of, sensors_of
from forearm.cli.loading import load
from forearm.cli.loop_options import DAC_OPTIONS, GAINS, LOOP, SAMPLING, plant_options
from forearm.cli.motions import COLUMNS, MOTION_HELP, read_plan
from forearm.cli.options import ARM, DEGREES, JSON, SECONDS, Group, Option, finish, plot, state
from forearm.cli.progress import ProgressBar
from forearm.cli.states import read_numbers, read_state
from forearm.control.comparison import compare
from forearm.control.gains import BANDWIDTH
from forearm.control.model_error import perturbed
from forearm.control.reference import default_motion, smooth
from forearm.errors import InputError
from forearm.kinematics.poses import forward
from forearm.spatial import Floats
from forearm.trajectories.continuous_snap.planner import smooth as continuous_snap
from forearm.trajectories.line_speed import QUINTIC_SPEED
from forearm.trajectories.lines import HandLine, hand_line


def _run(given: argparse.Namespace) -> int:
    arm = load(given.arm, hand=given.hand)
    with ProgressBar(f"making controllers of {arm.name}") as bar:
        found = compare(
            arm,
            _motion(given, arm),
            given.only,
            bandwidth=given.bandwidth or BANDWIDTH,
            payload=given.payload,
            plant=perturbed(arm, given.error / 100.0, given.seed) if given.error else None,
            sensors=sensors_of(given, arm),
            **clock_of(given, arm, given.voltage),
            progress=bar,
        )
    warnings: list[str] = []
    if found.beyond:
        warnings = [f"the motion exceeds the limits of {', '.join(found.beyond)}; nothing stops it there."]
    code = finish(given, found.report(), found.document(), {"plot": found.plot}, warnings)
    for row in found.rows if not given.json else ():
        if row.message:
            complain(f"{row.name}: {row.message}.", kind="note")
    return code


def _motion(given: argparse.Namespace, arm: Arm) -> Any:
    if given.plan is not None:
        for name in ("duration", "q", "to", "line_to"):
            if getattr(given, name) is not None:
                raise InputError("the --plan file already defines that; leave it out.", name)
        return read_plan(given, arm, given.plan)
    given.duration = 2.0 if given.duration is None else given.duration
    if given.to is not None and given.line_to is not None:
        raise InputError("--to and --line-to: expected one of them.")
    if given.to is None and given.line_to is None:
        if given.q is not None:
            raise InputError("a start needs a goal; give --to or --line-to as well.", "--q")
        return default_motion(arm, given.duration)
    start = np.zeros(arm.n) if given.q is None else read_state(arm, given.q, "q", given.degrees)
    if given.line_to is not None:
        return _line(arm, start, read_numbers(given.line_to, "line-to", 3, "a place has"), given.duration)
    end = read_state(arm, given.to, "to", given.degrees)
    if is_elastic(arm):
        return continuous_snap([start, end], duration=given.duration)
    return smooth(start, end, given.duration)


def _line(arm: Arm, start: Floats, to: Floats, duration: float) -> HandLine:
    """A straight line of the hand, which keeps its attitude where there are joints for it."""
    way = float(np.linalg.norm(to - forward(arm, start)[:3, 3]))
    line = hand_line(
        arm,
        start,
        to,
        QUINTIC_SPEED * way / duration,
        profile="quintic",
        attitude="constant" if arm.n >= 6 else "free",
    )
    if not line.feasible:
        raise InputError(f"--line-to: the line cannot be followed: {line.message}")
    return line


COMMAND = Command(
    "forearm control compare puma560 --payload 2 --plot controllers.png",
    (
        *ARM,
        Option(
            "--only",
            "this controller, such as PD; may be repeated, in order (default: all)",
            "NAME",
            count="append",
            keyword="controllers",
        ),
        SAMPLING,
        GAINS,
        plot("error against operations per second"),
        JSON,
        Group(
            "the motion",
            (
                Option("--duration", "s, above 0 (default: 2)", reads=SECONDS),
                Option("--plan", MOTION_HELP, "FILE"),
                *COLUMNS,
                state("q", "start configuration, with --to or --line-to, rad (m) (default: zero)"),
                DEGREES,
                state("to", "configuration to move to smoothly, rad (m) (default: every joint moves)"),
                Option(
                    "--line-to",
                    "point for the hand to move to smoothly on a straight line, base frame, m",
                    "X,Y,Z",
                ),
            ),
        ),
        Group("unmodelled by the controllers", plant_options()),
        LOOP,
        DAC_OPTIONS,
    ),
    _run,
    "Every controller on one motion: tracking error, operations per second, effect of an unknown load.",
)
