"""Distributions: a histogram per figure over the range of most of its values."""

from __future__ import annotations

import math
from html import escape

import numpy as np

from forearm.spatial import Floats
from forearm.studies.report.columns import AxisRange, StudyColumns, axis_range, finite, varies
from forearm.studies.report.markup import grouped, value
from forearm.studies.report.source import ReportFigure, label, title_of
from forearm.svg import Drawing

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
    top = 1.08 * float(shares.max()) or 1.0
    room = 0.02 * (high - low)
    drawing = Drawing(WIDE, HIGH, (low - room, high + room), (0.0, top), name, "rows, %")
    said = f"histogram of {title}: median {value(float(np.median(values)))} {unit}".rstrip()
    line = drawing.curve(np.full(2, median), np.array([0.0, top]), "median")
    return drawing.text(said, [_bars(drawing, edges, shares), line])


def _bars(drawing: Drawing, edges: Floats, shares: Floats) -> str:
    """All bars as one path."""
    x, y = drawing.across(edges), drawing.up(shares)
    floor = float(drawing.up(np.array(0.0)))
    parts = [
        f"M{a:.1f},{floor:.1f} V{top:.1f} H{b:.1f} V{floor:.1f} Z"
        for a, b, top in zip(x[:-1].tolist(), x[1:].tolist(), y.tolist(), strict=True)
        if top < floor
    ]
    return f'<path class="bars" d="{" ".join(parts)}"/>'


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
