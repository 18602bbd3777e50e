"""The catalogue: every printed figure gets a verdict, every difference a reason."""

from __future__ import annotations

import json
import re

import pytest
from reproduced import reproduced

import forearm as fa
from forearm.cli.main import main
from forearm.reproduce import DOCUMENTS, catalogue
from forearm.reproduce.catalogue import NOT_PRINTED, Item, Result, Verdict, judge
from forearm.reproduce.kinds import KINDS, Kind
from forearm.reproduce.recompute import function
from forearm.reproduce.totals import TOGETHER, VERDICTS, headline, recomputed, totals


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
    assert catalogue("silver")[0].values[0].label in text
    assert main(["reproduce", "silver", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = found["results"]
    assert {"document", "place", "printed", "ours", "verdict", "kind", "reason"} <= set(rows[0])
    counts = [sum(row["verdict"] == verdict for row in rows) for verdict in VERDICTS]
    assert " ".join(["all kinds", *map(str, counts), str(len(rows))]) in " ".join(text.split())
    last = " ".join(text.partition("  all kinds")[2].splitlines()[1:])
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
    item = Item(document="waters", id="id", place="p. 1", title="title", kind="recomputed")

    def made(kind: Kind, verdict: Verdict, ours: float | None = 1.0) -> Result:
        return Result(item, "label", "1", ours, verdict, "", kind)

    agreeing = [made("recomputed", "exact"), made("recomputed", "within rounding")]
    said = "2 of 2 recomputed values agree with the printed ones (1 exactly, 1 within rounding)"
    assert headline(agreeing) == f"{said}."
    others = [made(kind, "exact") for kind in KINDS if kind != "recomputed"]
    assert headline([*agreeing, *others]) == headline(agreeing)
    missing = [*agreeing, made("recomputed", "not reproducible", None)]
    assert headline(missing) == f"{said}; 1 more cannot be compared."
    row = recomputed([*missing, made("recomputed", "differs"), made("decoded", "differs")])
    assert (row.agreeing, row.compared, row.number) == (2, 3, 4)
    assert ", 1 differ, each for a stated reason." in headline([*agreeing, made("recomputed", "differs")])


@pytest.mark.slow
def test_the_headline_adds_up_to_the_table(results: list[Result]) -> None:
    (row,) = (t for t in totals(results) if (t.document, t.kind) == (TOGETHER, "recomputed"))
    agree, compared, exact, rounded, differ, missing = map(int, re.findall(r"\d+", headline(results)))
    assert [exact, rounded, differ, missing] == [row.counts[verdict] for verdict in VERDICTS]
    assert (exact + rounded, agree + differ, compared + missing) == (agree, compared, row.number)


@pytest.mark.slow
def test_what_cannot_be_compared_lacks_a_value(results: list[Result]) -> None:
    for r in results:
        assert (r.verdict == "not reproducible") == (r.ours is None or r.printed == NOT_PRINTED), r.label


@pytest.mark.slow
def test_a_printed_value_counts_once(results: list[Result]) -> None:
    """What is repeated names the item where it counts, and no agreement of two such items counts twice."""
    count_there = {r.item.id for r in results if r.kind != "repeated"}
    for r in results:
        assert (r.kind == "repeated") == bool(r.repeats), r.label
        assert not r.repeats or r.repeats in count_there, r.repeats
    pairs = [(r.item.place, r.label, r.printed) for r in results if r.kind == "recomputed"]
    assert len(pairs) == len(set(pairs))
    repeated = {(r.item.id, r.repeats) for r in results if r.repeats}
    assert {
        ("tables-c-levels-corrected", "tables-c-levels"),
        ("counts: Mata 4.1", "mata-4.1-steps"),
        ("counts: Mata Table 1", "counts: Mata 4.1"),
        ("table-3.3", "counts: Dhanaraj Table 2.9"),
        ("table-4.4", "table-4.6-zeros"),
        ("table-4.6", "table-4.6-zeros"),
    } <= repeated


def test_unknown_document_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "swarz"]) == 2
    assert "did you mean 'swartz'" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(fa.NameNotFound):
        catalogue("nobody")
