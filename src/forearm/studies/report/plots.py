"""Frames and captions of the two plots that the page's scripts draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from forearm.studies.report.columns import StudyColumns
from forearm.studies.report.embedded import MOST_AXIS_LEVELS
from forearm.studies.report.markup import grouped, paragraph, rows_said
from forearm.studies.report.pareto import MOST_FIGURES


def scatter_plot(columns: StudyColumns, document: Mapping[str, Any]) -> str:
    """Two figures against each other with their front; empty if there are fewer than two.

    Args:
        columns: of the study.
        document: the embedded rows.
    """
    names = [column["name"] for column in document["columns"] if "better" in column]
    if len(names) < 2:
        return ""
    drawn, done = len(document["sample"]), columns.done
    which = f"{grouped(drawn)} of {rows_said(done)} are drawn" if drawn < done else "All rows are drawn"
    text = (
        f"{which}; the front covers all rows: no row improves one figure without degrading the other. "
        "Hover over a row for its values, click it for the command that simulates it again, or step "
        "along the front with the arrow keys."
    )
    left = len(columns.source.figures) - MOST_FIGURES
    more = f" Only the first {MOST_FIGURES} figures are selectable." if left > 0 else ""
    across, up = _widest_front(document)
    choices = f"{_select('front-x', 'across', names, across)}{_select('front-y', 'up', names, up)}"
    return (
        f'{paragraph(text + more)}<div class="choices">{choices}</div>'
        '<ul class="key"><li><span class="dot"></span>row</li><li><span class="front"></span>Pareto front'
        "</li></ul>"
        '<div class="plot" id="front-plot"></div><p class="note" id="front-note" role="status"></p>'
        '<p class="clicked" id="front-chosen" hidden></p>'
        '<details id="front-rows"><summary>rows on the front</summary><div class="wide" tabindex="0" '
        'role="region" aria-label="rows on the front"></div></details>'
    )


def parallel_plot(columns: StudyColumns, document: Mapping[str, Any]) -> str:
    """Rows as lines over parallel axes; empty if there are fewer than two axes.

    Args:
        columns: of the study.
        document: the embedded rows.
    """
    if len(document["axes"]) < 2:
        return ""
    names = [column["name"] for column in document["columns"] if "better" in column]
    of = len(columns.source.figures) + len(columns.source.variables)
    left_out = (
        f" {len(document['axes'])} of {of} axes are shown: variables with the strongest sensitivities, no "
        f"text variables with more than {MOST_AXIS_LEVELS} levels, and the first figures."
        if len(document["axes"]) < of
        else ""
    )
    drawn = len(document["lines"])
    which = f"{grouped(drawn)} of {rows_said(columns.done)}" if drawn < columns.done else "All rows"
    text = (
        f"{which}, including the worst and best of each figure (thicker). Drag along an axis to filter "
        "rows by that range, click it to reset; or focus it and use the arrow keys, + and -, Escape. "
        "Click a line for the command that simulates its row again. Values beyond the ends of an axis "
        f"are drawn at its end.{left_out}"
    )
    return (
        f'{paragraph(text)}<div class="choices">{_select("parallel-by", "coloured by", names, 0)}'
        '<button type="button" id="parallel-clear">clear filters</button>'
        '<span class="ramp" id="parallel-ramp"></span></div>'
        '<div class="wide"><div class="plot" id="parallel-plot"></div></div>'
        '<p class="note" id="parallel-note" role="status"></p>'
        '<p class="clicked" id="parallel-chosen" hidden></p>'
    )


def _widest_front(document: Mapping[str, Any]) -> tuple[int, int]:
    """The two figures with the most rows on their front."""
    pair = max(document["fronts"], key=lambda pair: document["fronts"][pair]["count"], default="0,1")
    across, up = map(int, pair.split(","))
    return across, up


def _select(name: str, said: str, options: Sequence[str], chosen: int) -> str:
    inside = "".join(
        f'<option value="{k}"{" selected" * (k == chosen)}>{escape(option)}</option>'
        for k, option in enumerate(options)
    )
    return f'<label>{said} <select id="{name}" autocomplete="off">{inside}</select></label>'
