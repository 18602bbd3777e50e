"""`forearm fmu`: an arm as a Functional Mock-up Unit."""

from __future__ import annotations

import argparse
from typing import Any

from forearm.cli.command import Command, names_of, show_json, width
from forearm.cli.loading import load
from forearm.cli.options import ARM, DEGREES, JSON, RIGID, SECONDS, Option, output, state
from forearm.cli.outputs import tell_written
from forearm.cli.progress import ProgressBar
from forearm.cli.states import read_state
from forearm.fmi.binaries import PLATFORMS
from forearm.fmi.export import DRIVES, VERSIONS, fmu
from forearm.reading.fields import ChoiceField, FlagField, WholeField
from forearm.tables import filled


def _run(given: argparse.Namespace) -> int:
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
    (
        *ARM,
        output("the file to write, .fmu", ".fmu", required=True),
        Option(
            "--fmi",
            "version of FMI, 2 or 3 (default: 3)",
            reads=WholeField("", *VERSIONS),
            default=3,
            keyword="version",
        ),
        Option(
            "--drive",
            f"input of the joints, {names_of(DRIVES, 'torque')}",
            reads=ChoiceField(DRIVES),
            default="torque",
        ),
        Option(
            "--step",
            "longest internal step of co-simulation, s, above 0 (default: 0.001)",
            reads=SECONDS,
            default=1e-3,
        ),
        state("q", "initial joint positions, rad (m) (default: zero, or the nearest within limits)", "q0"),
        state("qd", "initial joint velocities, rad/s (m/s) (default: zero)", "qd0"),
        DEGREES,
        Option(
            "--parameter",
            "a parameter that the simulator can set, such as joint2.friction; may be repeated",
            "NAME",
            default=[],
            count="append",
            keyword="parameters",
        ),
        Option("--payload", "let the simulator set mass and centre of mass of a payload", reads=FlagField()),
        Option(
            "--platform",
            f"a platform to include, {names_of(PLATFORMS)}; may be repeated (default: all possible)",
            reads=ChoiceField(tuple(PLATFORMS)),
            count="append",
            keyword="platforms",
        ),
        RIGID,
        JSON,
    ),
    _run,
)
