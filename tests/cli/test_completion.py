"""Completion scripts: every command, option and name is in them, and a real shell completes by them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

import forearm as fa
from forearm.cli.completion import NAMED, SHELLS, places
from forearm.cli.main import COMMANDS, main
from forearm.cli.shells import ShellOption, Place, bash, fish
from forearm.codegen.generate import LANGUAGES

Capture = pytest.CaptureFixture[str]
PLACES = places()
BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None, reason="no bash here")
# What bash would take apart or put something in for, were it in a list of words.
SPECIAL = re.compile(r"[^\w.,:=+@/-]")


def by_bash(script: str, words: Sequence[str], folder: Path) -> list[str]:
    """What bash offers for the last of the words."""
    assert BASH is not None
    ask = 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _forearm; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(
        [BASH, "--norc", "-c", f"{script}\n{ask}", "bash", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1] if done.stdout.strip() else []


def offered(folder: Path, *words: str) -> list[str]:
    return by_bash(bash(PLACES), ("forearm", *words), folder)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_the_help_is_known(command: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    shown = set(re.findall(r"^  (?:-\w(?: \S+)?, )?(--[a-z-]+)", capsys.readouterr().out, flags=re.M))
    place = next(p for p in PLACES if p.path == (command,))
    assert {name for name in place.spellings if name.startswith("--")} == shown


def test_places_are_the_commands_and_the_actions_of_control() -> None:
    assert [p.path[0] for p in PLACES if len(p.path) == 1] == list(COMMANDS)
    actions = {p.path[1] for p in PLACES if len(p.path) == 2}
    assert actions == set(next(p for p in PLACES if p.path == ("control",)).words)
    assert "compare" in actions


def test_names_that_a_parser_does_not_know_belong_to_options_that_are_there() -> None:
    for command, name in NAMED:
        place = next(p for p in PLACES if p.path == (command,))
        values = next((o.values for o in place.options if name in o.names), tuple(place.words))
        assert len(values) > (0 if command == "parts" else 2), (command, name)
        assert place.spellings.count(name) == name.startswith("--")


def test_words_of_all_places_are_plain_to_a_shell() -> None:
    for place in PLACES:
        for word in (*place.words, *place.spellings, *(v for o in place.options for v in o.values)):
            assert not SPECIAL.search(word), (place.path, word)


@needs_bash
def test_bash_completes_commands_arms_options_and_choices(tmp_path: Path) -> None:
    assert offered(tmp_path, "sim") == ["simulate", "sim"]
    assert offered(tmp_path, "") == list(COMMANDS)
    assert offered(tmp_path, "--v") == ["--version"]
    assert offered(tmp_path, "info", "") == list(fa.arms())
    assert offered(tmp_path, "check", "pand") == ["panda"]
    assert offered(tmp_path, "info", "panda", "--pl") == ["--plot"]
    assert offered(tmp_path, "bench", "--only", "kern") == ["kernels"]
    assert offered(tmp_path, "generate", "panda", "--lang", "") == list(LANGUAGES)
    assert offered(tmp_path, "generate", "panda", "--lang", "=", "py") == ["python"]
    assert offered(tmp_path, "generate", "panda", "--lang", "=") == list(LANGUAGES)
    assert offered(tmp_path, "generate", "panda", "--target", "cortex") == ["cortex-m4", "cortex-m7"]
    assert offered(tmp_path, "inverse", "panda", "--formulation", "gibbs") == ["gibbs-appell"]
    assert offered(tmp_path, "reproduce", "m") == ["mata"]
    assert offered(tmp_path, "completion", "z") == ["zsh"]
    assert offered(tmp_path, "parts", "") == ["cmu-dd"]
    assert offered(tmp_path, "plan", "panda", "--profile", "q") == ["quintic"]
    assert offered(tmp_path, "control", "payload", "panda", "--shape", "") == ["body", "point"]


@needs_bash
def test_bash_goes_into_actions(tmp_path: Path) -> None:
    assert "payload" in offered(tmp_path, "control", "")
    assert offered(tmp_path, "control", "compare", "ur") == ["ur10", "ur5"]
    assert "--bandwidth" in offered(tmp_path, "control", "compare", "ur5", "--")
    assert "--bandwidth" not in offered(tmp_path, "control", "log", "ur5", "--")


@needs_bash
def test_bash_offers_files_where_files_go_and_nothing_for_numbers(tmp_path: Path) -> None:
    (tmp_path / "my arm*.toml").touch()
    assert offered(tmp_path, "info", "my") == ["my arm*.toml"]
    assert offered(tmp_path, "info", "panda", "--plot", "m") == ["my arm*.toml"]
    assert offered(tmp_path, "info", "panda", "--q", "") == []
    assert offered(tmp_path, "arms", "") == ["-h", "--help", "--json"]


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
    assert by_bash(bash([start, odd]), ("forearm", "it's", ""), tmp_path) == ["a"]
    assert by_bash(bash([start, odd]), ("forearm", "it's", "--x", ""), tmp_path) == ["b"]
    assert list(tmp_path.iterdir()) == []
    assert r"-d 'isn\'t $(touch broken)'" in fish([start, odd])


@pytest.mark.parametrize(("shell", "look"), [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")])
def test_a_shell_can_read_its_script(shell: str, look: str, capsys: Capture, tmp_path: Path) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(name in script for name in (*COMMANDS, *fa.arms(), "trapezoidal"))
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} here")
    (tmp_path / "script").write_text(script, encoding="utf-8")
    assert subprocess.run([program, look, tmp_path / "script"], capture_output=True, check=True).stderr == b""


def test_json_and_an_unknown_shell(capsys: Capture) -> None:
    assert main(["completion", "bash", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == {"shell": "bash", "script": bash(PLACES)}
    assert set(SHELLS) == {"bash", "zsh", "fish"}
    with pytest.raises(SystemExit) as stop:
        main(["completion", "bsh"])
    assert stop.value.code == 2
    assert "did you mean 'bash'" in " ".join(capsys.readouterr().err.split())
