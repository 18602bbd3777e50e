"""Generated code, word for word: a change of the generator is seen here before it is seen by a user.

The texts are in tests/codegen/golden, each under the name that a user's file has, with .golden behind it.
After a change that is meant, write them anew and read the difference:

    FOREARM_UPDATE_GOLDEN=1 .venv/bin/python -m pytest tests/codegen/test_golden.py &&
    git diff --stat tests/codegen/golden

The version of forearm stands as VERSION in them, so that a release changes nothing.
"""

from __future__ import annotations

import difflib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import forearm as fa
from forearm.codegen.generate import LANGUAGES

FOLDER = Path(__file__).parent / "golden"
UPDATE = "FOREARM_UPDATE_GOLDEN"
CASES = [(arm, "c") for arm in ("puma560-akb", "stanford-dhanaraj3", "ascher2")]
CASES += [("ascher2", language) for language in LANGUAGES if language != "c"]
LONGEST = 40  # lines of a difference that are shown


def made(arm: str, language: str) -> dict[str, str]:
    """The files of an arm's inverse dynamics, by the names of their golden texts."""
    files = fa.generate(fa.load(arm), "inverse_dynamics", language).files()
    return {
        f"{name}.golden": text.replace(f"forearm {fa.__version__}", "forearm VERSION")
        for name, text in files.items()
    }


@pytest.mark.parametrize(("arm", "language"), CASES)
def test_the_text_is_the_golden_one(arm: str, language: str) -> None:
    for name, text in made(arm, language).items():
        path = FOLDER / name
        if os.environ.get(UPDATE):
            path.write_text(text, encoding="utf-8")
        assert path.is_file(), f"{name} is not there; {UPDATE}=1 writes it"
        before = path.read_text(encoding="utf-8")
        if text != before:
            lines = difflib.unified_diff(
                before.splitlines(), text.splitlines(), "golden", "generated now", lineterm="", n=1
            )
            pytest.fail(
                f"{name} has changed; if that is meant, {UPDATE}=1 writes it anew.\n"
                + "\n".join(list(lines)[:LONGEST])
            )


def test_no_golden_text_is_left_over() -> None:
    expected = {name for arm, language in CASES for name in made(arm, language)}
    assert {path.name for path in FOLDER.iterdir()} == expected
    assert all("VERSION" in path.read_text(encoding="utf-8") for path in FOLDER.glob("*.h.golden"))


def test_golden_c_compiles(tmp_path: Path) -> None:
    """What is held fast is code."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    for path in FOLDER.iterdir():
        if path.name.removesuffix(".golden").endswith((".c", ".h")):
            (tmp_path / path.name.removesuffix(".golden")).write_text(
                path.read_text(encoding="utf-8"), encoding="utf-8"
            )
    sources = sorted(path.name for path in tmp_path.glob("*.c"))
    assert len(sources) == 3
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c"]
    done = subprocess.run(
        ["gcc", *flags, *sources], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
