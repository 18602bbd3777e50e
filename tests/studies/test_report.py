"""The report of a study: its numbers against NumPy and brute force, hostile names, sizes, and the page in a
browser.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import math
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from viewer.browser import ARGUMENTS, find_browser

import forearm as fa
from forearm.errors import InputError
from forearm.studies.report.columns import StudyColumns, axis_range, level_codes, spread_sample, worst_places
from forearm.studies.report.embedded import embedded_rows, script_json, spread_ends
from forearm.studies.report.index_bars import index_bars
from forearm.studies.report.markup import row_command
from forearm.studies.report.page import report_page
from forearm.studies.report.pareto import cost_of, pareto_front
from forearm.studies.report.source import ReportFigure, ReportSource, ReportVariable
from forearm.studies.report.summary import statistics
from forearm.studies.sensitivity import SobolIndices
from forearm.viewer.door import recording_page

HOSTILE = "</script><b>&amp;\"'"
MOST_BYTES = 2_500_000  # of a page, whatever the study
ROUNDED = 2e-7  # relative: embedded columns are floats of 32 bits


@dataclass(frozen=True, eq=False)
class FakeStudy:
    """Results that are made up."""

    columns: dict[str, NDArray[Any]]
    variables: Sequence[ReportVariable] = ()
    figures: Sequence[ReportFigure] = ()
    name: str = "made up"
    facts: Sequence[tuple[str, str]] = (("arm", "none"),)
    design: str = "random"
    command: str = "forearm sweep study.toml -o 'my results'"
    more_rows: int = 0
    read: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return len(self.columns["row"]) + self.more_rows

    def column(self, name: str, /) -> NDArray[Any]:
        self.read.append(name)
        return self.columns[name]


def study(rows: int = 300, prefix: str = "", seed: int = 4) -> FakeStudy:
    """Three variables, one of them words; figures: a plain one, one over decades, one that more is better of,
    one that is constant; some rows failed.
    """
    random = np.random.default_rng(seed)
    mass, gain = random.uniform(0.5, 4.0, rows), random.normal(0.0, 1.3, rows)
    law = random.choice([f"{prefix}slow", f"{prefix}fast", f"{prefix}none"], rows, p=[0.2, 0.7, 0.1])
    error = 10.0 ** random.uniform(-5.0, 2.0, rows)
    torque = 3.0 + 2.0 * mass + random.normal(0.0, 0.5, rows)
    margin = 50.0 - 5.0 * mass + 3.0 * np.log10(error) + random.normal(0.0, 2.0, rows)
    torque[7::41], margin[7::41], error[9::53] = np.nan, np.inf, np.nan
    columns = {"row": 10 * np.arange(rows) + 3, "mass": mass, "gain": gain, "law": law.astype(object)}
    columns |= {"torque": torque, "error": error, "margin": margin, "fixed": np.full(rows, 2.5)}
    variables = [
        ReportVariable("mass", "kg"),
        ReportVariable("gain"),
        ReportVariable("law", is_numeric=False),
    ]
    figures = [
        ReportFigure("torque", "N m", f"{prefix}peak torque"),
        ReportFigure("error", "m"),
        ReportFigure("margin", "%", better="more"),
        ReportFigure("fixed"),
    ]
    return FakeStudy(columns, variables, figures, f"{prefix}made up", more_rows=20)


def document_in(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="study">(.*?)</script>', page, flags=re.S)
    assert found is not None
    document: dict[str, Any] = json.loads(found[1])
    return document


def numbers_of(column: dict[str, Any]) -> NDArray[np.float64]:
    """A column as the page's script reads it."""
    data = np.frombuffer(base64.b64decode(column["data"]), "<f4").astype(np.float64)
    return data + float(column["base"])


class Outline(HTMLParser):
    """Checks that elements close in order, and collects text by table and attributes."""

    VOID = frozenset({"meta", "br", "link", "img", "input"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words)

    def with_attribute(self, name: str) -> list[str]:
        return [
            value or "" for _, attributes in self.tags for key, value in attributes.items() if key == name
        ]


def cells_of(page: str, label: str) -> list[list[str]]:
    """The body of the table of that label, as text."""
    found = re.search(rf'aria-label="{re.escape(label)}"><table>.*?<tbody>(.*?)</tbody>', page, flags=re.S)
    assert found is not None, label
    rows = re.findall(r"<tr>(.*?)</tr>", found[1], flags=re.S)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, flags=re.S) for row in rows]
    return [[html.unescape(re.sub(r"<[^>]+>", "", cell)) for cell in row] for row in cells]


# ------------------------------------------------------------------------------------- numbers of the page


