"""Help: one sentence, options that are explained alike everywhere, and examples that work."""

from __future__ import annotations

import io
import re
import shlex
from pathlib import Path

import pytest
from cli.lines import LINES, STUDY, Capture, called, make_files, options_of, parser_of, swing

from forearm.cli.command import Parser
from forearm.cli.main import _parser

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


def help_of(name: str, capsys: Capture) -> str:
    code, out, err = called(capsys, *name.split(), "--help")
    assert (code, err) == (0, "")
    return out


def examples_of(name: str, capsys: Capture) -> list[str]:
    return re.findall(
        r"^  ((?:forearm|echo) .*)$", help_of(name, capsys).split("\nexample", 1)[1], flags=re.M
    )


def words_of(line: str) -> list[str]:
    """An example's words behind `forearm`, without what the shell does with it."""
    return shlex.split(line.split("|")[-1].split(">")[0])[1:]


@pytest.mark.parametrize("name", LINES)
def test_help_is_one_sentence_options_and_examples(name: str, capsys: Capture) -> None:
    text = help_of(name, capsys)
    sentence = " ".join(text.split("\n\n")[1].split())
    assert sentence.endswith(".")
    assert sentence.count(". ") == 0
    assert "--json" in text
    assert all(line.startswith(f"forearm {name}") or "forearm" in line for line in examples_of(name, capsys))


@pytest.mark.slow
@pytest.mark.parametrize("name", LINES)
def test_every_example_is_understood(name: str, capsys: Capture) -> None:
    examples = examples_of(name, capsys)
    assert examples
    for line in examples:
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
    for line in examples_of(name, capsys):
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
    import forearm as fa

    n = next((n for arm, n in NEEDED.items() if arm in words), 6)
    rows = [[0.01 * i + 0.1 * k for k in range(n)] for i in range(60)]
    inputs = {
        "log.csv": ("q", "tau")
        if words[0] == "control"
        else ("q", "tau")
        if words[0] == "forward"
        else ("q", "qd")
    }
    for name, quantities in inputs.items():
        header = ["t", *(f"{x}{k + 1}" for x in quantities for k in range(n))]
        lines = [",".join(map(repr, [0.01 * i, *row, *row])) for i, row in enumerate(rows)]
        (folder / name).write_text("\n".join([",".join(header), *lines]) + "\n", encoding="utf-8")
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


def _poses(path: Path) -> None:
    """The hand of the Panda, measured at some postures."""
    import numpy as np

    import forearm as fa
    from forearm.kinematics.orientation import orientation_of
    from forearm.logs.table import write_table

    arm = fa.load("panda")
    lower, upper = np.array([joint.limits for joint in arm.joints]).T
    q = np.random.default_rng(0).uniform(lower, upper, (20, 7))
    T = fa.kinematics.forward(arm, q)
    turned = orientation_of(T[:, :3, :3], "quaternion_xyzw")
    columns = {f"q{k + 1}": q[:, k] for k in range(7)} | {x: T[:, k, 3] for k, x in enumerate("xyz")}
    write_table(path, columns | {f"q{x}": turned[:, k] for k, x in enumerate("xyzw")})


def _tests(path: Path) -> None:
    """Torques that hold a load of 1 kg against what came of them, one row a test."""
    import numpy as np

    import forearm as fa

    rng = np.random.default_rng(4)
    arm = fa.load("panda")
    loaded = arm.with_payload(mass=1.3, com=[0.01, 0.02, 0.05], inertia=np.diag([0.002, 0.003, 0.004]))
    rows = []
    for _ in range(40):
        q, tau = rng.uniform(-1.0, 1.0, 7), rng.uniform(-3.0, 3.0, 7)
        rows.append([*q, *tau, *fa.dynamics.forward(loaded, q, np.zeros(7), tau)])
    header = [f"{x}{k + 1}" for x in ("q", "tau", "qdd") for k in range(7)]
    path.write_text(
        "\n".join([",".join(header), *(",".join(repr(float(v)) for v in row) for row in rows)]) + "\n",
        encoding="utf-8",
    )


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
def test_options_are_explained_with_metavars_that_mean_one_thing(name: str) -> None:
    for action in options_of(name):
        assert action.help, action.option_strings
        for option in action.option_strings:
            assert action.metavar == METAVARS.get(option, action.metavar), option
        if action.nargs != 0 and action.option_strings[0] != "-h":
            assert action.metavar is not None, action.option_strings
        if action.dest == "plot":
            assert action.help.endswith("(.png, .svg or .pdf)")


@pytest.mark.parametrize("name", LINES)
def test_defaults_are_explained(name: str) -> None:
    """An option with a value that it has by itself says which."""
    for action in options_of(name):
        if action.nargs != 0 and action.default not in (None, [], "==SUPPRESS=="):
            said = re.search(r"\(default: ([^()]+)\)", str(action.help))
            assert said is not None, action.option_strings
            assert said[1] == action.default or float(said[1]) == action.default, action.option_strings


@pytest.mark.parametrize("columns", ["40", "80"])
@pytest.mark.parametrize("name", ["", *LINES])
def test_help_fits_the_terminal(
    name: str, columns: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Examples are left whole, as they are copied, and so are words that fill a line."""
    monkeypatch.setenv("COLUMNS", columns)
    text = help_of(name, capsys).split("\n\n", 1)[1]
    wide = [line for line in text.splitlines() if len(line) > int(columns) and len(line.split()) > 2]
    assert [line for line in wide if not re.match(r"  (forearm|echo) |.*[|]", line)] == []


def test_the_parsers_of_all_lines_are_ours() -> None:
    assert all(isinstance(parser_of(name), Parser) for name in LINES)


@pytest.mark.long  # with --json they are run by test_streams.py
def test_lines_work(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests take for lines without a fault."""
    monkeypatch.chdir(tmp_path)
    make_files(tmp_path)
    for name in LINES:
        if name not in ("bench", "demo", "reproduce"):
            code, out, err = called(capsys, *name.split(), *LINES[name])
            assert code == 0, (name, err)
            assert out, name
