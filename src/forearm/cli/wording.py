"""Error messages reworded for the command line: options instead of Python's functions and arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence

from forearm.cli.options import Option
from forearm.errors import ForearmError, Keyword, spelled

# What a message says, as a pattern, and what it says at the prompt. A function's name at the start is the
# command itself, so it goes.
WORDS = (
    (r"^load: ", "ARM: "),
    (r"^lock[:,] ", "--lock: "),
    (r"^parameters: ", "--parameter: "),
    (r"^controllers( for this arm and motion)?: ", r"--only\1: "),
    (r"^(?:\w+, )?language: ", "--lang: "),
    (r"^(?:\w+, )?(function|formulation|method): expected one of ", r"--\1: expected one of "),
    (r"^generate: dtype float32 ", "--dtype: float32 "),
    (r"^generate, target: ", "--target: "),
    (r"^generate: (the FPU of \S+ computes in \w+ only, got dtype)", r"--dtype: \1"),
    (r"\bleave dtype out\b", "leave --dtype out"),
    (r"^fmu, platforms: ", "--platform: "),
    (r"\buse version 3\b", "use --fmi 3"),
    (r"^fmu, (drive|step): ", r"--\1: "),
    (r"^fmu, q0: ", "--q: "),
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
    (r"\bfa\.kinematics\.inverse_numeric works for any arm", "'forearm kinematics --numeric' is for any arm"),
    (r"\bfa\.kinematics\.inverse\b", "'forearm kinematics --pose'"),
    (r"\bfa\.checking\.check\(arm\)", "'forearm check'"),
    (r"\. Use arm\.rigid\(\), or method ('\w+' or '\w+')", r". Add --rigid, or use \1"),
    (r"\buse arm\.rigid\(\)(?!\.\w)", "add --rigid"),
    (r"; add (it|them) with arm\.with_drives\.", r"; write \1 into the arm file."),
)


# Functions whose keywords are options of a command: at the prompt, their names go.
FUNCTIONS = frozenset((
    "calibrate", "check", "compile", "count", "excite", "fmu", "forward", "generate", "identify", "inverse",
    "lock", "optimise", "plan", "run", "simulate", "sweep", "time_optimal",
))  # fmt: skip


def error_at_the_prompt(error: ForearmError, options: Sequence[Option]) -> str:
    """The text of an error, with options where Python has keywords."""
    if not options:  # a command that does not list its options yet
        return at_the_prompt(str(error))
    names = {option.dest: option.shown for option in options}
    names |= {option.keyword: option.shown for option in options if option.keyword}

    def spell(keyword: Keyword) -> str:
        name = names.get(keyword.name, f"--{keyword.name.replace('_', '-')}")
        return name if keyword.value in (None, True) else f"{name} {keyword.value}"

    place = error.place[1:] if error.place[:1] and error.place[0] in FUNCTIONS else error.place
    place = (names.get(place[0], place[0]), *place[1:]) if place else ()
    return at_the_prompt(str(ForearmError(spelled(error.problem, spell), *place)))


def at_the_prompt(text: str) -> str:
    """A message with Python's names replaced by options."""
    for pattern, words in WORDS:
        text = re.sub(pattern, words, text)
    return text
