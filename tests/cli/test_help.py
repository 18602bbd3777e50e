"""Help: one sentence, options that are explained alike everywhere, and examples that work."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from cli.lines import LINES, STUDY, Capture, called, options_of, parser_of, swing

import forearm as fa
from forearm.cli.command import Parser
from forearm.cli.main import _parser, main
from forearm.kinematics.orientation import orientation_of
from forearm.logs.table import write_table

# Examples of more than seconds are only parsed here; what they run has tests of its own.
ONLY_PARSED = (
    "forearm bench",
    "forearm demo",
    "forearm reproduce",
    "forearm control compare",
    "forearm excite",
    "forearm cache --clear",
)
# What examples read, for the arm that they name.
NEEDED = {"panda": 7, "puma560": 6}


@cache
def help_of(name: str) -> str:
    """The text of `forearm NAME --help`."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), pytest.raises(SystemExit, match="0"):
        main([*name.split(), "--help"])
    return said.getvalue()


def examples_of(name: str) -> list[str]:
    return re.findall(r"^  ((?:forearm|echo) .*)$", help_of(name).split("\nexample", 1)[1], flags=re.M)


def words_of(line: str) -> list[str]:
    """An example's words behind `forearm`, without what the shell does with it."""
    return shlex.split(line.split("|")[-1].split(">")[0])[1:]


@pytest.mark.slow
@pytest.mark.parametrize("name", LINES)
def test_help_is_one_sentence_options_and_examples_that_are_understood(name: str) -> None:
    text = help_of(name)
    sentence = " ".join(text.split("\n\n")[1].split())
    assert sentence.endswith(".")
    assert sentence.count(". ") == 0
    assert "--json" in text
    assert examples_of(name)
    for line in examples_of(name):
        words = words_of(line)
        assert words[: len(name.split())] == name.split()
        given, unknown = _parser(words[0]).parse_known_args(words)
        assert unknown == []
        assert given.command == words[0]


