"""Wrong words for every option of every command: exit 2, one paragraph that says where and
what to do, nothing else.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.lines import LINES, SAMPLE, Capture, called, make_files, options_of, parser_of, refused

from forearm.cli.main import COMMANDS
from forearm.cli.numbers import Real, Whole

INPUTS = [
    ("info", 0), ("check", 0), ("convert", 0), ("kinematics", 0), ("inverse", 0), ("simulate", 0),
    ("control savings", 0), ("generate", 0), ("schedule", 0), ("count", 0), ("precision", 0), ("parts", 0),
    ("control log", 1), ("control payload", 1), ("identify", 0),
]  # fmt: skip
ENDING = {"parts": ".toml", "control log": ".csv", "control payload": ".csv"}
REFUSED = (Path(__file__).parent / "refused.txt").read_text(encoding="utf-8").splitlines()
DEGREES = "If degrees are meant, add --degrees."


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the lines read, for all tests here: refused words write nothing."""
    folder = tmp_path_factory.mktemp("home")
    make_files(folder)
    return folder


@pytest.fixture(autouse=True)
def _at_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)


def line(name: str, *more: str) -> tuple[str, ...]:
    return (*name.split(), *LINES[name], *more)


def valued(name: str) -> Iterator[tuple[str, argparse.Action]]:
    """Options that take a value."""
    for action in options_of(name):
        if action.nargs != 0 and action.metavar:
            yield action.option_strings[-1], action