def dominates(a: NDArray[np.float64], b: NDArray[np.float64]) -> bool:
    return bool((a <= b).all() and (a < b).any())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("better", [("less", "less"), ("less", "more"), ("more", "more")])
def test_the_front_is_what_comparing_all_pairs_finds(seed: int, better: tuple[str, str]) -> None:
    random = np.random.default_rng(seed)
    # few different values, so that many are equal
    values = random.integers(0, 9, (2, 70)) * 0.5 if seed % 2 else random.normal(0.0, 1.0, (2, 70))
    values = values.astype(np.float64)
    values[0, random.integers(0, 70, 4)], values[1, random.integers(0, 70, 4)] = np.nan, -np.inf
    costs = [cost_of(x, side) for x, side in zip(values, better, strict=True)]
    points = np.stack(costs, axis=1)
    good = [k for k in range(70) if np.isfinite(values[:, k]).all()]
    best = [k for k in good if not any(dominates(points[j], points[k]) for j in good)]
    found = pareto_front(*costs).tolist()
    assert {tuple(points[k]) for k in found} == {tuple(points[k]) for k in best}
    assert len({tuple(points[k]) for k in found}) == len(found), "equal rows are said once"
    assert all(k == min(j for j in good if (points[j] == points[k]).all()) for k in found)
    assert (np.diff(points[found, 0]) > 0.0).all()


def test_a_front_of_failed_rows_is_empty() -> None:
    failed = np.full(5, np.inf)
    assert len(pareto_front(failed, np.arange(5.0))) == 0
    assert len(pareto_front(np.arange(5.0), failed)) == 0
    assert len(pareto_front(np.zeros(0), np.zeros(0))) == 0


def test_statistics_are_those_of_the_rows_that_did_not_fail() -> None:
    values = study().columns["torque"]
    good = values[np.isfinite(values)]
    found = statistics(values)
    assert found.failed == len(values) - len(good) > 0
    assert found.mean == pytest.approx(math.fsum(good) / len(good), rel=1e-12)
    spread = math.sqrt(math.fsum((good - found.mean) ** 2) / (len(good) - 1))
    assert found.std == pytest.approx(spread, rel=1e-12)
    in_order = np.sort(good)
    for share, x in ((0.0, found.least), (0.05, found.low), (0.5, found.median), (0.95, found.high)):
        place = share * (len(good) - 1)
        below, part = int(place), place - int(place)
        between = in_order[below] + part * (in_order[min(below + 1, len(good) - 1)] - in_order[below])
        assert x == pytest.approx(between, rel=1e-12)
    assert found.most == in_order[-1]
    assert math.isnan(statistics(np.array([np.nan, np.inf])).mean)
    assert math.isnan(statistics(np.array([2.0])).std)


def test_the_summary_has_those_statistics() -> None:
    made = study()
    rows = cells_of(report_page(made), "statistics of each figure of merit")
    for cells, figure in zip(rows, made.figures, strict=True):
        values = made.columns[figure.name]
        good = values[np.isfinite(values)]
        quantiles = np.quantile(good, [0.0, 0.05, 0.5, 0.95, 1.0])
        expected = [good.mean(), good.std(ddof=1), *quantiles, len(values) - len(good)]
        assert cells[1:3] == [figure.unit, figure.better]
        np.testing.assert_allclose([float(x) for x in cells[3:]], expected, rtol=5e-4)  # four digits


@pytest.mark.parametrize("better", ["less", "more"])
def test_worst_places_are_the_ends_of_the_sorted_values(better: str) -> None:
    values = np.random.default_rng(3).integers(0, 30, 200).astype(np.float64)
    values[::17] = np.nan
    side = -1.0 if better == "less" else 1.0
    order = sorted(np.flatnonzero(np.isfinite(values)).tolist(), key=lambda k: (side * values[k], k))
    for most in (0, 1, 5, 180, 500):
        assert worst_places(values, better, most).tolist() == order[:most]


def test_the_worst_rows_are_in_the_tables_with_their_commands() -> None:
    made = study()
    page = report_page(made, worst=2)
    for figure in made.figures[:3]:
        values, rows = (
            made.columns[figure.name],
            cells_of(page, f"worst rows by {figure.title or figure.name}"),
        )
        good = np.flatnonzero(np.isfinite(values))
        order = good[np.argsort(values[good] * (-1.0 if figure.better == "less" else 1.0), kind="stable")]
        assert [int(cells[0]) for cells in rows] == made.columns["row"][order[:2]].tolist()
        assert [float(cells[2]) for cells in rows] == pytest.approx(values[order[:2]], rel=5e-4)
        assert all(c[-1] == f"forearm sweep 'my results' --row {c[0]} --html row-{c[0]}.html" for c in rows)
    failed = ~np.isfinite([made.columns[f.name] for f in made.figures]).all(axis=0)
    rows = cells_of(page, "rows that failed")
    assert [int(cells[0]) for cells in rows] == made.columns["row"][failed][:10].tolist()
    text = Outline(page).text
    assert f"{failed.sum()} of 300 rows have a figure that is not a finite number" in text
    assert "The same in all rows: 2.5" in text
    assert "300 of 320 rows, 3 variables, 4 figures of merit." in text


