"""`forearm completion`: a script by which a shell completes commands, options and names,
written from the parsers.
"""

from __future__ import annotations

import argparse
from importlib import import_module

from forearm.cli.command import Command, Parser, names_of, show_json
from forearm.cli.main import COMMANDS
from forearm.cli.options import JSON, Option
from forearm.cli.shells import Place, ShellOption, bash, fish, zsh
from forearm.files.builtin import arms
from forearm.reading.fields import ChoiceField

SHELLS = {"bash": bash, "fish": fish, "zsh": zsh}
ARMS = ("ARM", "IN")  # metavars of arguments that take a built-in name as well as a file
FILES = (*ARMS, "ARMFILE", "DIR", "FILE", "OUT", "REQUEST")
ALSO_ARMS = ("check",)  # whose FILE may be a built-in name


def _run(given: argparse.Namespace) -> int:
    script = SHELLS[given.shell](places())
    if given.json:
        show_json({"shell": given.shell, "script": script})
    else:
        print(script, end="")
    return 0


def places() -> list[Place]:
    """The command line without a command, then every command, and after those that have
    actions each of these.
    """
    commands = {name: summary.rstrip(".") for name, summary in COMMANDS.items()}
    found = [
        Place(
            (),
            commands,
            (ShellOption(("--help",), "show help"), ShellOption(("--version",), "show the version")),
            False,
        )
    ]
    for name in COMMANDS:
        parser = Parser(prog=f"forearm {name}")
        command: Command = import_module(f"forearm.cli.{name}").COMMAND
        command.add_arguments(parser)
        found += _places(parser, (name,))
    return found


def _places(parser: argparse.ArgumentParser, path: tuple[str, ...]) -> list[Place]:
    """A parser's place, and those of the parsers in it."""
    options, words, takes_file, inner = [], dict[str, str](), False, list[Place]()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            words |= {a.dest: (a.help or "").rstrip(".") for a in action._choices_actions}
            for name, sub in action.choices.items():
                inner += _places(sub, (*path, name))
        elif action.option_strings:
            options.append(_option(action, path))
        else:
            words |= dict.fromkeys(_values(action, path), "")
            takes_file |= action.metavar in FILES
    return [Place(path, words, tuple(options), takes_file), *inner]


def _option(action: argparse.Action, path: tuple[str, ...]) -> ShellOption:
    takes_value = action.nargs != 0
    files = takes_value and action.metavar in FILES
    return ShellOption(
        tuple(action.option_strings), action.help or "", takes_value, _values(action, path), files
    )


def _values(action: argparse.Action, path: tuple[str, ...]) -> tuple[str, ...]:
    """What may stand for an argument, () where that is no list."""
    if action.choices is not None:
        return tuple(str(choice) for choice in action.choices)
    if not action.option_strings and (action.metavar in ARMS or path[0] in ALSO_ARMS):
        return tuple(arms())
    return _named(path, action.option_strings[-1] if action.option_strings else str(action.metavar))


def documents() -> list[str]:
    """What may stand for DOCUMENT."""
    from forearm.reproduce import DOCUMENTS

    return [*DOCUMENTS, "all"]


def _named(path: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Names that a command looks up itself: its parser has no choices for them."""
    if (path[0], name) not in NAMED:
        return ()
    module, known, *keys = NAMED[path[0], name]
    found = getattr(import_module(f"forearm.{module}"), known)
    names = found() if callable(found) else found
    return tuple(dict.fromkeys(each for key in keys for each in names[key]) if keys else names)


# Names that a command looks up itself, so that a misspelt one gets a suggestion: the module that knows them,
# what there lists them, and of a dictionary the keys.
FORMULATIONS = ("dynamics", "formulations")
NAMED: dict[tuple[str, str], tuple[str, ...]] = {
    ("count", "--formulation"): (*FORMULATIONS, "inverse", "inertia_matrix", "forward"),
    ("forward", "--method"): (*FORMULATIONS, "forward"),
    ("generate", "--formulation"): (*FORMULATIONS, "inverse", "inertia_matrix", "forward"),
    ("inverse", "--formulation"): (*FORMULATIONS, "inverse"),
    ("kinematics", "--form"): ("kinematics.orientation", "FORMS"),
    ("parts", "FILE"): ("cli.parts", "builtin_parts"),
    ("plan", "--form"): ("kinematics.orientation", "FORMS"),
    ("reproduce", "DOCUMENT"): ("cli.completion", "documents"),
    ("schedule", "--function"): ("codegen.functions", "FUNCTIONS"),
    ("simulate", "--method"): ("simulation.run", "ALL"),
}


COMMAND = Command(
    "forearm completion bash > ~/.local/share/bash-completion/completions/forearm",
    (Option("shell", names_of(SHELLS), "SHELL", reads=ChoiceField(tuple(SHELLS))), JSON),
    _run,
)
