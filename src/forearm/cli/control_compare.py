"""`forearm control compare`: every controller on one motion of one arm, and its tracking error."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.elastic import is_elastic
from forearm.cli.command import add_arm, add_json, complain, group, show_json
from forearm.cli.controlled import clock_of, sensors_of
from forearm.cli.loading import load
from forearm.cli.loop_options import (
    add_bandwidth,
    add_dac,
    add_delay,
    add_period,
    add_plant,
    add_sensors,
    add_voltage,
)
from forearm.cli.motions import MOTION_HELP, add_columns, read_plan
from forearm.cli.numbers import POSITIVE
from forearm.cli.outputs import add_plot, check_picture, tell_written
from forearm.cli.progress import ProgressBar
from forearm.cli.states import add_state, read_numbers, read_state
from forearm.cli.terminal import show
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the action."""
    add_arm(parser)
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help="this controller, such as PD; may be repeated, in order (default: all)",
    )
    add_period(parser)
    add_bandwidth(parser)
    add_plot(parser, "error against operations per second")
    add_json(parser)
    _add_motion(group(parser, "the motion"))
    add_plant(group(parser, "unmodelled by the controllers"))
    loop = group(parser, "loop and sensors (default: ideal)")
    for add in (add_delay, add_sensors, add_voltage):
        add(loop)
    add_dac(parser, period=False)


def _add_motion(motion: argparse._ArgumentGroup) -> None:
    motion.add_argument("--duration", type=POSITIVE, metavar="S", help="s, above 0 (default: 2)")
    motion.add_argument("--plan", metavar="FILE", help=MOTION_HELP)
    add_columns(motion)
    add_state(motion, "q", "start configuration, with --to or --line-to, rad (m) (default: zero)")
    motion.add_argument(
        "--to",
        metavar="A,B,...",
        help="configuration to move to smoothly, rad (m); one value per joint (default: every joint moves)",
    )
    motion.add_argument(
        "--line-to",
        metavar="X,Y,Z",
        help="point for the hand to move to smoothly on a straight line, base frame, m",
    )


def run(given: argparse.Namespace) -> int:
    """Compare, and show the table."""
    check_picture("--plot", given.plot)
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
    if given.plot:
        found.plot(given.plot)
    if given.json:
        show_json(found.document() | {"plot": given.plot})
        return 0
    show(found.report())
    if found.beyond:
        complain(
            f"the motion exceeds the limits of {', '.join(found.beyond)}; nothing stops it there.",
            kind="warning",
        )
    for row in found.rows:
        if row.message:
            complain(f"{row.name}: {row.message}.", kind="note")
    tell_written([given.plot])
    return 0


def _motion(given: argparse.Namespace, arm: Arm) -> Any:
    if given.plan is not None:
        for name in ("duration", "q", "to", "line_to"):
            if getattr(given, name) is not None:
                raise InputError(
                    "the --plan file already defines that; leave it out.", f"--{name.replace('_', '-')}"
                )
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
