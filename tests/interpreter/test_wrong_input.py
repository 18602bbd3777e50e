"""Sessions that go wrong: what is said, where, and that nothing is changed by it."""

from __future__ import annotations

import io
import random
from pathlib import Path

import numpy as np
import pytest
from interpreter.talking import fails, talk

import forearm as fa
from forearm.interpreter import Interpreter, TextLines
from forearm.interpreter.interpreter import completions
from forearm.interpreter.lines import MAX_LINE
from forearm.interpreter.terminal import complete

SHORT = ("theta = 0.1 0.2 0.3 0.4 0.5 0.6", "simulate new no 3")
EVERYTHING = (
    "# a session", "theta = 0.1 0.2 0.3 0.4 0.5 0.6", "", "inverse_arm", "forward_arm", "simulate", "new",
    "yes", "no", "4", "simulate", "continue", "no", "2", "open_output_file", "out.txt", "print_simulation",
    "0", "0.006", "0.002", "close_output_file", "database_read", "chain2", "help", "omega", "quit",
)  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("tehta = 1 2 3 4 5 6",), "line 1: unknown variable 'tehta'; did you mean 'theta'?"),
        (
            ("", "inverse", "forward_amr"),
            "line 3: unknown command or variable 'forward_amr'; did you mean 'forward_arm'?",
        ),
        (("theta = 1 2 3",), "theta: expected 6 numbers, one per joint, got 3: '1 2 3'."),
        (("theta = 1 2 3 4 5 x",), "theta: 'x' is not a number; write it like 0.5, -2 or 1e-3."),
        (("theta = 1 2 3 4 5 nan",), "theta: expected a finite number of at most 1e+30, got 'nan'."),
        (("theta = __import__('os') 2 3 4 5 6",), "is not a number"),
        (("gravity = 1 2",), "gravity: expected one number, got 2: '1 2'."),
        (("DACTimePeriod = 0",), "DAC, period: must be above 0, got 0"),
        (("DACTimePeriod = 0.0015", "sim new yes 3"), "must be a whole number of steps"),
        (
            ("theta 1 2 3 4 5 6",),
            "theta: use 'theta = ...' to set a variable, and its name alone to show it.",
        ),
        (("t",), "line 1: 't' is ambiguous: theta or torque; type more letters."),
        (("forward_arm now",), "forward_arm: expected no words after it, got 1; see 'help forward_arm'."),
        (("open 'x",), "unclosed quote"),
        (("x" * (MAX_LINE + 1),), f"a line of at most {MAX_LINE} characters"),
        (("simulate", "maybe"), "line 2: unknown answer 'maybe'; there are: new, yes, continue, no."),
        (("simulate", ""), "line 2: expected an answer, got an empty line: New simulation"),
        (("simulate new no no ten",), "expected a whole number of timesteps from 1 to 1000000, got 'ten'."),
        (("simulate new no 1000001",), "got '1000001'"),
        (
            ("simulate new no ten",),
            "simulate: expected an existing file, or a whole number of timesteps from 1 to 1000000, got "
            "'ten'.",
        ),
        (("simulate new no volts",), "Give a voltage schedule file with its extension, such as volts.csv."),
        ((f"simulate new no {'x' * 5000}",), "expected an existing file, or"),
        (
            ("simulate new no yes -",),
            "-: standard input and output are used by the session; give a file name.",
        ),
        (("simulate continue",), "simulate, continue: no simulation yet; run simulate first."),
        (
            (*SHORT, "theta = 1 2 3 4 5 6", "sim c 3"),
            "theta changed since the last simulation, so it cannot be continued",
        ),
        (("plot_simulation",), "plot_simulation: no simulation yet"),
        ((*SHORT, "print_simulation 0 1 0.1"), "both within 0 to 0.003 s, and a step of at least 0 s"),
        ((*SHORT, "write motion.txt"), "ends in .npz"),
        (("open_output_file .",), ".: not a regular file"),
        (
            ("open_output_file absent/out.txt",),
            "absent/out.txt: cannot be written: No such file or directory.",
        ),
        (
            ("open a.txt", "open b.txt"),
            "line 2: the output file 'a.txt' is already open; use close_output_file first.",
        ),
        (("close_output_file",), "close_output_file: no output file is open."),
        (("database_read pmua560",), "did you mean 'puma560'"),
        (("inverse_arm absent.csv",), "absent.csv: no such file"),
        (("omega = 1e30 1e30 1e30 1e30 1e30 1e30", "omega = 1 1 1 1 1 1", "omega = 1 2"), "line 3"),
    ],
)
def test_an_error_names_line_place_and_remedy(
    lines: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there").write_text("t,v1\n", encoding="utf-8")
    Path("sets.csv").write_text("theta1,theta2,theta3,theta4,theta5,theta6\n1,2,3,4,5,6\n", encoding="utf-8")
    message = fails(*lines)
    assert said in message
    assert message.startswith(f"line {len(lines)}: ")


def test_an_error_changes_nothing_and_a_terminal_goes_on() -> None:
    ended = talk(
        "theta = 1 2 3 4 5 6", "theta = 1", "nonsense", "simulate", "new", "perhaps", "theta", typed=True
    )
    assert ended.code == 0
    assert len(ended.errors) == 3
    assert not any("line" in error.split(":")[0] for error in ended.errors)
    assert ended.out.endswith("theta = 1 2 3 4 5 6  # rad\n")
    assert ended.session.simulation is None


def test_a_script_stops_at_its_first_error() -> None:
    ended = talk("theta = 1", "gravity")
    assert (ended.code, ended.out) == (2, "")


def test_numbers_beyond_all_bounds_are_refused_before_they_are_stored() -> None:
    large = "theta = 1 1 1 1 1 1", f"omega = {' '.join(['1e30'] * 6)}", f"alpha = {' '.join(['1e30'] * 6)}"
    ended = talk(*large, "inverse_arm", "forward_arm", typed=True)
    assert np.isfinite(ended.session.variables.torque).all()
    assert np.isfinite(ended.session.variables.alpha).all()


@pytest.mark.slow
def test_the_end_of_the_input_is_welcome_anywhere_but_at_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    questions = {6, 7, 8, 9, 11, 12, 13, 15, 17, 18, 19, 22}
    for count in range(len(EVERYTHING) + 1):
        ended = talk(*EVERYTHING[:count])
        assert ended.code == (2 if count in questions else 0), (count, ended.errors)
        if count in questions:
            assert f"line {count + 1}: the input ended before an answer to: " in ended.errors[0]
        typed = talk(*EVERYTHING[:count], typed=True)
        assert typed.code == 0


def test_lines_after_quit_are_not_read() -> None:
    assert talk("quit", "nonsense").code == talk("exit", "nonsense").code == talk("q", "nonsense").code == 0


def test_a_last_line_without_its_end_counts() -> None:
    out, errors = io.StringIO(), list[str]()
    assert Interpreter(fa.load("cmu-dd"), TextLines(io.StringIO("gravity")), out, errors.append).run() == 0
    assert out.getvalue() == "gravity = -9.80621  # m/s^2\n"


def test_bytes_that_python_keeps_in_standard_input_are_refused_too() -> None:
    stream = io.TextIOWrapper(
        io.BytesIO(b"\xef\xbb\xbfgravity\n\xff\xfe\n"), encoding="utf-8", errors="surrogateescape"
    )
    out, errors = io.StringIO(), list[str]()
    assert Interpreter(fa.load("cmu-dd"), TextLines(stream), out, errors.append).run() == 2
    assert out.getvalue() == "gravity = -9.80621  # m/s^2\n", "a byte order mark is no text"
    assert errors == ["line 2: the input is not UTF-8 text; write the script as plain text."]


def test_lines_of_anything_never_end_in_anything_but_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = random.Random(7)
    words = [
        *EVERYTHING,
        "theta",
        "torque =",
        "voltage = 1 2 3 4 5 6",
        "=",
        "#",
        "'",
        '"',
        "\0",
        "\x1b[2J",
        "1e30",
        "-1",
        "no",
        "2",
    ]
    words = [word for word in words if word not in ("quit", "new")]
    for _ in range(25):
        lines = [" ".join(rng.choices(words, k=rng.choice((1, 1, 2)))) for _ in range(12)]
        ended = talk(*(text.replace("\n", " ") for text in lines), typed=True)
        assert ended.code == 0


def test_completion_knows_names_arms_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("volts.csv").write_text("", encoding="utf-8")
    assert completions("th", "th") == ["theta"]
    assert completions("DACO", "DACO") == ["DACOut"]
    assert completions("o", "o") == ["open_output_file", "omega"]
    assert len(completions("", "")) == 20
    assert completions("help inv", "inv") == ["inverse_arm"]
    assert "puma560" in completions("database_read pum", "pum")
    assert completions("zzz", "zzz") == []
    assert complete("simulate new no vo", "vo") == ["volts.csv"]
    assert complete("vol", "vol") == ["voltage"]
