"""Options of commands as data: derived from the declared fields of records, or written where none exists.

A command lists its options in groups; files among them are checked before it starts, and `finish` writes
them, prints the result as tables or JSON, and lists what was written.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from forearm.cli.command import ARM_HELP, names_of, show_json
from forearm.cli.outputs import PAGES, PICTURES, check_output, check_page, check_picture, tell_written
from forearm.cli.progress import ProgressBar
from forearm.cli.terminal import complain, show
from forearm.errors import ForearmError
from forearm.reading.fields import ChoiceField, Field, FlagField, ListField, NumberField
from forearm.records import declaration, sentence
from forearm.tables import Report
from forearm.values import number_in

METAVARS = {"s": "S", "rad/s": "W", "V": "V", "kg": "KG", "m": "M"}  # by unit, other numbers are X


@dataclass(frozen=True)
class Option:
    """An option, or an argument if its name has no dashes.

    Args:
        name: "--step", "logs".
        help: its sentence, with the default.
        metavar: what stands for its value; None: derived from `reads`.
        reads: the field that reads and checks its value; None: the text as it is.
        default: its value where it is not given.
        short: a second name, "-o".
        count: for arguments "?", "*" or "+"; for options "append" if it may be repeated.
        keyword: the parameter that it sets, as errors name it; None: its name with underscores.
        dest: the attribute of its value; "": its name with underscores.
        endings: of the file that it names.
        required: whether it must be given.
    """

    name: str
    help: str = ""
    metavar: str | None = None
    reads: Field | None = None
    default: Any = None
    short: str = ""
    count: str = ""
    keyword: str | None = None
    endings: tuple[str, ...] = ()
    required: bool = False
    dest: str = ""

    def __post_init__(self) -> None:
        if not self.dest:
            object.__setattr__(self, "dest", self.name.lstrip("-").replace("-", "_"))

    @property
    def shown(self) -> str:
        """How messages name it."""
        return self.name if self.name.startswith("-") else self.metavar or self.name

    def add_to(self, parser: argparse._ActionsContainer) -> tuple[Option, ...]:
        """Add it to a parser or group."""
        is_option = self.name.startswith("-")
        given: dict[str, Any] = {"help": self.help.replace("%", "%%")}
        if isinstance(self.reads, FlagField):
            given["action"] = "store_true"
        else:
            given |= {"metavar": self.metavar or _metavar(self), "default": self.default}
            if self.reads is not None and not isinstance(self.reads, ListField):
                given["type"] = _Reading(self.reads)
            if isinstance(self.reads, ChoiceField):
                given |= {"choices": self.reads.words, "type": str}
            if self.count == "append":
                given["action"] = "append"
            elif self.count:
                given["nargs"] = self.count
            if is_option and self.required:
                given["required"] = True
        if is_option:
            given["dest"] = self.dest
        parser.add_argument(*filter(None, (self.short, self.name)), **given)
        return (self,)


@dataclass(frozen=True)
class Group:
    """Options under a title of their own in the help; of exclusive ones at most one may be given."""

    title: str
    options: tuple[Option, ...]
    exclusive: bool = False

    def add_to(self, parser: argparse.ArgumentParser) -> tuple[Option, ...]:
        """Add the group and its options to a parser."""
        titled = parser.add_argument_group(self.title)
        container = titled.add_mutually_exclusive_group() if self.exclusive else titled
        for option in self.options:
            option.add_to(container)
        return self.options


@dataclass(frozen=True)
class _Reading:
    """A type for argparse: a field that reads numbers from text."""

    field: Field

    def __call__(self, text: str) -> Any:
        value: Any = None
        if isinstance(self.field, NumberField):
            value = number_in(text)
        elif text.strip().isascii() and text.strip().removeprefix("-").isdigit() and len(text) <= 18:
            value = int(text)
        try:
            return self.field.read(text if value is None else value, "")
        except ForearmError as error:
            raise argparse.ArgumentTypeError(error.problem.rstrip(".")) from None


def _metavar(option: Option) -> str | None:
    if option.endings:
        return "FILE"
    if isinstance(option.reads, ChoiceField):
        return "NAME"
    if isinstance(option.reads, ListField):
        return "A,B,..."
    if isinstance(option.reads, NumberField):
        return METAVARS.get(option.reads.unit, "X")
    return "N" if option.reads is not None else None


def derived(cls: type, *names: str, **changes: Mapping[str, Any]) -> tuple[Option, ...]:
    """The options of a record's declared fields, all or those named, each with changes of its own."""
    found = []
    for name, field in declaration(cls).items():
        if names and name not in names:
            continue
        default = cls.__dataclass_fields__[name].default  # type: ignore[attr-defined]
        doc = sentence(field).rstrip(".")
        if isinstance(field, ChoiceField):
            doc = f"{doc}: {names_of(field.words, default if isinstance(default, str) else None)}"
        elif isinstance(default, int | float) and not isinstance(default, bool):
            doc = f"{doc} (default: {default:g})"
        option = Option(f"--{name.replace('_', '-')}", doc, reads=field, default=default, keyword=name)
        found.append(replace(option, **changes.get(name, {})))
    return tuple(found)


