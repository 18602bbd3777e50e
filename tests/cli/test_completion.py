"""Completion scripts: every command, option and name is in them, and a real shell completes by them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from cli.lines import Capture, called, document

import forearm as fa
from forearm.cli.completion import NAMED, SHELLS, places
from forearm.cli.main import COMMANDS
from forearm.cli.shells import Place, ShellOption, bash, fish
from forearm.codegen.generate import LANGUAGES

PLACES = places()
BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None, reason="no bash here")
# What bash would take apart or put something in for, were it in a list of words.
SPECIAL = re.compile(r"[^\w.,:=+@/-]")


def by_bash(places: Sequence[Place], folder: Path, *lines: str) -> list[list[str]]:
    """What bash offers for the last word of each of these lines."""
    assert BASH is not None
    ask = """for line; do read -ra COMP_WORDS <<< "forearm $line"; [[ $line == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _forearm; printf "%s\\t" "${COMPREPLY[@]}"; echo; done"""
    done = subprocess.run(
        [BASH, "--norc", "-c", f"{bash(places)}\n{ask}", "bash", *lines],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return [[word for word in line.split("\t") if word] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_the_help_is_known(command: str, capsys: Capture) -> None:
    _, text, _ = called(capsys, command, "--help")
    shown = set(re.findall(r"^  (?:-\w(?: \S+)?, )?(--[a-z-]+)", text, flags=re.M))
    place = next(p for p in PLACES if p.path == (command,))
    assert {name for name in place.spellings if name.startswith("--")} == shown


def test_places_are_commands_and_actions_with_words_that_are_plain_to_a_shell() -> None:
    assert [p.path[0] for p in PLACES if len(p.path) == 1] == list(COMMANDS)
    actions = {p.path[1] for p in PLACES if len(p.path) == 2}
    assert actions == set(next(p for p in PLACES if p.path == ("control",)).words)
    assert "compare" in actions
    for command, name in NAMED:  # names that a parser does not know belong to options that are there
        place = next(p for p in PLACES if p.path == (command,))
        values = next((o.values for o in place.options if name in o.names), tuple(place.words))
        assert len(values) > (0 if command == "parts" else 2), (command, name)
        assert place.spellings.count(name) == name.startswith("--")
    for place in PLACES:
        for word in (*place.words, *place.spellings, *(v for o in place.options for v in o.values)):
            assert not SPECIAL.search(word), (place.path, word)


@needs_bash
def test_bash_completes_commands_actions_arms_options_choices_and_files(tmp_path: Path) -> None:
    (tmp_path / "my arm*.toml").touch()
    wanted: dict[str, list[str]] = {
        "sim": ["simulate", "sim"],
        " ": list(COMMANDS),
        "--v": ["--version"],
        "info ": [*fa.arms(), "my arm*.toml"],
        "check pand": ["panda"],
        "info panda --pl": ["--plot"],
        "bench --only kern": ["kernels"],
        "generate panda --lang ": list(LANGUAGES),
        "generate panda --lang = py": ["python"],
        "generate panda --lang =": list(LANGUAGES),
        "generate panda --target cortex": ["cortex-m4", "cortex-m7"],
        "inverse panda --formulation gibbs": ["gibbs-appell"],
        "reproduce m": ["mata"],
        "completion z": ["zsh"],
        "parts ": ["cmu-dd", "my arm*.toml"],
        "plan panda --profile q": ["quintic"],
        "control payload panda --shape ": ["body", "point"],
        "control compare ur": ["ur10", "ur5"],
        "info my": ["my arm*.toml"],
        "info panda --plot m": ["my arm*.toml"],
        "info panda --q ": [],
        "arms ": ["-h", "--help", "--json"],
    }
    assert dict(zip(wanted, by_bash(PLACES, tmp_path, *wanted), strict=True)) == wanted
    actions, compare, log = by_bash(
        PLACES, tmp_path, "control ", "control compare ur5 --", "control log ur5 --"
    )
    assert "payload" in actions
    assert "--bandwidth" in compare
    assert "--bandwidth" not in log


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish here")
def test_fish_completes_as_bash_does(tmp_path: Path) -> None:
    script = fish(PLACES)
    for line, wanted in (
        ("sim", {"sim", "simulate"}),
        ("info pan", {"panda"}),
        ("plan panda --profile ", {"constant", "trapezoidal", "quintic"}),
        ("bench --only=kern", {"--only=kernels"}),
        ("control compare ur5 --ban", {"--bandwidth"}),
        ("parts c", {"cmu-dd"}),
        ("info panda --q ", set()),
    ):
        ask = f"{script}\ncomplete -C 'forearm {line}'"
        done = subprocess.run(
            ["fish", "-N", "-c", ask], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert {answer.split("\t")[0] for answer in done.stdout.splitlines()} == wanted, line


@needs_bash
def test_quotes_in_descriptions_and_names_do_no_harm(tmp_path: Path) -> None:
    odd = Place(
        ("it's",),
        {"a": "isn't $(touch broken)"},
        (ShellOption(("--x",), "'; touch broken; '", True, ("b",)),),
        False,
    )
    start = Place((), {"it's": ""}, (), False)
    assert by_bash([start, odd], tmp_path, "it's ", "it's --x ") == [["a"], ["b"]]
    assert list(tmp_path.iterdir()) == []
    assert r"-d 'isn\'t $(touch broken)'" in fish([start, odd])


@pytest.mark.parametrize(("shell", "look"), [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")])
def test_a_shell_can_read_its_script(shell: str, look: str, capsys: Capture, tmp_path: Path) -> None:
    _, script, _ = called(capsys, "completion", shell)
    assert all(name in script for name in (*COMMANDS, *fa.arms(), "trapezoidal"))
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} here")
    (tmp_path / "script").write_text(script, encoding="utf-8")
    assert subprocess.run([program, look, tmp_path / "script"], capture_output=True, check=True).stderr == b""


def test_json_holds_the_script(capsys: Capture) -> None:
    assert document(capsys, "completion", "bash") == {"shell": "bash", "script": bash(PLACES)}
    assert set(SHELLS) == {"bash", "zsh", "fish"}