def test_of_a_base_sample_of_sobol_indices_the_worst_row_alone_is_listed() -> None:
    random = np.random.default_rng(6)
    values = np.repeat(random.normal(0.0, 1.0, 20), 4) + 1e-3 * random.normal(0.0, 1.0, 80)
    values[5] = np.nan
    columns = {"row": np.arange(80), "x": random.random(80), "z": random.random(80), "y": values}
    variables, figures = [ReportVariable("x"), ReportVariable("z")], [ReportFigure("y", better="more")]
    for design, per_sample in (("sobol-indices", True), ("random", False)):
        page = report_page(FakeStudy(columns, variables, figures, design=design), worst=5)
        rows = [int(cells[0]) for cells in cells_of(page, "worst rows by y")]
        each = [4 * k + int(np.nanargmin(values[4 * k : 4 * k + 4])) for k in range(20)]
        order = sorted(each if per_sample else np.flatnonzero(np.isfinite(values)), key=lambda k: values[k])
        assert rows == order[:5]
        assert ("Of each base sample" in page) == per_sample


def test_row_commands_name_the_results_if_the_study_did() -> None:
    of_out = "forearm sweep out --row 4 --html row-4.html"
    assert row_command("forearm sweep a.toml --output out", 4) == of_out
    assert row_command("forearm sweep out", 4) == of_out
    assert row_command("forearm sweep 'my 4'", 4) == "forearm sweep 'my 4' --row 4 --html row-4.html"
    assert row_command("forearm sweep --json out", 4).startswith("forearm sweep RESULTS ")
    assert row_command("forearm sweep 'a", 4).startswith("forearm sweep RESULTS ")
    assert row_command("", 4).startswith("forearm sweep RESULTS ")


def test_levels_are_counted_and_their_means_shown() -> None:
    made = study()
    rows = cells_of(report_page(made), "figures by level of law")
    law = made.columns["law"].astype(str)
    counts = {name: int((law == name).sum()) for name in set(law)}
    assert [cells[0] for cells in rows] == sorted(counts, key=lambda name: -counts[name])
    for name, count, torque, *_ in rows:
        values = made.columns["torque"][law == name]
        assert int(count) == counts[name]
        assert float(torque) == pytest.approx(np.nanmean(values), rel=5e-4)
    codes = level_codes(law)
    assert [codes.names[k] for k in codes.codes] == law.tolist()


def test_axes_hold_most_values_and_are_logarithmic_over_decades() -> None:
    random = np.random.default_rng(8)
    plain, wide = random.normal(5.0, 1.0, 4000), 10.0 ** random.uniform(-4.0, 3.0, 4000)
    for values, is_log in ((plain, False), (wide, True), (-wide, False)):
        ends = axis_range(np.append(values, [1e9, np.nan]))
        assert ends.is_log is is_log
        assert ends.low <= np.quantile(values, 0.05) < np.quantile(values, 0.95) <= ends.high < 1e9
    for constant in (0.0, -3.0, 1e30):
        ends = axis_range(np.full(9, constant))
        assert ends.low < constant < ends.high


@pytest.mark.parametrize(("count", "most"), [(0, 5), (3, 5), (5, 5), (1000, 7), (12345, 600)])
def test_samples_are_spread_and_without_repetitions(count: int, most: int) -> None:
    for places in (spread_sample(count, most), spread_ends(count, most)):
        assert len(places) == min(count, most)
        assert (np.diff(places) > 0).all()
        assert len(places) == 0 or (places[0] >= 0 and places[-1] < count)
        assert count <= most or np.diff(places).max() <= 2 * count / (most - 1)
    ends = spread_ends(count, most)
    assert count == 0 or (ends[0] == 0 and ends[-1] == count - 1)


