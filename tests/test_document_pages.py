"""The pages of the five documents: their calls run, their names exist, their verdicts are
those of the catalogue.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest
from pages import resolve
from reproduced import reproduced
from web.docs_module import docs_module

import forearm as fa
from forearm.reproduce import DOCUMENTS, Result, catalogue

DOCS = Path(__file__).parent.parent / "docs"
COMMANDS = r"forearm [a-z]+( |$)"


def text_of(document: str) -> str:
    return (DOCS / "documents" / f"{document}.md").read_text(encoding="utf-8")


def mapped(document: str) -> list[list[str]]:
    """The rows of the table that is written by hand, as cells."""
    by_hand = text_of(document).partition("<!-- verdicts")[0]
    rows = [line.strip("|").split(" | ") for line in by_hand.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


@pytest.fixture(scope="module")
def maker() -> Any:
    return docs_module("make_documents")


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return [result for document in DOCUMENTS for result in reproduced(document)]


@pytest.mark.slow
@pytest.mark.parametrize("document", DOCUMENTS)
def test_verdicts_are_those_of_today(document: str, maker: Any, results: list[Result]) -> None:
    text = text_of(document)
    assert maker.written(document, text, results) == text, "run: python docs/make_documents.py"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_place_of_the_catalogue_is_on_the_page(document: str) -> None:
    verdicts = text_of(document).partition("<!-- verdicts")[2]
    for item in catalogue(document):
        assert f"| {item.place} | {' '.join(item.title.split())} |" in verdicts, item.id


@pytest.mark.slow
@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_call_of_the_table_runs(document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in code marks is a call, a name of a module, or a command."""
    monkeypatch.chdir(tmp_path)
    warnings.simplefilter("ignore", fa.ForearmWarning)
    block = re.search(r"^```python\n(.*?)^```", text_of(document), flags=re.M | re.S)
    assert block is not None
    names: dict[str, Any] = {}
    exec(compile(block[1], document, "exec"), names)
    called = 0
    for row in mapped(document):
        assert len(row) == 4, row
        assert row[3], f"{row[0]}: no verdict"
        for code in re.findall(r"`([^`]*)`", row[2]):
            if code.startswith("forearm."):
                resolve(code)
            elif not re.match(COMMANDS, code) and code != "sim":
                assert eval(code, dict(names)) is not None, code
                called += 1
    assert called >= 10


# What each document numbers: equations, tables and figures from the first to the last.
NUMBERED = {
    "swartz": {"Eq": ["1-26"], "Fig": ["1-2"]},
    "waters": {"Fig": ["1-5"]},
    "silver": {"Eq": ["2.1-2.11", "3.1-3.16"], "Fig": ["3.1-3.1"]},
    "mata": {"Eq": ["1-22"], "Fig": ["1-4"], "Table": ["1-7"]},
    "dhanaraj": {
        "Eq": ["2.1-2.43", "3.1-3.11"],
        "Fig": ["1.1-1.3", "2.1-2.9", "3.1-3.13", "4.1-4.13"],
        "Table": ["1.1-1.1", "2.1-2.10", "3.1-3.5", "4.1-4.8"],
    },
}


def spread(text: str) -> set[tuple[int, ...]]:
    """Numbers such as 2.9 or 3, and all between the two of 2.1-2.9."""
    found: set[tuple[int, ...]] = set()
    for first, last in re.findall(r"(\d+(?:\.\d+)?)(?:-(\d+(?:\.\d+)?))?", text):
        low, high = (tuple(map(int, number.split("."))) for number in (first, last or first))
        found |= {(*low[:-1], k) for k in range(low[-1], high[-1] + 1)}
    return found


@pytest.mark.parametrize(
    ("document", "kind"), [(document, kind) for document, kinds in NUMBERED.items() for kind in kinds]
)
def test_every_number_of_a_document_is_on_its_page(document: str, kind: str) -> None:
    """Tables and figures are called so; equations stand in brackets, or bare in Silver's
    numbering by sections.
    """
    named: set[tuple[int, ...]] = set()
    for place, *_ in mapped(document):
        if kind == "Eq":
            bare = re.sub(r"(Tables?|Figs?\.) [\d., -]+", "", place)
            named |= spread(re.sub(r"[()a-e]", "", bare) if document == "silver" or "(" in bare else "")
        else:
            for numbers in re.findall(rf"{kind}s?\.? ([\d., -]+)", place):
                named |= spread(numbers)
    wanted = set().union(*(spread(numbers) for numbers in NUMBERED[document][kind]))
    assert wanted <= named, sorted(wanted - named)
