"""The formats of files that name their format in themselves, and the refusal of one in place of another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from forearm.errors import InputError, shorten, suggest


@dataclass(frozen=True)
class Format:
    """What a file holds, and what reads it in Python and on the command line; FILE stands for its name."""

    what: str
    function: str
    command: str


_MOTION = Format("a planned motion", "fa.plan(arm, 'FILE')", "forearm simulate ARM --plan FILE")
_STUDY = Format("a study file", "fa.Study.read('FILE')", "forearm sweep FILE")
FORMATS = {  # by name, without the version
    "forearm-arm": Format("an arm file", "fa.load('FILE')", "forearm info FILE"),
    "forearm-parts": Format("a parts file", "the key parts of an arm file", "forearm parts FILE"),
    "forearm-request": Format("a request of a motion", "fa.plan(arm, 'FILE')", "forearm plan ARM FILE"),
    "forearm-study": _STUDY,
    "forearm-switching": _MOTION,
    "forearm-motion": _MOTION,
    "forearm-path": _MOTION,
}
OF_STUDY = {"figures", "vary"}  # required keys of study files, which need not name their format


def refuse_other_format(document: Mapping[str, Any], name: str, wanted: str) -> None:
    """Refuse the tables of a file called `name` that is not of the wanted format, such as "forearm-arm/1"."""
    refuse_known_format(document, name, wanted)
    said = document.get("schema")
    if said is None:
        what = FORMATS[_kind(wanted)].what
        raise InputError(f"not {what}: expected the first line schema = {wanted!r}.", name)
    if said != wanted:
        hint = f" {suggest(said, (wanted,))}" if isinstance(said, str) else ""
        raise InputError(f"expected {wanted!r}, got {shorten(said)}.{hint}", name, "schema")


def refuse_known_format(document: Mapping[str, Any], name: str, wanted: str) -> None:
    """Refuse a file of another one of the known formats, and say what reads it."""
    said = document.get("schema", document.get("format"))
    expected = FORMATS[_kind(wanted)]
    found = _STUDY if said is None and document.keys() >= OF_STUDY else FORMATS.get(_kind(said), expected)
    if found is not expected:
        readers = f"{found.function} and '{found.command}' read".replace("FILE", name)
        raise InputError(f"expected {expected.what}, got {found.what}, which {readers}.", name)


def _kind(said: object) -> str:
    return said.partition("/")[0] if isinstance(said, str) else ""