def test_embedded_columns_fronts_and_extremes_are_those_of_the_study() -> None:
    made = study(rows=5000)
    document = document_in(report_page(made))
    place = {row: k for k, row in enumerate(made.columns["row"].tolist())}
    places = np.array([place[row] for row in document["rows"]])
    for column, name in zip(
        document["columns"], [f.name for f in made.figures] + ["mass", "gain"], strict=False
    ):
        values = made.columns[name][places]
        expected = np.where(np.isfinite(values), values, np.nan)
        np.testing.assert_allclose(numbers_of(column), expected, rtol=ROUNDED)
    law = document["columns"][-1]
    assert [law["levels"][int(k)] for k in numbers_of(law)] == made.columns["law"][places].tolist()
    assert set(document["fronts"]) == {f"{a},{b}" for a in range(4) for b in range(a + 1, 4)}
    costs = [cost_of(made.columns[f.name], f.better) for f in made.figures]
    for pair, front in document["fronts"].items():
        a, b = map(int, pair.split(","))
        assert places[front["rows"]].tolist() == pareto_front(costs[a], costs[b]).tolist()
        assert front["count"] == len(front["rows"])
    shown = places[document["lines"]]
    assert all(np.nanargmax(np.where(np.isfinite(c), c, np.nan)) in shown for c in costs)
    assert all(np.argmin(c) in shown for c in costs)
    assert [document["columns"][k]["name"] for k in document["axes"]] == [
        "mass", "gain", "law", "peak torque", "error", "margin", "fixed",
    ]  # fmt: skip


def test_a_column_that_hardly_varies_keeps_its_digits() -> None:
    values = 1e6 + np.random.default_rng(1).uniform(0.0, 1e-3, 50)
    made = FakeStudy({"row": np.arange(50), "x": values}, (), [ReportFigure("x")])
    (column,) = document_in(report_page(made))["columns"]
    assert column["base"] != 0.0
    np.testing.assert_allclose(numbers_of(column) - 1e6, values - 1e6, atol=1e-9)


# ------------------------------------------------------------------------------------------- the page as text


def test_names_from_files_are_only_ever_text() -> None:
    made = study(prefix=HOSTILE)
    columns = made.columns | {HOSTILE: made.columns["mass"]}
    variables = [ReportVariable(HOSTILE, HOSTILE), *made.variables]
    figures = [ReportFigure("torque", HOSTILE, HOSTILE), *made.figures[1:]]
    facts = ((HOSTILE, HOSTILE),)
    hostile = FakeStudy(columns, variables, figures, HOSTILE, facts, command=f"run -o {HOSTILE}")
    page = report_page(hostile, simulation_page=lambda row: HOSTILE)
    outline = Outline(page)
    assert "<b>&amp;" not in page
    assert page.count("</script>") == page.count("<script")
    assert HOSTILE in outline.text
    assert HOSTILE in [column["name"] for column in document_in(page)["columns"]]
    assert any(HOSTILE in text for text in outline.with_attribute("aria-label"))
    assert json.loads(script_json({"x": HOSTILE})) == {"x": HOSTILE}


def test_the_page_asks_nothing_of_a_network() -> None:
    page = report_page(study(), simulation_page=lambda row: "<p>page</p>")
    outline = Outline(page)
    assert set(re.findall(r"https?://[^\s\"'<)]+", page)) <= {"http://www.w3.org/2000/svg"}
    assert outline.with_attribute("src") == []
    assert all(target.startswith("#") for target in outline.with_attribute("href"))
    assert re.search(r"@import|url\(|\bfetch\(|XMLHttpRequest|WebSocket|\beval\(", page) is None
    assert "default-src 'none'" in page


def test_links_and_labels_of_the_page_lead_somewhere() -> None:
    page = report_page(study())
    outline = Outline(page)
    ids = outline.with_attribute("id")
    assert len(ids) == len(set(ids))
    assert {target[1:] for target in outline.with_attribute("href")} <= set(ids)
    asked = set(re.findall(r'element\("([\w-]+)"\)', page))
    assert asked <= set(ids), "what the scripts look for"


def test_equal_studies_give_equal_pages() -> None:
    pages = {report_page(study(), simulation_page=lambda row: f"<p>{row}</p>") for _ in range(2)}
    assert len(pages) == 1


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_studies_of_hardly_any_rows_have_a_page(rows: int) -> None:
    page = report_page(study(rows=rows))
    outline = Outline(page)
    assert len(document_in(page)["rows"]) == rows
    assert ("No row is done yet." in outline.text) == (rows == 0)
    assert ("front-plot" in outline.with_attribute("id")) == (rows > 0)


def test_a_study_without_figures_or_variables_has_a_page() -> None:
    made = study()
    for variables, figures in (((), made.figures), (made.variables, ()), ((), ())):
        Outline(report_page(FakeStudy(made.columns, variables, figures)))


