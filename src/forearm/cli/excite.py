"""`forearm excite`: a motion that excites the parameters of an arm, and the accuracy to expect."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.cli.command import Command, add_arm, add_json, complain, group, names_of, show_json
from forearm.cli.loading import load
from forearm.cli.numbers import POSITIVE, Real, Whole
from forearm.cli.outputs import add_plot, check_output, check_page, check_picture, tell_written
from forearm.cli.plan_goals import joint_limit
from forearm.cli.progress import ProgressBar
from forearm.cli.states import add_state, read_numbers, read_state
from forearm.cli.terminal import show
from forearm.cli.wording import at_the_prompt
from forearm.errors import InputError
from forearm.identification.excitation.criteria import CRITERIA
from forearm.identification.excitation.excite import MOST_HARMONICS, MOST_STARTS, SIDES, excite
from forearm.logs.table import ENDINGS
from forearm.trajectories.planning import Plan
from forearm.trajectories.series.basis import BASES

LIMITS = ("velocity", "acceleration", "torque", "voltage")
TURNING = ("velocity", "acceleration")  # what --degrees is about
FILES = ("output", "plot", "html")
MOST_MOTIONS = 20


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_arm(parser)
    parser.add_argument(
        "--duration", type=POSITIVE, default=10.0, metavar="S", help="duration of the motion, s (default: 10)"
    )
    parser.add_argument(
        "--criterion",
        choices=tuple(CRITERIA),
        default="d",
        metavar="NAME",
        help=f"criterion to optimise: {names_of(CRITERIA, 'd')}; d is the determinant of the information",
    )
    parser.add_argument(
        "--basis", choices=BASES, default="fourier", metavar="NAME", help=names_of(BASES, "fourier")
    )
    parser.add_argument(
        "--harmonics",
        type=Whole(2, MOST_HARMONICS),
        default=5,
        metavar="N",
        help="of the Fourier series, or as many coefficients of splines (default: 5)",
    )
    parser.add_argument(
        "--torque-side",
        choices=SIDES,
        default="motor",
        metavar="NAME",
        help=f"side of the gear where torques will be measured: {names_of(SIDES, 'motor')}",
    )
    parser.add_argument(
        "--noise",
        metavar="A,B,...",
        help="standard deviation of a torque sample, N m (N) (default: 1 %% of max_effort)",
    )
    parser.add_argument(
        "--after", action="append", metavar="FILE", help="a motion or log already available; may be repeated"
    )
    parser.add_argument(
        "--count",
        type=Whole(1, MOST_MOTIONS),
        default=1,
        metavar="N",
        help="number of complementary motions; files are numbered (default: 1)",
    )
    parser.add_argument(
        "--seed",
        type=Whole(0),
        default=0,
        metavar="N",
        help="seed of the random initial motions (default: 0)",
    )
    parser.add_argument(
        "--starts",
        type=Whole(1, MOST_STARTS),
        default=6,
        metavar="N",
        help="number of random initial motions (default: 6)",
    )
    parser.add_argument(
        "--step", type=POSITIVE, default=1e-3, metavar="S", help="sampling period, s (default: 0.001)"
    )
    add_json(parser)
    limits = group(parser, "limits")
    units = {
        "velocity": ("velocities, rad/s (m/s), degrees/s with --degrees", "the arm's"),
        "acceleration": ("accelerations, rad/s^2 (m/s^2), degrees/s^2 with --degrees", "what torques allow"),
        "torque": ("torques (forces), N m (N)", "max_effort"),
        "voltage": ("voltages, V", "the motors'"),
    }
    for name, (what, usual) in units.items():
        limits.add_argument(
            f"--{name}",
            metavar="A,B,...",
            help=f"largest {what}; one number, or one per joint (default: {usual})",
        )
    limits.add_argument(
        "--margin",
        type=Real(least=0.0, most=0.45),
        default=0.02,
        metavar="X",
        help="fraction of each joint's range kept free at both ends (default: 0.02)",
    )
    limits.add_argument(
        "--box",
        metavar="X,Y,Z,X,Y,Z",
        help="lower and upper corner of a box for the hand, base frame, m (default: any)",
    )
    limits.add_argument(
        "--floor", metavar="Z", help="minimum height of the hand, base frame, m (default: none)"
    )
    add_state(parser, "q", "configuration at both ends, rad (m) (default: optimised)")
    files = group(parser, "files")
    files.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write the samples: .csv or .parquet; or the motion, to be loaded again: .json",
    )
    add_plot(files, "the motion and the hand's path")
    files.add_argument("--html", metavar="FILE", help="write a page about it for a browser: .html")


def _run(given: argparse.Namespace) -> int:
    check_output("--output", given.output, (*ENDINGS, ".json"))
    check_picture("--plot", given.plot)
    check_page("--html", given.html)
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
            for kind, write in {"output": plan.save, "plot": plan.plot, "html": plan.to_html}.items():
                if (name := names[kind]) is not None:
                    write(name)
            written.append(names)
    if given.json:
        documents = [_document(plan) | names for plan, names in zip(made, written, strict=True)]
        show_json(documents[0] if given.count == 1 else {"motions": documents})
        return 0
    for plan in made:
        show(plan.report())
    for text in dict.fromkeys(text for plan in made for text in plan.warnings):
        complain(at_the_prompt(text), kind="warning")
    tell_written(path for names in written for path in names.values())
    return 0


def _options(given: argparse.Namespace, arm: Arm) -> dict[str, Any]:
    """What `excite` is given, read from the options."""
    same = ("basis", "harmonics", "criterion", "margin", "torque_side", "seed", "starts", "step")
    options: dict[str, Any] = {name: getattr(given, name) for name in same}
    for name in (*LIMITS, "noise"):
        text = getattr(given, name)
        if text is not None:
            options[name] = joint_limit(arm, text, name, given.degrees and name in TURNING)
    if given.q is not None:
        options["start"] = read_state(arm, given.q, "q", given.degrees)
    if given.box is not None or given.floor is not None:
        options["box"] = _box(given)
    return options


def _box(given: argparse.Namespace) -> list[list[float]]:
    box = np.array([[-np.inf] * 3, [np.inf] * 3])
    if given.box is not None:
        box = read_numbers(given.box, "box", 6).reshape(2, 3)
    if given.floor is not None:
        floor = float(read_numbers(given.floor, "floor", 1)[0])
        if floor >= box[1, 2]:
            raise InputError(f"{floor:g} m is not below the top of --box, {box[1, 2]:g} m.", "--floor")
        box[0, 2] = max(box[0, 2], floor)
    return [list(map(float, corner)) for corner in box]


def _numbered(path: str | None, k: int, count: int) -> str | None:
    """The name of the k-th file where there are several."""
    if path is None or count == 1:
        return path
    name = Path(path)
    return str(name.with_name(f"{name.stem}-{k + 1}{name.suffix}"))


def _document(plan: Plan) -> dict[str, Any]:
    assert plan.excitation is not None
    blocks = {
        "t": plan.t,
        "q": plan.q,
        "qd": plan.qd,
        "qdd": plan.qdd,
        "tau": plan.tau,
        "voltage": plan.voltage,
    }
    return {
        "name": plan.arm.name,
        "duration": plan.duration,
        "warnings": list(plan.warnings),
        "excitation": plan.excitation.document(),
        **blocks,
    }


COMMAND = Command(
    "forearm excite panda --duration 10 -o motion.csv\n"
    "forearm excite panda --after motion.csv --floor 0.1 -o second.json --plot second.png\n"
    "forearm excite puma560 --count 3 --torque-side motor -o motion.csv",
    _add_arguments,
    _run,
)
