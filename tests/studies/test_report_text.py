"""The report of a study as text: hostile names, sizes, rows and columns of every kind."""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from studies.made_up_study import HOSTILE, MOST_BYTES, FakeStudy, Outline, document_in, study

from forearm.errors import InputError
from forearm.studies.report.embedded import script_json
from forearm.studies.report.index_bars import index_bars
from forearm.studies.report.page import report_page
from forearm.studies.report.source import ReportFigure, ReportVariable
from forearm.studies.sensitivity import SobolIndices


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
    assert ("No rows are computed yet." in outline.text) == (rows == 0)
    assert ("front-plot" in outline.with_attribute("id")) == (rows > 0)


def test_a_study_without_figures_or_variables_has_a_page() -> None:
    made = study()
    for variables, figures in (((), made.figures), (made.variables, ()), ((), ())):
        outline = Outline(report_page(FakeStudy(made.columns, variables, figures)))
        assert f"{len(variables)} variable" in outline.text
        assert f"{len(figures)} figure" in outline.text


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
    assert "Grey: within 0.1 to 0.5 (depending on the figure's valid rows) of 0" in Outline(page).text


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
    assert "Only the first 12 figures are selectable." in page


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
