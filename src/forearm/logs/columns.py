"""Which column of a log is which quantity of which joint."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forearm.errors import IgnoredWarning, InputError, shorten

MAX_COLUMNS = 10_000
# The spellings of a quantity x of joint k = 1, 2, ..., which is number i = k - 1 where one counts from 0.
SPELLINGS = ("{x}{k}", "{x}_{k}", "{x}[{i}]", "{x}_{joint}", "{x}.{joint}")
NUMBERED = re.compile(r"(q|qd|qdd|tau)(?:_?\d+|\[\d+\])", re.ASCII)
SHOWN = 12  # names that a message lists


@dataclass(frozen=True)
class Question:
    """What a computation asks of a log: the quantities it reads and the one it makes,
    for joints by these names.
    """

    joints: tuple[str, ...]
    needed: tuple[str, ...]
    made: str

    def spell(self, spelling: str, quantity: str, i: int) -> str:
        """The name of one column."""
        return spelling.format(x=quantity, k=i + 1, i=i, joint=self.joints[i])

    def spellings(self, quantity: str, i: int) -> list[str]:
        """Every name that a column may have."""
        return list(dict.fromkeys(self.spell(s, quantity, i) for s in SPELLINGS))

    @property
    def example(self) -> str:
        """A header that would do, for messages."""
        n = len(self.joints)
        return ", ".join(f"{x}1..{x}{n}" if n > 1 else f"{x}1" for x in self.needed)


@dataclass(frozen=True)
class Columns:
    """Where the quantities stand in a row, joint by joint; those wholly absent are left out, and are zero."""

    places: Mapping[str, tuple[int, ...]]
    absent: tuple[str, ...]
    made: tuple[str, ...]

    @property
    def flat(self) -> tuple[int, ...]:
        """All places, quantity after quantity."""
        return tuple(place for places in self.places.values() for place in places)


def find_columns(header: Sequence[str], question: Question, where: str, is_written: bool) -> Columns:
    """The columns of a header that answer the question; `where` is the file,
    `is_written` whether results join it.
    """
    _check_header(header, where)
    found = _recognised(header, question, where)
    here = [x for x in question.needed if any(quantity == x for quantity, _ in found)]
    if not here:
        raise InputError(
            f"{where}: no column is a joint's {' or '.join(question.needed)}. The header needs "
            f"{question.example}, or for the first joint "
            f"{_listed(question.spellings(question.needed[0], 0), ' or ')}; it has {_listed(header)}."
        )
    for x in here:
        _check_whole(x, found, question, where)
    already = [header[place] for (quantity, _), place in found.items() if quantity == question.made]
    if is_written and already:
        raise InputError(
            f"{where}: {_listed(already)} would be written, but {'is' if len(already) == 1 else 'are'} in "
            f"the file already. Rename there first, such as to {question.made}_measured1."
        )
    n = len(question.joints)
    spelling = _spelling_of(header[found[here[0], 0]], here[0], question)
    return Columns(
        places={x: tuple(found[x, i] for i in range(n)) for x in here},
        absent=tuple(x for x in question.needed if x not in here),
        made=tuple(question.spell(spelling, question.made, i) for i in range(n)),
    )


def _check_header(header: Sequence[str], where: str) -> None:
    if len(header) > MAX_COLUMNS:
        raise InputError(f"{where}: {len(header)} columns; at most {MAX_COLUMNS} are allowed.")
    seen: set[str] = set()
    for name in header:
        if name in seen:
            raise InputError(f"{where}: the column {shorten(name)} is there twice; rename one.")
        seen.add(name)


def _recognised(header: Sequence[str], question: Question, where: str) -> dict[tuple[str, int], int]:
    """(quantity, joint) -> place, for every column that names one."""
    meanings: dict[str, set[tuple[str, int]]] = {}
    for quantity in (*question.needed, question.made):
        for i in range(len(question.joints)):
            for name in question.spellings(quantity, i):
                meanings.setdefault(name, set()).add((quantity, i))
    found: dict[tuple[str, int], int] = {}
    unknown = []
    for place, name in enumerate(header):
        meant = sorted(meanings.get(name, ()))
        if len(meant) > 1:
            safe = " or ".join(question.spell("{x}[{i}]", *m) for m in meant)
            raise InputError(
                f"{where}: {name!r} may be either of two joints, by number or by name; write {safe}."
            )
        if meant and meant[0] in found:
            raise InputError(
                f"{where}: {header[found[meant[0]]]!r} and {name!r} are the same quantity; leave one out."
            )
        if meant:
            found[meant[0]] = place
        elif NUMBERED.fullmatch(name) and NUMBERED.fullmatch(name)[1] in question.needed:  # type: ignore[index]
            unknown.append(name)
    if unknown:
        text = (
            f"{where}: there is no such joint in an arm of {len(question.joints)}, so not "
            f"read: {_listed(unknown)}."
        )
        warnings.warn(text, IgnoredWarning, stacklevel=2)
    return found


def _check_whole(quantity: str, found: Mapping[tuple[str, int], int], question: Question, where: str) -> None:
    missing = [i for i in range(len(question.joints)) if (quantity, i) not in found]
    if missing:
        names = [question.spellings(quantity, i) for i in missing]
        raise InputError(
            f"{where}: {quantity} is there for some joints only; missing: {_listed([n[0] for n in names])}. "
            f"{names[0][0]} may also be spelled {_listed(names[0][1:], ' or ')}. "
            f"Give {quantity} for every joint, or for none, which is zero."
        )


def _spelling_of(name: str, quantity: str, question: Question) -> str:
    return next(s for s in SPELLINGS if question.spell(s, quantity, 0) == name)


def _listed(names: Sequence[str], last: str = ", ") -> str:
    shown = [name if name.isprintable() and len(name) <= 60 else shorten(name) for name in names[:SHOWN]]
    if len(names) > SHOWN:
        return f"{', '.join(shown)} and {len(names) - SHOWN} more"
    return last.join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)
