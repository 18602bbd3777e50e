"""Charts as data: drawn for pages, kept as data, thinned without losing peaks or gaps; reports hold them."""

from __future__ import annotations

import json
import re

import numpy as np

from forearm.charts import Band, Bars, Chart, Curve, CurveLook, Mark, PointLabel, Rule, curves, span, thinned
from forearm.svg import chart_svg, key
from forearm.tables import Report

X = np.linspace(0.0, 2.0, 9)
MARKS: list[Mark] = [
    Band(X, X - 1.0, X + 1.0, "between", 2, 0.2),
    *curves(["a <b>", "c"], X, np.stack([X, -X], axis=1)),
    Curve(X[:1], X[:1], "start", CurveLook(1, marker="o", joined=False)),
    Bars(X, X[1:]),
    Rule(0.5, "y"),
    PointLabel(1.0, 1.0, "here"),
]
CHART = Chart("time, s", "torque, N m", MARKS, "of a < b")


def test_every_mark_is_drawn_on_a_page_and_named_once() -> None:
    drawn = chart_svg(CHART, "said <so>")
    assert drawn.count("<path") == 5
    assert drawn.count("<circle") == 1
    assert 'aria-label="said &lt;so&gt;"' in drawn
    names = re.findall(r"</svg>([^<]*)</li>", key(CHART))
    assert names == ["between", "a &lt;b&gt;", "c", "start"]


def test_a_report_shows_its_charts_on_pages_and_keeps_them_as_data() -> None:
    report = Report(["x"], [["1"]], "table", before=["line"], charts=[CHART])
    assert str(report).splitlines() == ["line", "table", "x", "-", "1"]
    assert "<figcaption>of a &lt; b</figcaption>" in report.html()
    document = report.document()
    assert (document["rows"], document["charts"][0]["y"]) == ([["1"]], "torque, N m")
    json.dumps(document, default=lambda array: array.tolist())


def test_thinning_keeps_ends_peaks_and_gaps() -> None:
    x = np.arange(10_001.0)
    y = np.sin(0.01 * x)
    y[[1234, 5678, 7000]] = 9.0, -9.0, np.nan
    kept, values = thinned(x, y, 100)
    assert len(kept) <= 300
    assert {0.0, 1234.0, 5678.0, 7000.0, 10_000.0} <= {*kept.tolist()}
    assert np.isnan(values).sum() == 1
    assert span(y, np.zeros(0)) == (-9.9, 9.9)
