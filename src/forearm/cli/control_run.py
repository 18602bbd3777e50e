"""`forearm control run`: one controller along a motion, from the request to the simulated response."""

from __future__ import annotations

import argparse

from forearm.cli.command import add_arm, add_json, group
from forearm.cli.controlled import controlled
from forearm.cli.loading import load
from forearm.cli.loop_options import (
    add_bandwidth,
    add_changes,
    add_dac,
    add_delay,
    add_inertias,
    add_period,
    add_plant,
    add_sensors,
    add_voltage,
)
from forearm.cli.motions import MOTION_HELP, add_columns, read_plan
from forearm.cli.numbers import POSITIVE
from forearm.cli.progress import ProgressBar
from forearm.cli.simulate import add_files, check_run_files, finish_run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the action."""
    add_arm(parser)
    parser.add_argument("motion", metavar="MOTION", help=MOTION_HELP)
    parser.add_argument(
        "--controller",
        default="computed torque",
        metavar="NAME",
        help="such as PD; 'forearm control compare' lists all (default: computed torque)",
    )
    parser.add_argument(
        "--step",
        type=POSITIVE,
        metavar="S",
        help="integration step of the arm, s, above 0 (default: 0.00025)",
    )
    add_period(parser)
    add_bandwidth(parser)
    add_inertias(parser)
    add_columns(parser)
    add_json(parser)
    unknown = group(parser, "unmodelled by the controller")
    add_plant(unknown, "none")
    add_changes(unknown)
    loop = group(parser, "loop and sensors (default: ideal)")
    for add in (add_delay, add_sensors, add_voltage):
        add(loop)
    add_dac(parser, period=False)
    add_files(parser)


def run(given: argparse.Namespace) -> int:
    """Plan, run the controller and show the tracking error."""
    check_run_files(given)
    arm = load(given.arm, hand=given.hand)
    with ProgressBar(f"planning for {arm.name}"):
        motion = read_plan(given, arm, given.motion)
    with ProgressBar(f"running {given.controller} on {arm.name}"):
        found = controlled(given, arm, motion, given.voltage, given.step)
    return finish_run(given, found)
