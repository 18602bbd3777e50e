"""Assignment of a log's columns to quantities of joints."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forearm.errors import IgnoredWarning, InputError, shorten
from forearm.logs.spelling import NUMBERED, WORDS, Reading, readings, words_for

MAX_COLUMNS = 10_000
# The usual spellings of a quantity x of joint k = 1, 2, ..., with index i = k - 1 counted from 0.
SPELLINGS = ("{x}{k}", "{x}_{k}", "{x}[{i}]", "{x}_{joint}", "{x}.{joint}")
AGAIN = "_model"  # suffix for a result whose name the file already uses
SHOWN = 12  # names listed in a message


@dataclass(frozen=True)
class Question:
    """What a computation needs from a log: the quantities it reads and the one it produces, for joints by
    these names.
    """

    joints: tuple[str, ...]
    needed: tuple[str, ...]
    made: str

    def spellings(self, quantity: str, i: int) -> list[str]:
        """All accepted names of a column, the preferred one first."""
        joint = self.joints[i]
        return list(dict.fromkeys(s.format(x=quantity, k=i + 1, i=i, joint=joint) for s in SPELLINGS))

    @property
    def example(self) -> str:
        """An example of a valid header, for messages."""
        n = len(self.joints)
        return ", ".join(f"{x}1..{x}{n}" if n > 1 else f"{x}1" for x in self.needed)


@dataclass(frozen=True)
class Columns:
    """Column indices of the quantities, joint by joint; wholly absent ones are omitted and count as zero."""

    places: Mapping[str, tuple[int, ...]]
    absent: tuple[str, ...]
    made: tuple[str, ...]

    @property
    def flat(self) -> tuple[int, ...]:
        """All column indices, quantity by quantity."""
        return tuple(place for places in self.places.values() for place in places)


def find_columns(
    header: Sequence[str],
    question: Question,
    where: str,
    is_written: bool,
    given: Mapping[str, str] | None = None,
) -> Columns:
    """The columns of a header that match the question; `where` is the file, `is_written` whether results are
    appended to it, and `given` maps other column names.
    """
    found, here = present(header, question, (*question.needed, question.made), where, given)
    n = len(question.joints)
    already = [found[x, i].name for x, i in found if x == question.made]
    made = question.made + (AGAIN if already and is_written else "")
    names = tuple(made + found[here[0], i].form for i in range(n))
    if is_written and set(names) & set(header):
        raise InputError(
            f"{listed(already)} and {listed(sorted(set(names) & set(header)))} are already in "
            f"the file. Rename some there first, for example to {question.made}_measured1.",
            where,
        )
    return Columns(
        places={x: tuple(found[x, i].place for i in range(n)) for x in here},
        absent=tuple(x for x in question.needed if x not in here),
        made=names,
    )


def present(
    header: Sequence[str],
    question: Question,
    known: Sequence[str],
    where: str,
    given: Mapping[str, str] | None = None,
) -> tuple[dict[tuple[str, int], Named], list[str]]:
    """The columns of known quantities by (quantity, joint), and the needed quantities, which every joint has
    or none.
    """
    check_header(header, where)
    found = recognised(header, question, known, where, given)
    here = [x for x in question.needed if any(quantity == x for quantity, _ in found)]
    first = question.needed[0]
    if not here:
        raise InputError(
            f"no column with {' or '.join(question.needed)} of a joint. The header needs "
            f"{question.example}, or for the first joint {listed(question.spellings(first, 0), ' or ')}; the "
            f"file has {listed(header)}. {how_to_map(header, question.joints, first, given)}",
            where,
        )
    for x in here:
        missing = [question.spellings(x, i) for i in range(len(question.joints)) if (x, i) not in found]
        if missing:
            raise InputError(
                f"{x} is present for some joints only; missing: {listed([n[0] for n in missing])}. "
                f"{missing[0][0]} may also be spelled {listed(missing[0][1:], ' or ')}. Give {x} for every "
                "joint, or for none (zero).",
                where,
            )
    return found, here


def how_to_map(
    header: Sequence[str], joints: Sequence[str], quantity: str, given: Mapping[str, str] | None
) -> str:
    """The end of a message about columns that were not found: how to name them, and which given names fit
    none.
    """
    numbers = {name: i for i, name in enumerate(joints)}
    absent = [
        theirs
        for theirs in given or {}
        if theirs not in header
        and not any(reading for name in header for reading in readings(name, numbers, {theirs.lower(): "q"}))
    ]
    text = (
        f"Map other names, without the joint's number: columns={{'theirs': '{quantity}'}} "
        f"(--columns theirs={quantity} for theirs1, theirs2, ...)."
    )
    return f"{text} No column of the file is called {listed(absent, ' or ')}." if absent else text


def check_header(header: Sequence[str], where: str) -> None:
    """Refuse too many columns, and duplicate names."""
    if len(header) > MAX_COLUMNS:
        raise InputError(f"{len(header)} columns, expected at most {MAX_COLUMNS}.", where)
    seen: set[str] = set()
    for name in header:
        if name in seen:
            raise InputError(f"column {shorten(name)} occurs twice; rename one.", where)
        seen.add(name)


@dataclass(frozen=True)
class Named:
    """A column with a quantity of a joint: its index, and the spelling of the joint in its name."""

    place: int
    name: str
    form: str


def recognised(
    header: Sequence[str],
    question: Question,
    known: Sequence[str],
    where: str,
    given: Mapping[str, str] | None = None,
) -> dict[tuple[str, int], Named]:
    """Map (quantity, joint) to its column; needed quantities of joints unknown to the arm cause a warning."""
    joints = question.joints
    ways = _ways(header, joints, known, given)
    from_zero = _counted_from_zero(ways, len(joints), where)
    found: dict[tuple[str, int], Named] = {}
    unknown = []
    for place, (name, readable) in enumerate(zip(header, ways, strict=True)):
        meant = {}
        for way in readable:
            start = 1 - int((way.word, way.form) in from_zero)
            i = way.joint if way.joint is not None else (way.number or 0) - start
            if 0 <= i < len(joints):
                meant[way.quantity, i] = way.form.format(k=i + start, i=i, joint=joints[i])
            elif way.quantity in question.needed:
                unknown.append(name)
        if len(meant) > 1:
            safe = " or ".join(f"{x}[{i}]" for x, i in sorted(meant))
            raise InputError(f"{name!r} is ambiguous, by number or by name; write {safe}.", where)
        for (quantity, i), form in meant.items():
            if (quantity, i) in found:
                raise InputError(
                    f"{found[quantity, i].name!r} and {name!r} are the same quantity; remove "
                    f"one, or map one to {quantity}, for example --columns {name}={quantity}"
                    f"{i + 1}.",
                    where,
                )
            found[quantity, i] = Named(place, name, form)
    if unknown:
        text = f"{where}: ignored, no such joint in an arm with {len(joints)} joints: {listed(unknown)}."
        warnings.warn(text, IgnoredWarning, stacklevel=4)
    return found


def _ways(
    header: Sequence[str], joints: Sequence[str], quantities: Sequence[str], given: Mapping[str, str] | None
) -> list[list[Reading]]:
    """Possible readings of each column; an explicit mapping overrides all others."""
    words, numbers = words_for(quantities, given), {name: i for i, name in enumerate(joints)}
    exact: dict[str, Reading] = {}
    for theirs, ours in (given or {}).items():
        number = NUMBERED.fullmatch(ours)
        if theirs in header and ours not in WORDS and number and number[1] in quantities:
            form = ours.removeprefix(number[1])
            exact[theirs] = next(readings(ours, {}, {number[1]: number[1]}), Reading(number[1], theirs, form))
    taken = {(way.quantity, way.number) for way in exact.values()}
    return [
        [exact[name]]
        if name in exact
        else [way for way in readings(name, numbers, words) if (way.quantity, way.number) not in taken]
        for name in header
    ]


def _counted_from_zero(ways: Sequence[Sequence[Reading]], n: int, where: str) -> set[tuple[str, str]]:
    """Words and spellings counted from 0; in brackets they always are, and are already shifted by one."""
    numbers: dict[tuple[str, str], set[int]] = {}
    for way in (way for readable in ways for way in readable):
        if way.number is not None and "{k}" in way.form:
            numbers.setdefault((way.word, way.form), set()).add(way.number)
    for (word, form), there in numbers.items():
        if {0, n} <= there:
            first, last = (word + form.format(k=k) for k in (0, n))
            raise InputError(
                f"{first} and {last} are both present, so joints are counted neither from 0 "
                f"nor from 1; the arm has {n} joints. Rename the columns, or remove one.",
                where,
            )
    return {key for key, there in numbers.items() if 0 in there}


def listed(names: Sequence[str], last: str = ", ") -> str:
    """Some names for a message, and the number of others."""
    shown = [name if name.isprintable() and len(name) <= 60 else shorten(name) for name in names[:SHOWN]]
    if len(names) > SHOWN:
        return f"{', '.join(shown)} and {len(names) - SHOWN} more"
    return last.join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)
