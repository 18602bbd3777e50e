"""Every example in the README and the docs is run: Python blocks, arm and parts files, and command lines."""

from __future__ import annotations

import re
import shlex
import tomllib
import warnings
from pathlib import Path

import pytest

import forearm as fa
from forearm.cli.main import main
from forearm.files.armfile_read import arm_from_document
from forearm.parts.database import read_parts

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(language: str) -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        pattern = rf"^```{language}\n(.*?)^```"
        for index, text in enumerate(re.findall(pattern, page.read_text(), flags=re.M | re.S)):
            found.append((f"{page.name}-{index + 1}", text))
    return found


def in_quiet_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    warnings.simplefilter("ignore", fa.ForearmWarning)


@pytest.mark.parametrize(("name", "text"), blocks("python"), ids=lambda v: v if len(v) < 40 else "")
def test_python_example_runs(name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_quiet_folder(tmp_path, monkeypatch)
    code = compile(text, name, "exec")
    exec(code, {"__name__": "example"})
    assert "fa." in text, f"{name}: an example shows forearm"


@pytest.mark.parametrize(("name", "text"), blocks("toml"), ids=lambda v: v if len(v) < 40 else "")
def test_file_example_loads(name: str, text: str, tmp_path: Path) -> None:
    document = tomllib.loads(text)
    if document["schema"].startswith("forearm-arm"):
        assert arm_from_document(document, name).n == len(document["joint"])
    else:
        path = tmp_path / "example.parts.toml"
        path.write_text(text)
        assert [node.name for node in read_parts(path)] == [link["name"] for link in document["link"]]


def command_lines() -> list[tuple[str, list[str]]]:
    return [
        (name, [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")])
        for name, text in blocks("console")
    ]


@pytest.mark.parametrize(("name", "lines"), command_lines(), ids=lambda v: v if isinstance(v, str) else "")
def test_console_example_runs(name: str, lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_quiet_folder(tmp_path, monkeypatch)
    assert lines, f"{name}: no line starts with '$ '"
    Path("log.csv").write_text(blocks("csv")[0][1])  # the log that examples read
    for line in lines:
        program, *arguments = shlex.split(line)
        assert program == "forearm"
        assert main(arguments) == 0, line


def test_readme_shows_the_two_commands_and_a_picture_on_its_first_screen() -> None:
    screen = "\n".join((ROOT / "README.md").read_text().splitlines()[:20])
    assert "make demo" in screen
    assert "make test" in screen
    picture = re.search(r"!\[.*?\]\((.*?)\)", screen)
    assert picture is not None
    assert (ROOT / picture[1]).is_file()
