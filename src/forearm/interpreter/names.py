"""Unambiguous abbreviation of names."""

from __future__ import annotations

from collections.abc import Iterable

from forearm.errors import NameNotFound, shorten, suggest


def meant(word: str, known: Iterable[str], what: str) -> str:
    """The only known name with this prefix, or an exact match; case-insensitive."""
    names = list(known)
    found = matching(word, names)
    whole = [name for name in found if len(name) == len(word)]
    if len(whole or found) == 1:
        return (whole or found)[0]
    if found:
        raise NameNotFound(f"{shorten(word)} is ambiguous: {' or '.join(found)}; type more letters.")
    raise NameNotFound(f"unknown {what} {shorten(word)}; {suggest(word, names)}")


def matching(word: str, known: Iterable[str]) -> list[str]:
    """All known names with this prefix."""
    return [name for name in known if word and name.lower().startswith(word.lower())]
