"""Numbers of the report of a study, against NumPy and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from studies.made_up_study import ROUNDED, FakeStudy, Outline, cells_of, document_in, numbers_of, study

from forearm.studies.report.columns import axis_range, level_codes, spread_sample
from forearm.studies.report.embedded import spread_ends
from forearm.studies.report.markup import row_command
from forearm.studies.report.page import report_page
from forearm.studies.report.pareto import cost_of, pareto_front
from forearm.studies.report.source import ReportFigure, ReportVariable


def dominates(a: NDArray[np.float64], b: NDArray[np.float64]) -> bool:
    return bool((a <= b).all() and (a < b).any())


@pytest.mark.parametrize(
    ("seed", "better"),
    [(0, ("less", "less")), (1, ("less", "more")), (2, ("less", "more")), (3, ("more", "more"))],
)
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
    found = pareto_front(costs[0], costs[1]).tolist()
    assert {tuple(points[k]) for k in found} == {tuple(points[k]) for k in best}
    assert len({tuple(points[k]) for k in found}) == len(found), "equal rows are said once"
    assert all(k == min(j for j in good if (points[j] == points[k]).all()) for k in found)
    assert (np.diff(points[found, 0]) > 0.0).all()


def test_a_front_of_failed_rows_is_empty() -> None:
    failed = np.full(5, np.inf)
    assert len(pareto_front(failed, np.arange(5.0))) == 0
    assert len(pareto_front(np.arange(5.0), failed)) == 0
    assert len(pareto_front(np.zeros(0), np.zeros(0))) == 0


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
        assert ("Only the worst row of each base sample" in page) == per_sample


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
