"""`forearm excite`: a motion that excites the parameters of an arm, and the accuracy to expect."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.cli.command import Command, complain, show_json
from forearm.cli.loading import load
from forearm.cli.options import (
    ARM,
    DEGREES,
    HTML,
    JSON,
    SECONDS,
    Group,
    Option,
    derived,
    fields_given,
    output,
    plot,
    state,
)
from forearm.cli.outputs import tell_written
from forearm.cli.plan_goals import joint_limit
from forearm.cli.progress import ProgressBar
from forearm.cli.states import read_numbers, read_state
from forearm.cli.terminal import show
from forearm.cli.wording import speller
from forearm.errors import InputError, spelled
from forearm.identification.excitation.excite import excite
from forearm.identification.requests import ExcitationSearch, MotionBounds, TorqueSensing
from forearm.logs.table import ENDINGS
from forearm.reading.fields import WholeField
from forearm.trajectories.planning import Plan

TURNING = ("velocity", "acceleration")  # what --degrees is about
FILES = ("output", "plot", "html")


def _run(given: argparse.Namespace) -> int:
    arm = load(given.arm, hand=given.hand)
    options = _options(given, arm)
    made: list[Plan] = []
    for k in range(given.count):
        with ProgressBar(f"searching for motion {k + 1} of {given.count} of {arm.name}") as bar:
            after = [*(given.after or ()), *made]
            made.append(excite(arm, given.duration, after=after, progress=bar, **options))
    written: list[dict[str, str | None]] = []
    with ProgressBar("writing files"):
        for k, plan in enumerate(made):
            names = {kind: _numbered(getattr(given, kind), k, given.count) for kind in FILES}
            for name, write in zip(names.values(), (plan.save, plan.plot, plan.to_html), strict=True):
                if name is not None:
                    write(name)
            written.append(names)
    if given.json:
        documents = [_document(plan) | names for plan, names in zip(made, written, strict=True)]
        show_json(documents[0] if given.count == 1 else {"motions": documents})
        return 0
    for plan in made:
        show(plan.report())
    for text in dict.fromkeys(text for plan in made for text in plan.warnings):
        complain(spelled(text, speller(given.options)), kind="warning")
    tell_written(path for names in written for path in names.values())
    return 0


def _options(given: argparse.Namespace, arm: Arm) -> dict[str, Any]:
    """What `excite` is given, read from the options."""
    options = fields_given(given, MotionBounds, ExcitationSearch, TorqueSensing)
    for name in {"velocity", "acceleration", "torque", "voltage", "noise"} & set(options):
        options[name] = joint_limit(arm, options[name], name, given.degrees and name in TURNING)
    if given.q is not None:
        options["start"] = read_state(arm, given.q, "q", given.degrees)
    box = np.array([[-np.inf] * 3, [np.inf] * 3])
    if given.box is not None:
        box = read_numbers(given.box, "box", 6).reshape(2, 3)
    if given.floor is not None:
        floor = float(read_numbers(given.floor, "floor", 1)[0])
        if floor >= box[1, 2]:
            raise InputError(f"{floor:g} m is not below the top of --box, {box[1, 2]:g} m.", "--floor")
        box[0, 2] = max(box[0, 2], floor)
    return options | ({"box": box} if np.isfinite(box).any() else {})


def _numbered(path: str | None, k: int, count: int) -> str | None:
    """The name of the k-th file where there are several."""
    if path is None or count == 1:
        return path
    name = Path(path)
    return str(name.with_name(f"{name.stem}-{k + 1}{name.suffix}"))


def _document(plan: Plan) -> dict[str, Any]:
    assert plan.excitation is not None
    blocks = ("duration", "warnings", "t", "q", "qd", "qdd", "tau", "voltage")
    return {
        "name": plan.arm.name,
        "excitation": plan.excitation.document(),
        **{key: getattr(plan, key) for key in blocks},
    }


def _limit(help_text: str) -> dict[str, Any]:
    return {"reads": None, "metavar": "A,B,...", "help": f"{help_text}; one number, or one per joint"}


COMMAND = Command(
    "forearm excite panda --duration 10 -o motion.csv\n"
    "forearm excite panda --after motion.csv --floor 0.1 -o second.json --plot second.png\n"
    "forearm excite puma560 --count 3 --torque-side motor -o motion.csv",
    (
        *ARM,
        Option("--duration", "duration of the motion, s (default: 10)", reads=SECONDS, default=10.0),
        *derived(ExcitationSearch),
        *derived(
            TorqueSensing,
            noise=_limit("standard deviation of a torque sample, N m (N) (default: 1 % of max_effort)"),
        ),
        Option("--after", "a motion or log already available; may be repeated", "FILE", count="append"),
        Option(
            "--count",
            "number of complementary motions; files are numbered (default: 1)",
            reads=WholeField("", 1, 20),
            default=1,
        ),
        state("q", "configuration at both ends, rad (m) (default: optimised)", "start"),
        DEGREES,
        JSON,
        Group(
            "limits",
            (
                *derived(
                    MotionBounds,
                    velocity=_limit(
                        "largest velocities, rad/s (m/s), degrees/s with --degrees (default: the arm's)"
                    ),
                    acceleration=_limit(
                        "largest accelerations, rad/s^2 (m/s^2), degrees/s^2 with --degrees (default: what "
                        "torques allow)"
                    ),
                    torque=_limit("largest torques (forces), N m (N) (default: max_effort)"),
                    voltage=_limit("largest voltages, V (default: the motors')"),
                    box={
                        "reads": None,
                        "metavar": "X,Y,Z,X,Y,Z",
                        "help": "lower and upper corner of a box for the hand, base frame, m (default: any)",
                    },
                ),
                Option("--floor", "minimum height of the hand, base frame, m (default: none)", "Z"),
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
                HTML,
            ),
        ),
    ),
    _run,
)