@pytest.mark.sweep(first=12)
@pytest.mark.slow
@pytest.mark.parametrize("name", LINES)
def test_every_example_runs(
    name: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for line in examples_of(name):
        if line.startswith(ONLY_PARSED):
            continue
        words = words_of(line)
        monkeypatch.setattr("sys.stdin", io.StringIO("inverse_arm\n"))
        _files_for(words, tmp_path)
        code, out, err = called(capsys, *words)
        assert code == 0, (line, err)
        assert out
    capsys.readouterr()


def _files_for(words: list[str], folder: Path) -> None:
    """What the examples read: logs, tests, a script, an arm."""
    n = next((n for arm, n in NEEDED.items() if arm in words), 6)
    quantities = ("q", "tau") if words[0] in ("control", "forward") else ("q", "qd")
    rows = np.array([[0.01 * i, *[0.01 * i + 0.1 * k for k in range(n)] * 2] for i in range(60)])
    write_table(folder / "log.csv", dict(zip(["t", *columns(n, *quantities)], rows.T, strict=True)))
    if words[0] == "identify":
        (folder / "log.csv").write_text(swing(words[1]), encoding="utf-8")
    (folder / "session.txt").write_text("gravity\n", encoding="utf-8")
    fa.load("panda").to_urdf(folder / "my_arm.urdf")
    if "plan.csv" in words:
        fa.plan(
            fa.load("panda"), [[0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7], [0.1, -0.4, 0.0, -1.9, 0.1, 1.6, 0.7]]
        ).save(folder / "plan.csv")
    if "request.toml" in words:
        there = ("[0.0, 0.8, -1.6, 0.0, 0.5, 0.0]", "[0.2, 0.7, -1.5, 0.0, 0.5, 0.1]")
        text = 'schema = "forearm-request/1"\n' + "".join(f"[[waypoint]]\nq = {q}\n" for q in there)
        (folder / "request.toml").write_text(text, encoding="utf-8")
    if "study.toml" in words:
        (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    if "poses.csv" in words:
        _poses(folder / "poses.csv")
    if "tests.csv" in words:
        _tests(folder / "tests.csv")


def columns(n: int, *quantities: str) -> list[str]:
    return [f"{x}{k + 1}" for x in quantities for k in range(n)]


def _poses(path: Path) -> None:
    """The hand of the Panda, measured at some postures."""
    arm = fa.load("panda")
    lower, upper = np.array([joint.limits for joint in arm.joints]).T
    q = np.random.default_rng(0).uniform(lower, upper, (20, 7))
    T = fa.kinematics.forward(arm, q)
    turned = orientation_of(T[:, :3, :3], "quaternion_xyzw")
    names = [*columns(7, "q"), *"xyz", "qx", "qy", "qz", "qw"]
    write_table(path, dict(zip(names, np.column_stack([q, T[:, :3, 3], turned]).T, strict=True)))


def _tests(path: Path) -> None:
    """Torques that hold a load of 1.3 kg against what came of them, one row a test."""
    arm, (q, tau) = fa.load("panda"), np.random.default_rng(4).uniform(-1.0, 1.0, (2, 40, 7))
    loaded = arm.with_payload(mass=1.3, com=[0.01, 0.02, 0.05], inertia=np.diag([0.002, 0.003, 0.004]))
    qdd = fa.dynamics.forward(loaded, q, np.zeros_like(q), 3.0 * tau)
    rows = np.column_stack([q, 3.0 * tau, qdd])
    write_table(path, dict(zip(columns(7, "q", "tau", "qdd"), rows.T, strict=True)))


def test_options_of_one_name_are_explained_alike() -> None:
    same = ("--json", "--hand", "--rigid", "--degrees", "--form", "--dac-range", "--dac-gain", "--dac-bits")
    said: dict[str, set[tuple[str, str]]] = {}
    for name in LINES:
        for action in options_of(name):
            option = action.option_strings[-1]
            if option in same and (name, option) != ("sim", "--json"):
                said.setdefault(option, set()).add((str(action.metavar), str(action.help)))
    assert set(said) == set(same)
    assert {option: texts for option, texts in said.items() if len(texts) > 1} == {}


METAVARS = {
    "--q": "A,B,...", "--qd": "A,B,...", "--qdd": "A,B,...", "--tau": "A,B,...", "--plot": "FILE",
    "--html": "FILE", "--from": "FILE", "--step": "S", "--period": "S", "--duration": "S", "--link": "LINK",
    "--method": "NAME", "--formulation": "NAME", "--function": "NAME", "--only": "NAME",
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_options_have_metavars_that_mean_one_thing_and_defaults_that_are_said(name: str) -> None:
    assert isinstance(parser_of(name), Parser)
    for action in options_of(name):
        assert action.help, action.option_strings
        for option in action.option_strings:
            assert action.metavar == METAVARS.get(option, action.metavar), option
        if action.nargs != 0 and action.option_strings[0] != "-h":
            assert action.metavar is not None, action.option_strings
        if action.dest == "plot":
            assert action.help.endswith("(.png, .svg or .pdf)")
        if action.nargs != 0 and action.default not in (None, [], "==SUPPRESS=="):
            said = re.search(r"\(default: ([^()]+)\)", str(action.help))
            assert said is not None, action.option_strings
            assert said[1] == action.default or float(said[1]) == action.default, action.option_strings


@pytest.mark.parametrize("name", ["", *LINES])
def test_help_fits_the_terminal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples are left whole, as they are copied, and so are words that fill a line."""
    monkeypatch.setenv("COLUMNS", "40")
    text = help_of.__wrapped__(name).split("\n\n", 1)[1]
    wide = [line for line in text.splitlines() if len(line) > 40 and len(line.split()) > 2]
    assert [line for line in wide if not re.match(r"  (forearm|echo) |.*[|]", line)] == []
