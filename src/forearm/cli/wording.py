"""Error messages reworded for the command line: options instead of Python's functions and arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from forearm.cli.options import Option
from forearm.errors import ForearmError, Keyword, spelled

# Functions whose keywords are options of a command.
FUNCTIONS = frozenset((
    "calibrate", "check", "compile", "control", "controller", "count", "excite", "fmu", "forward", "generate",
    "identify", "inverse", "optimise", "payload", "plan", "run", "simulate", "sweep", "time_optimal",
))  # fmt: skip


def names_of_keywords(options: Sequence[Option]) -> dict[str, str]:
    """What a command with these options calls Python's keywords."""
    names = {"load": "ARM"} | {option.dest: option.shown for option in options}
    return names | {option.keyword: option.shown for option in options if option.keyword}


def speller(options: Sequence[Option]) -> Callable[[Keyword], str]:
    """How keywords are spelled by a command with these options."""
    names = names_of_keywords(options)

    def spell(keyword: Keyword) -> str:
        name = names.get(keyword.name, f"--{keyword.name.replace('_', '-')}")
        return name if keyword.value in (None, True) else f"{name} {keyword.value}"

    return spell


def error_at_the_prompt(error: ForearmError, options: Sequence[Option]) -> str:
    """The text of an error, with options where Python has keywords."""
    names = names_of_keywords(options)
    # A function's name at the start is the command itself, so it goes; of two options the inner one is meant.
    place = error.place
    while place and (
        (place[0] in FUNCTIONS and place[0] not in names)
        or (place[1:2] and place[1] in names and (place[0] in FUNCTIONS or place[0] not in names))
    ):
        place = place[1:]
    place = (names.get(place[0], place[0]), *place[1:]) if place else ()
    return str(ForearmError(spelled(error.problem, speller(options)), *place))
