"""`forearm schedule` as a user meets it."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest

from forearm import Elasticity, Motor, load
from forearm.cli.main import main
from forearm.cli.schedule import read_processors
from forearm.errors import InputError
from forearm.schedules import exact
from forearm.schedules.checking import Violation
from forearm.schedules.threaded import cores

Capture = pytest.CaptureFixture[str]


def run(capsys: Capture, *arguments: object) -> tuple[int, str, str]:
    code = main(["schedule", *(str(word) for word in arguments)])
    out, err = capsys.readouterr()
    return code, out, " ".join(err.split())


def document(capsys: Capture, *arguments: object) -> Any:
    code, out, _ = run(capsys, *arguments, "--json")
    assert code == 0
    return json.loads(out)


def test_table_of_a_range(capsys: Capture) -> None:
    code, out, _ = run(capsys, "stanford", "--processors", "2-5", "--rigid")
    assert code == 0
    assert "stanford, inverse_dynamics: 210 operations" in out
    assert "critical path" in out
    rows = [line.split() for line in out.splitlines() if re.match(r" +\d", line)]
    assert [row[0] for row in rows] == ["2", "3", "4", "5"]
    assert all(row[-2:] == ["the", "shortest"] for row in rows[:2])


@pytest.mark.parametrize("method", ["rule", "priority", "search", "exact"])
def test_every_method_gives_a_schedule_with_its_bound(capsys: Capture, method: str) -> None:
    shown = document(capsys, "stanford", "--processors", 3, "--method", method, "--size", 6)
    (made,) = shown["schedules"]
    assert made["bound"] <= made["length"] <= shown["total"]
    assert made["length"] >= shown["critical_path"]
    assert made["speedup"] == pytest.approx(shown["total"] / made["length"])
    assert len(shown["plan"]) == shown["tasks"] == sum(shown["profile"])
    assert {entry["processor"] for entry in shown["plan"]} == {0, 1, 2}
    for entry in shown["plan"]:
        ends = [shown["plan"][k]["start"] + shown["plan"][k]["cost"] for k in entry["after"]]
        assert entry["start"] >= max(ends, default=0.0)


def test_communication_lengthens_and_bounds_the_use(capsys: Capture) -> None:
    free, dear = (
        document(capsys, "puma560", "--processors", 4, "--communication", c)["schedules"][0]
        for c in (0, 1000)
    )
    assert free["length"] < dear["length"]
    assert (free["used"], dear["used"]) == (4, 1)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["search", "exact"])
def test_tenths_are_scheduled_from_nothing_on(capsys: Capture, method: str) -> None:
    words = (
        "stanford",
        "--rigid",
        "--function",
        "gravity",
        "--size",
        3,
        "--communication",
        0.1,
        "--processors",
        3,
    )
    shown = document(capsys, *words, "--method", method)
    assert min(entry["start"] for entry in shown["plan"]) == 0.0


def test_a_fault_of_ours_is_said_to_be_one(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "forearm.cli.schedule.violations", lambda _: (Violation("time", "a", "a starts at -1"),)
    )
    code, out, err = run(capsys, "stanford", "--processors", 2)
    assert (code, out) == (2, "")
    assert "method priority gave an invalid schedule on 2 processors: a starts at -1. This is a bug" in err


def test_waits_lengthen_and_are_counted(capsys: Capture) -> None:
    words = ("puma560", "--rigid", "--processors", 4, "--size", 4)
    free, dear = (document(capsys, *words, "--synchronisation", c) for c in (0, 3))
    assert (free["synchronisation"], dear["synchronisation"]) == (0, 3)
    assert free["schedules"][0]["length"] < dear["schedules"][0]["length"]
    assert free["schedules"][0]["waits"] > dear["schedules"][0]["waits"] > 0
    assert "synchronisation 3" in run(capsys, *words, "--synchronisation", 3)[1]


@pytest.mark.slow
def test_thirds_are_answered_with_and_without_a_solver(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact, "has_solver", lambda: True)
    words = (
        "stanford",
        "--rigid",
        "--method",
        "exact",
        "--communication",
        0.3333,
        "--size",
        8,
        "--processors",
        3,
    )
    code, out, _ = run(capsys, *words)
    assert code == 0
    assert "the search found the schedule" in out


@pytest.mark.slow
def test_printed_schedules_beside_ours(capsys: Capture) -> None:
    code, out, _ = run(capsys, "--printed")
    assert code == 0
    assert "230 tasks" in out
    assert "156 tasks" in out
    shown = document(capsys, "--printed", "--processors", "2-9")["printed"]
    assert [row["best"] for row in shown["4.3"]] == [115, 77, 58, 47, 39, 34, 30, 28]
    assert [row["printed"] for row in shown["4.7"]] == [79, 52, 39, 32, 29, 27, 27, None]


def test_subtasks_of_the_document(capsys: Capture) -> None:
    shown = document(capsys, "stanford", "--subtasks", "--method", "rule", "--processors", "2-4")
    assert shown["subtasks"] is True
    assert shown["total"] == shown["tasks"]
    assert [s["processors"] for s in shown["schedules"]] == [2, 3, 4]


def test_subtasks_name_those_of_friction_and_rotors(capsys: Capture) -> None:
    words = ("puma560", "--subtasks", "--processors", 2)
    driven, rigid = document(capsys, *words), document(capsys, *words, "--rigid")
    assert driven["drive_subtasks"] > rigid["drive_subtasks"] == 0
    assert driven["tasks"] == rigid["tasks"] + driven["drive_subtasks"]
    assert rigid["tasks"] == rigid["table_subtasks"] + rigid["further_subtasks"]
    assert f"{driven['drive_subtasks']} for friction and rotors" in run(capsys, *words)[1]
    assert "drives left out by --rigid" in run(capsys, *words, "--rigid")[1]


def test_springs_that_subtasks_leave_out_are_named(capsys: Capture, tmp_path: Path) -> None:
    arm = load("ascher2")
    first, *others = arm.tree
    spring = Elasticity(stiffness=900.0)
    sprung = arm.replace(
        tree=(dataclasses.replace(first, motor=Motor(rotor_inertia=1e-3), elasticity=spring), *others)
    )
    sprung.save(tmp_path / "sprung.toml")
    out = run(capsys, tmp_path / "sprung.toml", "--subtasks", "--processors", 2)[1]
    assert f"springs of {first.name} left out: inverse dynamics is that of stiff joints" in " ".join(
        out.split()
    )


@pytest.mark.parametrize("arm", ["panda", "ur5", "puma560-akb", "chain7"])
def test_subtasks_of_arms_with_other_twists_and_full_tensors(capsys: Capture, arm: str) -> None:
    shown = document(capsys, arm, "--subtasks", "--processors", 4)
    assert shown["tasks"] == shown["table_subtasks"] + shown["further_subtasks"] + shown["drive_subtasks"]
    assert (shown["further_subtasks"] > 0) == (arm in ("panda", "chain7"))


@pytest.mark.slow
@pytest.mark.skipif(cores() < 2, reason="threads that wait for each other need a core each")
def test_subtasks_run_on_threads(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forearm.benchmarks.schedules.REPEATS", 2)
    monkeypatch.setattr("forearm.benchmarks.schedules.SHORT", 1e-5)
    shown = document(capsys, "puma560", "--subtasks", "--processors", "2", "--run")["run"]
    (made, _) = shown["threads"]
    assert (made["how"], made["threads"]) == ("scheduled", 2)
    assert made["waits"] > 0
    assert made["agreement"] < 1e-12


@pytest.mark.slow
def test_picture_of_one_schedule(capsys: Capture, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    target = tmp_path / "gantt.png"
    assert document(capsys, "stanford", "--processors", 3, "--size", 8, "--plot", target)["plot"] == str(
        target
    )
    assert target.read_bytes()[:4] == b"\x89PNG"


@pytest.mark.slow
def test_picture_of_the_layers(capsys: Capture, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    target = tmp_path / "layers.svg"
    assert document(capsys, "stanford", "--size", 16, "--layers", target)["layers"] == str(target)
    assert target.stat().st_size > 0
    code, _, err = run(capsys, "chain20", "--processors", 2, "--layers", target)
    assert code == 2
    assert "at most 600 tasks are drawn, got" in err


@pytest.mark.slow
@pytest.mark.skipif(cores() < 2, reason="threads that wait for each other need a core each")
def test_run_on_threads(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forearm.benchmarks.schedules.REPEATS", 2)
    monkeypatch.setattr("forearm.benchmarks.schedules.SHORT", 1e-5)
    shown = document(capsys, "stanford", "--processors", "1-2", "--size", 8, "--run", "--rigid")["run"]
    assert shown["kernel_seconds"] > 0.0
    assert [(t["how"], t["processors"], t["threads"]) for t in shown["threads"]] == [
        ("scheduled", 1, 1),
        ("sharing nothing", 1, 1),
        ("scheduled", 2, 2),
        ("sharing nothing", 2, 2),
    ]
    assert all(t["agreement"] == 0.0 for t in shown["threads"] if t["how"] == "scheduled")
    assert all(t["agreement"] < 1e-13 for t in shown["threads"])
    assert [t["waits"] > 0 for t in shown["threads"]] == [False, False, True, False]


@pytest.mark.slow
def test_a_gap_says_what_may_close_it(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "has_solver", lambda: False)
    monkeypatch.setattr("forearm.cli.schedule.has_solver", lambda: False)
    code, out, _ = run(
        capsys, "stanford", "--method", "exact", "--communication", 7, "--processors", 3, "--size", 16
    )
    assert code == 0
    assert "pip install 'forearm[schedule]'" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "expected an ARM or --printed"),
        (["puma560", "--processors", "0"], "a number from 1 to 1024, or a range such as 2-9"),
        (["puma560", "--processors", "9-2"], "a number from 1 to 1024"),
        (["puma560", "--processors", "two"], "got 'two'"),
        (["puma560", "--processors", "1-1024"], "at most 64 numbers"),
        (["puma560", "--method", "best"], "got 'best'"),
        (["puma560", "--function", "invers_dynamics"], "did you mean 'inverse_dynamics'"),
        (["puma560", "--size", "0"], "--size: must be above 0"),
        (["puma560", "--size", "nan"], "--size: the number must be finite"),
        (["puma560", "--communication", "-1"], "--communication: must be at least 0"),
        (["puma560", "--communication", "nan"], "--communication: the number must be finite"),
        (["puma560", "--communication", "2", "--method", "rule"], "the document's rule has no such cost"),
        (["puma560", "--synchronisation", "2", "--method", "rule"], "the document's rule has no such cost"),
        (["puma560", "--synchronisation", "nan"], "--synchronisation: the number must be finite"),
        (["--printed", "--method", "search", "--rigid"], "--method, --rigid would change nothing"),
        (["--printed", "--plot", "x.png"], "--plot would change nothing"),
        (["chain50", "--processors", "2", "--plot", "/no/such/folder/x.png"], "there is no folder"),
        (["puma560", "--layers", "x.txt"], "--layers x.txt: a picture ends in .png"),
        (["puma560", "--plot", "x.png"], "one schedule is drawn"),
        (["puma560", "--processors", "2", "--plot", "x.bmp"], "a picture ends in .png"),
        (["puma560", "--subtasks", "--size", "2"], "leave out --function and --size"),
        (["puma560", "--run", "--processors", "1000"], "threads that wait for each other need one core each"),
        (["nobody"], "nobody"),
    ],
)
def test_bad_words_are_answered_in_one_paragraph(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)  # where pictures could be written
    try:
        code, out, err = run(capsys, *words)
    except SystemExit as left:  # the parser's own
        code, (out, err) = int(str(left.code)), capsys.readouterr()
        err = " ".join(err.split())
    assert code == 2
    assert out == ""
    assert said in err
    assert "Traceback" not in err


def test_processors_are_read_as_a_number_or_a_range() -> None:
    assert read_processors("4") == [4]
    assert read_processors(" 2-4 ") == [2, 3, 4]
    for text in ("", "-3", "2-", "2--4", "1.5", "2,3", "9" * 50):
        with pytest.raises(InputError, match="--processors"):
            read_processors(text)
