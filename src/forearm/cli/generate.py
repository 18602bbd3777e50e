"""`forearm generate`: straight-line code for a function of an arm, a step of its simulation or a controller,
in every language that forearm writes, or as an object file for another machine.
"""

from __future__ import annotations

import argparse
from base64 import b64encode
from dataclasses import asdict
from typing import Any

from forearm.arm.arm import Arm
from forearm.cli.command import Command, names_of, show_json, width
from forearm.cli.loading import load
from forearm.cli.loop_options import GAINS
from forearm.cli.options import ARM, JSON, RIGID, SECONDS, Group, Option
from forearm.cli.outputs import tell_written
from forearm.cli.progress import ProgressBar
from forearm.codegen.functions import FUNCTIONS
from forearm.codegen.generate import DTYPES, LANGUAGES, SINGLE, generate
from forearm.codegen.integration_step import DRIVES, METHODS
from forearm.codegen.integration_step import NAME as STEP
from forearm.codegen.source import Source
from forearm.control.laws import LAWS, PERIOD
from forearm.errors import InputError
from forearm.reading.fields import ChoiceField, FlagField
from forearm.tables import filled
from forearm.targets.machines import TARGETS


def _run(given: argparse.Namespace) -> int:
    functions = given.function or ["inverse_dynamics"]
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
    common = {"name": given.name, "dtype": given.dtype, "target": given.target}
    steps, own = (
        {name: value for name in names if (value := getattr(given, name))}
        for names in (("method", "drive"), ("bandwidth", "period", "open_gains"))
    )
    for name in steps if functions != [STEP] else ():
        raise InputError(f"only for --function {STEP}.", name)
    if law is None:
        for name in own:
            raise InputError(f"only for controllers: --function {', '.join(LAWS)}.", name)
        kept = {"parameters": given.parameter, "formulation": given.formulation}
        return generate(arm, functions, given.lang, **kept, **common, **steps)
    if len(functions) > 1:
        raise InputError(f"{law} is a complete controller; generate it alone.", "function")
    for name in ("parameter", "formulation"):
        if getattr(given, name):
            raise InputError("not for controllers; --open-gains makes their gains run-time arguments.", name)
    from forearm.control.code import controller_code

    return controller_code(arm, law, language=given.lang, **common, **own)


NAMES = (*FUNCTIONS, STEP, *LAWS)
COMMAND = Command(
    "forearm generate puma560 --function inverse_dynamics --lang c -o generated\n"
    "forearm generate panda --function forward_kinematics --function jacobian --lang python\n"
    "forearm generate panda --function integration_step --lang javascript -o generated\n"
    "forearm generate panda --function inverse_dynamics --target cortex-m4 -o firmware\n"
    "forearm generate puma560 --function computed_torque --bandwidth 30 --dtype float32 -o generated",
    (
        *ARM,
        Option(
            "--function",
            f"{names_of(FUNCTIONS, 'inverse_dynamics')}; may be repeated: several become one "
            f"function that shares work; or {STEP}; or a controller: {', '.join(LAWS)}",
            reads=ChoiceField(NAMES),
            count="append",
        ),
        Option(
            "--lang",
            names_of(LANGUAGES, "c"),
            reads=ChoiceField(tuple(LANGUAGES)),
            default="c",
            keyword="language",
        ),
        Option(
            "--target",
            f"write an object file and C header for this machine, instead of --lang: {names_of(TARGETS)}",
            reads=ChoiceField(tuple(TARGETS)),
        ),
        Option(
            "--dtype",
            f"{names_of(DTYPES, 'float64, and float32 for cortex-m4')}; float32 is for {', '.join(SINGLE)} "
            "and --target",
            reads=ChoiceField(DTYPES),
        ),
        Option("--output", "folder for the files (default: the code is printed)", "DIR", short="-o"),
        Option(
            "--parameter",
            "keep as symbol: LINK.mass, LINK.com.x, LINK.inertia.xx, JOINT.alpha, a whole LINK or JOINT, "
            "gravity.z, all; JOINT.friction, JOINT.motor, drives; may be repeated",
            "NAME",
            default=[],
            count="append",
            keyword="parameters",
        ),
        Option(
            "--formulation",
            "generate from this classical formulation, unoptimised; 'forearm inverse --help' lists them",
            "NAME",
        ),
        RIGID,
        Option("--name", "name of the generated function (default: ARM_FUNCTION)", "NAME"),
        JSON,
        Group(
            "a step of a simulation",
            (
                Option("--method", names_of(METHODS, "rk4"), reads=ChoiceField(METHODS)),
                Option(
                    "--drive", f"input of the joints, {names_of(DRIVES, 'torque')}", reads=ChoiceField(DRIVES)
                ),
            ),
        ),
        Group(
            "a controller",
            (
                GAINS,
                Option(
                    "--period",
                    f"sampling period for pid_gravity, s, above 0 (default: {PERIOD:g})",
                    reads=SECONDS,
                ),
                Option("--open-gains", "gains are set at run time by NAME_prepare", reads=FlagField()),
            ),
        ),
    ),
    _run,
)
