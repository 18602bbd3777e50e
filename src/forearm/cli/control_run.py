"""`forearm control run`: one controller along a motion, from the request to the simulated response."""

from __future__ import annotations

import argparse

from forearm.cli.command import Command
from forearm.cli.controlled import controlled
from forearm.cli.loading import load
from forearm.cli.loop_options import CHANGES, DAC_OPTIONS, GAINS, INERTIAS, LOOP, SAMPLING, plant_options
from forearm.cli.motions import COLUMNS, MOTION_HELP, read_plan
from forearm.cli.options import ARM, JSON, SECONDS, Group, Option
from forearm.cli.progress import ProgressBar
from forearm.cli.simulate import FILES, finish_run


def _run(given: argparse.Namespace) -> int:
    """Plan, run the controller and show the tracking error."""
    arm = load(given.arm, hand=given.hand)
    with ProgressBar(f"planning for {arm.name}"):
        motion = read_plan(given, arm, given.motion)
    with ProgressBar(f"running {given.controller} on {arm.name}"):
        found = controlled(given, arm, motion, given.voltage, given.step)
    return finish_run(given, found)


COMMAND = Command(
    "forearm control run puma560 request.toml --controller computed_torque --to run.npz --plot run.png",
    (
        *ARM,
        Option("motion", MOTION_HELP, "MOTION"),
        Option(
            "--controller",
            "such as PD; 'forearm control compare' lists all (default: computed torque)",
            "NAME",
            default="computed torque",
        ),
        Option("--step", "integration step of the arm, s, above 0 (default: 0.00025)", reads=SECONDS),
        SAMPLING,
        GAINS,
        INERTIAS,
        *COLUMNS,
        JSON,
        Group("unmodelled by the controller", (*plant_options("none"), *CHANGES)),
        LOOP,
        DAC_OPTIONS,
        FILES,
    ),
    _run,
    "One controller along a motion: request, trajectory, torques, feedback.",
)
