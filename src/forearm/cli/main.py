"""The entry point: finds the command, runs it, and turns whatever goes wrong into one paragraph and an exit code."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module

from forearm import __version__
from forearm.cli.command import Command, Parser, complain
from forearm.errors import ForearmError

COMMANDS = (
    "arms", "info", "check", "convert", "parts", "inverse", "forward", "count", "precision", "reproduce", "bench", "demo",
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `forearm ...`; returns the exit code: 0 done, 2 bad usage or bad input, 130 interrupted."""
    parser, commands = _parser()
    given = parser.parse_args(arguments)
    if given.command is None:
        parser.print_help()
        return 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = _show_warning
            return commands[given.command].run(given)
    except ForearmError as error:
        complain(str(error))
        return 2
    except KeyboardInterrupt:
        complain("interrupted.")
        return 130
    except BrokenPipeError:
        # The reader of a pipe has gone (| head); what was written was enough for it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> tuple[Parser, dict[str, Command]]:
    commands = {name: _command(name) for name in COMMANDS}
    listing = "\n".join(f"  {c.name:<9} {c.summary}" for c in commands.values())
    parser = Parser(
        prog="forearm",
        usage="forearm COMMAND [options]",
        description="Dynamics of robot arms: describe an arm, check it, compute with it.",
        epilog=f"commands:\n{listing}\n\n'forearm COMMAND --help' explains each.\nexample: forearm info puma560",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"forearm {__version__}")
    subparsers = parser.add_subparsers(
        dest="command", prog="forearm", metavar="COMMAND", help=argparse.SUPPRESS, parser_class=Parser
    )
    for command in commands.values():
        sub = subparsers.add_parser(
            command.name,
            description=command.summary,
            epilog=f"example:\n  {command.example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(sub)
    return parser, commands


def _command(name: str) -> Command:
    found: Command = import_module(f"forearm.cli.{name}").COMMAND
    return found


def _show_warning(message: Warning | str, *_args: object, **_named: object) -> None:
    complain(str(message), kind="warning")


if __name__ == "__main__":
    sys.exit(main())