def test_a_study_whose_rows_all_failed_says_so() -> None:
    columns = {"row": np.arange(4), "x": np.arange(4.0), "y": np.full(4, np.nan), "z": np.full(4, np.inf)}
    made = FakeStudy(columns, [ReportVariable("x")], [ReportFigure("y"), ReportFigure("z")])
    text = Outline(report_page(made)).text
    assert "All rows failed." in text
    assert "4 of 4 rows have a figure that is not a finite number." in text


@pytest.mark.parametrize("rows", [1, 2, 12])
@pytest.mark.filterwarnings("error")
def test_extreme_values_have_a_page_of_finite_drawings(rows: int) -> None:
    random = np.random.default_rng(rows)
    kinds = {
        "rounded": 1.0 + random.choice([0.0, 2.3e-16], rows),
        "largest": random.choice([-1.7e308, 1.7e308], rows),
        "least": random.choice([0.0, 5e-324], rows),
        "decades": 10.0 ** random.uniform(-300.0, 299.0, rows),
        "outlier": np.append(np.ones(rows - 1), 1e200),
        "infinite": random.choice([-np.inf, np.inf, 2.0], rows),
        "whole": random.integers(0, 5, rows),
    }
    columns = {
        "row": np.arange(rows),
        "x": random.random(rows),
        "law": np.full(rows, "", dtype=object),
    } | kinds
    variables = [ReportVariable("x"), ReportVariable("law", is_numeric=False)]
    for design in ("random", "sobol-indices"):
        page = report_page(FakeStudy(columns, variables, [*map(ReportFigure, kinds)], design=design))
        outline = Outline(page)
        drawn = ("d", "x", "x1", "y", "y1", "width", "height")
        assert not [
            text for name in drawn for text in outline.with_attribute(name) if re.search("nan|inf", text)
        ]
        assert "The same in all rows: 1." in outline.text, "rounding is no variation"


@pytest.mark.filterwarnings("error")
def test_indices_of_too_few_samples_are_drawn_to_the_end_of_their_axis() -> None:
    none = np.full((2, 2), np.nan)
    found = SobolIndices(np.array([0.4, -1e305]), np.array([0.5, 1e305]), none, none, 1, 0)
    drawn = index_bars(["x", "y"], found, "torque")
    assert "0.40 / 0.50" in drawn
    assert "-1e+305 / 1e+305" in drawn
    assert "the largest total is that of y" in drawn


def test_the_front_that_is_shown_first_has_the_most_rows() -> None:
    page = report_page(study())
    fronts = document_in(page)["fronts"]
    most = max(front["count"] for front in fronts.values())
    chosen = re.findall(r'<option value="(\d+)" selected>', page)
    assert fronts[",".join(chosen[:2])]["count"] == most > min(front["count"] for front in fronts.values())


def test_correlations_of_figures_with_few_rows_are_doubted_more() -> None:
    random = np.random.default_rng(12)
    columns = {"row": np.arange(400), "x": random.random(400), "all": random.random(400)}
    columns["few"] = np.where(np.arange(400) < 16, random.random(400), np.nan)
    page = report_page(FakeStudy(columns, [ReportVariable("x")], [ReportFigure("all"), ReportFigure("few")]))
    assert "Grey: within 0.1 to 0.5 (by the rows of a figure that did not fail) of 0" in Outline(page).text


@pytest.mark.slow
def test_a_large_study_has_a_page_of_moderate_size() -> None:
    made = study(rows=100_000)
    page = report_page(made)
    assert len(page.encode()) < MOST_BYTES
    document = document_in(page)
    assert document["done"] == 100_000
    assert len(document["sample"]) == 3000
    assert "3 000 of 100 000 rows are drawn" in page


def test_many_variables_and_figures_keep_the_page_small() -> None:
    random = np.random.default_rng(2)
    names = [f"x{k}" for k in range(60)] + [f"y{k}" for k in range(30)]
    columns: dict[str, NDArray[Any]] = {"row": np.arange(200)}
    columns |= {name: random.normal(0.0, 1.0, 200) for name in names}
    columns["y0"] = columns["x41"] + 0.01 * columns["y0"]
    made = FakeStudy(columns, [*map(ReportVariable, names[:60])], [*map(ReportFigure, names[60:])])
    page = report_page(made, worst=1)
    assert len(page.encode()) < MOST_BYTES
    document = document_in(page)
    assert len(document["axes"]) == 16
    assert "x41" in [document["columns"][k]["name"] for k in document["axes"]], "the one that matters"
    assert "Only the first 12 figures can be chosen." in page


