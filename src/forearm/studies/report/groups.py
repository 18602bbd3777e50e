"""Non-numeric variables: figures of merit by level, as box plots with one axis per figure."""

from __future__ import annotations

import math
from html import escape

import numpy as np
from numpy.typing import NDArray

from forearm.spatial import Floats
from forearm.studies.report.columns import AxisRange, LevelCodes, StudyColumns, axis_range, digits_of, finite
from forearm.studies.report.markup import grouped, shortened, table, value
from forearm.studies.report.source import ReportVariable, label, title_of
from forearm.svg import Scale

MOST_LEVELS = 12
MOST_VARIABLES = 12
WIDE, HIGH = 150.0, 18.0
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def groups(columns: StudyColumns) -> str:
    """A table per non-numeric variable: mean and box plot of each figure by level."""
    words = [variable for variable in columns.source.variables if not variable.is_numeric]
    if not words or not columns.done or not columns.source.figures:
        return ""
    key = (
        "<p>Means by level; boxes span the 25&nbsp;% to 75&nbsp;% quantiles with the median inside, "
        "whiskers 5&nbsp;% to 95&nbsp;%, with one axis per figure for all levels.</p>"
    )
    more = len(words) - MOST_VARIABLES
    left = f"<p>{more} more non-numeric variables are not shown.</p>" if more > 0 else ""
    return key + "".join(_groups_of(columns, variable) for variable in words[:MOST_VARIABLES]) + left


def _groups_of(columns: StudyColumns, variable: ReportVariable) -> str:
    levels = columns.levels(variable.name)
    shown = levels.names[:MOST_LEVELS]
    header = [("level", ""), ("rows", "number")]
    header += [(label(title_of(figure), figure.unit), "box") for figure in columns.source.figures]
    counts = np.bincount(levels.codes, minlength=len(levels.names))
    rows = [
        [escape(shortened(name) or '""'), grouped(int(n))] for name, n in zip(shown, counts, strict=False)
    ]
    for figure in columns.source.figures:
        cells = _cells(levels, len(shown), columns.floats(figure.name), title_of(figure))
        for row, cell in zip(rows, cells, strict=True):
            row.append(cell)
    more = len(levels.names) - len(shown)
    left = f"<p>The {len(shown)} most frequent of {grouped(len(levels.names))} levels.</p>" if more else ""
    heading = f"<h3>{escape(variable.name)}</h3>"
    return heading + table(f"figures by level of {variable.name}", header, rows) + left


def _cells(levels: LevelCodes, count: int, values: Floats, title: str) -> list[str]:
    """Mean and box plot of one figure for the first levels."""
    ends, names = axis_range(values), levels.names
    digits = digits_of(values)
    return [
        _cell(finite(values[_rows_of(levels, k)]), ends, f"{title} for {names[k]}", digits)
        for k in range(count)
    ]


def _rows_of(levels: LevelCodes, k: int) -> NDArray[np.bool_]:
    return np.asarray(levels.codes == k)


def _cell(good: Floats, ends: AxisRange, said: str, digits: int) -> str:
    if not len(good):
        return "all failed"
    return f"{value(float(good.mean()), digits)}{_box(good, ends, said)}"


def _box(good: Floats, ends: AxisRange, said: str) -> str:
    quantiles = np.quantile(good, QUANTILES)
    low, high = ends.low, ends.high
    if ends.is_log:
        quantiles, low, high = np.log10(quantiles), math.log10(low), math.log10(high)
    across = Scale(low, high, 4.0, WIDE - 4.0)
    q05, q25, q50, q75, q95 = across(np.clip(quantiles, low, high)).tolist()
    middle = HIGH / 2
    return (
        f'<svg class="box" viewBox="0 0 {WIDE:g} {HIGH:g}" role="img" aria-label="{escape(said)}">'
        f'<path class="whisker" d="M{q05:.1f},{middle:g} H{q95:.1f}"/>'
        f'<rect class="first" x="{q25:.1f}" y="4" width="{max(q75 - q25, 0.5):.1f}" height="{HIGH - 8:g}"/>'
        f'<path class="middle" d="M{q50:.1f},2 V{HIGH - 2:g}"/></svg>'
    )