def fields_given(given: argparse.Namespace, *records: type) -> dict[str, Any]:
    """The values of options that set fields of these records; absent ones are left to the records."""
    names = {name for cls in records for name in declaration(cls)}
    found = {
        option.keyword: getattr(given, option.dest) for option in given.options if option.keyword in names
    }
    return {name: value for name, value in found.items() if value is not None}


def check_files(given: argparse.Namespace) -> None:
    """Refuse files that could not be written, before the work starts."""
    for option in getattr(given, "options", ()):
        path = getattr(given, option.dest, None)
        if option.endings == PICTURES:
            check_picture(option.shown, path)
        elif option.endings == PAGES:
            check_page(option.shown, path)
        elif option.endings:
            check_output(option.shown, path, option.endings)


def finish(
    given: argparse.Namespace,
    report: Report,
    document: Mapping[str, Any],
    files: Mapping[str, Callable[[str], Any]] | None = None,
    warnings: Iterable[str] = (),
    written: Iterable[str | os.PathLike[str] | None] = (),
) -> int:
    """Write the files that were asked for, print the result as tables or as JSON, and list the files.

    Args:
        given: the options.
        report: the result for people.
        document: the result for programs.
        files: by option what writes its file.
        warnings: sentences, printed as warnings.
        written: further files, written before.
    """
    paths = {name: getattr(given, name) for name in files or {}}
    with ProgressBar("writing files"):
        for name, write in (files or {}).items():
            if paths[name] is not None:
                write(paths[name])
    if given.json:
        show_json({**document, **paths})
        return 0
    show(report)
    for text in warnings:
        complain(text, kind="warning")
    tell_written((*paths.values(), *written))
    return 0


SECONDS = NumberField(above=0.0, unit="s")
POSITIVE, NOT_NEGATIVE = NumberField(above=0.0), NumberField(minimum=0.0)
HAND = Option("--hand", "the link that is the hand, if not the default", "LINK")
ARM = (Option("arm", ARM_HELP, "ARM", keyword="load"), HAND)
ROOT = Option("--root", "the body of an MJCF file that is the base, if not the default", "BODY")
RIGID = Option(
    "--rigid", "leave out motors, friction, bearings, transmissions and springs", reads=FlagField()
)
DEGREES = Option("--degrees", "angles are in degrees, not radians", reads=FlagField())
JSON = Option("--json", "one JSON document on standard output, nothing else", reads=FlagField())
HTML = Option("--html", "write a page about it for a browser: .html", endings=PAGES)


def plot(what: str, name: str = "--plot") -> Option:
    """An option for a picture."""
    return Option(name, f"draw {what} (.png, .svg or .pdf)", endings=PICTURES)


def state(name: str, what: str, keyword: str | None = None) -> Option:
    """An option for one value per joint."""
    return Option(f"--{name}", f"{what}; one value per joint", "A,B,...", keyword=keyword)


def output(help_text: str, *endings: str, required: bool = False) -> Option:
    """The option for the file that a command writes."""
    return Option("--output", help_text, short="-o", endings=endings, required=required)
