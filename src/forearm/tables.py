"""Tables: plain text that fits the terminal, for every command and for printing an arm,
and HTML for notebooks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forearm.charts import Chart

GAP = 2
NARROWEST = 12  # what a column of words may be cut to
NARROWEST_NAME = 28  # the first column, which tells the rows apart, where there is room for another beside it
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))  # of durations
MOST_ROWS = 60  # of a table in a notebook, which is a glance


def number(value: float | None, digits: int = 6) -> str:
    """A number in short form; '-' for None."""
    if value is None:
        return "-"
    text = f"{value:.{digits}g}"
    return "0" if text in ("-0", "0") else text


def duration(seconds: float | None) -> str:
    """A time with its unit, short; '-' for None."""
    if seconds is None:
        return "-"
    size, unit = next(((s, u) for s, u in UNITS if seconds >= 0.9999 * s), UNITS[-1])
    value = seconds / size
    return f"{value:.0f} {unit}" if value >= 99.5 else f"{value:.3g} {unit}"


def filled(text: str, width: int | None, under: str = "") -> str:
    """Each line broken to a width, what goes on behind `under`; as it stands where no width is given."""
    from textwrap import fill  # where used: whoever only imports the package need not wait for it

    return (
        text
        if width is None
        else "\n".join(fill(line, width, subsequent_indent=under) for line in text.splitlines())
    )


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None) -> str:
    """Columns aligned under a rule: numbers to the right, words to the left.

    Given a width, sentences are cut first; columns that still do not fit follow in a second table below,
    under the first column again. Names and numbers are cut only where they would not fit there either.
    """
    cells = [[str(c) for c in row] for row in rows]
    right = [bool(cells) and all(_is_number(row[k]) for row in cells) for k in range(len(header))]
    whole = [max(len(row[k]) for row in [list(header), *cells]) for k in range(len(header))]
    sentences = [not right[k] and any(" " in row[k].strip() for row in cells) for k in range(len(header))]
    widths = whole if width is None else _cut_words(whole, right, sentences, width)
    blocks = []
    for columns in _groups(widths, width):
        shown = _grown([widths[k] for k in columns], [whole[k] for k in columns], width)
        lines = [[row[k] for k in columns] for row in [list(header), *cells]]
        blocks.append(_aligned(lines, shown, [right[k] for k in columns]))
    return "\n\n".join(blocks)


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> str:
    """The same as HTML, every cell escaped, at most MOST_ROWS of them with a word on the rest;
    it needs no style sheet.
    """
    # where used: whoever only imports the package need not wait for its list of entities
    from html import escape

    cells = [[str(c) for c in row] for row in rows]
    right = [k > 0 and bool(cells) and all(_is_number(row[k]) for row in cells) for k in range(len(header))]
    sides = [f' style="text-align:{"right" if r else "left"}"' for r in right]

    def line(row: Sequence[str], tag: str, scope: str) -> str:
        tags = [
            f"{tag if k else 'th'}{'' if k and tag == 'td' else scope}{side}" for k, side in enumerate(sides)
        ]
        return (
            "<tr>" + "".join(f"<{t}>{escape(c)}</{t[:2]}>" for t, c in zip(tags, row, strict=True)) + "</tr>"
        )

    caption = f'<caption style="text-align:left">{escape(title)}</caption>' if title else ""
    body = [line(row, "td", ' scope="row"') for row in cells[:MOST_ROWS]]
    if len(cells) > MOST_ROWS:
        body.append(f'<tr><td colspan="{len(header)}">and {len(cells) - MOST_ROWS} more</td></tr>')
    head = line(header, "th", ' scope="col"')
    return "\n".join([f"<table>{caption}<thead>{head}</thead><tbody>", *body, "</tbody></table>"])


def html_lines(lines: Iterable[str]) -> str:
    """Sentences as HTML paragraphs, escaped."""
    from html import escape

    return "\n".join(f"<p>{escape(line)}</p>" for line in lines if line)


def html_charts(charts: Sequence[Chart]) -> str:
    """Charts side by side, each with its title, below the legend of the first."""
    if not charts:
        return ""
    from html import escape

    from forearm.svg import chart_svg, key  # where used: it needs no terminal

    figures = (
        f"<figure><figcaption>{escape(c.title)}</figcaption>{chart_svg(c, c.title)}</figure>" for c in charts
    )
    return f'{key(charts[0])}<div class="panels">{"".join(figures)}</div>'


@dataclass(frozen=True)
class Report:
    """Output of a result or command: lines, a table with its title, more lines, charts, nested reports.

    The same for a terminal (without charts), a page or notebook, and as data. Where a line is broken
    it goes on behind `under`.
    """

    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    title: str = ""
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    parts: Sequence[Report] = ()
    under: str = ""
    charts: Sequence[Chart] = ()

    def __str__(self) -> str:
        return self.text(get_terminal_size((100, 24)).columns)

    def _repr_html_(self) -> str:
        return self.html()

    def text(self, width: int | None = None) -> str:
        """For a terminal of this width; a blank line stands between parts."""
        above, below = (
            [filled(line, width, self.under) for line in lines if line]
            for lines in ((*self.before, self.title), self.after)
        )
        table = [text_table(self.header, self.rows, width)] if self.header else []
        own = "\n".join([*above, *table, *below])
        return "\n\n".join(filter(None, [own, *(part.text(width) for part in self.parts)]))

    def html(self) -> str:
        """For a page or notebook, everything escaped."""
        table = html_table(self.header, self.rows, self.title) if self.header else html_lines([self.title])
        below = [html_lines(self.after), html_charts(self.charts), *(part.html() for part in self.parts)]
        return "\n".join(filter(None, [html_lines(self.before), table, *below]))

    def document(self) -> dict[str, Any]:
        """As data for JSON: without what is empty."""
        words = {"title": self.title, "before": list(self.before), "after": list(self.after)}
        table = {"header": list(self.header), "rows": [list(row) for row in self.rows]}
        charts = [chart.document() for chart in self.charts]
        inner = {"charts": charts, "parts": [part.document() for part in self.parts]}
        return {name: value for name, value in (words | table | inner).items() if value}


def _cut_words(widths: list[int], right: list[bool], sentences: list[bool], width: int) -> list[int]:
    """Widths of columns: sentences cut until the table fits, or as far as they may be; any other column only
    if it does not fit beside the first.
    """
    widths = list(widths)
    beside = max(
        (GAP + (w if r else min(w, NARROWEST)) for w, r in zip(widths[1:], right[1:], strict=True)), default=0
    )
    name = max(NARROWEST, min(NARROWEST_NAME, width - beside))
    while sum(widths) + GAP * (len(widths) - 1) > width:
        words = [k for k, w in enumerate(widths) if sentences[k] and w > (NARROWEST if k else name)]
        if not words:
            break
        widths[max(words, key=lambda k: widths[k])] -= 1
    widths[0] = min(widths[0], max(NARROWEST, width - beside))
    room = max(NARROWEST, width - GAP - widths[0])
    return [widths[0], *(w if r else min(w, room) for w, r in zip(widths[1:], right[1:], strict=True))]


def _grown(widths: list[int], whole: list[int], width: int | None) -> list[int]:
    """The columns of one table with what was cut given back where there is room; the first stays, as it
    stands in every table.
    """
    room = 0 if width is None else width - sum(widths) - GAP * (len(widths) - 1)
    grown = list(widths)
    for k in range(1, len(grown)):
        more = min(whole[k] - grown[k], max(room, 0))
        grown[k], room = grown[k] + more, room - more
    return grown


def _groups(widths: list[int], width: int | None) -> list[list[int]]:
    groups = [[0]]
    used = widths[0]
    for k in range(1, len(widths)):
        if width is not None and used + GAP + widths[k] > width and len(groups[-1]) > 1:
            groups.append([0])
            used = widths[0]
        groups[-1].append(k)
        used += GAP + widths[k]
    return groups


def _aligned(rows: list[list[str]], widths: list[int], right: list[bool]) -> str:
    def line(row: list[str]) -> str:
        cut = [c if len(c) <= w else c[: w - 1] + "~" for c, w in zip(row, widths, strict=True)]
        padded = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cut, widths, right, strict=True)]
        return (" " * GAP).join(padded).rstrip()

    rule = (" " * GAP).join("-" * w for w in widths)
    return "\n".join([line(rows[0]), rule, *map(line, rows[1:])])


def _is_number(cell: str) -> bool:
    if cell in ("-", ""):
        return True
    try:
        float(cell.split()[0])
    except (ValueError, IndexError):
        return False
    return True
