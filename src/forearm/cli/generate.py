"""`forearm generate`: straight-line code for a function of an arm, a step of its simulation or a controller,
in every language that forearm writes.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from forearm.arm.arm import Arm
from forearm.cli.command import Command, add_arm, add_json, add_rigid, group, names_of, show_json, width
from forearm.cli.loading import load
from forearm.cli.numbers import POSITIVE
from forearm.cli.outputs import tell_written
from forearm.cli.progress import ProgressBar
from forearm.codegen.functions import FUNCTIONS
from forearm.codegen.generate import DTYPES, LANGUAGES, SINGLE, generate
from forearm.codegen.integration_step import DRIVES, METHODS
from forearm.codegen.integration_step import NAME as STEP
from forearm.codegen.source import Source
from forearm.control.gains import BANDWIDTH
from forearm.control.laws import LAWS, PERIOD
from forearm.errors import InputError
from forearm.tables import filled
from forearm.values import check_choice


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_arm(parser)
    parser.add_argument(
        "--function",
        action="append",
        metavar="NAME",
        help=(
            f"{names_of(FUNCTIONS, 'inverse_dynamics')}; may be repeated: several become one "
            f"function that shares work; or {STEP}; or a controller: {', '.join(LAWS)}"
        ),
    )
    parser.add_argument("--lang", default="c", metavar="NAME", help=names_of(LANGUAGES, "c"))
    parser.add_argument(
        "--dtype",
        default="float64",
        choices=DTYPES,
        metavar="NAME",
        help=f"{names_of(DTYPES, 'float64')}; float32 is for {', '.join(SINGLE)}",
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", help="folder for the files (default: the code is printed)"
    )
    parser.add_argument(
        "--parameter",
        action="append",
        default=[],
        metavar="NAME",
        help=(
            "stays a symbol: LINK.mass, LINK.com.x, LINK.inertia.xx, JOINT.alpha, a whole LINK or JOINT, "
            "gravity.z, all; JOINT.friction, JOINT.motor, drives; may be repeated"
        ),
    )
    parser.add_argument(
        "--formulation",
        metavar="NAME",
        help="trace this formulation of the documents as it is; 'forearm inverse --help' lists them",
    )
    add_rigid(parser)
    parser.add_argument(
        "--name", metavar="NAME", help="name of the generated function (default: that of arm and function)"
    )
    add_json(parser)
    steps = group(parser, "a step of a simulation")
    steps.add_argument("--method", choices=METHODS, metavar="NAME", help=names_of(METHODS, "rk4"))
    steps.add_argument(
        "--drive", choices=DRIVES, metavar="NAME", help=f"{names_of(DRIVES, 'torque')}: what drives the arm"
    )
    controllers = group(parser, "a controller")
    controllers.add_argument(
        "--bandwidth",
        type=POSITIVE,
        metavar="W",
        help=f"of its gains, rad/s, above 0 (default: {BANDWIDTH:g})",
    )
    controllers.add_argument(
        "--period",
        type=POSITIVE,
        metavar="S",
        help=f"seconds between samples, above 0, for pid_gravity (default: {PERIOD:g})",
    )
    controllers.add_argument(
        "--open-gains", action="store_true", help="gains are set at run time, by NAME_prepare"
    )


def _run(given: argparse.Namespace) -> int:
    functions = given.function or ["inverse_dynamics"]
    for name in functions:
        check_choice(name, [*FUNCTIONS, STEP, *LAWS], "--function")
    arm = load(given.arm, hand=given.hand)
    made_for = arm.rigid() if given.rigid else arm
    with ProgressBar(f"finding the fewest operations of {' and '.join(functions)}"):
        source = _source(given, made_for, functions)
    paths = source.save(given.output) if given.output else []
    if given.json:
        files = {} if paths else source.files()
        show_json(
            {
                "arm": arm.name,
                "n": arm.n,
                "functions": functions,
                "language": source.language,
                "dtype": given.dtype,
                "name": source.name,
                "counts": asdict(source.counts),
                "written": [str(path) for path in paths],
                "files": files,
            }
        )
    elif paths:
        lines = sum(text.count("\n") for text in source.files().values())
        print(filled(f"{source.name}: {source.counts} an evaluation, {lines} lines", width()))
        tell_written(paths)
    else:
        print("\n".join(text for _, text in sorted(source.files().items(), reverse=True)), end="")
    return 0


def _source(given: argparse.Namespace, arm: Arm, functions: list[str]) -> Source:
    law = next((name for name in functions if name in LAWS), None)
    own = {"bandwidth": given.bandwidth, "period": given.period, "open-gains": given.open_gains or None}
    steps = {"method": given.method, "drive": given.drive}
    for option in (name for name, value in steps.items() if value is not None and functions != [STEP]):
        raise InputError(f"--{option}: it is for --function {STEP}.")
    if law is None:
        for option in (name for name, value in own.items() if value is not None):
            raise InputError(f"--{option}: it is for controllers: --function {', '.join(LAWS)}.")
        return generate(
            arm,
            functions,
            given.lang,
            given.parameter,
            given.formulation,
            given.name,
            given.dtype,
            **{name: value for name, value in steps.items() if value is not None},
        )
    if len(functions) > 1:
        raise InputError(f"--function: {law} is a whole controller; generate it by itself.")
    for option in (name for name in ("parameter", "formulation") if getattr(given, name)):
        raise InputError(f"--{option}: controllers have none; --open-gains leaves their gains open.")
    from forearm.control.code import controller_code

    return controller_code(
        arm,
        law,
        bandwidth=given.bandwidth or BANDWIDTH,
        period=given.period or PERIOD,
        open_gains=given.open_gains,
        name=given.name,
        dtype=given.dtype,
        language=given.lang,
    )


COMMAND = Command(
    "forearm generate puma560 --function inverse_dynamics --lang c -o generated\n"
    "forearm generate panda --function forward_kinematics --function jacobian --lang python\n"
    "forearm generate panda --function integration_step --lang javascript -o generated\n"
    "forearm generate puma560 --function computed_torque --bandwidth 30 --dtype float32 -o generated",
    _add_arguments,
    _run,
)
