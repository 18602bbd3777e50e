"""The entry point: finds the command, runs it, and turns whatever goes wrong into one
paragraph and an exit code.
"""

from __future__ import annotations

import argparse
import errno
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import takewhile

from forearm import __version__
from forearm.cli.command import Command, Formatter, Parser, add_parser, complain
from forearm.cli.terminal import give_up_output, show_all_characters
from forearm.errors import ForearmError, InputError, shorten, suggest

# Name and summary of every command; its module in this folder is imported only when it is called.
COMMANDS = {
    "arms": "List the built-in arms.",
    "info": "Show an arm: joints, links, drives, and a drawing of its skeleton.",
    "check": "Check an arm file: errors, and what is possible but implausible.",
    "convert": "Write an arm in another format: arm file (.toml), URDF or MJCF.",
    "parts": "Mass, centre and inertia of sections, parts and links of a parts file.",
    "kinematics": "Pose and motion of the hand; all inverse solutions of a pose.",
    "plan": "Plan a motion through points or poses, with its torques and voltages.",
    "excite": "Plan a motion that excites an arm's parameters for identification.",
    "inverse": "Joint torques of a state, by any formulation, drives included.",
    "forward": "Joint accelerations from torques, by any method, drives included.",
    "modes": "Natural frequencies, damping and mode shapes of an arm with elastic joints.",
    "simulate": "Simulate an arm driven by torques, voltages or a controller.",
    "sweep": "Run a study: many simulations of arms that differ, on all cores or a cluster.",
    "optimise": "Optimise gears, motors, links or counterweights under constraints.",
    "calibrate": "Calibrate the geometry of an arm from measured poses or points of its hand.",
    "control": "Run and compare controllers; estimate a payload; compare a log with the model.",
    "identify": "Identify masses, friction and motors from logs, with standard deviations.",
    "studio": "Write one page for a browser with the arm's own dynamics, to view, pose and simulate it.",
    "sim": "Swartz's interpreter: variables and commands, at a terminal or from a script.",
    "count": "Count multiplications and additions of every formulation.",
    "generate": "Write code for a function of an arm, a simulation step or a controller, in many languages.",
    "fmu": "Write an arm as a Functional Mock-up Unit for Simulink, Modelica and others.",
    "schedule": (
        "One evaluation over several processors: task graphs, schedules, bounds, and threads that run them."
    ),
    "precision": "Error of single precision in forward dynamics, by method.",
    "reproduce": "Recompute the printed values of the five documents.",
    "bench": "Measure speed on this machine.",
    "cache": "Show or clear the cache of compiled code.",
    "completion": "Write a script that completes forearm's commands, options and names in a shell.",
    "demo": "Demonstrate everything on the PUMA 560; ends with a page.",
}


NUMBER = re.compile(r"[-+]?\.?[0-9][0-9.eE+-]*,?")
# What a full disk or a stream that cannot be written to gives; standard output has no file name.
STREAM_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `forearm ...`; returns the exit code: 0 done, 1 done but not good, 2 bad usage or bad
    input, 130 interrupted.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    show_all_characters()
    try:
        try:
            return _called(words)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except ForearmError as error:
        complain(str(error))
        return 2
    except KeyboardInterrupt:
        complain("interrupted.")
        return 130
    except BrokenPipeError:
        give_up_output()  # the reader of a pipe has gone (| head); what was written was enough for it
        return 0
    except OSError as error:
        if error.filename is None and error.errno not in STREAM_ERRORS:
            raise
        if error.filename is not None:
            complain(f"{shorten(error.filename)}: {error.strerror}. Name another.")
        else:
            complain(
                f"standard output: cannot be written: {error.strerror}. Make room there, or write elsewhere."
            )
            give_up_output()
        return 2


def _called(words: list[str]) -> int:
    parser = _parser(next((word for word in words if word in COMMANDS), None))
    _refuse_spaces(words, parser.list_options())
    given, unknown = parser.parse_known_args(_with_negative_numbers(words))
    if unknown:
        for name in filter(None, (given.command, getattr(given, "action", None))):
            parser = parser.inner(name)
        _complain_of(unknown, parser)
        return 2
    if given.command is None:
        parser.print_help()
        return 0
    from forearm.cli.options import check_files  # where used: help of the whole needs no NumPy
    from forearm.cli.wording import error_at_the_prompt

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ResourceWarning)  # of files that Ctrl-C leaves to be closed
        warnings.showwarning = _show_warning
        try:
            check_files(given)
            code: int = given.run_command(given)
            return code
        except ForearmError as error:
            complain(error_at_the_prompt(error, getattr(given, "options", ())))
            return 2


def _with_negative_numbers(words: list[str]) -> list[str]:
    """`--q -0.1,0.2` as `--q=-0.1,0.2`: a list that starts with a minus is a value, not an option."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1].startswith("--") and "=" not in joined[-1] and re.match(r"-\.?\d", word):
            joined[-1] = f"{joined[-1]}={word}"
        else:
            joined.append(word)
    return joined


def _refuse_spaces(words: list[str], options: set[str]) -> None:
    """Refuse `--q 0 -0.5 0`, whose second number would be taken for another word."""
    for k, option in enumerate(words):
        numbers = list(takewhile(NUMBER.fullmatch, words[k + 1 :])) if option in options else []
        if len(numbers) > 1:
            joined = ",".join(number.rstrip(",") for number in numbers)
            raise InputError(
                f"expected numbers separated by commas, without spaces: {option} {joined}.", option
            )


def _complain_of(unknown: list[str], parser: Parser) -> None:
    known = [name for name in parser._option_string_actions if name.startswith("--")]
    option = next((word.split("=")[0] for word in unknown if word.startswith("-")), unknown[0])
    hint = (
        suggest(option, known)
        if option.startswith("-")
        else "one word too many, or a missing option before it."
    )
    complain(f"there is no {shorten(option)} here: {hint} See '{parser.prog} --help'.")


def _parser(called: str | None) -> Parser:
    """The parser of the whole command line, with the options of the one command that is called."""
    listing = "\n".join(f"  {name:<10} {summary}" for name, summary in COMMANDS.items())
    parser = Parser(
        prog="forearm",
        usage="forearm COMMAND [options]",
        description="Dynamics of robot arms: describe an arm, check it, compute with it.",
        epilog=(
            f"commands:\n{listing}\n\n'forearm COMMAND --help' explains each.\nexample: forearm info puma560"
        ),
        formatter_class=Formatter,
    )
    parser.add_argument(
        "--version", action="version", version=f"forearm {__version__}", help="show the version and exit"
    )
    subparsers = parser.add_subparsers(
        dest="command", prog="forearm", metavar="COMMAND", help=argparse.SUPPRESS, parser_class=Parser
    )
    for name, summary in COMMANDS.items():
        add_parser(subparsers, name, summary, _command(name) if name == called else None)
    return parser


def _command(name: str) -> Command:
    with _imported_whole():
        found: Command = import_module(f"forearm.cli.{name}").COMMAND
    return found


@contextmanager
def _imported_whole() -> Iterator[None]:
    """Defer Ctrl-C until modules are imported: some turn an interrupt during import into other errors."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


def _show_warning(message: Warning | str, *_args: object, **_named: object) -> None:
    complain(str(message), kind="warning")


if __name__ == "__main__":
    sys.exit(main())
