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
from functools import cache
from pathlib import Path
from typing import Any, Literal

from forearm.progress import Progress
from forearm.reading.fields import ChoiceField, NumberField, TableField, TableListField, TextField
from forearm.reading.textfile import read_toml
from forearm.reproduce.kinds import KINDS, Kind
from forearm.reproduce.recompute import Figures, function
from forearm.values import MAX_TEXT, check_choice

DOCUMENTS = ("swartz", "waters", "silver", "mata", "dhanaraj")
NOT_PRINTED = "none"  # the document computed the value but prints no number
Verdict = Literal["exact", "within rounding", "differs", "not reproducible"]

VALUE = TableField(
    {
        "label": TextField("name of the value"),
        "printed": TextField(
            f"text of the document, > or < before a bound; {NOT_PRINTED!r} if it prints no number"
        ),
        "kind": ChoiceField(KINDS, "kind of this value (default: that of the item)"),
        "reason": TextField("why ours differs, if it does", MAX_TEXT),
        "repeats": TextField("item that compares the same printed value, and counts it"),
    },
    required=("label", "printed"),
)
ITEM = TableField(
    {
        "id": TextField(),
        "place": TextField("page, table, figure or equation"),
        "title": TextField("what it is", MAX_TEXT),
        "kind": ChoiceField(KINDS, "how our values were obtained"),
        "assumed": TextField(
            "assumed inputs that the document does not give, or the convention chosen", MAX_TEXT
        ),
        "recompute": TextField(
            "module.function of forearm.reproduce.recompute that returns {label: value}; absent if none can"
        ),
        "tolerance": NumberField("absolute (default: half a unit of the last printed digit)", minimum=0.0),
        "reason": TextField("why it differs or cannot be reproduced", MAX_TEXT),
        "repeats": TextField("item that compares the same printed values, and counts them"),
        "value": TableListField(VALUE, "value"),
    },
    required=("id", "place", "title", "kind", "value"),
)
PICTURE = TableField(
    {
        "place": TextField("number of the figure, or of the table that is plotted"),
        "what": TextField("what it shows", MAX_TEXT),
        "drawn": TextField("name under which `forearm reproduce --figures` draws it"),
        "reason": TextField("why it is not drawn", MAX_TEXT),
    },
    required=("place", "what"),
)
PRINTED = TableField(
    {
        "document": ChoiceField(DOCUMENTS),
        "title": TextField("author, title, where and when", MAX_TEXT),
        "item": TableListField(ITEM, "item"),
        "picture": TableListField(PICTURE, "picture"),
    },
    required=("document", "title", "item"),
)


@dataclass(frozen=True)
class Item:
    """One table, figure or statement of a document.

    Attributes:
        document: one of DOCUMENTS.
        id: name in the catalogue.
        place: page, table, figure or equation.
        title: what the values are.
        values: (label, printed, reason) of each value; the reason applies if ours differs.
        kind: how our values were obtained, one of `kinds.KINDS`.
        kinds: the kind of each value, usually that of the item.
        repeats: for each value the item that counts the same printed value; empty: none, it counts here.
        assumed: assumed inputs that the document does not give, or the convention chosen.
        recompute: module.function that returns {label: value}; None: nothing computes it.
        tolerance: absolute; None: half a unit of the last printed digit.
        reason: why the values differ or cannot be reproduced.
    """

    document: str
    id: str
    place: str
    title: str
    values: tuple[tuple[str, str, str], ...]
    kind: Kind
    kinds: tuple[Kind, ...] = ()
    repeats: tuple[str, ...] = ()
    assumed: str = ""
    recompute: str | None = None
    tolerance: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class DocumentFigure:
    """One figure of a document: the name of our plot of it, or why there is none."""

    document: str
    place: str
    what: str
    drawn: str = ""
    reason: str = ""


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
        return self.verdict in ("exact", "within rounding")

    @property
    def unexplained(self) -> bool:
        """Whether it differs or is missing and no reason is stated."""
        return self.verdict in ("differs", "not reproducible") and not self.reason


def catalogue(document: str = "all") -> tuple[Item, ...]:
    """The items of one document, or of all."""
    check_choice(document, (*DOCUMENTS, "all"), "document")
    return tuple(item for name in DOCUMENTS if document in (name, "all") for item in _read(name))


def title_of(document: str) -> str:
    """Author, title, where and when of one document."""
    return str(_data(document)["title"])


def pictures(document: str = "all") -> tuple[DocumentFigure, ...]:
    """The listed figures of one document, or of all."""
    named = [name for name in DOCUMENTS if document in (name, "all")]
    return tuple(DocumentFigure(name, **block) for name in named for block in _data(name).get("picture", ()))


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
        if document not in (of.lower(), "all") or comparison.verdict == "consistent":
            continue
        item = Item(
            of.lower(),
            f"counts: {comparison.place}",
            place,
            "operation counts",
            (),
            comparison.kind,
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
    ours: Figures = {} if item.recompute is None else function(item.recompute)()
    for (label, printed, reason), kind, of in zip(item.values, item.kinds, item.repeats, strict=True):
        value = ours[label] if item.recompute is not None else None
        verdict = judge(printed, value, item.tolerance)
        said = "" if verdict in ("exact", "within rounding") else reason or item.reason
        yield Result(item, label, printed, None if value is None else float(value), verdict, said, kind, of)


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


def _read(document: str) -> Iterator[Item]:
    for block in _data(document)["item"]:
        values = tuple((v["label"], v["printed"], v.get("reason", "")) for v in block["value"])
        repeats = tuple(v.get("repeats", block.get("repeats", "")) for v in block["value"])
        own = (v.get("kind", block["kind"]) for v in block["value"])
        kinds: tuple[Kind, ...] = tuple(
            "repeated" if of else kind for of, kind in zip(repeats, own, strict=True)
        )
        rest = {key: value for key, value in block.items() if key not in ("value", "repeats")}
        yield Item(document=document, values=values, kinds=kinds, repeats=repeats, **rest)


def _data(document: str) -> dict[str, Any]:
    path = Path(__file__).parent / "printed" / f"{document}.toml"
    return PRINTED.read(read_toml(path), path.name)
