"""What a command is and what all commands share: help with examples, errors in one
paragraph, JSON on request.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from forearm.cli.terminal import complain, is_unicode, width
from forearm.errors import InputError, not_among, shorten

__all__ = [
    "ARM_HELP", "Command", "Formatter", "Parser", "add_arm", "add_json", "add_parser", "add_rigid",
    "complain", "group", "names_of", "show_json", "width", "with_examples",
]  # fmt: skip

LISTED = 13  # characters before the summary of a command in the list of them
ARM_HELP = "built-in name, or path to a .toml, .urdf or .xml (MJCF) file"


@dataclass(frozen=True)
class Command:
    """One command: examples that work, one per line, its options, and what it runs; or actions, which are
    commands with a summary. Its own name and summary stand in `main`.
    """

    example: str
    options: Callable[[argparse.ArgumentParser], None] | tuple[Any, ...]  # Option and Group of `cli.options`
    run: Callable[[argparse.Namespace], int] | None
    summary: str = ""
    actions: Mapping[str, Command] = field(default_factory=dict)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add options and actions to a parser, whose result says what to run, and keeps the options to check
        files and to spell errors.
        """
        parser.set_defaults(run_command=self.run)
        if callable(self.options):
            self.options(parser)
        else:
            every = [option for entry in self.options for option in entry.add_to(parser)]
            parser.set_defaults(options=every)
        if self.actions:
            parser.epilog = (
                f"{parser.epilog}\n\n'{parser.prog} ACTION --help' explains each; all take --json."
            )
            parsers = parser.add_subparsers(
                dest="action", required=True, metavar="ACTION", parser_class=Parser
            )
            for name, action in self.actions.items():
                add_parser(parsers, name, action.summary, action, help=action.summary)


def add_parser(
    parsers: argparse._SubParsersAction[Parser], name: str, summary: str, command: Command | None, **more: Any
) -> None:
    """A parser for a command or action, with its options if the command is given."""
    epilog = None if command is None else with_examples(command.example)
    parser = parsers.add_parser(name, description=summary, epilog=epilog, formatter_class=Formatter, **more)
    if command is not None:
        command.add_arguments(parser)


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one paragraph that says where, what was given,
    what is allowed and what to do.
    """

    def error(self, message: str) -> NoReturn:
        """Print the error and where to find help; exit with status 2."""
        text = message.removeprefix("argument ")
        missing = text.removeprefix("the following arguments are required: ")
        text = f"{missing}: required, but not given" if missing != text else text
        stop = "" if text.endswith((".", "?")) else "."
        complain(f"{text}{stop} See '{self.prog} --help'.")
        sys.exit(2)

    def inner(self, name: str) -> Parser:
        """The parser of a command or action."""
        (actions,) = (a for a in self._actions if isinstance(a, argparse._SubParsersAction))
        parser: Parser = actions.choices[name]
        return parser

    def list_options(self) -> set[str]:
        """The options of it and its commands that take several numbers or names, with commas between."""
        found: set[str] = set()
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                found.update(*(parser.list_options() for parser in action.choices.values()))
            elif "," in str(action.metavar):
                found.update(action.option_strings)
        return found

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        # An empty text would pass for an option that is not given, and argparse makes [] of '--option=--'.
        if len(arg_strings) == 1 and arg_strings[0].strip() in ("", "--"):
            self._refuse(action, f"expected a value, got {shorten(arg_strings[0])}")
        return super()._get_values(action, arg_strings)

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError as error:
            self._refuse(action, error.message)

    def _refuse(self, action: argparse.Action, why: str) -> NoReturn:
        name = action.option_strings[-1] if action.option_strings else action.metavar
        raise InputError(f"{why}. See '{self.prog} --help'.", name)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            where = None if isinstance(action, argparse._SubParsersAction) else action
            raise argparse.ArgumentError(where, not_among(value, action.choices))


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Help that fits the terminal: names are not broken at hyphens, and lines of examples not at all."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(self._filled(line, width) for line in text.splitlines())

    def _filled(self, line: str, width: int) -> str:
        if re.match(r"  (forearm|echo) ", line):
            return line
        under = " " * (LISTED if line.startswith("  ") else 0)
        return textwrap.fill(line, width, subsequent_indent=under, break_on_hyphens=False)


def with_examples(example: str) -> str:
    """The end of a help text."""
    lines = example.splitlines()
    return "\n  ".join(["examples:" if len(lines) > 1 else "example:", *(line.strip() for line in lines)])


def group(parser: argparse.ArgumentParser, title: str) -> argparse._ArgumentGroup:
    """Options that belong together, under a title of their own in the help."""
    return parser.add_argument_group(title)


def add_json(parser: argparse._ActionsContainer) -> None:
    """The --json option, the same everywhere."""
    parser.add_argument(
        "--json", action="store_true", help="one JSON document on standard output, nothing else"
    )


def add_arm(parser: argparse._ActionsContainer, help_text: str = ARM_HELP, is_needed: bool = True) -> None:
    """The ARM argument and the --hand option, the same everywhere."""
    if is_needed:
        parser.add_argument("arm", metavar="ARM", help=help_text)
    else:
        parser.add_argument("arm", metavar="ARM", nargs="?", help=help_text)
    parser.add_argument("--hand", metavar="LINK", help="the link that is the hand, if not the default")


def add_rigid(parser: argparse._ActionsContainer) -> None:
    """The --rigid option, the same everywhere."""
    parser.add_argument(
        "--rigid", action="store_true", help="leave out motors, friction, bearings, transmissions and springs"
    )


def names_of(known: Iterable[str], usual: str | None = None) -> str:
    """How a help text lists what may stand for NAME."""
    text = f"one of {', '.join(known)}"
    return text if usual is None else f"{text} (default: {usual})"


def show_json(document: Any) -> None:
    """Print one JSON document; what JSON cannot hold (infinite limits) becomes null."""
    text = json.dumps(_plain(document), indent=2, ensure_ascii=not is_unicode(sys.stdout), allow_nan=False)
    print(text)


def _plain(value: Any) -> Any:
    import numpy as np  # where used: whoever asks for help need not wait for it

    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
