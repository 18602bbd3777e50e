"""`forearm control` as a user meets it: the comparison, savings, a load, a log, mistakes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import forearm as fa
from forearm import control
from forearm.cli.main import main
from forearm.kinematics.limits import middle
from forearm.logs.table import write_table
from forearm.plots.control import comparison_figure
from forearm.trajectories import hand_line

Capture = pytest.CaptureFixture[str]
SMALL = "stanford-dhanaraj3"  # three joints
QUICK = ("--period", "0.01", "--duration", "0.5", "--only", "computed torque", "--only", "PD + gravity")


def run(capsys: Capture, *arguments: object) -> tuple[int, str, str]:
    code = main(["control", *(str(word) for word in arguments)])
    out, err = capsys.readouterr()
    return code, out, " ".join(err.split())


def document(capsys: Capture, *arguments: object) -> Any:
    code, out, err = run(capsys, *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def refused(capsys: Capture, *arguments: object) -> str:
    try:
        code, _, err = run(capsys, *arguments)
    except SystemExit as end:
        code, err = int(str(end.code)), " ".join(capsys.readouterr().err.split())
    assert code == 2
    return err


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


@pytest.mark.slow
def test_which_controller_runs_is_told(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[float, float, str]] = []
    bar = "forearm.cli.control_compare.ProgressBar.__call__"
    monkeypatch.setattr(bar, lambda _, *how_far: said.append(how_far))
    document(capsys, "compare", SMALL, *QUICK)
    assert said == [(0, 2, "computed torque"), (1, 2, "PD + gravity")]


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
def test_table_and_picture(capsys: Capture, tmp_path: Path) -> None:
    picture = tmp_path / "controllers.png"
    code, out, _ = run(capsys, "compare", SMALL, *QUICK, "--plot", picture)
    assert code == 0
    assert out.startswith(f"{SMALL}: motion of 0.5 s, sampling period 10 ms, bandwidth 31.4159 rad/s (5 Hz)")
    assert "computed torque" in out
    assert "kops/s" in out
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_labels_name_their_own_points() -> None:
    """A label is nearest to its own dot, or a line leads there that no other dot is on;
    points in one place share a label.
    """
    made = []
    for k, (rate, error) in enumerate(
        ((1e5, 1e-3), (1.02e5, 1.05e-3), (1.04e5, 1e-3), (1e5, 2e-3), (1e5, 2e-3), (3e5, 5e-3))
    ):
        made.append(
            control.Row(
                f"PD of some kind, {k}", 30.0, rate, 0.1, 0.2, error, error, 1.0, 0.0, 0.1, 4.0 * error, 0.0
            )
        )
    found = control.Comparison(fa.load("chain3"), 2.0, 1e-3, 30.0, 1.0, (1.0,) * 3, (), tuple(made))
    figure = comparison_figure(found)
    figure.draw_without_rendering()
    (axes,) = figure.axes
    labels = [text for text in axes.texts if text.get_text()]
    assert sorted(text.get_text() for text in labels if "\n" in text.get_text()) == [
        "PD of some kind, 3\nPD of some kind, 4"
    ]
    assert len(labels) == 5
    dots = {
        row.name: axes.transData.transform((row.operations_per_second, 1e3 * row.hand_rms)) for row in made
    }
    for text in labels:
        box = text.get_window_extent()
        names = text.get_text().split("\n")
        away = {
            n: math.hypot(max(box.x0 - x, 0, x - box.x1), max(box.y0 - y, 0, y - box.y1))
            for n, (x, y) in dots.items()
        }
        if text.arrow_patch is None:
            assert min(away, key=lambda n: away[n]) in names
            continue
        own, middle = dots[names[0]], np.array([0.5 * (box.x0 + box.x1), 0.5 * (box.y0 + box.y1)])
        for name in set(dots) - set(names):
            along = np.clip((dots[name] - own) @ (middle - own) / ((middle - own) @ (middle - own)), 0.0, 1.0)
            assert np.hypot(*(own + along * (middle - own) - dots[name])) > 4.0, (name, names)


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
    code, _, err = run(capsys, "compare", "puma560", *QUICK, "--to", "9,0,0,0,0,9")
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
    code, out, err = run(
        capsys, "compare", "chain3", "--period", 0.05, "--bandwidth", 250, "--only", "computed torque"
    )
    assert code == 0
    assert "nan" in out
    assert "computed torque: diverged at" in err
    found = document(
        capsys, "compare", "chain3", "--period", 0.05, "--bandwidth", 250, "--only", "computed torque"
    )
    assert found["controllers"][0]["rms"] is None


@pytest.mark.slow
def test_savings(capsys: Capture) -> None:
    found = document(capsys, "savings", "stanford", "--locked", 2)["savings"]
    same = control.savings(fa.load("stanford"), locked=2)
    assert [row["operations"] for row in found] == [s.operations for s in same]
    code, out, _ = run(capsys, "savings", "stanford")
    assert code == 0
    assert "3 joints locked" in out


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
    assert "no columns for qdd" in refused(capsys, "payload", "panda", tmp_path / "few.csv")


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "ACTION"),
        (("compar", "stanford"), "did you mean 'compare'"),
        (("compare", "stanford", "--perod", "1"), "--period"),
        (("compare", "stanford", "twice"), "too many"),
        (("compare", "stanford", "--only", "PI"), "PID + gravity"),
        (("compare", "stanford", "--q", "0,0,0,0,0,0"), "give --to or --line-to as well"),
        (("compare", "stanford", "--to", "0,0,0,0,0,0", "--line-to", "1,0,0"), "expected one of them"),
        (("compare", "stanford", "--line-to", "1,0"), "line-to"),
        (("compare", "puma560", "--line-to", "9,0,0"), "--line-to: the line cannot be followed"),
        (("compare", "stanford", "--tachometer-bits", "8"), "go together"),
        (("compare", "stanford", "--dac-bits", "8"), "--dac-range"),
        (("compare", "stanford", "--voltage", "--only", "PD"), "torque_constant"),
        (("compare", "stanford", "--delay", "3", "--only", "PD"), "from 0 to 1"),
        (
            ("compare", "stanford", "--error", "5", "--seed", "-1", "--only", "PD"),
            "seed: expected a whole number from 0",
        ),
        (("compare", "stanford", "--lever", "0.1", "--only", "PD"), "--accelerometer-step"),
        (("compare", "stanford", "--accelerometer-step", "-1", "--only", "PD"), "step"),
        (("savings", "stanford", "--locked", "9"), "from 0 to 5"),
        (("period", "chain3", "--stiffness", "1,2"), "3 finite numbers"),
        (("log", "stanford", "nowhere.csv"), "nowhere.csv"),
    ],
)
def test_mistakes_are_said(capsys: Capture, words: tuple[str, ...], text: str) -> None:
    assert text in refused(capsys, *words)
