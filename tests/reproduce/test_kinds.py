"""Kinds of the catalogue's values: each is what the code behind it does."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from reproduced import readers, reproduced

from forearm.counting import printed as counts
from forearm.reproduce import DOCUMENTS, Item, catalogue, kinds
from forearm.reproduce.recompute import function
from forearm.reproduce.totals import recomputed as row_of
from forearm.schedules import printed as schedules

module = import_module("forearm.reproduce.catalogue")  # the package has a function of that name
ROOT = Path(__file__).parents[2]
ITEMS = {item.id: item for item in catalogue()}
RESIDUAL = r"0\.0{5,}"  # an equation whose sides are equal: the document prints no number
HEADLINE = re.compile(r"(\d+) of (\d+) recomputed values agree")


def recomputed(item: Item) -> list[str]:
    """Labels of the item's values of that kind."""
    return [value.label for value in item.values if value.kind == "recomputed"]


def kinds_of(item: Item) -> set[str]:
    return {value.kind for value in item.values}


def test_every_kind_is_used_and_explained() -> None:
    assert set().union(*map(kinds_of, ITEMS.values())) == set(kinds.KINDS)
    assert tuple(kinds.MEANINGS) == kinds.KINDS
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert all(f"| {kind} | {meaning} |" in glossary for kind, meaning in kinds.MEANINGS.items())


def test_a_value_states_its_kind_only_where_it_is_not_that_of_its_item() -> None:
    for document in DOCUMENTS:
        for block in module._data(document)["item"]:
            own = [value["label"] for value in block["value"] if value.get("kind") == block["kind"]]
            assert not own, block["id"]


def test_what_nothing_computes_is_a_statement() -> None:
    for item in ITEMS.values():
        assert item.recompute is not None or kinds_of(item) == {"statement"}, item.id


def test_statements_have_a_0_or_a_1_and_residuals_are_statements() -> None:
    for item in ITEMS.values():
        if item.recompute is None:
            continue
        for value in item.values:
            is_residual = re.fullmatch(RESIDUAL, value.printed)
            if value.kind == "statement":
                assert value.printed in ("0", "1", module.NOT_PRINTED) or is_residual, (item.id, value.label)
            else:
                assert not is_residual, (item.id, value.label)


def test_inputs_that_are_read_back_only_guard_built_in_data() -> None:
    for item in ITEMS.values():
        assert ("echoed" in kinds_of(item)) == item.title.startswith("Guard of "), item.id


@pytest.fixture
def before(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[tuple[str, str], float | None]]:
    """Our values by item and label; then the catalogue, the counts and the schedules print other numbers."""
    found = {(r.item.id, r.label): r.ours for document in DOCUMENTS for r in reproduced(document)}
    real, right, tables = module._data, counts.printed(), schedules._document()
    caches = (counts.compare, counts.compare_steps, counts.compare_table29, schedules.faults)

    def changed(document: str) -> dict[str, Any]:
        data: dict[str, Any] = copy.deepcopy(real(document))
        for value in (value for block in data["item"] for value in block["value"]):
            value["printed"] = "987654"
        return data

    kept = [(given, copy.deepcopy(given)) for given in (right, tables)]
    monkeypatch.setattr(module, "_data", changed)
    for figure in (*right["figure"], *right["step"], *right["step42"]):
        figure["printed"] = [7 * number + 3 for number in figure["printed"]]
    for row in right["table29"].values():
        row |= {column: [7 * number + 3 for number in pair] for column, pair in row.items()}
    tables["schedules"] = {name: rows[:1] for name, rows in tables["schedules"].items()}  # as many processors
    tables["times"] = {
        author: {p: 7.0 * t for p, t in times.items()} for author, times in tables["times"].items()
    }
    for cache in caches:
        cache.cache_clear()
    yield found
    for given, whole in kept:
        given.clear()
        given.update(whole)
    for cache in caches:
        cache.cache_clear()


@pytest.mark.slow
def test_recomputed_values_know_nothing_of_the_printed_ones(
    before: dict[tuple[str, str], float | None],
) -> None:
    """With every printed number changed they stay what they are; arithmetic on printed numbers does not.
    What read no printed number while it was computed need not be computed again.
    """
    moved: set[str] = set()
    for id in sorted(id for document in DOCUMENTS for id in readers(document)):
        item = ITEMS[id]
        assert item.recompute is not None
        found = function(item.recompute)()
        for label in recomputed(item):
            assert found[label] == pytest.approx(before[id, label], nan_ok=True), (id, label)
        moved |= {id for value in item.values if found[value.label] != before[id, value.label]}
    assert {"silver-published", "waters-times-by-counts", "waters-shares", "mata-sums", "table-4.8"} <= moved


@pytest.mark.slow
def test_pages_state_the_agreement_of_today() -> None:
    results = {document: reproduced(document) for document in DOCUMENTS}
    every = [result for found in results.values() for result in found]
    stated = 0
    for path in [ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")]:
        known = results.get(path.stem, every) if path.parent.name == "documents" else every
        for found in HEADLINE.finditer(path.read_text(encoding="utf-8")):
            row = row_of(known)
            assert (int(found[1]), int(found[2])) == (row.agreeing, row.compared), path.name
            stated += 1
    assert stated >= len(DOCUMENTS)
