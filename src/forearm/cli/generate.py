"""`forearm generate`: straight-line code for a function of an arm, a step of its simulation or a controller,
in every language that forearm writes, or as an object file for another machine.
"""

from __future__ import annotations

import argparse
from base64 import b64encode
from dataclasses import asdict
from typing import Any

from forearm.arm.arm import Arm
from forearm.cli.command import Command, add_arm, add_json, add_rigid, group, names_of, show_json, width
from forearm.cli.loading import load
from forearm.cli.loop_options import add_bandwidth
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
from forearm.targets.machines import TARGETS
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
        "--target",
        metavar="NAME",
        help=f"write an object file and C header for this machine, instead of --lang: {names_of(TARGETS)}",
    )
    parser.add_argument(
        "--dtype",
        choices=DTYPES,
        metavar="NAME",
        help=(
            f"{names_of(DTYPES, 'float64, and float32 for cortex-m4')}; float32 is for {', '.join(SINGLE)} "
            "and --target"
        ),
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
            "keep as symbol: LINK.mass, LINK.com.x, LINK.inertia.xx, JOINT.alpha, a whole LINK or JOINT, "
            "gravity.z, all; JOINT.friction, JOINT.motor, drives; may be repeated"
        ),
    )
    parser.add_argument(
        "--formulation",
        metavar="NAME",
        help="generate from this classical formulation, unoptimised; 'forearm inverse --help' lists them",
    )
    add_rigid(parser)
    parser.add_argument(
        "--name", metavar="NAME", help="name of the generated function (default: ARM_FUNCTION)"
    )
    add_json(parser)
    steps = group(parser, "a step of a simulation")
    steps.add_argument("--method", choices=METHODS, metavar="NAME", help=names_of(METHODS, "rk4"))
    steps.add_argument(
        "--drive", choices=DRIVES, metavar="NAME", help=f"input of the joints, {names_of(DRIVES, 'torque')}"
    )
    controllers = group(parser, "a controller")
    add_bandwidth(controllers)
    controllers.add_argument(
        "--period",
        type=POSITIVE,
        metavar="S",
        help=f"sampling period for pid_gravity, s, above 0 (default: {PERIOD:g})",
    )
    controllers.add_argument(
        "--open-gains", action="store_true", help="gains are set at run time by NAME_prepare"
    )


def _run(given: argparse.Namespace) -> int:
    functions = given.function or ["inverse_dynamics"]
    for name in functions:
        check_choice(name, [*FUNCTIONS, STEP, *LAWS], "--function")
    if given.target is not None:
        check_choice(given.target, TARGETS, "--target")
    arm = load(given.arm, hand=given.hand)
    made_for = arm.rigid() if given.rigid else arm
    with ProgressBar(f"finding the fewest operations of {' and '.join(functions)}"):
        source = _source(given, made_for, functions)
    paths = source.save(given.output) if given.output else []
    if given.json:
        about = {"arm": arm.name, "n": arm.n, "functions": functions}
        show_json(about | _document(given, source, [str(path) for path in paths]))
    elif paths:
        print(filled(f"{source.name}: {source.counts} per evaluation, {_size(source)}", width()))
        tell_written(paths)
    elif source.object is not None:
        print("\n".join([source.header, source.text]), end="")
    else:
        print("\n".join(text for _, text in sorted(source.files().items(), reverse=True)), end="")
    return 0


def _document(given: argparse.Namespace, source: Source, written: list[str]) -> dict[str, Any]:
    """The JSON document of the code; object files and modules are in base64."""
    files = {} if written else source.files()
    made = {
        "language": source.language,
        "dtype": given.dtype or "float64",
        "name": source.name,
        "counts": asdict(source.counts),
        "written": written,
        "files": {name: text for name, text in files.items() if isinstance(text, str)},
    }
    if source.target is None:
        return made
    binary = {name: b64encode(data).decode() for name, data in files.items() if isinstance(data, bytes)}
    dtype = given.dtype or TARGETS[source.target].dtypes[0]
    return made | {"target": source.target, "dtype": dtype, "figures": source.figures, "base64": binary}


def _size(source: Source) -> str:
    if source.object is None:
        return f"{sum(text.count(chr(10)) for text in source.files().values())} lines"
    code, constants, stack = (source.figures[f"{what}_bytes"] for what in ("code", "constant", "stack"))
    cycles = f", about {source.figures['cycles']} cycles" if "cycles" in source.figures else ""
    return f"{code} bytes of code, {constants} of constants, {stack} of stack{cycles}"


def _source(given: argparse.Namespace, arm: Arm, functions: list[str]) -> Source:
    law = next((name for name in functions if name in LAWS), None)
    own = {"bandwidth": given.bandwidth, "period": given.period, "open-gains": given.open_gains or None}
    steps = {"method": given.method, "drive": given.drive}
    for option in (name for name, value in steps.items() if value is not None and functions != [STEP]):
        raise InputError(f"only for --function {STEP}.", f"--{option}")
    if law is None:
        for option in (name for name, value in own.items() if value is not None):
            raise InputError(f"only for controllers: --function {', '.join(LAWS)}.", f"--{option}")
        return generate(
            arm,
            functions,
            given.lang,
            target=given.target,
            parameters=given.parameter,
            formulation=given.formulation,
            name=given.name,
            dtype=given.dtype,
            **{name: value for name, value in steps.items() if value is not None},
        )
    if len(functions) > 1:
        raise InputError(f"{law} is a complete controller; generate it alone.", "--function")
    for option in (name for name in ("parameter", "formulation") if getattr(given, name)):
        raise InputError(
            "not for controllers; --open-gains makes their gains run-time arguments.", f"--{option}"
        )
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
        target=given.target,
    )


COMMAND = Command(
    "forearm generate puma560 --function inverse_dynamics --lang c -o generated\n"
    "forearm generate panda --function forward_kinematics --function jacobian --lang python\n"
    "forearm generate panda --function integration_step --lang javascript -o generated\n"
    "forearm generate panda --function inverse_dynamics --target cortex-m4 -o firmware\n"
    "forearm generate puma560 --function computed_torque --bandwidth 30 --dtype float32 -o generated",
    _add_arguments,
    _run,
)
