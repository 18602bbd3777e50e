"""docs/code.md: the program on the page is built from the files that its own commands write, and runs."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import warnings
from pathlib import Path

import pytest

import forearm as fa
from forearm.cli.main import main
from forearm.codegen.functions import FUNCTIONS
from forearm.codegen.generate import LANGUAGES

PAGE = (Path(__file__).parents[2] / "docs" / "code.md").read_text(encoding="utf-8")
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2"]


def block(language: str, holding: str) -> str:
    found = [
        text for text in re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.M | re.S) if holding in text
    ]
    assert len(found) == 1, f"one block of {language!r} holds {holding!r}"
    return str(found[0])


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="building the program needs a C compiler, cc")
def test_the_program_is_built_and_follows_the_motion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    warnings.simplefilter("ignore", fa.ModelWarning)
    for line in block("console", "--function forward_dynamics").splitlines():
        assert main(shlex.split(line.removeprefix("$ "))[1:]) == 0
    (tmp_path / "control.c").write_text(block("c", "int main"), encoding="utf-8")
    build, run = block("sh", "-o control").strip().split(" && ")
    words = shlex.split(build)
    sources = sorted(str(p) for p in (tmp_path / "generated").glob("*.c"))
    arguments = [w for word in words[1:] for w in (sources if word == "generated/*.c" else [word])]
    subprocess.run([words[0], *FLAGS, *arguments], check=True, cwd=tmp_path)
    done = subprocess.run([str(tmp_path / run)], capture_output=True, text=True, check=False)
    error = float(re.findall(r"([\d.]+) rad", done.stdout)[0])
    assert done.returncode == 0, done.stdout
    # The arm starts 0.05 rad off; what is left is one period's delay and the steps of the simulation.
    assert 1e-6 < error < 1e-3


def test_every_function_and_language_is_on_the_page() -> None:
    for name in (*FUNCTIONS, *LANGUAGES):
        assert f"`{name}`" in PAGE, f"{name} is missing in docs/code.md"
