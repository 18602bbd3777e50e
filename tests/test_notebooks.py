"""The notebooks run from top to bottom, each in a process of its own, and are kept without outputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sweeps import long

FOLDER = Path(__file__).parent.parent / "notebooks"
BOOKS = sorted(FOLDER.glob("*.ipynb"))
PATIENCE = 300.0  # s; each takes a few seconds
QUICK = "describing-an-arm"  # make test runs it, make test-long the others
SHOWING = "%matplotlib inline\n"  # without it a notebook shows the name of a figure, not the figure

each_book = pytest.mark.parametrize("path", BOOKS, ids=[path.stem for path in BOOKS])


def cells(path: Path) -> list[dict[str, Any]]:
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["nbformat"] == 4
    return list(document["cells"])


def test_there_is_one_for_each_group_of_recipes_and_one_of_formulations() -> None:
    groups = (FOLDER.parent / "docs" / "recipes").glob("*.md")
    assert {path.stem for path in BOOKS} == {path.stem for path in groups} - {"index"} | {"formulations"}


@each_book
def test_kept_without_outputs_and_with_words_before_the_code(path: Path) -> None:
    found = cells(path)
    assert found[0]["cell_type"] == "markdown"
    assert "".join(found[0]["source"]).startswith("# ")
    assert len({cell["id"] for cell in found}) == len(found)
    for cell in found:
        assert cell["cell_type"] == "markdown" or (cell["outputs"] == [] and cell["execution_count"] is None)


@each_book
def test_figures_are_shown(path: Path) -> None:
    first, *others = ["".join(cell["source"]) for cell in cells(path) if cell["cell_type"] == "code"]
    assert first.startswith(SHOWING)
    assert not any(line.startswith("%") for text in others for line in text.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [path for path in BOOKS if path.stem == QUICK] + long(path for path in BOOKS if path.stem != QUICK),
    ids=lambda path: path.stem,
)
def test_runs(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    code = ["".join(cell["source"]) for cell in cells(path) if cell["cell_type"] == "code"]
    code[0] = code[0].removeprefix(SHOWING)
    script = tmp_path / f"{path.stem}.py"
    script.write_text("\n\n".join(code), encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, script.name],
        cwd=tmp_path,
        env=os.environ | {"MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert "forearm" in script.read_text(encoding="utf-8")
    assert "assert " in script.read_text(encoding="utf-8"), "a notebook checks what it shows"
    assert ran.stdout
