"""The catalogue of printed values as one self-contained HTML page; all text in it is escaped."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from forearm import __version__
from forearm.pages import PICTURES, html_page
from forearm.plots.figure import BLUE, ORANGE, PURPLE, SKY
from forearm.reproduce import Result
from forearm.reproduce.catalogue import counted_in, title_of
from forearm.reproduce.catalogue import pictures as listed
from forearm.reproduce.kinds import MEANINGS as KIND_MEANINGS
from forearm.reproduce.totals import TOGETHER, VERDICTS, Total, headline, totals
from forearm.tables import number

# A verdict is shown by word, sign and colour, so that none of them is needed alone: sign, background, text.
MARKS = {
    "exact": ("=", BLUE, "#fff"),
    "within rounding": ("&asymp;", SKY, "#000"),
    "differs": ("&ne;", ORANGE, "#000"),
    "not reproducible": ("?", PURPLE, "#000"),
}
VERDICT_MEANINGS = {
    "exact": "the same number, or beyond a printed bound",
    "within rounding": "the same number once rounded like the document",
    "differs": "a different number, with the reason",
    "not reproducible": "nothing to compute it from, or no number printed, with the reason",
}
SUM = ' class="sum"'  # a row that adds up those above it
OPENED = 8  # values: longer tables start folded, so that a document can be scanned
STYLE = Path(__file__).with_name("reproduce_report.css")

Pictures = Mapping[str, Mapping[str, bytes]]


def report_page(results: Sequence[Result], pictures: Pictures | None = None) -> str:
    """The text of the page: totals, then one section per document; `pictures`: PNG by document and name."""
    documents = list(dict.fromkeys(r.item.document for r in results))
    shown = {} if pictures is None else pictures
    parts = [
        *_head(documents),
        "<main>",
        _summary(results),
        *(
            _document(name, [r for r in results if r.item.document == name], shown.get(name, {}))
            for name in documents
        ),
        "</main>",
    ]
    title = "forearm reproduce: printed values, recomputed"
    return html_page(title, "\n".join(parts), STYLE, rules=_rules(), policy=PICTURES)


def _head(documents: Iterable[str]) -> list[str]:
    links = [f'<a href="#{escape(name)}">{escape(name.capitalize())}</a>' for name in documents]
    return [
        "<header>\n<h1>Printed values, recomputed</h1>",
        f"<p>Made by <code>forearm reproduce</code>, version {escape(__version__)}: each value as the "
        "document prints it, compared with ours, computed when this page was written. Click a heading to "
        "fold or unfold its table.</p>",
        "</header>",
        f'<nav aria-label="contents"><a href="#summary">Summary</a> {" ".join(links)}\n{_choice()}</nav>',
    ]


def _rules() -> str:
    """Style rules: the colours of verdicts, and the filter by verdict."""
    colours = [
        f".{_class(v)} .mark {{ background: {ground}; color: {ink}; }}"
        for v, (_, ground, ink) in MARKS.items()
    ]
    hidden = [
        (
            f"body:has(#only-{kind}:checked) :is(.item tbody tr:not(.{kind}), "
            f".item:not(:has(tr.{kind}))) {{ display: none; }}"
        )
        for kind in map(_class, MARKS)
    ]
    return "\n".join([*colours, *hidden])


def _choice() -> str:
    """The filter by verdict: radio buttons for the style sheet, as the page has no script."""
    one = '<label><input type="radio" name="only" id="only-{}"{}> {}</label>'
    choices = [one.format("all", " checked", "all"), *(one.format(_class(v), "", v) for v in MARKS)]
    return f'<span class="choice" role="group" aria-label="values shown">show {" ".join(choices)}</span>'


def _summary(results: Sequence[Result]) -> str:
    heads = [f'<th scope="col" class="number">{_verdict(v)}</th>' for v in MARKS]
    meanings = [f"<li>{_verdict(v)}: {meaning}</li>" for v, meaning in VERDICT_MEANINGS.items()]
    meanings += [f"<li>{kind}: {escape(meaning)}</li>" for kind, meaning in KIND_MEANINGS.items()]
    return "\n".join(
        [
            '<section id="summary">\n<h2>Summary</h2>',
            f"<p>{escape(headline(results))}</p>",
            '<div class="wide"><table>',
            (
                f'<thead><tr><th scope="col">document</th><th scope="col">kind</th>{"".join(heads)}'
                '<th scope="col" class="number">values</th></tr></thead>'
            ),
            "<tbody>",
            *map(_counted, totals(results)),
            '</tbody></table></div>\n<ul class="note">',
            *meanings,
            "</ul>\n</section>",
        ]
    )


def _counted(total: Total) -> str:
    name = escape(total.document.capitalize())
    linked = TOGETHER if total.document == TOGETHER else f'<a href="#{escape(total.document)}">{name}</a>'
    cells = [*(total.counts[verdict] for verdict in VERDICTS), total.number]
    return (
        f"<tr{'' if total.kind else SUM}>"
        f'<th scope="row">{linked}</th>'
        f"<td>{total.kind or 'all kinds'}</td>"
        + "".join(f'<td class="number">{c}</td>' for c in cells)
        + "</tr>"
    )


def _document(name: str, results: Sequence[Result], pictures: Mapping[str, bytes]) -> str:
    items = [
        _item([r for r in results if r.item.id == id_]) for id_ in dict.fromkeys(r.item.id for r in results)
    ]
    title = f'<p class="note">{escape(title_of(name))}</p>'
    head = f'<section id="{escape(name)}">\n<h2>{escape(name.capitalize())}</h2>\n{title}'
    return "\n".join([head, *items, *_pictures(name, pictures), "</section>"])


def _pictures(document: str, pictures: Mapping[str, bytes]) -> list[str]:
    """Our plots of the document's figures under their printed numbers, and the reasons for missing ones."""
    if not pictures:
        return []
    known = {
        picture.drawn: f"{picture.place}: {picture.what}" for picture in listed(document) if picture.drawn
    }
    drawn = [
        _picture(f"{document.capitalize()}, {known.get(name, name)}", png) for name, png in pictures.items()
    ]
    others = [f"<li>{escape(f'{p.place}, {p.what}: {p.reason}')}</li>" for p in listed(document) if p.reason]
    left_out = ['<p class="note">Not drawn:</p>\n<ul class="note">', *others, "</ul>"] if others else []
    return ["<details>\n<summary><h3>Figures</h3></summary>", *drawn, *left_out, "</details>"]


