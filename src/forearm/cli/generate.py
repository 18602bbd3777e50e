"""`forearm generate`: straight-line code for a function of an arm, in C, C++, Fortran, Python or LaTeX."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from forearm.cli.command import Command, add_arm, add_json, add_rigid, names_of, show_json, width
from forearm.cli.loading import load
from forearm.cli.outputs import tell_written
from forearm.cli.progress import ProgressBar
from forearm.codegen.functions import FUNCTIONS
from forearm.codegen.generate import LANGUAGES, generate
from forearm.tables import filled


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_arm(parser)
    parser.add_argument(
        "--function",
        action="append",
        metavar="NAME",
        help=(
            f"{names_of(FUNCTIONS, 'inverse_dynamics')}; may be repeated: several become one "
            "function that shares work"
        ),
    )
    parser.add_argument("--lang", default="c", metavar="NAME", help=names_of(LANGUAGES, "c"))
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
            "gravity.z, all; may be repeated"
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


def _run(given: argparse.Namespace) -> int:
    arm = load(given.arm, hand=given.hand)
    functions = given.function or ["inverse_dynamics"]
    with ProgressBar(f"finding the fewest operations of {' and '.join(functions)}"):
        source = generate(
            arm.rigid() if given.rigid else arm,
            functions,
            given.lang,
            given.parameter,
            given.formulation,
            given.name,
        )
    paths = source.save(given.output) if given.output else []
    if given.json:
        files = {} if paths else source.files()
        show_json(
            {
                "arm": arm.name,
                "n": arm.n,
                "functions": functions,
                "language": source.language,
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


COMMAND = Command(
    "forearm generate puma560 --function inverse_dynamics --lang c -o generated\n"
    "forearm generate panda --function forward_kinematics --function jacobian --lang python",
    _add_arguments,
    _run,
)