def test_simulations_of_the_worst_rows_are_embedded_whole() -> None:
    made, asked = study(), []

    def simulation(row: int) -> str | None:
        asked.append(row)
        return None if row == asked[0] else f"<!DOCTYPE html><p>row {row}: \u00b5 </script> {HOSTILE}</p>"

    page = report_page(made, worst=2, simulation_page=simulation)
    packed = re.findall(r'<script type="application/octet-stream" id="simulation-(\d+)">(.*?)</script>', page)
    pages = {int(row): gzip.decompress(base64.b64decode(text)).decode() for row, text in packed}
    assert pages == {row: f"<!DOCTYPE html><p>row {row}: \u00b5 </script> {HOSTILE}</p>" for row in asked[1:]}
    worst = made.columns["row"][int(np.nanargmax(made.columns["torque"]))]
    assert worst in asked
    assert asked == sorted(set(asked)), "each row once"
    buttons = {int(row) for row in Outline(page).with_attribute("data-simulation")}
    assert buttons == set(pages)


def test_progress_reaches_its_end() -> None:
    told: list[tuple[float, float, str]] = []
    report_page(study(), progress=lambda *step: told.append(step))
    done = [step[0] for step in told]
    assert done == sorted(done)
    assert told[-1][0] == told[-1][1]
    assert told[0] == (0, told[-1][1], "statistics")


def test_the_number_of_worst_rows_is_checked() -> None:
    with pytest.raises(InputError, match="report, worst"):
        report_page(study(), worst=-1)


def test_the_scripts_and_styles_are_files_of_the_package() -> None:
    import forearm.studies.report.page as module

    for name in (*module.SCRIPT_FILES, "page.css"):
        assert (module.FOLDER / name).stat().st_size > 0


def takes_sources(results: ReportSource) -> ReportSource:
    return results


def test_the_stand_in_is_what_the_report_asks_for() -> None:
    made = takes_sources(study())
    columns = StudyColumns(made)
    assert columns.floats("mass") is columns.floats("mass"), "read once"
    document = embedded_rows(columns, {}, 3)
    assert document["done"] == columns.done == 300


# ----------------------------------------------------------------------------------- the page in a browser


LOCAL = ("file:", "blob:", "data:", "about:")


def until(shown: Any, expression: str) -> None:
    """Wait for it to be true; asked from outside, as the page's policy forbids eval."""
    for _ in range(500):
        if shown.evaluate(expression):
            return
        shown.wait_for_timeout(20)
    raise AssertionError(f"never true: {expression}")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The page in a browser; what it says on the console or asks of a network fails the tests."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = find_browser()
    if path is None:
        pytest.skip("chromium is not installed")
    file = tmp_path_factory.mktemp("report") / "report.html"
    made = study(prefix=HOSTILE)
    real = made.columns["row"][worst_places(made.columns["margin"], "more", 1)[0]]
    arm = fa.load("puma560")
    played = recording_page(fa.simulate(arm, [0.1] * arm.n, [0.0] * arm.n, 0.2), plays=True)

    def simulation(row: int) -> str:
        return played if row == real else f"<!DOCTYPE html><title>of row {row}</title><p>\u00b5</p>"

    file.write_text(report_page(made, simulation_page=simulation), encoding="utf-8")
    said: list[str] = []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        context = browser.new_context(viewport={"width": 900, "height": 1200})
        page = context.new_page()
        context.on("console", lambda message: said.append(message.text))
        context.on("weberror", lambda error: said.append(str(error.error)))
        context.on("request", lambda sent: said.extend(() if sent.url.startswith(LOCAL) else (sent.url,)))
        page.goto(file.as_uri())
        yield page
        browser.close()
    assert said == []


@pytest.mark.slow
def test_arrow_keys_step_along_the_front(shown: Any) -> None:
    made = study()
    shown.select_option("#front-x", "2")
    shown.select_option("#front-y", "1")
    front = pareto_front(*(cost_of(made.columns[n], b) for n, b in (("error", "less"), ("margin", "more"))))
    order = front[np.argsort(made.columns["margin"][front])]
    rows = made.columns["row"][order].tolist()
    assert shown.inner_text("#front-note").startswith(f"{len(rows)} rows are on the front.")
    shown.locator("#front-plot svg").focus()
    seen = []
    for _ in rows:
        shown.keyboard.press("ArrowRight")
        seen.append(int(re.findall(r"Row (\d+),", shown.inner_text("#front-note"))[0]))
        assert shown.inner_text("#front-plot .tip b") == f"row {seen[-1]}"
    assert seen == rows, "from left to right, once each"
    shown.locator("#front-rows summary").click()
    shown.wait_for_selector("#front-rows tbody th")
    assert [int(x) for x in shown.locator("#front-rows tbody th").all_inner_texts()] == rows
    shown.keyboard.press("Escape")


