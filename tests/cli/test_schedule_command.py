"""`forearm schedule` as a user meets it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from cli.lines import Capture, called, refused
from cli.lines import document as document_of

from forearm import Elasticity, Motor, load
from forearm.cli.schedule import read_processors
from forearm.errors import InputError
from forearm.schedules import exact
from forearm.schedules.checking import Violation
from forearm.schedules.threaded import cores


def run(capsys: Capture, *arguments: object) -> str:
    code, out, _ = called(capsys, "schedule", *arguments)
    assert code == 0
    return " ".join(out.split())


def document(capsys: Capture, *arguments: object) -> Any:
    return document_of(capsys, "schedule", *arguments)


def test_table_of_a_range(capsys: Capture) -> None:
    code, out, _ = called(capsys, "schedule", "stanford", "--processors", "2-5", "--rigid")
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


@pytest.mark.parametrize(
    ("option", "cost", "figure"), [("communication", 1000, "used"), ("synchronisation", 3, "waits")]
)
def test_costs_between_processors_lengthen_and_bound_what_is_used(
    option: str, cost: int, figure: str, capsys: Capture
) -> None:
    words = ("puma560", "--rigid", "--processors", 4, "--size", 4)
    shown = [document(capsys, *words, f"--{option}", c) for c in (0, cost)]
    free, dear = (s["schedules"][0] for s in shown)
    assert [s[option] for s in shown] == [0, cost]
    assert free["length"] < dear["length"]
    assert free[figure] > dear[figure] > 0
    assert f"{option} {cost}" in run(capsys, *words, f"--{option}", cost)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["search", "exact"])
def test_tenths_are_scheduled_from_nothing_on(capsys: Capture, method: str) -> None:
    words = ("stanford", "--rigid", "--function", "gravity", "--size", 3, "--processors", 3)
    shown = document(capsys, *words, "--communication", 0.1, "--method", method)
    assert min(entry["start"] for entry in shown["plan"]) == 0.0


def test_a_fault_of_ours_is_said_to_be_one(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "forearm.cli.schedule.violations", lambda _: (Violation("time", "a", "a starts at -1"),)
    )
    assert (
        "method priority gave an invalid schedule on 2 processors: a starts at -1. This is a bug"
        in refused(capsys, "schedule", "stanford", "--processors", 2)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("has_solver", "words", "said"),
    [
        (
            True,
            ("--rigid", "--communication", 0.3333, "--size", 8),  # thirds are no whole numbers of a solver
            "the search found the schedule",
        ),
        (False, ("--communication", 7, "--size", 16), "pip install 'forearm[schedule]'"),
    ],
)
def test_exact_with_and_without_a_solver(
    has_solver: bool, words: tuple[object, ...], said: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact, "has_solver", lambda: has_solver)
    monkeypatch.setattr("forearm.cli.schedule.has_solver", lambda: has_solver)
    assert said in run(capsys, "stanford", "--method", "exact", "--processors", 3, *words)


@pytest.mark.slow
def test_printed_schedules_beside_ours(capsys: Capture) -> None:
    out = run(capsys, "--printed", "--processors", "2-3")
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


def test_subtasks_name_those_of_friction_and_rotors_and_springs_left_out(
    capsys: Capture, tmp_path: Path
) -> None:
    words = ("puma560", "--subtasks", "--processors", 2)
    driven, rigid = document(capsys, *words), document(capsys, *words, "--rigid")
    assert driven["drive_subtasks"] > rigid["drive_subtasks"] == 0
    assert driven["tasks"] == rigid["tasks"] + driven["drive_subtasks"]
    assert rigid["tasks"] == rigid["table_subtasks"] + rigid["further_subtasks"]
    assert f"{driven['drive_subtasks']} for friction and rotors" in run(capsys, *words)
    assert "drives left out by --rigid" in run(capsys, *words, "--rigid")
    spring = {"motor": Motor(rotor_inertia=1e-3), "elasticity": Elasticity(stiffness=900.0)}
    load("ascher2").with_drives({"joint1": spring}).save(tmp_path / "sprung.toml")
    out = run(capsys, tmp_path / "sprung.toml", *words[1:])
    assert "springs of joint1 left out: inverse dynamics is that of stiff joints" in out


@pytest.mark.parametrize("arm", ["panda", "ur5", "chain7"])
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


def test_processors_are_read_as_a_number_or_a_range() -> None:
    assert read_processors("4") == [4]
    assert read_processors(" 2-4 ") == [2, 3, 4]
    for text in ("", "-3", "2-", "2--4", "1.5", "2,3", "9" * 50):
        with pytest.raises(InputError, match="--processors"):
            read_processors(text)
