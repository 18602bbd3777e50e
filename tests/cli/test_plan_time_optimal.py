"""`forearm plan --time-optimal` as a user meets it: points, lines, requests, motions, mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forearm as fa
from forearm.cli.main import main

Capture = pytest.CaptureFixture[str]
ARM, POINTS = "ascher2", ([0.0, 0.0], [0.6, -0.4], [0.2, 0.5])
GOALS = ("--to", "0.6,-0.4", "--to", "0.2,0.5")
LIMITS = ("--acceleration", "9", "--velocity", "2,3", "--points", "60")
REQUEST = 'schema = "forearm-request/1"\ntime_optimal = true\n[limits]\nacceleration = 9.0\n' + "".join(
    f"[[waypoint]]\nq = {q}\n" for q in POINTS
)


def run(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    code = main(["plan", *arguments])
    out, err = capsys.readouterr()
    return code, out, " ".join(err.split())


def document(capsys: Capture, *arguments: str) -> dict[str, Any]:
    code, out, err = run(capsys, *arguments, "--json")
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


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
    more = ("--html", str(page), "--phase", str(phase))
    code, out, _ = run(capsys, ARM, "--time-optimal", *GOALS, *LIMITS, "-o", str(saved), *more)
    assert code == 0
    assert "10 % more saves, s" in out
    assert "acceleration binds for" in out
    assert phase.read_bytes().startswith(b"\x89PNG")
    assert "Phase plane of plan" in page.read_text(encoding="utf-8")
    assert run(capsys, ARM, str(saved), "-o", str(table))[0] == 0
    first = document(capsys, ARM, str(saved))["duration"]
    again = document(capsys, ARM, str(saved), "--time-optimal", *LIMITS)["duration"]
    assert again == pytest.approx(first, rel=1e-9)
    slower = document(capsys, ARM, str(table), "--time-optimal", *LIMITS, "--duration", "3")
    assert slower["duration"] == pytest.approx(3.0, rel=1e-9)
    controller = ("--plan", str(saved), "--controller", "computed_torque")
    assert main(["simulate", ARM, *controller]) == 0


@pytest.mark.slow
def test_a_request_says_it_itself(capsys: Capture, tmp_path: Path) -> None:
    file = tmp_path / "go.toml"
    file.write_text(REQUEST, encoding="utf-8")
    asked = document(capsys, ARM, str(file))
    file.write_text(REQUEST.replace("time_optimal = true\n", ""), encoding="utf-8")
    given = document(capsys, ARM, str(file), "--time-optimal")
    made = fa.time_optimal(fa.load(ARM), POINTS, acceleration=9.0)
    assert asked["duration"] == given["duration"] == made.duration
    assert "savings" not in document(capsys, ARM, str(file))


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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((*GOALS, "--torque", "9"), "--torque: only with --time-optimal"),
        ((*GOALS, "--tolerance", "0.1"), "--tolerance: only with --time-optimal"),
        ((*GOALS, "--duration", "2"), "--duration: only with --time-optimal"),
        (("--time-optimal", *GOALS, "--profile", "quintic"), "--profile: the limits determine the speed"),
        (("--time-optimal", *GOALS, "--free-attitude"), "--free-attitude: only with --line-to"),
        (("--time-optimal", *GOALS, "--continuity", "3"), "--continuity: expected one of 0, 1, 2, 4, got 3"),
        (("--time-optimal", *GOALS, "--payload", "2,1"), "--payload: expected the least mass before"),
        (("--time-optimal", *GOALS, "--torque", "0"), "--torque: must be above 0"),
        (("--time-optimal", *GOALS), "Limit --acceleration, --torque or --voltage"),
        (("--time-optimal", "--line-to", "1,0,0", "--continuity", "1"), "--continuity: only with --to"),
        (
            ("x.toml", "--time-optimal", "--torque", "9"),
            "--torque: a request or motion file defines that itself",
        ),
        (("x.csv", "--time-optimal", "--q", "0,0"), "--q: a motion file defines that itself"),
        (
            ("--time-optimal", *GOALS, "--acceleration", "9", "--phase", "x.png", "--joint", "1"),
            "--joint: a time-optimal plan is drawn over its path",
        ),
        (
            ("--time-optimal", *GOALS, "--acceleration", "9", "--duration", "0.01"),
            "--duration: 0.01 s is too short",
        ),
    ],
)
@pytest.mark.slow
def test_mistakes(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    code, out, err = run(capsys, ARM, *arguments)
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.slow
def test_a_path_that_cannot_be_passed_is_an_error(capsys: Capture) -> None:
    goals = ("--q", "0,1.2,0,-1,0,1.5,0", "--to", "0,1.4,0,-1,0,1.5,0")
    code, out, err = run(capsys, "panda", "--time-optimal", *goals, "--torque", "5")
    assert (code, out) == (2, "")
    assert "cannot be passed at s = " in err
    assert "higher torque limit" in err