def _item(results: Sequence[Result]) -> str:
    """One table of the document; neighbouring values with the same verdict and reason share its cell."""
    item = results[0].item
    explained = any(r.reason for r in results)
    why = '<th scope="col">why</th>' if explained else ""
    counts = Counter[str](r.verdict for r in results)
    told = " ".join(_sign(v, counts[v]) for v in MARKS if counts[v])
    lines = [
        f'<details class="item"{" open" if len(results) <= OPENED else ""}>',
        f"<summary><h3>{escape(item.title)} <small>{escape(item.place)}</small></h3> {told}</summary>",
        '<div class="wide"><table><thead><tr><th scope="col">value</th><th scope="col" '
        'class="number">printed</th><th scope="col" class="number">ours</th><th '
        f'scope="col">verdict</th><th scope="col">kind</th>{why}</tr></thead><tbody>',
    ]
    for (_, reason), group in groupby(results, key=lambda r: (r.verdict, r.reason)):
        rows = list(group)
        cell = f'<td class="why" rowspan="{len(rows)}">{escape(reason)}</td>' if explained else ""
        lines += [_row(r, "" if k else cell) for k, r in enumerate(rows)]
    assumed = [
        f'<p class="note">Assumed: {escape(words)}</p>'
        for words in dict.fromkeys(r.item.assumed for r in results)
        if words
    ]
    elsewhere = [f'<p class="note">Repeated: counted in {escape(p)}</p>' for p in counted_in(results)]
    return "\n".join([*lines, "</tbody></table></div>", *assumed, *elsewhere, "</details>"])


def _row(result: Result, why: str) -> str:
    ours = "-" if result.ours is None else number(result.ours, 7)
    return (
        f'<tr class="{_class(result.verdict)}"><th scope="row" class="figure">{escape(result.label)}</th>'
        f'<td class="number">{escape(result.printed)}</td><td class="number">{escape(ours)}</td>'
        f'<td class="verdict">{_verdict(result.verdict)}</td><td>{result.kind}</td>{why}</tr>'
    )


def _sign(verdict: str, count: int) -> str:
    """The number of values of a table with a verdict."""
    said = f'{_mark(verdict)}{count}<span class="said"> {verdict}</span>'
    return f'<span class="{_class(verdict)} count" title="{count} {verdict}">{said}</span>'


def _verdict(verdict: str) -> str:
    return f'<span class="{_class(verdict)}">{_mark(verdict)}{verdict}</span>'


def _mark(verdict: str) -> str:
    return f'<span class="mark" aria-hidden="true">{MARKS[verdict][0]}</span>'


def _class(verdict: str) -> str:
    return verdict.replace(" ", "-")


def _picture(title: str, png: bytes) -> str:
    name, data = escape(title), base64.b64encode(png).decode("ascii")
    return (
        f'<figure><figcaption>{name}</figcaption><img alt="{name}" '
        f'src="data:image/png;base64,{data}"></figure>'
    )
