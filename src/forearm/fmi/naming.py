"""Untrusted names as FMI variable names, file names and XML text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.sax.saxutils import quoteattr

LONGEST = 64  # characters of a part of a name
# Names that Windows reserves for devices, with any extension.
DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])", re.IGNORECASE)


def identifier(name: str, usual: str) -> str:
    """The name with ASCII letters, digits and underscores only, a C identifier."""
    text = re.sub(r"[^A-Za-z0-9_]", "_", name)[:LONGEST]
    text = text if text.strip("_") else usual
    return f"_{text}" if text[0].isdigit() else text


def identifiers(names: Iterable[str], usual: str) -> dict[str, str]:
    """A unique identifier for each name."""
    made: dict[str, str] = {}
    for name in names:
        made[name] = unique(identifier(name, usual), made.values())
    return made


def unique(name: str, others: Iterable[str]) -> str:
    """The name, with a number appended if it is taken."""
    taken = set(others)
    if name not in taken:
        return name
    k = 2
    while f"{name}_{k}" in taken:
        k += 1
    return f"{name}_{k}"


def model_identifier(name: str) -> str:
    """The name of an FMU's library, valid in C and as a file name."""
    made = identifier(name, "arm")
    return f"{made}_arm" if DEVICES.fullmatch(made) else made


def attributes(**given: str | None) -> str:
    """Attributes of an XML element in ASCII, those that are not None;
    characters that XML cannot hold become question marks.
    """
    listed = [f" {name}={quoteattr(_allowed(value))}" for name, value in given.items() if value is not None]
    return "".join(listed).encode("ascii", "xmlcharrefreplace").decode("ascii")


def _allowed(text: str) -> str:
    text = re.sub(r"[\t\r\n]", " ", text)
    return re.sub("[^\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "?", text)
