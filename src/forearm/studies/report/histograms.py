"""Distributions: a histogram per figure over the range of most of its values."""

from __future__ import annotations

import math
from html import escape

import numpy as np

from forearm.charts import Bars, Chart, CurveLook, Mark, Rule
from forearm.spatial import Floats
from forearm.studies.report.columns import AxisRange, StudyColumns, axis_range, finite, varies
from forearm.studies.report.markup import grouped, value
from forearm.studies.report.source import ReportFigure, label, title_of
from forearm.svg import chart_svg

WIDE, HIGH = 360.0, 190.0
LEAST_BINS, MOST_BINS = 6, 48
FLAT = 1e-4  # of the values themselves: a narrower range is shown as differences from the median
KEY = (
    '<ul class="key"><li><span class="bars"></span>rows</li><li><span class="median"></span>median</li></ul>'
)


def histograms(columns: StudyColumns) -> str:
    """A panel per figure."""
    made = [_panel(figure, columns.floats(figure.name)) for figure in columns.source.figures]
    return f'{KEY}<div class="panels">{"".join(made)}</div>' if made and columns.done else ""


def _panel(figure: ReportFigure, values: Floats) -> str:
    good = finite(values)
    failed = len(values) - len(good)
    ends = axis_range(good)
    caption = f"<figcaption>{escape(title_of(figure))}</figcaption>"
    if not len(good):
        return f"<figure>{caption}<p>All {grouped(failed)} rows failed.</p></figure>"
    if not varies(good):
        drawn = f"<p>The same in all rows: {escape(_with_unit(float(good[0]), figure.unit))}.</p>"
    else:
        drawn = histogram(good, ends, title_of(figure), figure.unit)
    notes = "; ".join(filter(None, [_outside(good, ends), f"{grouped(failed)} failed" if failed else ""]))
    return f"<figure>{caption}{drawn}<small>{escape(notes)}</small></figure>"


def histogram(values: Floats, ends: AxisRange, title: str, unit: str) -> str:
    """The drawing: fraction of rows in bins of equal width, and the median.

    Args:
        values: finite values, (rows,).
        ends: of the axis.
        title: description of the values.
        unit: of the values.
    """
    low, high, name, shown = ends.low, ends.high, label(title, unit), values
    median = float(np.median(values))
    if ends.is_log:
        low, high, median = math.log10(low), math.log10(high), math.log10(median)
        name, shown = f"log10 of {name}", np.log10(values)
    elif high - low < FLAT * max(abs(low), abs(high)):
        name, shown = f"{title} - {median:.9g}, {unit}".rstrip(", "), values - median
        low, high, median = low - median, high - median, 0.0
    bins = int(min(MOST_BINS, max(LEAST_BINS, round(2.0 * len(values) ** (1.0 / 3.0)))))
    counts, edges = np.histogram(shown, bins, (low, high))
    shares = 100.0 * counts / len(values)
    room = 0.02 * (high - low)
    marks: list[Mark] = [Bars(edges, shares), Rule(median, look=CurveLook(1, width=1.2))]
    ends_x, ends_y = (low - room, high + room), (0.0, 1.08 * float(shares.max()) or 1.0)
    said = f"histogram of {title}: median {value(float(np.median(values)))} {unit}".rstrip()
    return chart_svg(Chart(name, "rows, %", marks, x_range=ends_x, y_range=ends_y), said, (WIDE, HIGH))


def _outside(values: Floats, ends: AxisRange) -> str:
    """Values outside the axis, in words."""
    # the ends of a logarithmic axis are powers, and so rounded
    slack = 1e-9 * ends.high if ends.is_log else 0.0
    below, above = int((values < ends.low - slack).sum()), int((values > ends.high + slack).sum())
    said = [
        f"{grouped(below)} below the axis, down to {value(float(values.min()))}" if below else "",
        f"{grouped(above)} above the axis, up to {value(float(values.max()))}" if above else "",
    ]
    return "; ".join(filter(None, said))


def _with_unit(x: float, unit: str) -> str:
    return f"{value(x)} {unit}".rstrip()