@pytest.mark.slow
def test_pointing_at_a_dot_says_its_row(shown: Any) -> None:
    made = study()
    shown.select_option("#front-x", "0")
    shown.select_option("#front-y", "2")
    shown.locator("#front-plot").scroll_into_view_if_needed()
    most = int(np.nanargmax(made.columns["torque"]))  # alone at the right end
    dots = shown.evaluate("""[...document.querySelectorAll("#front-plot .dots circle")].map((dot) => {
      const area = dot.getBoundingClientRect();
      return [area.x + area.width / 2, area.y + area.height / 2];
    })""")
    assert len(dots) == np.isfinite(made.columns["torque"] + made.columns["margin"]).sum()
    shown.mouse.move(*max(dots))
    assert shown.inner_text("#front-plot .tip b") == f"row {made.columns['row'][most]}"
    values = shown.inner_text("#front-plot .tip dl")
    assert f"{made.columns['torque'][most]:.4g} N m" in values
    assert HOSTILE + made.columns["law"][most] in values


@pytest.mark.slow
def test_clicking_a_dot_gives_the_command_and_the_simulation_of_its_row(shown: Any) -> None:
    made = study()
    shown.select_option("#front-x", "0")
    shown.select_option("#front-y", "2")
    assert shown.locator("#front-chosen").is_hidden()
    shown.locator("#front-plot svg").scroll_into_view_if_needed()
    place = int(np.nanargmax(made.columns["torque"]))  # a worst row, so that its simulation is embedded
    row = made.columns["row"][place]
    dots = shown.evaluate("""[...document.querySelectorAll("#front-plot .dots circle")].map((dot) => {
      const area = dot.getBoundingClientRect();
      return [area.x + area.width / 2, area.y + area.height / 2];
    })""")
    shown.mouse.click(*max(dots))
    said = shown.inner_text("#front-chosen")
    assert said.startswith(f"Row {row}: ")
    assert f"mass {made.columns['mass'][place]:.4g} kg; " in said
    assert f"forearm sweep 'my results' --row {row} --html row-{row}.html" in said
    with shown.context.expect_page() as opened:
        shown.locator("#front-chosen [data-simulation]").click()
    opened.value.wait_for_url("blob:**")
    assert opened.value.title() == f"of row {row}"
    opened.value.close()
    shown.bring_to_front()
    assert shown.inner_text("#front-chosen .said") == f"The simulation of row {row} is in a new tab."


@pytest.mark.slow
def test_axes_of_texts_keep_the_rows_of_their_levels(shown: Any) -> None:
    made = study()
    handle = shown.locator(".handle").nth(2)
    assert handle.get_attribute("aria-label") == "law"
    handle.focus()
    shown.keyboard.press("ArrowUp")  # the upper half: the two most frequent of three
    kept = int(np.isin(made.columns["law"], ["fast", "slow"]).sum())
    note = shown.inner_text("#parallel-note")
    assert note == f"{kept} of 300 rows kept: law {HOSTILE}fast, {HOSTILE}slow."
    shown.keyboard.press("Escape")
    shown.mouse.click(
        *shown.evaluate("""() => {
          const line = document.querySelector(".lines path.thick:last-child");
          const at = line.getPointAtLength(line.getTotalLength() * 0.97);
          const area = line.ownerSVGElement.getBoundingClientRect();
          return [area.x + at.x, area.y + at.y];
        }""")
    )
    assert re.match(r"Row \d+: .* --html row-\d+\.html", shown.inner_text("#parallel-chosen"))


@pytest.mark.slow
def test_ranges_keep_the_rows_that_are_in_them(shown: Any) -> None:
    made = study()
    mass = made.columns["mass"]
    assert shown.inner_text("#parallel-note") == "All 300 rows kept."
    handle = shown.locator(".handle").first
    handle.scroll_into_view_if_needed()
    area = shown.locator("#parallel-plot svg").bounding_box()
    hand = handle.locator(".hand").bounding_box()
    x, y = hand["x"] + hand["width"] / 2, [area["y"] + share * area["height"] for share in (0.3, 0.6)]
    shown.mouse.move(x, y[0])
    shown.mouse.down()
    shown.mouse.move(x, y[1], steps=4)
    shown.mouse.up()
    kept, low, high = re.findall(
        r"(\d+) of 300 rows kept: mass ([\d.]+) to ([\d.]+) kg", shown.inner_text("#parallel-note")
    )[0]
    digits = 0.006  # what the note rounds off
    inside = ((mass >= float(low) + digits) & (mass <= float(high) - digits)).sum()
    around = ((mass >= float(low) - digits) & (mass <= float(high) + digits)).sum()
    assert inside <= int(kept) <= around < 300
    assert shown.locator(".lines path:not(.out)").count() == int(kept)
    shown.mouse.click(x, y[0])
    assert shown.inner_text("#parallel-note") == "All 300 rows kept."
    handle.focus()
    shown.keyboard.press("ArrowUp")
    ends = axis_range(mass)
    half = int((mass >= 0.5 * (ends.low + ends.high)).sum())
    assert shown.inner_text("#parallel-note").startswith(f"{half} of 300 rows kept: mass from ")
    shown.keyboard.press("ArrowDown")
    shown.keyboard.press("-")
    shown.keyboard.press("+")
    assert " to " in handle.get_attribute("aria-valuetext")
    shown.keyboard.press("Escape")
    assert shown.inner_text("#parallel-note") == "All 300 rows kept."
    shown.keyboard.press("ArrowUp")
    shown.locator("#parallel-clear").click()
    assert shown.inner_text("#parallel-note") == "All 300 rows kept."


