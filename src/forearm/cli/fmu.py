"""`forearm fmu`: an arm as a Functional Mock-up Unit."""

from __future__ import annotations

import argparse
from typing import Any

from forearm.cli.command import Command, add_arm, add_json, add_rigid, names_of, show_json, width
from forearm.cli.loading import load
from forearm.cli.numbers import POSITIVE, Whole
from forearm.cli.outputs import check_output, tell_written
from forearm.cli.progress import ProgressBar
from forearm.cli.states import add_state, read_state
from forearm.fmi.binaries import PLATFORMS
from forearm.fmi.export import DRIVES, VERSIONS, fmu
from forearm.tables import filled


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_arm(parser)
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the file to write, .fmu")
    parser.add_argument(
        "--fmi", type=Whole(*VERSIONS), default=3, metavar="N", help="version of FMI, 2 or 3 (default: 3)"
    )
    parser.add_argument(
        "--drive",
        choices=DRIVES,
        default="torque",
        metavar="NAME",
        help=f"input of the joints, {names_of(DRIVES, 'torque')}",
    )
    parser.add_argument(
        "--step",
        type=POSITIVE,
        default=1e-3,
        metavar="S",
        help="longest internal step of co-simulation, s, above 0 (default: 0.001)",
    )
    add_state(parser, "q", "initial joint positions, rad (m) (default: zero, or the nearest within limits)")
    add_state(parser, "qd", "initial joint velocities, rad/s (m/s) (default: zero)")
    parser.add_argument(
        "--parameter",
        action="append",
        default=[],
        metavar="NAME",
        help="a parameter that the simulator can set, such as joint2.friction; may be repeated",
    )
    parser.add_argument(
        "--payload", action="store_true", help="let the simulator set mass and centre of mass of a payload"
    )
    parser.add_argument(
        "--platform",
        action="append",
        choices=tuple(PLATFORMS),
        metavar="NAME",
        help=f"a platform to include, {names_of(PLATFORMS)}; may be repeated (default: all possible)",
    )
    add_rigid(parser)
    add_json(parser)


def _run(given: argparse.Namespace) -> int:
    check_output("-o", given.output, (".fmu",), "the file of an FMU ends")
    arm = load(given.arm, hand=given.hand)
    arm = arm.rigid() if given.rigid else arm
    states: dict[str, Any] = {
        f"{name}0": None if text is None else read_state(arm, text, name, given.degrees)
        for name, text in (("q", given.q), ("qd", given.qd))
    }
    with ProgressBar(f"writing an FMU of {arm.name}"):
        made = fmu(
            arm,
            given.output,
            version=given.fmi,
            drive=given.drive,
            step=given.step,
            parameters=given.parameter,
            payload=given.payload,
            platforms=given.platform,
            **states,
        )
    if given.json:
        fields = vars(made) | {"name": arm.name, "path": str(given.output)}
        show_json(fields)
        return 0
    what = f"FMI {made.version}, co-simulation and model exchange, {made.size // 1024} KB"
    print(filled(f"{arm.name}: {what}", width()))
    for title, names in (("inputs", made.inputs), ("outputs", made.outputs), ("parameters", made.parameters)):
        print(filled(f"{title}: {', '.join(names)}", width()))
    print(filled(f"libraries for {', '.join(made.platforms) or 'no system'}; source in C", width()))
    tell_written([given.output])
    return 0


COMMAND = Command(
    "forearm fmu panda -o panda.fmu\nforearm fmu puma560 -o puma560.fmu --fmi 2 --drive voltage",
    _add_arguments,
    _run,
)
