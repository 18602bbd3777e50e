"""The catalogue of printed figures as one HTML page that fetches nothing; whatever is put in is escaped."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from forearm import __version__
from forearm.palette import page_colours
from forearm.plots.figure import BLUE, ORANGE, PURPLE, SKY
from forearm.reproduce import Result
from forearm.reproduce.catalogue import pictures as listed
from forearm.tables import number

# A verdict is told by word, sign and colour, so that no one of them is needed: sign, ground, ink.
MARKS = {
    "exact": ("=", BLUE, "#fff"),
    "within rounding": ("&asymp;", SKY, "#000"),
    "differs": ("&ne;", ORANGE, "#000"),
    "not reproducible": ("?", PURPLE, "#000"),
}
STYLE = Path(__file__).with_name("reproduce_report.css")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

Pictures = Mapping[str, Mapping[str, bytes]]


def report_page(results: Sequence[Result], pictures: Pictures | None = None) -> str:
    """The text of the page: counts of verdicts, then document after document; `pictures` are PNG by document and name."""
    documents = list(dict.fromkeys(r.item.document for r in results))
    shown = {} if pictures is None else pictures
    parts = [
        *_head(documents),
        "<main>",
        _summary(results, documents),
        *(_document(name, [r for r in results if r.item.document == name], shown.get(name, {})) for name in documents),
        "</main>\n</body>\n</html>\n",
    ]
    return "\n".join(parts)


def _head(documents: Iterable[str]) -> list[str]:
    colours = [f".{_kind(v)} .mark {{ background: {ground}; color: {ink}; }}" for v, (_, ground, ink) in MARKS.items()]
    links = [f'<a href="#{escape(name)}">{escape(name.capitalize())}</a>' for name in documents]
    return [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        f'<meta name="generator" content="forearm {escape(__version__)}">\n<meta name="color-scheme" content="light dark">',
        "<title>forearm reproduce: printed figures, recomputed</title>",
        "\n".join(["<style>", page_colours() + STYLE.read_text(encoding="utf-8"), *colours, "</style>\n</head>\n<body>"]),
        "<header>\n<h1>Printed figures, recomputed</h1>",
        f"<p>Made by <code>forearm reproduce</code>, version {escape(__version__)}: each figure as the document prints it, "
        "beside the one computed anew when this page was made. Exact: the same number, or beyond a printed bound; within "
        "rounding: the same once rounded as the document rounds; differs, and not reproducible: with the reason.</p>",
        "</header>",
        f'<nav aria-label="contents"><a href="#summary">Summary</a> {" ".join(links)}</nav>',
    ]


def _summary(results: Sequence[Result], documents: Sequence[str]) -> str:
    verdicts = {name: [r.verdict for r in results if r.item.document == name] for name in documents}
    heads = [f'<th scope="col" class="number">{_verdict(v)}</th>' for v in MARKS]
    rows = [_counted(f'<a href="#{escape(name)}">{escape(name.capitalize())}</a>', verdicts[name], "") for name in documents]
    if len(documents) > 1:
        rows.append(_counted("together", [r.verdict for r in results], ' class="sum"'))
    return "\n".join([
        '<section id="summary">\n<h2>Summary</h2>\n<div class="wide"><table>',
        f'<thead><tr><th scope="col">document</th>{"".join(heads)}<th scope="col" class="number">figures</th></tr></thead>',
        "<tbody>", *rows, "</tbody></table></div>\n</section>",
    ])  # fmt: skip


def _counted(name: str, verdicts: Sequence[str], kind: str) -> str:
    cells = [*(verdicts.count(v) for v in MARKS), len(verdicts)]
    return f'<tr{kind}><th scope="row">{name}</th>' + "".join(f'<td class="number">{c}</td>' for c in cells) + "</tr>"


def _document(name: str, results: Sequence[Result], pictures: Mapping[str, bytes]) -> str:
    items = [_item([r for r in results if r.item.id == id_]) for id_ in dict.fromkeys(r.item.id for r in results)]
    drawn = [_picture(f"{name.capitalize()}, {title}", png) for title, png in pictures.items()]
    others = [f"{p.place}, {p.what}: not drawn. {p.reason}" for p in listed(name) if p.reason] if drawn else []
    drawn += [f'<p class="note">{escape(text)}</p>' for text in others]
    return "\n".join([f'<section id="{escape(name)}">\n<h2>{escape(name.capitalize())}</h2>', *items, *drawn, "</section>"])


def _item(results: Sequence[Result]) -> str:
    """One table of the document; neighbours of one verdict and one reason share its cell."""
    item = results[0].item
    explained = any(r.reason for r in results)
    why = '<th scope="col">why</th>' if explained else ""
    lines = [
        f"<h3>{escape(item.title)} <small>{escape(item.place)}</small></h3>",
        '<div class="wide"><table><thead><tr><th scope="col">figure</th><th scope="col" class="number">printed</th>'
        f'<th scope="col" class="number">ours</th><th scope="col">verdict</th>{why}</tr></thead><tbody>',
    ]
    for (_, reason), group in groupby(results, key=lambda r: (r.verdict, r.reason)):
        rows = list(group)
        cell = f'<td class="why" rowspan="{len(rows)}">{escape(reason)}</td>' if explained else ""
        lines += [_row(r, "" if k else cell) for k, r in enumerate(rows)]
    assumed = [
        f'<p class="note">Assumed: {escape(words)}</p>' for words in dict.fromkeys(r.item.assumed for r in results) if words
    ]
    return "\n".join([*lines, "</tbody></table></div>", *assumed])


def _row(result: Result, why: str) -> str:
    ours = "-" if result.ours is None else number(result.ours, 7)
    return (
        f'<tr><th scope="row" class="figure">{escape(result.label)}</th><td class="number">{escape(result.printed)}</td>'
        f'<td class="number">{escape(ours)}</td><td class="verdict">{_verdict(result.verdict)}</td>{why}</tr>'
    )


def _verdict(verdict: str) -> str:
    return f'<span class="{_kind(verdict)}"><span class="mark" aria-hidden="true">{MARKS[verdict][0]}</span>{verdict}</span>'


def _kind(verdict: str) -> str:
    return verdict.replace(" ", "-")


def _picture(title: str, png: bytes) -> str:
    name, data = escape(title), base64.b64encode(png).decode("ascii")
    return f'<figure><figcaption>{name}</figcaption><img alt="{name}" src="data:image/png;base64,{data}"></figure>'
