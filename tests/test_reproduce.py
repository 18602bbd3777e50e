"""The catalogue: every printed figure gets a verdict, every difference a reason."""

from __future__ import annotations

import json

import pytest
from reproduced import reproduced

import forearm as fa
from forearm.cli.main import main
from forearm.reproduce import DOCUMENTS, catalogue
from forearm.reproduce.catalogue import Item, Result, Verdict, judge
from forearm.reproduce.kinds import Kind
from forearm.reproduce.recompute import function
from forearm.reproduce.totals import TOGETHER, VERDICTS, agreement, headline, totals


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
    found = json.loads(capsys.readouterr().out)
    rows = found["results"]
    assert {"document", "place", "printed", "ours", "verdict", "kind", "reason"} <= set(rows[0])
    counts = [sum(row["verdict"] == verdict for row in rows) for verdict in VERDICTS]
    *_, all_kinds, last = text.splitlines()
    assert all_kinds.split() == ["all", "kinds", *map(str, counts), str(len(rows))]
    recomputed = [row for row in rows if row["kind"] == "recomputed" and row["verdict"] != "not reproducible"]
    assert found["recomputed"]["compared"] == len(recomputed)
    assert last.startswith(f"{found['recomputed']['agreeing']} of {len(recomputed)} recomputed values agree")
    assert found["totals"][-1] == {
        "document": "silver",
        "kind": "all kinds",
        **dict(zip(VERDICTS, counts, strict=True)),
    }


@pytest.mark.slow
def test_totals_are_those_of_the_results() -> None:
    found = [*reproduced("swartz"), *reproduced("silver")]
    by = {(total.document, total.kind): total for total in totals(found)}
    assert {document for document, _ in by} == {"swartz", "silver", TOGETHER}
    for (document, kind), total in by.items():
        counted = [
            r for r in found if document in (r.item.document, TOGETHER) and (kind is None or r.kind == kind)
        ]
        assert total.counts == {v: sum(r.verdict == v for r in counted) for v in VERDICTS}
        assert total.number == len(counted)


def test_the_headline_counts_only_what_is_recomputed() -> None:
    item = Item("waters", "id", "p. 1", "title", (), "recomputed")

    def made(kind: Kind, verdict: Verdict, ours: float | None = 1.0) -> Result:
        return Result(item, "label", "1", ours, verdict, "", kind)

    agreeing = [made("recomputed", "exact"), made("recomputed", "within rounding")]
    assert headline(agreeing) == "2 of 2 recomputed values agree with the printed ones."
    others = [
        made("echoed", "exact"),
        made("statement", "exact"),
        made("recomputed", "not reproducible", None),
    ]
    assert headline([*agreeing, *others]) == headline(agreeing)
    assert agreement([*agreeing, made("recomputed", "differs"), made("decoded", "differs")]) == (2, 3)
    assert headline([*agreeing, made("recomputed", "differs")]).endswith("; each difference has its reason.")


def test_unknown_document_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "swarz"]) == 2
    assert "did you mean 'swartz'" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(fa.NameNotFound):
        catalogue("nobody")
