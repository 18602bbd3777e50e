"""What a command is, and how all of them speak: help with an example, errors in one paragraph, JSON on request."""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from forearm.errors import suggest


@dataclass(frozen=True)
class Command:
    """One command: an example that works, its options, and what it runs. Its name and summary stand in `main`."""

    example: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one paragraph that says what to do."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is, and leave with 2."""
        if "invalid choice" in message:
            given = message.split("invalid choice: ")[1].split(" (")[0].strip("'")
            known = next((list(a.choices) for a in self._actions if a.choices and given not in a.choices), [])
            message = f"there is no {given!r}; {suggest(given, known)}"
        stop = "" if message.endswith((".", "?")) else "."
        complain(f"{message}{stop} See '{self.prog} --help'.")
        sys.exit(2)

    def options_of(self, command: str | None) -> list[str]:
        """The long options of a command, or of the whole line."""
        choices = next((a.choices for a in self._actions if isinstance(a, argparse._SubParsersAction)), {})
        parser = choices.get(command, self) if command else self
        return [option for action in parser._actions for option in action.option_strings if option.startswith("--")]


def add_json(parser: argparse.ArgumentParser) -> None:
    """The --json option, the same everywhere."""
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output, nothing else there")


def add_arm(parser: argparse.ArgumentParser, help_text: str = "built-in name, or path to a .toml or .urdf file") -> None:
    """The ARM argument and the --hand option, the same everywhere."""
    parser.add_argument("arm", metavar="ARM", help=help_text)
    parser.add_argument("--hand", metavar="LINK", help="the link that is the hand, where it is another than usual")


def show_json(document: Any) -> None:
    """Print one JSON document; what JSON cannot hold (infinite limits) becomes null."""
    print(json.dumps(_plain(document), indent=2, ensure_ascii=False, allow_nan=False))


def complain(text: str, kind: str = "forearm") -> None:
    """One paragraph on standard error."""
    print(
        textwrap.fill(f"{kind}: {text}", max(width(), 60), break_long_words=False, break_on_hyphens=False),
        file=sys.stderr,
    )


def width() -> int:
    """How wide the terminal is; 100 columns where there is none."""
    return shutil.get_terminal_size((100, 24)).columns


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
