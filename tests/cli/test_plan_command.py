"""`forearm plan` as a user meets it: points, files, lines, what is written, mistakes."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forearm as fa
from forearm.cli.main import main

Capture = pytest.CaptureFixture[str]
START, THERE = "0,-0.5,0,-2,0,1.5,0.7", "0.5,0.2,0.3,-1.5,0.2,1.8,0.2"


def run(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    code = main(["plan", *arguments])
    out, err = capsys.readouterr()
    return code, out, err.replace("\n", " ")


def document(capsys: Capture, *arguments: str) -> dict[str, Any]:
    code, out, _ = run(capsys, *arguments, "--json")
    assert code == 0
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.mark.slow
def test_points(capsys: Capture) -> None:
    found = document(capsys, "panda", "--q", START, "--to", THERE, "--acceleration", "3", "--step", "0.01")
    arm = fa.load("panda")
    start, there = (np.array([float(x) for x in text.split(",")]) for text in (START, THERE))
    plan = fa.plan(arm, fa.Request((fa.Waypoint(q=start), fa.Waypoint(q=there)), acceleration=3.0), step=0.01)
    assert found["duration"] == plan.duration
    for name in ("t", "q", "qd", "qdd", "tau"):
        assert np.array_equal(found[name], getattr(plan, name)), name
    assert found["voltage"] is None
    assert found["deviation"] == float(plan.deviation or 0.0)


@pytest.mark.slow
def test_points_with_limits_of_jerk(capsys: Capture, tmp_path: Path) -> None:
    asked = ("panda", "--q", START, "--to", THERE, "--acceleration", "3", "--step", "0.01")
    file = tmp_path / "motion.json"
    found = document(capsys, *asked, "--jerk", "20", "-o", str(file))
    assert found["duration"] > document(capsys, *asked)["duration"]
    assert np.abs(np.diff(found["qdd"], axis=0)).max() <= 20.0 * 0.01 * (1.0 + 1e-9)
    assert np.allclose(found["points"], [[float(x) for x in text.split(",")] for text in (START, THERE)])
    assert document(capsys, "panda", str(file), "--step", "0.01")["duration"] == found["duration"]
    code, _, err = run(capsys, *asked, "--jerk", "20", "--phase", str(tmp_path / "a.png"), "--joint", "1")
    assert code != 0
    assert "only plans through points without limits of jerk have constant accelerations to draw" in err


@pytest.mark.slow
def test_points_with_a_continuous_snap(capsys: Capture, tmp_path: Path) -> None:
    asked = ("panda", "--q", START, "--to", THERE, "--acceleration", "3", "--step", "0.01")
    file = tmp_path / "motion.json"
    found = document(capsys, *asked, "--snap", "inf", "-o", str(file))
    start, there = (np.array([float(x) for x in text.split(",")]) for text in (START, THERE))
    plan = fa.plan(fa.load("panda"), [start, there], acceleration=3.0, snap=True, step=0.01)
    assert found["duration"] == plan.duration
    assert np.array_equal(found["qdd"], plan.qdd)
    assert np.allclose(found["points"], [start, there])
    assert document(capsys, "panda", str(file), "--step", "0.01")["duration"] == found["duration"]
    limited = document(capsys, *asked, "--snap", "60", "--duration", "4")
    assert limited["duration"] == pytest.approx(4.0)
    turned = ("--q", "0,-30,0,-115,0,86,40", "--to", "29,11,17,-86,11,103,11", "--acceleration", "170")
    slower = document(capsys, "panda", "--degrees", *turned, "--snap", "900")
    points = np.radians([[0.0, -30, 0, -115, 0, 86, 40], [29.0, 11, 17, -86, 11, 103, 11]])
    same = fa.plan(fa.load("panda"), points, acceleration=np.radians(170.0), snap=np.radians(900.0))
    assert slower["duration"] == pytest.approx(same.duration)
    for more, said in (
        (("--snap", "inf", "--time-optimal"), "--snap: a time-optimal motion has no continuous snap"),
        (("--duration", "2"), "--duration: only with --time-optimal"),
        (("--snap", "1,2"), "panda needs 7"),
        (("--snap", "inf", "--duration", "0.1"), "feasible from"),
        (
            ("--snap", "inf", "--phase", str(tmp_path / "a.png"), "--joint", "1"),
            "--phase: only plans through",
        ),
    ):
        code, _, err = run(capsys, *asked, *more)
        assert code == 2
        assert said in " ".join(err.split())
    far = ",".join(["9"] * 7)
    code, _, err = run(capsys, "panda", "--q", START, "--to", far, "--acceleration", "3", "--snap", "inf")
    assert code == 2
    assert "--to, joint1: the start or the end lies outside" in " ".join(err.split())


@pytest.mark.slow
def test_the_report_names_what_is_largest(capsys: Capture) -> None:
    code, out, err = run(capsys, "panda", "--q", START, "--to", THERE, "--to", START, "--acceleration", "60")
    assert code == 0
    assert out.startswith("panda: 3 points, ")
    assert "largest torque" in out
    assert "joints deviate from the straight lines between the points by" in out
    assert "of the 87 N m (N) available" in err


@pytest.mark.slow
def test_a_converter_bounds_the_voltages(capsys: Capture) -> None:
    asked = ("cmu-dd", "--to", "0.9,0.5,0.7,0.2,0.6,0.8")
    found = document(capsys, *asked, "--dac-range", "9", "--dac-gain", "2", "--dac-bits", "10")
    assert found["limited_by"]["quantity"] == "DAC"
    assert (
        np.abs(found["voltage"]).max()
        <= found["limited_by"]["needed"]
        <= found["limited_by"]["allowed"]
        < 18.0
    )
    code, out, _ = run(capsys, *asked, "--dac-range", "18")
    assert code == 0
    assert "largest use of a limit: 99.9% of the DAC of joint" in out
    code, _, err = run(capsys, "panda", "--q", START, "--to", THERE, "--dac-range", "9")
    assert code == 2
    assert "--voltage: panda needs torque_constant and resistance of every motor" in err


@pytest.mark.slow
def test_files_in_and_out(capsys: Capture, tmp_path: Path) -> None:
    request = tmp_path / "go.toml"
    request.write_text(
        'schema = "forearm-request/1"\n[limits]\nacceleration = 2.0\n'
        '[[waypoint]]\nq = [0, 0.2, 0.1, 0, 0.5, 0]\n[[waypoint]]\nq = ["10 deg", 0.3, 0.2, 0.1, 0.6, 0.1]\n',
        encoding="utf-8",
    )
    table, points, picture = (tmp_path / name for name in ("go.csv", "go.json", "go.png"))
    for out, more in ((table, ("--plot", str(picture))), (points, ())):
        code, said, _ = run(capsys, "cmu-dd", str(request), "-o", str(out), *more)
        assert code == 0
        assert f"wrote {out}\n" in said
    rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    assert float(rows[-1]["q1"]) == pytest.approx(np.radians(10.0), abs=1e-12)
    assert "voltage6" in rows[0]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert json.loads(points.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_a_line(capsys: Capture) -> None:
    q = "0.1,-0.6,0.4,0.3,0.7,0.2"
    arm = fa.load("puma560-akb")
    here = fa.kinematics.forward(arm, [float(x) for x in q.split(",")])[:3, 3]
    there = ",".join(str(x) for x in here + [-0.05, 0.05, 0.1])
    found = document(capsys, "puma560-akb", "--q", q, "--line-to", there, "--step", "0.05")
    assert np.allclose(
        fa.kinematics.forward(arm, found["q"][-1])[:3, 3], here + [-0.05, 0.05, 0.1], atol=1e-9
    )
    code, out, _ = run(capsys, "puma560-akb", "--q", q, "--line-to", there, "--hand-acceleration", "0.5")
    assert code == 0
    assert out.startswith("puma560-akb: a Cartesian line, 0.1225 m")


@pytest.mark.slow
def test_a_line_that_cannot_be_followed_is_not_written(capsys: Capture, tmp_path: Path) -> None:
    q, table = "0.1,-0.6,0.4,0.3,0.7,0.2", tmp_path / "line.csv"
    asked = (
        "puma560-akb",
        "--q",
        q,
        "--line-to",
        "5,0.2,0.3",
        "-o",
        str(table),
        "--plot",
        str(tmp_path / "line.png"),
    )
    code, out, err = run(capsys, *asked)
    assert (code, out) == (1, "")
    assert "the line cannot be followed: at " in err
    assert "no configuration reaches farther along the line" in err
    code, out, _ = run(capsys, *asked, "--json")
    assert code == 1
    found = json.loads(out)
    (problem,) = found["problems"]
    assert found["feasible"] is False
    assert set(problem) == {"kind", "time", "until", "place", "joint", "text"}
    assert problem["kind"] == "unreachable"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_few_joints_are_told_to_leave_the_attitude_free(capsys: Capture) -> None:
    arm, q = fa.load("stanford-dhanaraj3"), "0.3,0.5,0.6"
    here = fa.kinematics.forward(arm, [0.3, 0.5, 0.6])[:3, 3]
    there = ",".join(str(x) for x in here + [0.05, 0.05, 0.02])
    code, _, err = run(capsys, "stanford-dhanaraj3", "--q", q, "--line-to", there)
    assert code == 1
    assert "use attitude='free'" in err
    assert "--free-attitude" in err
    found = document(
        capsys, "stanford-dhanaraj3", "--q", q, "--line-to", there, "--free-attitude", "--step", "0.1"
    )
    assert found["feasible"] is True
    assert np.allclose(
        fa.kinematics.forward(arm, found["q"][-1])[:3, 3], here + [0.05, 0.05, 0.02], atol=1e-9
    )


@pytest.mark.slow
def test_degrees_are_those_of_limits_too(capsys: Capture) -> None:
    """Of turning joints; a sliding one stays in m/s."""
    radians = document(
        capsys,
        "stanford",
        "--q",
        "0,0,0.5,0,0,0",
        "--to",
        "0.5,0,0.6,0,0,0",
        "--velocity",
        "0.3",
        "--acceleration",
        "2",
    )
    to, half = f"{np.degrees(0.5)},0,0.6,0,0,0", f"{np.degrees(0.3)}"
    limits = ",".join([half, half, "0.3", half, half, half])
    degrees = document(
        capsys,
        "stanford",
        "--q",
        "0,0,0.5,0,0,0",
        "--to",
        to,
        "--velocity",
        limits,
        "--degrees",
        "--acceleration",
        ",".join([f"{np.degrees(2.0)}"] * 2 + ["2"] + [f"{np.degrees(2.0)}"] * 3),
    )
    assert degrees["duration"] == pytest.approx(radians["duration"], rel=1e-12)


@pytest.mark.slow
def test_poses_of_the_hand_are_goals(capsys: Capture) -> None:
    arm, q = fa.load("puma560-akb"), np.array([0.1, -0.6, 0.4, 0.3, 0.7, 0.2])
    T = fa.kinematics.forward(arm, q)
    angles = np.degrees(fa.kinematics.orientation_of(T[:3, :3], "zyz"))
    pose = ",".join(str(x) for x in (*T[:3, 3], *angles))
    start = ",".join(str(x) for x in np.degrees(q + 0.2))
    more = ("--form", "zyz", "--degrees", "--acceleration", "100", "--step", "0.1")
    found = document(capsys, "puma560-akb", "--q", start, f"--pose={pose}", "--to", start, *more)
    assert len(found["points"]) == 3
    assert np.abs(np.array(found["points"][1]) - q).max() < 1e-9


@pytest.mark.slow
def test_saved_motions_and_phase_planes(capsys: Capture, tmp_path: Path) -> None:
    saved, phase = tmp_path / "go.json", tmp_path / "phase.png"
    asked = (
        "panda",
        "--q",
        START,
        "--to",
        THERE,
        "--acceleration",
        "3",
        "-o",
        str(saved),
        "--phase",
        str(phase),
        "--joint",
        "2",
    )
    code, out, _ = run(capsys, *asked)
    assert code == 0
    assert f"wrote {phase}\n" in out
    assert phase.read_bytes().startswith(b"\x89PNG")
    again = document(capsys, "panda", str(saved))
    assert (
        again["duration"]
        == document(capsys, "panda", "--q", START, "--to", THERE, "--acceleration", "3")["duration"]
    )
    code, _, err = run(capsys, "panda", str(saved), "--q", START)
    assert code == 2
    assert "--q: a request or motion file defines that itself" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("panda",), "give a request file, or --to (or --pose), or --line-to; got none of them"),
        (("panda", "x.toml", "--to", THERE), "got REQUEST and --to"),
        (("panda", "x.toml", "--q", START), "--q: a request or motion file defines that itself"),
        (("panda", "x.toml", "--degrees"), "--degrees: a request or motion file defines that itself"),
        (
            ("panda", "x.toml", "--hand-speed", "1"),
            "--hand-speed: a request or motion file defines that itself",
        ),
        (
            ("panda", "x.toml", "--free-attitude"),
            "--free-attitude: a request or motion file defines that itself",
        ),
        (("panda", "--to", THERE, "--hand-speed", "1"), "--hand-speed: only with --line-to"),
        (("panda", "--to", THERE, "--profile", "quintic"), "--profile: only with --line-to"),
        (("panda", "--to", THERE, "--hand-acceleration", "1"), "--hand-acceleration: only with --line-to"),
        (("panda", "--to", THERE, "--free-attitude"), "--free-attitude: only with --line-to"),
        (("panda", "--to", THERE, "--form", "zyz"), "--form: only with --pose"),
        (
            ("panda", "--line-to", "1,2,3", "--acceleration", "1"),
            "--acceleration: only with --to; a line takes --hand",
        ),
        (
            ("panda", "--line-to", "1,2,3", "--velocity", "1"),
            "--velocity: only with --to; a line takes --hand",
        ),
        (
            ("panda", "--line-to", "1,2,3", "--profile", "constant", "--hand-acceleration", "1"),
            "--hand-acceleration: a constant speed has no acceleration",
        ),
        (("panda", "--line-to", "1,2,3", "--to", THERE), "got --to and --line-to"),
        (("panda", "--to", THERE, "--phase", "x.png"), "--phase: needs --joint"),
        (
            ("panda", "--q", START, "--to", THERE, "--phase", "x.png", "--joint", "8"),
            "--joint: expected a number from 1 to 7",
        ),
        (("panda", "--to", "1,2"), "--to: panda needs 7 finite numbers, got 2"),
        (("panda", "--line-to", "1,2"), "--line-to: a point has 3 finite numbers, got 2"),
        (("puma560-akb", "--to", "0,0,0,0,0,0"), "there is no default because"),
        (("panda", "--q", START, "--to", THERE, "--acceleration", "-1"), "acceleration"),
        (
            ("panda", "--q", START, "--to", THERE, "-o", "x.txt"),
            "--output x.txt: the name must end in .csv, .parquet",
        ),
    ],
)
def test_mistakes(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)  # where pictures could be written
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert said in err


@pytest.mark.slow
def test_a_motion_that_cannot_begin_at_zero_asks_where_it_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    path = tmp_path / "arm.toml"
    fa.load("chain2").with_joint("joint2", limits=(0.5, 2.0), max_effort=50.0).with_joint(
        "joint1", max_effort=50.0
    ).save(path)
    assert main(["plan", str(path), "--to", "0.3,1.0"]) == 2
    assert (
        "--q: by default every joint starts at 0, but joint2 ranges from 0.5 to 2" in capsys.readouterr().err
    )
    assert main(["plan", str(path), "--q", "0,0.6", "--to", "0.3,1.0"]) == 0


def test_degrees_given_for_radians_are_asked_about(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert main(["inverse", "ur5", "--q", "0,-45,90,0,0,0"]) == 0
    assert "--q: shoulder_lift_joint at -45 rad is beyond its limits" in capsys.readouterr().err
    assert main(["inverse", "ur5", "--q", "0,-45,90,0,0,0", "--degrees"]) == 0
    assert capsys.readouterr().err == ""
