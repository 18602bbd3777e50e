"""Error messages reworded for the command line: options instead of Python's functions and arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from forearm.cli.options import Option
from forearm.errors import ForearmError, Keyword, spelled

# Functions whose keywords are options of a command.
FUNCTIONS = frozenset((
    "calibrate", "check", "compile", "control", "controller", "count", "excite", "fmu", "forward", "generate",
    "identify", "inverse", "optimise", "payload", "plan", "run", "simulate", "sweep", "time_optimal",
))  # fmt: skip
# Of commands whose options are not declared yet: what a message says, as a pattern, and what it says at the
# prompt. A function's name at the start is the command itself, so it goes.
WORDS = (
    (r"^(?:\w+, )?(function|formulation|method): expected one of ", r"--\1: expected one of "),
    (r"^simulate: ('\w+' is for arms without friction)", r"--method: \1"),
    (
        r"^simulate: ('\w+' is for undriven arms), got (\w+)\. Remove the input",
        r"--method: \1; leave --\2 out",
    ),
    (
        r"^(?:calibrate|generate|time_optimal|excite|simulate|identify|forward|inverse|count|plan|check|compile|"
        r"run): ",
        "",
    ),
    (r"^arm '([^']*)': voltages need ", r"--voltage: \1 needs "),
    (r"\. Use arm\.rigid\(\), or method ('\w+' or '\w+')", r". Add --rigid, or use \1"),
)


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
    spell = speller(options)
    # A function's name at the start is the command itself, so it goes.
    place = error.place
    while (
        options
        and place
        and place[0] not in names
        and (place[0] in FUNCTIONS or (place[1:2] and place[1] in names))
    ):
        place = place[1:]
    place = (names.get(place[0], place[0]), *place[1:]) if place else ()
    text = str(ForearmError(spelled(error.problem, spell), *place))
    return text if options else at_the_prompt(text)  # of a command that does not list its options yet


def at_the_prompt(text: str) -> str:
    """A message with Python's names replaced by options."""
    for pattern, words in WORDS:
        text = re.sub(pattern, words, text)
    return text
