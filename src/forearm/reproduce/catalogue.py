"""The catalogue of printed values with a verdict on each: exact, within rounding, differs, not reproducible.

Printed values are stored as text, so that their number of digits is known. The tolerance is half a unit of
the last digit unless the item states a larger one; a plain 0 means none and has no tolerance. Where the
document prints a bound, "> 100000", a value beyond the bound is exact and any other differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

from forearm.progress import Progress
from forearm.reading.textfile import read_toml
from forearm.records import choice, number, record, text
from forearm.reproduce.kinds import KINDS, Kind
from forearm.reproduce.recompute import function
from forearm.values import MAX_TEXT, check_choice

DOCUMENTS = ("swartz", "waters", "silver", "mata", "dhanaraj")
NOT_PRINTED = "none"  # the document computed the value but prints no number
Verdict = Literal["exact", "within rounding", "differs", "not reproducible"]
AGREEING: tuple[Verdict, ...] = ("exact", "within rounding")
long_text = partial(text, max_length=MAX_TEXT, default="")


@record
class PrintedValue:
    """One printed value of an item."""

    label: str = text("name of the value")
    printed: str = text(f"text of the document, > or < before a bound; {NOT_PRINTED!r} if it has no number")
    kind: Kind = choice("how ours was obtained", KINDS)
    reason: str = long_text("why ours differs, if it does; empty: that of the item")
    repeats: str = text("item that compares the same printed value, and counts it; empty: none", default="")


@record
class Item:
    """One table, figure or statement of a document.

    Args:
        values: what it prints.
    """

    values: tuple[PrintedValue, ...] = ()
    document: str = choice("the document", DOCUMENTS)
    id: str = text("name in the catalogue")
    place: str = text("page, table, figure or equation")
    title: str = long_text("what the values are")
    kind: Kind = choice("how our values were obtained, unless a value says otherwise", KINDS)
    assumed: str = long_text("assumed inputs that the document does not give, or the convention chosen")
    recompute: str | None = text(
        "module.function of forearm.reproduce.recompute that returns {label: value}; None: none does",
        default=None,
    )
    tolerance: float | None = number(
        "absolute; None: half a unit of the last digit", minimum=0.0, default=None
    )
    reason: str = long_text("why the values differ or cannot be reproduced")


@record
class DocumentFigure:
    """One figure of a document: the name of our plot of it, or why there is none."""

    document: str = choice("the document", DOCUMENTS)
    place: str = text("number of the figure, or of the table that is plotted")
    what: str = long_text("what it shows")
    drawn: str = text("name under which `forearm reproduce --figures` draws it", default="")
    reason: str = long_text("why it is not drawn")


@dataclass(frozen=True)
class Result:
    """One printed value compared with ours.

    Attributes:
        item: the item that contains it.
        label: name of the value.
        printed: text of the document.
        ours: our value; None: nothing computes it.
        verdict: "exact", "within rounding", "differs" or "not reproducible".
        reason: why they differ; empty if they agree.
        kind: how our value was obtained; "repeated": it counts elsewhere.
        repeats: the item where it counts, if it is repeated.
    """

    item: Item
    label: str
    printed: str
    ours: float | None
    verdict: Verdict
    reason: str
    kind: Kind
    repeats: str = ""

    @property
    def agrees(self) -> bool:
        """Whether ours equals the printed value, exactly or within its rounding."""
        return self.verdict in AGREEING

    @property
    def unexplained(self) -> bool:
        """Whether it differs or is missing and no reason is stated."""
        return self.verdict in ("differs", "not reproducible") and not self.reason


def catalogue(document: str = "all") -> tuple[Item, ...]:
    """The items of one document, or of all."""
    check_choice(document, (*DOCUMENTS, "all"), "document")
    return tuple(item for name in _named(document) for item in _read(name))


def title_of(document: str) -> str:
    """Author, title, where and when of one document."""
    return str(_data(document)["title"])


def pictures(document: str = "all") -> tuple[DocumentFigure, ...]:
    """The listed figures of one document, or of all."""
    return tuple(
        DocumentFigure(document=name, **block)
        for name in _named(document)
        for block in _data(name).get("picture", ())
    )


def reproduce(document: str = "all", progress: Progress | None = None) -> Iterator[Result]:
    """Recompute every item of a document and yield one result per printed value, operation counts last.

    Args:
        document: one of DOCUMENTS, or "all".
        progress: called with (done, total, what) before each item; None: not called.
    """
    items = catalogue(document)
    for k, item in enumerate(items):
        if progress is not None:
            progress(k, len(items) + 1, f"{item.document.capitalize()}, {item.place}")
        yield from results(item)
    if progress is not None:
        progress(len(items), len(items) + 1, "operation counts")
    yield from counted(document)


def counted(document: str = "all") -> Iterator[Result]:
    """The printed operation counts, compared by `forearm.counting.printed`, as results.

    Counts that only follow from others of the same document are left out: none of ours is behind them.
    """
    from forearm.counting.printed import compare, compare_steps, compare_table29

    for comparison in (*compare(), *compare_steps(), *compare_table29()):
        of, _, place = comparison.place.partition(" ")
        if of.lower() not in _named(document) or comparison.verdict == "consistent":
            continue
        item = Item(
            document=of.lower(),
            id=f"counts: {comparison.place}",
            place=place,
            title="operation counts",
            kind=comparison.kind,
            assumed=comparison.convention,
        )
        ours = comparison.ours if comparison.by_convention is None else comparison.by_convention
        kind = "repeated" if comparison.repeats else comparison.kind
        for unit, shown, value in zip(comparison.unit, comparison.printed, ours, strict=True):
            label, verdict = f"{comparison.what}, {unit}", judge(str(shown), float(value))
            reason = "" if verdict == "exact" else _sentence(comparison.reason)
            yield Result(item, label, str(shown), float(value), verdict, reason, kind, comparison.repeats)


def counted_in(results: Sequence[Result]) -> list[str]:
    """The places of the items where the repeated ones of these values count."""
    return [
        _places().get(of, of.removeprefix("counts: "))
        for of in dict.fromkeys(result.repeats for result in results)
        if of
    ]


@cache
def _places() -> dict[str, str]:
    return {item.id: item.place for item in catalogue()}


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def results(item: Item) -> Iterator[Result]:
    """The values of one item, recomputed and compared."""
    ours = {} if item.recompute is None else function(item.recompute)()
    for value in item.values:
        own = None if item.recompute is None else float(ours[value.label])
        verdict = judge(value.printed, own, item.tolerance)
        reason = "" if verdict in AGREEING else value.reason or item.reason
        yield Result(item, value.label, value.printed, own, verdict, reason, value.kind, value.repeats)


def judge(printed: str, ours: float | None, tolerance: float | None = None) -> Verdict:
    """The verdict on our value: exact (or beyond a printed bound), within rounding, differs, or not
    reproducible if either value is missing.
    """
    if ours is None or printed == NOT_PRINTED:
        return "not reproducible"
    if printed[0] in "<>":
        beyond = ours - float(printed[1:].replace(",", ""))
        return "exact" if (beyond > 0.0) == (printed[0] == ">") and beyond != 0.0 else "differs"
    number, half_digit = _number(printed)
    apart = abs(number - ours)
    # A residual printed as 0.000 that comes out as exactly 0 does so by the rounding of one machine only.
    if apart <= 1e-12 * max(abs(ours), 1e-300) and not (number == 0.0 and half_digit > 0.0):
        return "exact"
    allowed = max(half_digit * (1.0 + 1e-9), tolerance or 0.0)
    return "within rounding" if apart <= allowed else "differs"


def _number(printed: str) -> tuple[float, float]:
    """The number in `66,271`, `6.9e-4` or `695/6`, and half a unit of its last digit: 0 for `695/6`, `0`."""
    if "/" in printed or printed == "0":
        return float(Fraction(printed)), 0.0
    number = Decimal(printed.replace(",", ""))
    exponent = number.as_tuple().exponent
    return float(number), 0.5 * 10.0 ** int(exponent) if isinstance(exponent, int) else 0.0


def _named(document: str) -> tuple[str, ...]:
    return DOCUMENTS if document == "all" else (document,)


def _read(document: str) -> Iterator[Item]:
    for block in _data(document)["item"]:
        own = dict(block)
        shared = {"kind": own["kind"], "repeats": own.pop("repeats", "")}
        values = [shared | value for value in own.pop("value")]
        counted = (value | ({"kind": "repeated"} if value["repeats"] else {}) for value in values)
        yield Item(document=document, values=tuple(PrintedValue(**value) for value in counted), **own)


def _data(document: str) -> dict[str, Any]:
    return read_toml(Path(__file__).parent / "printed" / f"{document}.toml")
