"""The pages of the five documents: their calls run, their names exist, their verdicts are those of the catalogue."""

from __future__ import annotations

import importlib.util
import re
import warnings
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import forearm as fa
from forearm.reproduce import DOCUMENTS, Result, catalogue, reproduce

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
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_documents", DOCS / "make_documents.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return list(reproduce("all"))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_verdicts_are_those_of_today(document: str, maker: ModuleType, results: list[Result]) -> None:
    text = text_of(document)
    assert maker.written(document, text, results) == text, "run: python docs/make_documents.py"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_place_of_the_catalogue_is_on_the_page(document: str) -> None:
    verdicts = text_of(document).partition("<!-- verdicts")[2]
    for item in catalogue(document):
        assert f"| {item.place} | {' '.join(item.title.split())} |" in verdicts, item.id


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


def resolve(path: str) -> object:
    """A module, or a name in one."""
    try:
        return import_module(path)
    except ModuleNotFoundError:
        module, _, name = path.rpartition(".")
        return getattr(import_module(module), name)


def test_a_page_out_of_date_is_noticed(maker: ModuleType, results: list[Result]) -> None:
    text = text_of("silver")
    assert maker.written("silver", text, results[:0]) != text
    assert maker.written("silver", text.replace("differs", "exact"), results) == maker.written("silver", text, results)
