"""`forearm generate`: straight-line code for a function of an arm, in C, C++, Fortran, Python or LaTeX."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from forearm.cli.command import Command, add_arm, add_json, show_json
from forearm.codegen.functions import FUNCTIONS
from forearm.codegen.generate import LANGUAGES, generate
from forearm.files.load import load
from forearm.tables import text_table


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_arm(parser)
    parser.add_argument(
        "--function", action="append", metavar="F",
        help="inverse_dynamics unless given; may be repeated, several become one function that shares work; "
        f"one of {', '.join(FUNCTIONS)}",
    )  # fmt: skip
    parser.add_argument("--lang", default="c", metavar="LANGUAGE", help=f"one of {', '.join(LANGUAGES)} (c unless given)")
    parser.add_argument("-o", "--output", metavar="DIR", help="folder for the files; without it the code is printed")
    parser.add_argument(
        "--parameter", action="append", default=[], metavar="NAME",
        help="stays a symbol: LINK.mass, LINK.com.x, LINK.inertia.xx, JOINT.alpha, a whole LINK or JOINT, gravity.z, all; "
        "may be repeated",
    )  # fmt: skip
    parser.add_argument("--formulation", metavar="NAME", help="trace this formulation of the documents as it is")
    parser.add_argument("--rigid", action="store_true", help="leave out motors, friction, bearings and transmissions")
    parser.add_argument("--name", metavar="NAME", help="name of the generated function")
    add_json(parser)


def _run(given: argparse.Namespace) -> int:
    arm = load(given.arm, hand=given.hand)
    functions = given.function or ["inverse_dynamics"]
    source = generate(
        arm.rigid() if given.rigid else arm, functions, given.lang, given.parameter, given.formulation, given.name
    )  # fmt: skip
    paths = source.save(given.output) if given.output else []
    if given.json:
        files = {} if paths else source.files()
        show_json(
            {
                "arm": arm.name, "n": arm.n, "functions": functions, "language": source.language, "name": source.name,
                "counts": asdict(source.counts), "written": [str(path) for path in paths], "files": files,
            }
        )  # fmt: skip
    elif paths:
        rows = [[str(path), str(text.count("\n"))] for path, text in zip(paths, source.files().values(), strict=True)]
        print(f"{source.name}: {source.counts} an evaluation\n{text_table(['written', 'lines'], rows)}")
    else:
        print("\n".join(text for _, text in sorted(source.files().items(), reverse=True)), end="")
    return 0


COMMAND = Command(
    "forearm generate puma560 --function inverse_dynamics --lang c -o generated",
    _add_arguments,
    _run,
)
