"""`forearm control` as a user meets it: the comparison, savings, a load, a log, mistakes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.lines import Capture, called, refused
from cli.lines import document as document_of
from numpy.typing import NDArray

import forearm as fa
from forearm import control
from forearm.kinematics.limits import middle
from forearm.logs.table import write_table
from forearm.trajectories import hand_line

SMALL = "stanford-dhanaraj3"  # three joints
QUICK = ("--period", "0.01", "--duration", "0.5", "--only", "computed torque", "--only", "PD + gravity")


def run(capsys: Capture, *arguments: object) -> tuple[int, str, str]:
    code, out, err = called(capsys, "control", *arguments)
    return code, out, " ".join(err.split())


def document(capsys: Capture, *arguments: object) -> Any:
    return document_of(capsys, "control", *arguments)


@pytest.mark.slow
def test_comparison_is_that_of_python(capsys: Capture) -> None:
    found = document(capsys, "compare", SMALL, *QUICK, "--payload", 1.5, "--bandwidth", 3, "--delay", 1)
    arm = fa.load(SMALL)
    motion = control.default_motion(arm, 0.5)
    names = ["computed torque", "PD + gravity"]
    same = control.compare(
        arm, motion, names, period=0.01, payload=1.5, bandwidth=3.0, actuators=control.Actuators(delay=1)
    )
    assert found["controllers"] == same.document()["controllers"]
    assert found["payload"] == 1.5
    assert [row["name"] for row in found["controllers"]] == names


@pytest.mark.slow
def test_a_straight_line_of_the_hand_in_the_time_that_is_asked_for(capsys: Capture) -> None:
    arm, q = fa.load("puma560"), [0.1, -0.9, 0.4, 0.3, 0.7, 0.2]
    to = (hand(arm, q) + [0.1, -0.15, 0.05]).tolist()
    found = document(
        capsys,
        *("compare", "puma560", "--q", ",".join(map(str, q)), "--line-to", ",".join(map(str, to))),
        *("--duration", 0.5, "--period", 0.002, "--only", "operational space", "--payload", 0),
    )
    line = hand_line(arm, q, to, 1.875 * float(np.linalg.norm(to - hand(arm, q))) / 0.5, profile="quintic")
    same = control.compare(arm, line, ["operational space"], period=0.002, payload=0.0)
    assert found["duration"] == 0.5
    assert found["controllers"][0]["hand_rms"] == pytest.approx(same.rows[0].hand_rms, rel=1e-6)
    assert found["controllers"][0]["hand_rms"] < 1e-4


def hand(arm: fa.Arm, q: list[float]) -> NDArray[np.float64]:
    return fa.kinematics.forward(arm, q)[:3, 3]


@pytest.mark.long
def test_sensors_errors_and_voltages_reach_the_loop(capsys: Capture) -> None:
    plain = document(capsys, "compare", "puma560", *QUICK)
    for options in (
        ("--encoder-bits", 8),
        ("--tachometer-bits", 6, "--tachometer-range", 4),
        ("--differences", "--encoder-bits", 14),
        ("--error", 10, "--seed", 3),
        ("--voltage",),
        ("--dac-bits", 7, "--dac-range", 40),
        ("--q", "0,-0.5,0.4,0,0.3,0", "--to", "0.3,-0.2,0.1,0.2,0.5,0.4"),
    ):
        changed = document(capsys, "compare", "puma560", *QUICK, *options)
        assert changed["controllers"][0]["rms"] != plain["controllers"][0]["rms"], options
        assert changed["controllers"][0]["operations"] == plain["controllers"][0]["operations"]


@pytest.mark.slow
def test_table_and_which_controller_runs(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[float, float, str]] = []
    bar = "forearm.cli.control_compare.ProgressBar.__call__"
    monkeypatch.setattr(bar, lambda _, *how_far: said.append(how_far))
    code, out, _ = run(capsys, "compare", SMALL, *QUICK)
    assert code == 0
    assert out.startswith(f"{SMALL}: motion of 0.5 s, sampling period 10 ms, bandwidth 31.4159 rad/s (5 Hz)")
    assert "computed torque" in out
    assert "kops/s" in out
    assert said == [(0, 2, "computed torque"), (1, 2, "PD + gravity")]


@pytest.mark.long
def test_what_is_held_back_is_printed(capsys: Capture) -> None:
    _, out, _ = run(
        capsys, "compare", "panda", "--only", "PD", "--only", "computed torque", "--only", "feed-forward"
    )
    rows = {line.split("  ")[0]: line.split("  ")[-1].strip() for line in out.splitlines()}
    assert rows["computed torque"] == "100 %"
    assert rows["feed-forward"] == "-"
    found = document(capsys, "compare", "panda", "--only", "PD")
    assert rows["PD"] == f"{100.0 * found['controllers'][0]['stiffness']:.3g} %"
    assert found["shares"][1] == 1.0
    assert "would be unstable: joint1 " in " ".join(out.split())
    _, out, _ = run(capsys, "compare", "cmu-dd", "--period", 0.002, "--only", "computed torque")
    assert "saturated commands, under load: computed torque " in " ".join(out.split())
    assert "alone" not in out
    assert "stiff:" not in out


@pytest.mark.slow
def test_motions_beyond_the_limits_are_warned_of(capsys: Capture) -> None:
    brief = ("--period", 0.01, "--duration", 0.1, "--only", "PD", "--to", "9,0,0,0,0,9")
    code, _, err = run(capsys, "compare", "puma560", *brief)
    assert code == 0
    assert "warning: the motion exceeds the limits of joint1, joint6" in err


@pytest.mark.long
def test_accelerometers_have_steps(capsys: Capture) -> None:
    words = ("compare", "puma560-akb", "--duration", 0.5, "--only", "acceleration servo")
    exact, coarse, short = (
        document(capsys, *words, *more)["controllers"][0]
        for more in ((), ("--accelerometer-step", 0.5), ("--accelerometer-step", 0.5, "--lever", 0.02))
    )
    assert exact["torque_rms"] < coarse["torque_rms"] < short["torque_rms"], "a shorter lever sees less"


@pytest.mark.slow
def test_lost_arms_are_noted(capsys: Capture) -> None:
    words = ("compare", "chain3", "--period", 0.05, "--bandwidth", 250, "--only", "computed torque")
    code, out, err = run(capsys, *words)
    assert code == 0
    assert "nan" in out
    assert "computed torque: diverged at" in err
    assert document(capsys, *words)["controllers"][0]["rms"] is None


@pytest.mark.slow
def test_savings(capsys: Capture) -> None:
    found = document(capsys, "savings", SMALL, "--locked", 2)["savings"]
    assert [row["operations"] for row in found] == [
        s.operations for s in control.savings(fa.load(SMALL), locked=2)
    ]


@pytest.mark.slow
def test_period(capsys: Capture) -> None:
    arm = fa.load("stanford")
    found = document(capsys, "period", "stanford", "--stiffness", 900)
    w = control.natural_frequencies(arm, middle(arm), np.full(6, 900.0))
    assert found["frequencies"] == pytest.approx(list(w / (2.0 * math.pi)))
    assert found["period"] == pytest.approx(control.sampling_period(float(w[-1])))
    code, out, _ = run(capsys, "period", "puma560-akb", "--q", "0,-1.5,1,0,0,0", "--stiffness", "2,2,2,2,2,2")
    assert code == 0
    assert "unstable" in out
    assert "Hz" in out


@pytest.mark.slow
def test_a_load_from_tests(capsys: Capture, tmp_path: Path) -> None:
    arm = fa.load("panda")
    q = np.random.default_rng(3).uniform(-1.0, 1.0, (40, 7)) + middle(arm)
    tau = fa.dynamics.gravity(arm, q) + np.random.default_rng(4).uniform(-4.0, 4.0, (40, 7))
    qdd = fa.dynamics.forward(arm.with_payload(mass=1.3, com=(0.02, -0.01, 0.08)), q, np.zeros_like(q), tau)
    columns = {
        f"{name}{i + 1}": block[:, i]
        for name, block in (("q", q), ("tau", tau), ("qdd", qdd))
        for i in range(7)
    }
    write_table(tmp_path / "tests.csv", columns)
    found = document(capsys, "payload", "panda", tmp_path / "tests.csv", "--shape", "point")
    assert found["mass"] == pytest.approx(1.3, rel=1e-6)
    assert found["com"] == pytest.approx([0.02, -0.01, 0.08], abs=1e-6)
    code, out, _ = run(capsys, "payload", "panda", tmp_path / "tests.csv", "--mass", 1.3, "--noise-qdd", 0.01)
    assert code == 0
    assert "nearest body" in out
    write_table(tmp_path / "few.csv", {k: v for k, v in columns.items() if not k.startswith("qdd")})
    assert "no columns for qdd" in refused(capsys, "control", "payload", "panda", tmp_path / "few.csv")


@pytest.mark.slow
def test_a_log_against_the_model(capsys: Capture, tmp_path: Path) -> None:
    arm = fa.load("stanford")
    made = control.run(arm, control.PD(arm), control.default_motion(arm, 1.0), period=2e-3)
    table = (
        {"t": made.t}
        | {f"q{i + 1}": made.q[:, i] for i in range(6)}
        | {f"tau{i + 1}": made.tau[:, i] for i in range(6)}
    )
    write_table(tmp_path / "log.csv", table)
    found = document(capsys, "log", "stanford", tmp_path / "log.csv")
    assert len(found["joints"]) == 6
    assert min(found["explained"][:3]) > 0.95
    code, out, _ = run(capsys, "log", "stanford", tmp_path / "log.csv", "--window", 0.03)
    assert code == 0
    assert "explained" in out
