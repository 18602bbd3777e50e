"""Wrong words for every option of every command: exit 2, one paragraph that says where and
what to do, nothing else.
"""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path

import pytest
from cli.lines import LINES, SAMPLE, Capture, called, make_files, options_of, parser_of

from forearm.cli.main import COMMANDS
from forearm.cli.numbers import Real, Whole

VALUED = [
    (name, action.option_strings[-1])
    for name in LINES
    for action in options_of(name)
    if action.nargs != 0 and action.metavar
]
NUMBERS = [
    (name, action.option_strings[-1])
    for name in LINES
    for action in options_of(name)
    if isinstance(action.type, Real | Whole)
]
LISTS = [
    (name, action.option_strings[-1])
    for name in LINES
    for action in options_of(name)
    if str(action.metavar).startswith(("A,B", "X,Y"))
]
PICTURES = [
    (name, a.option_strings[-1])
    for name in LINES
    for a in options_of(name)
    if "(.png, .svg or .pdf)" in str(a.help)
]
INPUTS = [
    ("info", 0), ("check", 0), ("convert", 0), ("kinematics", 0), ("inverse", 0), ("simulate", 0),
    ("control savings", 0), ("generate", 0), ("schedule", 0), ("count", 0), ("precision", 0), ("parts", 0),
    ("control log", 1), ("control payload", 1), ("identify", 0),
]  # fmt: skip
ENDING = {"parts": ".toml", "control log": ".csv", "control payload": ".csv"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the lines read, for all tests here: refused words write nothing."""
    folder = tmp_path_factory.mktemp("home")
    make_files(folder)
    return folder


@pytest.fixture(autouse=True)
def _at_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)


def refused(capsys: Capture, *words: str) -> str:
    """The paragraph, as one line."""
    code, out, err = called(capsys, *words)
    assert (code, out) == (2, ""), (words, code, out)
    assert "Traceback" not in err
    paragraphs = [p for p in err.split("forearm: ")[1:] if p.strip()] or [err]
    assert len(paragraphs) == 1, err
    text = " ".join(paragraphs[0].split())
    assert text.endswith((".", "?", "'", ")")), text
    return text


def line(name: str, *more: str) -> tuple[str, ...]:
    return (*name.split(), *LINES[name], *more)


def test_lists_hold_what_they_should() -> None:
    assert len(VALUED) > 90
    assert len(NUMBERS) > 35
    assert len(LISTS) > 20
    assert len(PICTURES) > 8
    assert not [name for name in LINES for a in options_of(name) if a.type in (int, float)], (
        "numbers have bounds"
    )


@pytest.mark.parametrize("name", LINES)
def test_a_misspelt_option_gets_a_suggestion(name: str, capsys: Capture) -> None:
    text = refused(capsys, *line(name, "--jsno"))
    assert "there is no '--jsno' here: did you mean '--json'" in text
    assert f"See 'forearm {name} --help'." in text


@pytest.mark.parametrize("name", LINES)
def test_one_word_too_many(name: str, capsys: Capture) -> None:
    more = ["x.toml"] * (1 + sum(a.nargs == "?" for a in parser_of(name)._actions))
    text = refused(capsys, *line(name, *more))
    assert "one word too many" in text or "plan: give" in text


@pytest.mark.parametrize("name", [name for name in COMMANDS if len(name) > 3])
def test_a_misspelt_command_gets_a_suggestion(name: str, capsys: Capture) -> None:
    assert f"did you mean '{name}'" in refused(capsys, name[0] + name[2] + name[1] + name[3:])
    assert f"'{name}'" in refused(capsys, name.upper())


@pytest.mark.slow
@pytest.mark.parametrize(("name", "option"), VALUED)
@pytest.mark.sweep
def test_an_empty_value_is_no_value(name: str, option: str, capsys: Capture) -> None:
    """It would pass for an option that is not given."""
    for word in (f"{option}=", f"{option}=--"):
        assert f"{option}: expected a value, got " in refused(capsys, *line(name, word))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "option"), VALUED)
@pytest.mark.sweep
def test_a_value_is_not_forgotten(name: str, option: str, capsys: Capture) -> None:
    assert option in refused(capsys, *line(name, option))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "option"), NUMBERS)
@pytest.mark.sweep(first=20)
def test_what_is_no_number_is_refused_by_the_options_name(name: str, option: str, capsys: Capture) -> None:
    for word in ("abc", "nan", "inf", "1e999", "1_0", "1,2", "0x10", "-1e300", "1e300", "\u0663"):
        text = refused(capsys, *line(name, f"{option}={word}"))
        assert text.startswith(f"{option}: "), text
        assert f", got {word!a}" in text


@pytest.mark.parametrize(("name", "option"), [(n, o) for n, o in NUMBERS if o != "--dac-gain"])
def test_negative_numbers_are_refused(name: str, option: str, capsys: Capture) -> None:
    text = refused(capsys, *line(name, option, "-1"))
    assert text.startswith(f"{option}: "), text
    assert "got '-1'" in text


@pytest.mark.slow
@pytest.mark.parametrize(("name", "option"), LISTS)
def test_lists_of_numbers_are_taken_by_the_letter(name: str, option: str, capsys: Capture) -> None:
    line_of = [*line(name)]
    if (name, option) == ("control compare", "--q"):
        line_of += ["--to", "0.1,0.2"]
    if (name, option) == ("plan", "--line-to"):
        line_of = line_of[:2]
    if name == "plan" and option in ("--torque", "--current", "--voltage", "--payload"):
        line_of.append("--time-optimal")
    for word in ("0.1,x", "0.1,nan", "0.1,,0.2", "0.1,0.2,", "1_0,2", "1,2,3,4,5,6,7,8,9"):
        text = refused(capsys, *line_of, f"{option}={word}")
        assert option in text
        assert ascii(word) in text


@pytest.mark.parametrize(("name", "option"), PICTURES)
def test_pictures_that_cannot_be_written_are_refused_before_the_work(
    name: str, option: str, capsys: Capture, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"forearm.cli.{name.split()[0]}.load"
    monkeypatch.setattr(module, lambda *_, **__: pytest.fail("work was begun"), raising=False)
    (home / "folder.png").mkdir(exist_ok=True)
    assert f"{option} a.gif: a picture ends in .png, .svg or .pdf." in refused(
        capsys, *line(name, option, "a.gif")
    )
    assert f"{option} folder.png: a folder, not a file" in refused(capsys, *line(name, option, "folder.png"))
    assert "there is no folder no/such; make it" in refused(capsys, *line(name, option, "no/such/a.png"))


@pytest.mark.parametrize("option", ["--to", "--html"])
def test_what_simulate_writes_is_checked_first(option: str, capsys: Capture) -> None:
    text = refused(capsys, *line("simulate", option, f"no/such/a{'.csv' if option == '--to' else '.html'}"))
    assert text.startswith(f"{option} no/such/a.")


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
        f"no/such/a{toml}": "no such file",
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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("info", "PUMA560"), "did you mean 'puma560'"),
        (("parts", "cmu-d"), "did you mean 'cmu-dd'"),
        (("parts", "cmu-dd", "--link", "lnik3"), "got 'lnik3'; did you mean 'link3'"),
        (("inverse", "ascher2", "--formulation", "newton-uler"), "did you mean 'newton-euler'"),
        (("forward", "ascher2", "--method", "composit-body"), "did you mean 'composite-body'"),
        (("generate", "ascher2", "--function", "gravty"), "did you mean 'gravity'"),
        (("generate", "ascher2", "--lang", "fotran"), "did you mean 'fortran'"),
        (("generate", "ascher2", "--formulation", "kahn"), "did you mean 'kane'"),
        (("schedule", "ascher2", "--function", "jacobain"), "did you mean 'jacobian'"),
        (("schedule", "ascher2", "--method", "prority"), "got 'prority'; did you mean 'priority'?"),
        (("simulate", "ascher2", "--duration", "1", "--method", "rk5"), "did you mean 'rk"),
        (("plan", "ascher2", "--line-to", "1,2,3", "--profile", "qintic"), "got 'qintic'; did you mean"),
        (("kinematics", "ascher2", "--form", "ryp"), "got 'ryp'; did you mean 'rpy'"),
        (("kinematics", "ascher2", "--link", "lnk1"), "did you mean 'link1'"),
        (("kinematics", "ascher2", "--hand", "lnk1"), "did you mean 'link1'"),
        (
            ("precision", "ascher2", "--sweep", "jiont1"),
            "--sweep: expected one of joint1, joint2, got 'jiont1'; did you mean 'joint1'",
        ),
        (
            ("precision", "ascher2", "--show", "jiont1"),
            "--show: expected one of joint1, joint2, got 'jiont1'; did you mean 'joint1'",
        ),
        (("convert", "ascher2", "a.toml", "--lock", "jiont1=0"), "did you mean 'joint1'"),
        (("control", "compare", "ascher2", "--only", "pd"), "did you mean 'PD'"),
        (("control", "comprae", "ascher2"), "did you mean 'compare'"),
        (("control", "payload", "ascher2", "tests.csv", "--shape", "bdy"), "did you mean 'body'"),
        (("count", "ascher2", "--formulation", "kahn"), "did you mean 'kane'"),
        (
            ("count", "ascher2", "--function", "inverss"),
            "expected one of inverse, inertia_matrix, forward, got 'inverss'; did you mean 'inverse'",
        ),
        (("reproduce", "swarz"), "did you mean 'swartz'"),
        (("bench", "--only", "kernel"), "got 'kernel'; did you mean 'kernels'"),
        (("completion", "bsh"), "did you mean 'bash'"),
        (("sim", "puma650"), "did you mean 'puma560'"),
    ],
)
def test_a_misspelt_name_gets_a_suggestion(words: tuple[str, ...], said: str, capsys: Capture) -> None:
    assert said in refused(capsys, *words)


FAR = "9,9,9,0,0,0"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("info", "nosuch"), "ARM: 'nosuch' is neither a built-in arm nor"),
        (
            ("info", "ur5", "--hand", "nolink"),
            "--hand: ur5.toml, arm 'ur5', link: expected one of world, base_link",
        ),
        (
            ("kinematics", "ur5", "--link", "nolink"),
            "--link, arm 'ur5', link: expected one of world, base_link",
        ),
        (("kinematics", "panda", "--pose", FAR), "'forearm kinematics --numeric' is for any arm."),
        (
            ("convert", "ur5", "a.toml", "--lock", "elbow=1"),
            "--lock: movable joint of arm 'ur5': expected one of shoulder_pan_joint",
        ),
        (("plan", "ur5", "--to", FAR), "--to, shoulder_pan_joint: the start or the end lies outside"),
        (("plan", "ur5", "--pose", FAR), "--pose: the pose cannot be reached. out of reach"),
        (("plan", "chain3", "--to", "0,0,0"), "set an acceleration with --acceleration, or under [limits]"),
        (("inverse", "ur5", "--formulation", "x"), "--formulation: expected one of "),
        (("forward", "ur5", "--method", "x"), "--method: expected one of "),
        (("count", "ur5", "--formulation", "x"), "--formulation: expected one of "),
        (("simulate", "ur5", "--duration", "1", "--method", "x"), "--method: expected one of "),
        (
            ("simulate", "ur5", "--duration", "1", "--method", "gauss4", "--torque", "1,1,1,1,1,1"),
            "--method: 'gauss4' is for undriven arms; leave --torque out, or use 'dp87'.",
        ),
        (
            ("simulate", "puma560", "--duration", "1", "--method", "gauss4"),
            "have friction. Add --rigid, or use 'rk4' or 'dp45'.",
        ),
        (
            ("simulate", "ur5", "--duration", "1", "--voltage", "1,1,1,1,1,1"),
            "--voltage: ur5 needs torque_constant and resistance of every motor",
        ),
        (("control", "compare", "ur5", "--only", "x"), "--only for this arm and motion: expected one of "),
        (("generate", "ur5", "--function", "x"), "--function: expected one of inverse_dynamics"),
        (
            ("inverse", "chain3", "--q", "0", "-0.5", "1e-3", "--degrees"),
            "--q: expected numbers separated by commas, without spaces: --q 0,-0.5,1e-3.",
        ),
        (("inverse", "--q", "0,", "-.5,", "0", "chain3"), "without spaces: --q 0,-.5,0."),
        (("simulate", "ur5", "--duration", "1", "2"), "there is no '2' here: one word too many"),
        (("generate", "ur5", "--function", "rnea"), "did you mean 'inverse_dynamics'?"),
        (("generate", "ur5", "--target", "stm32f4"), "did you mean 'cortex-m4'?"),
        (("generate", "ur5", "--lang", "x"), "--lang: expected one of c, cpp"),
        (("generate", "ur5", "--formulation", "x"), "--formulation: expected one of "),
        (("generate", "ur5", "--parameter", "x"), "--parameter: there is no 'x' in 'ur5'"),
        (("generate", "ur5", "--parameter", "drives"), "a motor; write them into the arm file."),
        (("generate", "panda", "--function", "inverse_kinematics"), "'forearm kinematics --numeric'"),
    ],
)
def test_errors_speak_of_options_and_joints(words: tuple[str, ...], said: str, capsys: Capture) -> None:
    text = refused(capsys, *words)
    assert said in text
    assert not re.search(r"\bfa\.|\barm\.\w", text)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ur5", "--q", "90,0,0,0,0,0"), "shoulder_pan_joint at 90 rad is beyond its limits, -6.283"),
        (("chain3", "--q", "0,45,90"), "joint2 at 45 rad is 7.2 turns. If degrees are meant, add --degrees."),
    ],
)
def test_degrees_are_asked_about_once(words: tuple[str, ...], said: str, capsys: Capture) -> None:
    code, _, err = called(capsys, "inverse", *words)
    assert code == 0
    assert " ".join(err.split()).count("If degrees are meant") == 1
    assert said in " ".join(err.split())
    code, _, err = called(capsys, "inverse", "chain3", "--q", "7,0,-20")
    assert (code, err) == (0, "")


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


def test_types_of_numbers() -> None:
    assert Real(above=0.0)("1e-3") == 1e-3
    assert Whole(1, 3)(" 2 ") == 2
    for kind, text, said in (
        (Real(above=0.0), "0", "expected a number above 0"),
        (Real(least=0.0), "-1", "expected a number of at least 0"),
        (Real(least=0.0, most=90.0), "91", "expected a number from 0 to 90"),
        (Real(above=0.0, below=1.0), "1", "expected a number above 0 and below 1"),
        (Real(), "1e31", "expected a number"),
        (Whole(1, 3), "4", "expected a whole number from 1 to 3"),
        (Whole(0, 1), "2", "expected 0 or 1"),
        (Whole(1), "1.5", "expected a whole number of at least 1"),
    ):
        with pytest.raises(argparse.ArgumentTypeError, match=said):
            kind(text)
