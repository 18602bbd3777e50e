"""Names that may be shortened as long as one is meant."""

from __future__ import annotations

from collections.abc import Iterable

from forearm.errors import NameNotFound, shorten, suggest


def meant(word: str, known: Iterable[str], what: str) -> str:
    """The one known name that a word begins, or is; capitals do not matter."""
    names = list(known)
    found = matching(word, names)
    whole = [name for name in found if len(name) == len(word)]
    if len(whole or found) == 1:
        return (whole or found)[0]
    if found:
        raise NameNotFound(f"{shorten(word)} may be {' or '.join(found)}; write more of it.")
    raise NameNotFound(f"there is no {what} {shorten(word)}; {suggest(word, names)}")


def matching(word: str, known: Iterable[str]) -> list[str]:
    """All known names that a word begins."""
    return [name for name in known if word and name.lower().startswith(word.lower())]
