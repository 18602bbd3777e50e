"""Error messages reworded for the command line: options instead of Python's functions and arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
    (r"^calibrate, (unknowns|noise|prior|confidence): ", r"--\1: "),
    (r"^calibrate, hand_point: ", "--hand-point: "),
    (r"^time_optimal, (start|end|hand|path)[_ ](\w+): ", r"--\1-\2: "),
    (r"^time_optimal, (\w+): ", r"--\1: "),
    (r"^identify, payload( of log \d+)?", r"--payload\1"),
    (r"^identify, (\w+)_(\w+): ", r"--\1-\2: "),
    (r"^identify, (\w+): ", r"--\1: "),
    (r": effort='", ": --effort '"),
    (r"\bderivatives='(\w+)'", r"--derivatives \1"),
    (r"\btry friction='(\w+)'", r"try --friction \1"),
    (r"\btry load=True", "try --load-friction"),
    (r"\bcheck=False", "--no-check"),
    (r"^excite, start: ", "--q: "),
    (r"^excite, torque_side: ", "--torque-side: "),
    (r"^excite, (\w+): ", r"--\1: "),
    (r"\bgive (\w+)= for another", r"give --\1 for another"),
    (r"\bPass acceleration=, torque= or voltage=,", "Pass --acceleration, --torque or --voltage,"),
    (
        r"^(?:calibrate|generate|time_optimal|excite|simulate|identify|forward|inverse|count|plan|check|compile|"
        r"run): ",
        "",
    ),
    (r"^arm '([^']*)': voltages need ", r"--voltage: \1 needs "),
    (
        r"\(acceleration= of fa\.plan and fa\.Request, \[limits\] of a request file, "
        r"--acceleration of forearm plan\)",
        "with --acceleration, or under [limits] of a request file",
    ),
    (r"\. Use arm\.rigid\(\), or method ('\w+' or '\w+')", r". Add --rigid, or use \1"),
)


def error_at_the_prompt(error: ForearmError, options: Sequence[Option]) -> str:
    """The text of an error, with options where Python has keywords."""
    names = {"load": "ARM"} | {option.dest: option.shown for option in options}
    names |= {option.keyword: option.shown for option in options if option.keyword}

    def spell(keyword: Keyword) -> str:
        name = names.get(keyword.name, f"--{keyword.name.replace('_', '-')}")
        return name if keyword.value in (None, True) else f"{name} {keyword.value}"

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
