"""The catalogue: every printed figure gets a verdict, every difference a reason."""

from __future__ import annotations

import re

import pytest
from cli.lines import Capture, called, document
from reproduced import reproduced

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
    # What is known to reproduce: a change here is a change of an algorithm or of the catalogue.
    exact = [r.item.id for r in results if r.verdict in ("exact", "within rounding")]
    assert {"dhanaraj-d.2-inertias", "dhanaraj-d.4-inertia", "dhanaraj-d.4-velocity"} <= {*exact}
    assert len(exact) >= 120
    for r in results:
        assert (r.verdict == "not reproducible") == (r.ours is None or r.printed == NOT_PRINTED), r.label


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
def test_command_prints_and_gives_the_totals_of_the_results(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forearm.cli.reproduce.reproduce", lambda document, _: reproduced(document))
    text = called(capsys, "reproduce", "silver")[1]
    assert catalogue("silver")[0].values[0].label in text
    found = document(capsys, "reproduce", "silver")
    rows = found["results"]
    assert {"document", "place", "printed", "ours", "verdict", "kind", "reason"} <= set(rows[0])
    counts = [sum(row["verdict"] == verdict for row in rows) for verdict in VERDICTS]
    assert " ".join(["all kinds", *map(str, counts), str(len(rows))]) in " ".join(text.split())
    last = " ".join(text.partition("  all kinds")[2].splitlines()[1:])
    compared = [row for row in rows if row["kind"] == "recomputed" and row["verdict"] != "not reproducible"]
    assert found["recomputed"]["compared"] == len(compared)
    assert last.startswith(f"{found['recomputed']['agreeing']} of {len(compared)} recomputed values agree")
    both = [*reproduced("swartz"), *reproduced("silver")]
    by = {(total.document, total.kind): total for total in totals(both)}
    assert {name for name, _ in by} == {"swartz", "silver", TOGETHER}
    for (name, kind), total in by.items():
        counted = [
            r for r in both if name in (r.item.document, TOGETHER) and (kind is None or r.kind == kind)
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