@pytest.mark.slow
def test_buttons_copy_commands_and_open_simulations(shown: Any) -> None:
    button = shown.locator("#worst [data-simulation]").first
    row = button.get_attribute("data-simulation")
    with shown.context.expect_page() as opened:
        button.click()
    opened.value.wait_for_url("blob:**")
    assert opened.value.title() == f"of row {row}"
    assert opened.value.inner_text("p") == "\u00b5"
    opened.value.close()
    shown.bring_to_front()
    shown.context.grant_permissions(["clipboard-read", "clipboard-write"])
    shown.locator("#worst [data-copy]").first.click()
    shown.wait_for_selector("#simulation-note code")
    command = shown.locator("#worst [data-copy]").first.get_attribute("data-copy")
    assert shown.inner_text("#simulation-note") == f"Copied: {command}"
    assert shown.evaluate("navigator.clipboard.readText()") == command


@pytest.mark.slow
def test_the_simulation_of_a_row_plays_in_its_tab(shown: Any) -> None:
    """What the report's policy forbids, such as scripts of that page, is an error on the console."""
    worst = shown.locator("section#worst h3", has_text="margin").locator("xpath=following-sibling::div[1]")
    with shown.context.expect_page() as opened:
        worst.locator("[data-simulation]").first.click()
    tab = opened.value
    tab.wait_for_url("blob:**")
    until(tab, "forearmStudio.ready.then(() => forearmStudio.state().playing)")
    before = tab.evaluate("forearmStudio.state().t")
    until(tab, f"forearmStudio.state().t !== {before}")
    tab.close()
    shown.bring_to_front()


@pytest.mark.slow
def test_the_page_fits_a_narrow_screen(shown: Any) -> None:
    shown.set_viewport_size({"width": 400, "height": 800})
    try:
        assert shown.evaluate("document.documentElement.scrollWidth") <= 400
        # drawn anew once the browser has told the page its width
        until(shown, "document.querySelector('#front-plot svg').getBoundingClientRect().width <= 400")
    finally:
        shown.set_viewport_size({"width": 900, "height": 1200})


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_ticks_are_round_and_inside_their_axes(tmp_path: Path) -> None:
    import subprocess

    import forearm.studies.report.page as module

    basics = (module.FOLDER / "basics.js").read_text(encoding="utf-8")
    axes = [
        (0.0, 1.0, False),
        (-3.3e-7, 8e-7, False),
        (1.0, 1e9, True),
        (2e-4, 0.05, True),
        (3.0, 3e30, True),
    ]
    asked = [{"low": low, "high": high, "base": 0.0, "log": is_log} for low, high, is_log in axes]
    script = f"""const document = {{ getElementById: () => ({{ textContent: '{{"columns": []}}' }}) }};
    {basics}
    const made = {json.dumps(asked)}.map((column) => ticksOf(axisOf(column), 6));
    console.log(JSON.stringify(made));"""
    file = tmp_path / "ticks.js"
    file.write_text(script, encoding="utf-8")
    done = subprocess.run(["node", str(file)], capture_output=True, text=True, check=True)
    for (low, high, is_log), ticks in zip(axes, json.loads(done.stdout), strict=True):
        assert 2 <= len(ticks) <= 7
        for tick in ticks:
            x = float(tick["text"])
            share = (x - low) / (high - low) if not is_log else math.log(x / low) / math.log(high / low)
            assert tick["share"] == pytest.approx(share, abs=1e-9)
            assert -1e-6 <= share <= 1.0 + 1e-6
            digits = f"{abs(x):.10e}".split("e")[0].rstrip("0").rstrip(".")
            assert len(digits.replace(".", "")) <= 2, "few digits"
