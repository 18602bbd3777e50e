"""`forearm plan --time-optimal` as a user meets it: points, lines, requests, motions, mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.lines import Capture, called, refused
from cli.lines import document as document_of

import forearm as fa

ARM, POINTS = "ascher2", ([0.0, 0.0], [0.6, -0.4], [0.2, 0.5])
GOALS = ("--to", "0.6,-0.4", "--to", "0.2,0.5")
LIMITS = ("--acceleration", "9", "--velocity", "2,3", "--points", "60")
REQUEST = 'schema = "forearm-request/1"\ntime_optimal = true\n[limits]\nacceleration = 9.0\n' + "".join(
    f"[[waypoint]]\nq = {q}\n" for q in POINTS
)


def document(capsys: Capture, *arguments: object) -> Any:
    return document_of(capsys, "plan", *arguments)


@pytest.mark.slow
def test_points_are_those_of_time_optimal(capsys: Capture) -> None:
    found = document(capsys, ARM, "--time-optimal", *GOALS, *LIMITS, "--continuity", "1")
    made = fa.time_optimal(
        fa.load(ARM), POINTS, acceleration=9.0, velocity=[2.0, 3.0], points=60, continuity=1
    )
    assert made.timing is not None
    assert made.limit is not None
    assert found["duration"] == made.duration
    assert found["feasible"] is True
    assert found["limit"] == made.limit.tolist()
    for name in ("s", "speed", "maximum_speed"):
        assert np.array_equal(found[name], getattr(made.timing, name)), name
    assert [saving["limit"] for saving in found["savings"]] == [s.limit for s in made.timing.savings]
    assert {"quantity", "joint", "seconds", "share", "binds"} < set(found["savings"][0])


@pytest.mark.slow
def test_what_is_written_and_said(capsys: Capture, tmp_path: Path) -> None:
    names = ("fast.json", "fast.csv", "fast.html", "phase.png")
    saved, table, page, phase = (tmp_path / name for name in names)
    more = ("-o", saved, "--html", page, "--phase", phase)
    code, out, _ = called(capsys, "plan", ARM, "--time-optimal", *GOALS, *LIMITS, *more)
    assert code == 0
    assert "10 % more saves, s" in out
    assert "acceleration binds for" in out
    assert phase.read_bytes().startswith(b"\x89PNG")
    assert "Phase plane of plan" in page.read_text(encoding="utf-8")
    first = document(capsys, ARM, saved, "-o", table)["duration"]
    again = document(capsys, ARM, saved, "--time-optimal", *LIMITS)["duration"]
    assert again == pytest.approx(first, rel=1e-9)
    slower = document(capsys, ARM, table, "--time-optimal", *LIMITS, "--duration", "3")
    assert slower["duration"] == pytest.approx(3.0, rel=1e-9)
    assert called(capsys, "simulate", ARM, "--plan", saved, "--controller", "computed_torque")[0] == 0


@pytest.mark.slow
def test_a_request_says_it_itself(capsys: Capture, tmp_path: Path) -> None:
    file = tmp_path / "go.toml"
    file.write_text(REQUEST, encoding="utf-8")
    asked = document(capsys, ARM, file)
    file.write_text(REQUEST.replace("time_optimal = true\n", ""), encoding="utf-8")
    given = document(capsys, ARM, file, "--time-optimal")
    made = fa.time_optimal(fa.load(ARM), POINTS, acceleration=9.0)
    assert asked["duration"] == given["duration"] == made.duration
    assert "savings" not in document(capsys, ARM, file)


@pytest.mark.slow
def test_a_line_of_the_hand_within_its_speed(capsys: Capture) -> None:
    arm, q = fa.load("puma560-akb"), [0.1, -0.6, 0.4, 0.3, 0.7, 0.2]
    here = fa.kinematics.forward(arm, q)[:3, 3]
    there = ",".join(str(x) for x in here + [-0.05, 0.05, 0.1])
    line = ("puma560-akb", "--time-optimal", "--q", ",".join(map(str, q)), "--line-to", there)
    found = document(capsys, *line, "--acceleration", "20", "--hand-speed", "0.3", "--points", "60")
    speed = np.linalg.norm(np.diff(fa.kinematics.forward(arm, found["q"])[:, :3, 3], axis=0), axis=1)
    assert speed.max() / np.diff(found["t"]).max() <= 0.3 * 1.001
    assert "hand speed" in found["limit"]


@pytest.mark.slow
def test_a_path_that_cannot_be_passed_is_an_error(capsys: Capture) -> None:
    goals = ("--q", "0,1.2,0,-1,0,1.5,0", "--to", "0,1.4,0,-1,0,1.5,0")
    said = refused(capsys, "plan", "panda", "--time-optimal", *goals, "--torque", "5")
    assert "cannot be passed at s = " in said
    assert "higher torque limit" in said