@pytest.mark.slow
@pytest.mark.parametrize("refusal", [text for text in REFUSED if " -> " in text])
def test_refused(refusal: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """In words of options and joints, not of Python."""
    monkeypatch.setenv("COLUMNS", "1000")  # words stay whole
    words, _, said = refusal.partition(" -> ")
    text = refused(capsys, *shlex.split(words))
    assert said.strip() in text
    assert not re.search(r"\bfa\.|\barm\.\w", text)


@pytest.mark.parametrize("name", LINES)
def test_misspelt_options_and_commands_get_a_suggestion_and_no_word_is_one_too_many(
    name: str, capsys: Capture
) -> None:
    text = refused(capsys, *line(name, "--jsno"))
    assert "there is no '--jsno' here: did you mean '--json'" in text
    assert f"See 'forearm {name} --help'." in text
    more = ["x.toml"] * (1 + sum(a.nargs == "?" for a in parser_of(name)._actions))
    text = refused(capsys, *line(name, *more))
    assert "one word too many" in text or "plan: give" in text
    if len(name) > 3 and name in COMMANDS:
        assert f"did you mean '{name}'" in refused(capsys, name[0] + name[2] + name[1] + name[3:])
        assert f"'{name}'" in refused(capsys, name.upper())


@pytest.mark.slow
@pytest.mark.parametrize("name", LINES)
def test_no_option_takes_what_is_no_value_of_its_kind(name: str, capsys: Capture) -> None:
    for option, action in valued(name):
        assert action.type not in (int, float), "numbers have bounds"
        assert option in refused(capsys, *line(name, option))
        # It would pass for an option that is not given.
        assert f"{option}: expected a value, got " in refused(capsys, *line(name, f"{option}="))
        if isinstance(action.type, Real | Whole):
            for word in ("nan", "-1") if option != "--dac-gain" else ("nan",):
                assert re.match(rf"{option}: .*got '{word}'", refused(capsys, *line(name, option, word)))


def test_types_of_numbers() -> None:
    assert Real(above=0.0)("1e-3") == 1e-3
    assert Whole(1, 3)(" 2 ") == 2
    words = ("abc", "nan", "inf", "1e999", "1_0", "1,2", "0x10", "-1e300", "1e300", "\u0663")
    wrong: list[tuple[Real | Whole, str, str]] = [
        (Real(above=0.0), "0", "expected a number above 0"),
        (Real(least=0.0), "-1", "expected a number of at least 0"),
        (Real(least=0.0, most=90.0), "91", "expected a number from 0 to 90"),
        (Real(above=0.0, below=1.0), "1", "expected a number above 0 and below 1"),
        (Real(), "1e31", "expected a number"),
        (Whole(1, 3), "4", "expected a whole number from 1 to 3"),
        (Whole(0, 1), "2", "expected 0 or 1"),
        (Whole(1), "1.5", "expected a whole number of at least 1"),
        *((kind, word, f", got {word!a}") for kind in (Real(), Whole(1)) for word in words),
    ]
    for kind, text, said in wrong:
        with pytest.raises(argparse.ArgumentTypeError, match=re.escape(said)):
            kind(text)


@pytest.mark.slow
@pytest.mark.parametrize("name", LINES)
def test_lists_of_numbers_are_taken_by_the_letter(name: str, capsys: Capture) -> None:
    words = ["0.1,x", "0.1,nan", "0.1,,0.2", "0.1,0.2,", "1_0,2", "1,2,3,4,5,6,7,8,9"]
    for option, action in valued(name):
        if not str(action.metavar).startswith(("A,B", "X,Y")):
            continue
        given = [*line(name)]
        if (name, option) == ("control compare", "--q"):
            given += ["--to", "0.1,0.2"]
        if (name, option) == ("plan", "--line-to"):
            given = given[:2]
        if name == "plan" and option in ("--torque", "--current", "--voltage", "--payload"):
            given.append("--time-optimal")
        for word in words:
            text = refused(capsys, *given, f"{option}={word}")
            assert option in text
            assert ascii(word) in text
        words = words[:1] + words[-1:]  # the others are of the one function that reads a list


@pytest.mark.parametrize("name", LINES)
def test_pictures_that_cannot_be_written_are_refused_before_the_work(
    name: str, capsys: Capture, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"forearm.cli.{name.split()[0]}.load"
    monkeypatch.setattr(module, lambda *_, **__: pytest.fail("work was begun"), raising=False)
    (home / "folder.png").mkdir(exist_ok=True)
    for option, action in valued(name):
        if "(.png, .svg or .pdf)" in str(action.help):
            for path, said in (
                ("a.gif", f"{option} a.gif: a picture ends in .png, .svg or .pdf."),
                ("folder.png", f"{option} folder.png: a folder, not a file"),
                ("no/such/a.png", "there is no folder no/such; make it"),
            ):
                assert said in refused(capsys, *line(name, option, path))
        if name == "simulate" and option in ("--to", "--html"):
            ending = ".csv" if option == "--to" else ".html"
            assert f"{option} no/such/a." in refused(capsys, *line(name, option, f"no/such/a{ending}"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_to(capsys: Capture, home: Path) -> None:
    (home / "shut").mkdir(mode=0o500)
    assert "nothing can be written in the folder shut" in refused(
        capsys, *line("info", "--plot", "shut/a.png")
    )


@pytest.mark.slow
@pytest.mark.parametrize(("name", "place"), INPUTS)
def test_files_that_cannot_be_read(name: str, place: int, capsys: Capture, home: Path) -> None:
    toml = ENDING.get(name, ".toml")
    binary = f"binary{ENDING.get(name, '.urdf')}"
    (home / f"folder{toml}").mkdir(exist_ok=True)
    (home / f"empty{toml}").touch()
    (home / binary).write_bytes(bytes(range(256)) * 20)
    reasons = {
        f"missing{toml}": "no such file",
        f"folder{toml}": "a folder, not a file",
        f"empty{toml}": f"empty{toml}",
        binary: binary,
        f"{'x' * 300}{toml}": "too long",
    }
    for path, reason in reasons.items():
        words = list(LINES[name])
        words[place] = path
        code, out, err = called(capsys, *name.split(), *words)
        assert (code, out) == (2, ""), path
        said = " ".join(err.split())
        assert path[:50] in said
        assert reason in said
        assert "Traceback" not in err


def test_degrees_are_asked_about_once(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    for words, said in (
        (("ur5", "--q", "90,0,0,0,0,0"), "shoulder_pan_joint at 90 rad is beyond its limits, -6.283"),
        (("chain3", "--q", "0,45,90"), f"joint2 at 45 rad is 7.2 turns. {DEGREES}"),
    ):
        code, _, err = called(capsys, "inverse", *words)
        assert (code, err.count("If degrees are meant")) == (0, 1)
        assert said in err
        assert called(capsys, "inverse", *words, "--degrees")[::2] == (0, "")
    assert called(capsys, "inverse", "chain3", "--q", "7,0,-20")[::2] == (0, "")


@pytest.mark.parametrize(
    "name", [name for name in SAMPLE if any(not a.option_strings for a in parser_of(name)._actions)]
)
def test_words_that_are_needed(name: str, capsys: Capture) -> None:
    needed = [
        a.metavar for a in parser_of(name)._actions if not a.option_strings and a.nargs is None and a.required
    ]
    if needed:
        text = refused(capsys, *name.split())
        assert str(needed[0]) in text
        assert f"See 'forearm {name} --help'." in text
