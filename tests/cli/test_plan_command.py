"""`forearm plan` as a user meets it: points, files, lines, what is written."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.lines import Capture, called, document, refused

import forearm as fa

pytestmark = pytest.mark.slow
ENDS = [[0.1, -0.5], [0.5, 0.2]]
ASKED = ("plan", "ascher2", "--q", "0.1,-0.5", "--to", "0.5,0.2", "--acceleration", "3", "--step", "0.01")
Q6 = [0.1, -0.6, 0.4, 0.3, 0.7, 0.2]
REQUEST = """schema = "forearm-request/1"
[limits]
acceleration = 2.0
[[waypoint]]
q = [0, 0.2, 0.1, 0, 0.5, 0]
[[waypoint]]
q = ["10 deg", 0.3, 0.2, 0.1, 0.6, 0.1]
"""


def words(values: Any) -> str:
    return ",".join(map(str, values))


def hand(arm: fa.Arm, q: Any) -> Any:
    return fa.kinematics.forward(arm, q)[:3, 3]


@pytest.mark.parametrize(
    ("options", "given"),
    [
        ((), {}),
        (("--jerk", "20"), {"jerk": 20.0}),
        (("--snap", "inf"), {"snap": True}),
        (("--snap", "60", "--duration", "4"), {"snap": 60.0, "duration": 4.0}),
    ],
)
def test_points_are_those_of_python_and_come_back_from_a_file(
    options: tuple[str, ...], given: dict[str, Any], capsys: Capture, tmp_path: Path
) -> None:
    file = tmp_path / "motion.json"
    found = document(capsys, *ASKED, *options, "-o", file)
    plan = fa.plan(fa.load("ascher2"), ENDS, acceleration=3.0, step=0.01, **given)
    assert found["duration"] == plan.duration
    for name in ("t", "q", "qd", "qdd", "tau"):
        assert np.array_equal(found[name], getattr(plan, name)), name
    assert (found["voltage"], found.get("deviation", 0.0)) == (None, float(plan.deviation or 0.0))
    assert np.allclose(found["points"], ENDS)
    assert document(capsys, "plan", "ascher2", file, "--step", "0.01")["duration"] == plan.duration
    assert "--q: a request or motion file defines that itself" in refused(
        capsys, "plan", "ascher2", file, "--q", "0,0"
    )


def test_the_report_names_what_is_largest(capsys: Capture) -> None:
    start, there = "0,-0.5,0,-2,0,1.5,0.7", "0.5,0.2,0.3,-1.5,0.2,1.8,0.2"
    code, out, err = called(
        capsys, "plan", "panda", "--q", start, "--to", there, "--to", start, "--acceleration", "60"
    )
    assert code == 0
    assert out.startswith("panda: 3 points, ")
    assert "largest torque" in out
    assert "joints deviate from the straight lines between the points by" in " ".join(out.split())
    assert "of the 87 N m (N) available" in " ".join(err.split())


def test_a_converter_bounds_the_voltages(capsys: Capture) -> None:
    asked = ("plan", "cmu-dd", "--to", "0.9,0.5,0.7,0.2,0.6,0.8")
    found = document(capsys, *asked, "--dac-range", "9", "--dac-gain", "2", "--dac-bits", "10")
    limited = found["limited_by"]
    assert limited["quantity"] == "DAC"
    assert np.abs(found["voltage"]).max() <= limited["needed"] <= limited["allowed"] < 18.0
    code, out, _ = called(capsys, *asked, "--dac-range", "18")
    assert code == 0
    assert "largest use of a limit: 99.9% of the DAC of joint" in out


def test_files_in_and_out(capsys: Capture, tmp_path: Path) -> None:
    request = tmp_path / "go.toml"
    request.write_text(REQUEST, encoding="utf-8")
    table, points, picture = (tmp_path / name for name in ("go.csv", "go.json", "go.png"))
    for target, more in ((table, ("--plot", picture)), (points, ())):
        code, out, _ = called(capsys, "plan", "cmu-dd", request, "-o", target, *more)
        assert code == 0
        assert f"wrote {target}\n" in out
    rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    assert float(rows[-1]["q1"]) == pytest.approx(np.radians(10.0), abs=1e-12)
    assert "voltage6" in rows[0]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert json.loads(points.read_text(encoding="utf-8"))


def test_a_line(capsys: Capture) -> None:
    arm = fa.load("puma560-akb")
    there = hand(arm, Q6) + [-0.05, 0.05, 0.1]
    asked = ("plan", "puma560-akb", "--q", words(Q6), "--line-to", words(there))
    found = document(capsys, *asked, "--step", "0.05")
    assert np.allclose(hand(arm, found["q"][-1]), there, atol=1e-9)
    code, out, _ = called(capsys, *asked, "--hand-acceleration", "0.5")
    assert code == 0
    assert out.startswith("puma560-akb: a Cartesian line, 0.1225 m")


def test_a_line_that_cannot_be_followed_is_not_written(capsys: Capture, tmp_path: Path) -> None:
    written = ("-o", tmp_path / "line.csv", "--plot", tmp_path / "line.png")
    asked = ("plan", "puma560-akb", "--q", words(Q6), "--line-to", "5,0.2,0.3", *written)
    code, out, err = called(capsys, *asked)
    assert (code, out) == (1, "")
    assert "the line cannot be followed: at " in err
    assert "no configuration reaches farther along the line" in " ".join(err.split())
    code, out, _ = called(capsys, *asked, "--json")
    found = json.loads(out)
    (problem,) = found["problems"]
    assert (code, found["feasible"], problem["kind"]) == (1, False, "unreachable")
    assert set(problem) == {"kind", "time", "until", "place", "joint", "text"}
    assert list(tmp_path.iterdir()) == []


def test_few_joints_are_told_to_leave_the_attitude_free(capsys: Capture) -> None:
    arm, q = fa.load("stanford-dhanaraj3"), [0.3, 0.5, 0.6]
    there = hand(arm, q) + [0.05, 0.05, 0.02]
    asked = ("plan", "stanford-dhanaraj3", "--q", words(q), "--line-to", words(there))
    code, _, err = called(capsys, *asked)
    assert code == 1
    assert "use attitude='free'" in err
    assert "--free-attitude" in err
    found = document(capsys, *asked, "--free-attitude", "--step", "0.1")
    assert found["feasible"] is True
    assert np.allclose(hand(arm, found["q"][-1]), there, atol=1e-9)


def test_degrees_are_those_of_limits_too(capsys: Capture) -> None:
    """Of turning joints; a sliding one stays in m, m/s, ..."""
    slides = np.array([False, False, True, False, False, False])
    to, velocity, acceleration, jerk = (
        np.where(slides, slide, turn)
        for slide, turn in ((0.6, [0.5, 0, 0, 0, 0, 0]), (0.3, 0.3), (2.0, 2.0), (9.0, 9.0))
    )
    made = fa.plan(
        fa.load("stanford"),
        [[0.0, 0, 0.5, 0, 0, 0], to],
        velocity=velocity,
        acceleration=acceleration,
        jerk=jerk,
    )
    given = {"--to": to, "--velocity": velocity, "--acceleration": acceleration, "--jerk": jerk}
    options = [f"{name}={words(np.where(slides, x, np.degrees(x)))}" for name, x in given.items()]
    found = document(capsys, "plan", "stanford", "--q", "0,0,0.5,0,0,0", "--degrees", *options)
    assert found["duration"] == pytest.approx(made.duration, rel=1e-12)


def test_poses_of_the_hand_are_goals(capsys: Capture) -> None:
    arm, q = fa.load("puma560-akb"), np.array(Q6)
    T = fa.kinematics.forward(arm, q)
    pose = words((*T[:3, 3], *np.degrees(fa.kinematics.orientation_of(T[:3, :3], "zyz"))))
    start = words(np.degrees(q + 0.2))
    more = ("--form", "zyz", "--degrees", "--acceleration", "100", "--step", "0.1")
    found = document(capsys, "plan", "puma560-akb", "--q", start, f"--pose={pose}", "--to", start, *more)
    assert len(found["points"]) == 3
    assert np.abs(np.array(found["points"][1]) - q).max() < 1e-9


def test_a_motion_that_cannot_begin_at_zero_asks_where_it_begins(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "arm.toml"
    arm = fa.load("chain2").with_joint("joint2", limits=(0.5, 2.0), max_effort=50.0)
    arm.with_joint("joint1", max_effort=50.0).save(path)
    assert "--q: by default every joint starts at 0, but joint2 ranges from 0.5 to 2" in refused(
        capsys, "plan", path, "--to", "0.3,1.0"
    )
    assert called(capsys, "plan", path, "--q", "0,0.6", "--to", "0.3,1.0")[0] == 0
