"""The catalogue: every printed figure gets a verdict, every difference a reason."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from reproduced import reproduced

import forearm as fa
from forearm.cli.main import main
from forearm.cli.reproduce import _summary as summary
from forearm.reproduce import DOCUMENTS, catalogue
from forearm.reproduce.catalogue import Result, Verdict, judge
from forearm.reproduce.recompute import function


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return [result for document in DOCUMENTS for result in reproduced(document)]


@pytest.mark.slow
def test_no_difference_is_left_unexplained(results: list[Result]) -> None:
    assert [r.label for r in results if r.unexplained] == []


@pytest.mark.slow
def test_exact_figures_stay_exact(results: list[Result]) -> None:
    """What is known to reproduce: a change here is a change of an algorithm or of the catalogue."""
    exact = [r for r in results if r.verdict in ("exact", "within rounding")]
    by_item = {r.item.id for r in exact}
    assert {"dhanaraj-d.2-inertias", "dhanaraj-d.4-inertia", "dhanaraj-d.4-velocity"} <= by_item
    assert len(exact) >= 120


def test_every_item_has_a_function_or_a_reason() -> None:
    ids = [item.id for item in catalogue()]
    assert len(ids) == len(set(ids))
    for item in catalogue():
        assert item.recompute is None or callable(function(item.recompute)), item.id
        assert item.recompute is not None or item.reason, item.id
        assert item.values, item.id
    assert {item.document for item in catalogue()} == set(DOCUMENTS)


@pytest.mark.parametrize(
    ("printed", "ours", "tolerance", "verdict"),
    [
        ("1.25", 1.25, None, "exact"),
        ("1.25", 1.2549, None, "within rounding"),
        ("1.25", 1.2551, None, "differs"),
        ("1.25", 1.26, 0.02, "within rounding"),
        ("66,271", 66271.0, None, "exact"),
        ("100", 100.6, None, "differs"),
        ("6.9e-4", 6.94e-4, None, "within rounding"),
        ("5.0", None, None, "not reproducible"),
        ("none", 3.0, None, "not reproducible"),
    ],
)
def test_verdicts(printed: str, ours: float | None, tolerance: float | None, verdict: str) -> None:
    assert judge(printed, ours, tolerance) == verdict


@pytest.mark.slow
def test_command_prints_and_gives_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "silver"]) == 0
    text = capsys.readouterr().out
    assert catalogue("silver")[0].values[0][0] in text
    assert main(["reproduce", "silver", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["results"]
    assert {"document", "place", "printed", "ours", "verdict", "reason"} <= set(rows[0])
    counts = [sum(row["verdict"] == verdict for row in rows) for verdict in get_args(Verdict)]
    assert text.splitlines()[-1].split() == ["Silver", *map(str, counts), str(len(rows))]


def test_verdicts_are_counted_by_document_and_together() -> None:
    results = [*reproduced("swartz"), *reproduced("silver")]
    *_, swartz, silver, together = (line.split() for line in summary(results).text().splitlines())
    assert [swartz[0], silver[0], together[0]] == ["Swartz", "Silver", "together"]
    assert all(
        int(a) + int(b) == int(c) for a, b, c in zip(swartz[1:], silver[1:], together[1:], strict=True)
    )
    assert int(together[-1]) == len(results)


def test_unknown_document_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "swarz"]) == 2
    assert "did you mean 'swartz'" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(fa.NameNotFound):
        catalogue("nobody")
