"""What one command writes the next one reads: a plan, driven and controlled, held against the model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from cli.lines import Capture, called, document, refused

import forearm as fa
from forearm.cli.main import main

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::forearm.errors.ForearmWarning")]
START, END = "0,-0.5,0,-2,0,1.5,0.7", "0.5,0.2,0.3,-1.5,0.2,1.8,0.2"


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("planned") / "plan.csv"
    assert main(["plan", "panda", "--q", START, "--to", END, "-o", str(path)]) == 0
    return path


@pytest.fixture
def plan(planned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return shutil.copy(planned, "plan.csv")


def test_a_plan_drives_the_arm_by_its_torques(plan: str, capsys: Capture) -> None:
    code, out, err = called(capsys, "simulate", "panda", "--plan", plan, "--json", "--method", "rk4")
    assert code == 0
    assert "plan.csv: tau: computed for this arm from q, qd and qdd, not read." in " ".join(err.split())
    ended = json.loads(out)
    assert ended["t"] == pytest.approx(fa.plan(fa.load("panda"), plan).duration)
    np.testing.assert_allclose(ended["q"], [float(x) for x in END.split(",")], atol=0.01)
    code, _, err = called(
        capsys, "simulate", "panda", "--torque-file", plan, "--linear", "--q", START, "--duration", "0.01"
    )
    assert code == 0
    assert "plan.csv: not read: q1, q2" in err


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz", "json"])
def test_a_plan_in_any_format_is_followed_and_its_torques_come_out_of_it(
    plan: str, ending: str, capsys: Capture
) -> None:
    file, made = f"motion.{ending}", fa.plan(fa.load("panda"), plan)
    made.log.save(file)
    words = ("simulate", "panda", "--plan", file, "--controller", "computed_torque")
    ended = document(capsys, *words, "--encoder-bits", "16", "--to", "run.npz")
    assert ended["controller"] == "computed torque"
    assert ended["hand_largest"] < 1e-3
    run = fa.load_simulation("run.npz")
    assert isinstance(run, fa.control.Run)
    assert len(run.t) == len(run.tau) == len(run.wanted[0]) == len(run.asked)
    assert document(capsys, "inverse", "panda", "--from", file, "--to", "tau.csv")["rows"] == len(made.t)
    name = "tau" if ending in ("npz", "json") else "tau_model"
    header, *rows = Path("tau.csv").read_text(encoding="utf-8").splitlines()
    place = header.split(",").index(f"{name}3")
    found = np.array([float(row.split(",")[place]) for row in rows])
    np.testing.assert_allclose(found, made.tau[:, 2], rtol=0.0, atol=1e-9)
    assert called(capsys, "forward", "panda", "--from", file)[0] == 0


def test_a_run_is_followed_by_another_controller_and_held_against_the_model(
    plan: str, capsys: Capture
) -> None:
    words = ("simulate", "panda", "--plan", plan, "--controller", "computed_torque", "--to", "run.npz")
    ended = document(capsys, *words)
    words = ("control", "run", "panda", "run.npz", "--controller", "PD + gravity", "--to", "run.json")
    code, out, err = called(capsys, *words, "--json")
    assert code == 0
    assert json.loads(out)["hand_largest"] > ended["hand_largest"]
    assert "run.npz: tau: computed for this arm from q, qd and qdd, not read." in " ".join(err.split())
    log = fa.read_motion(fa.load("panda"), "run.json")
    assert {"q", "tau", "wanted_q", "measured_q", "asked"} <= log.blocks.keys()
    assert called(capsys, "control", "log", "panda", "run.json")[0] == 0


def test_a_run_tells_the_payload(capsys: Capture, tmp_path: Path) -> None:
    arm, log = fa.load("panda"), tmp_path / "log.csv"
    t = np.arange(0.0, 3.0, 4e-3)
    w = np.linspace(1.0, 2.5, 7)
    q = np.array([0.0, -0.3, 0.0, -1.8, 0.0, 1.8, 0.7]) + 0.3 * np.sin(w * t[:, None])
    motion = fa.plan(arm, fa.MotionLog(tuple(j.name for j in arm.joints), t, q))
    motion.save(tmp_path / "motion.parquet")
    words = ("control", "run", "panda", tmp_path / "motion.parquet", "--payload", "0.8", "--to", log)
    assert called(capsys, *words)[0] == 0
    assert max(document(capsys, "control", "log", "panda", log)["rms"]) > 1.0
    found = document(capsys, "control", "payload", "panda", "--log", log, "--shape", "point")
    assert found["mass"] == pytest.approx(0.8, rel=0.02)


def test_a_request_becomes_a_controlled_motion_by_one_command(plan: str, capsys: Capture) -> None:
    """Waters Fig. 1."""
    text = 'schema = "forearm-request/1"\n[limits]\nacceleration = 3.0\n'
    text += "".join(
        f"[[waypoint]]\nq = [{k * 0.1}, 0.6, -1.2, 0.1, {0.3 + 0.1 * k}, 0.0]\n" for k in range(3)
    )
    Path("request.toml").write_text(text, encoding="utf-8")
    more = ("--to", "run.npz", "--plot", "run.png", "--html", "run.html")
    code, out, _ = called(capsys, "control", "run", "puma560", "request.toml", *more)
    assert code == 0
    assert "under computed torque, sampled every 1 ms" in out
    assert "wrote run.npz\nwrote run.png\nwrote run.html" in out


def test_a_controller_that_is_not_there_is_answered_with_those_there_are(plan: str, capsys: Capture) -> None:
    for name, said in (
        ("computed_torqe", "controller: unknown name 'computed_torqe'; did you mean 'computed torque'"),
        ("computed torque, counterbalanced", "it needs a modified arm"),
    ):
        assert said in refused(capsys, "simulate", "panda", "--plan", plan, "--controller", name)


def test_voltages_both_ways(capsys: Capture) -> None:
    arm = fa.load("cmu-dd")
    q, qd, qdd = (0.1 * np.arange(1, 7) for _ in range(3))
    given = [f"--{x}={','.join(map(repr, v.tolist()))}" for x, v in (("q", q), ("qd", qd), ("qdd", qdd))]
    volts = document(capsys, "inverse", "cmu-dd", *given)["voltage"]
    np.testing.assert_allclose(volts, fa.drives.voltage_of(arm, fa.dynamics.inverse(arm, q, qd, qdd), qd))
    found = document(capsys, "forward", "cmu-dd", *given[:2], f"--voltage={','.join(map(repr, volts))}")
    np.testing.assert_allclose(found["qdd"], qdd, atol=1e-9)


def test_drives_are_given_at_the_prompt(tmp_path: Path, capsys: Capture) -> None:
    target = tmp_path / "arm.toml"
    words = ["--motor", "gear_ratio=50,rotor_inertia=1e-4", "--friction", "coulomb=2,viscous=0.5"]
    more = ["--friction", "joint2: viscous=0.7, side=motor", "--motor", "joint3:max_current=4"]
    assert called(capsys, "convert", "panda", str(target), *words, *more)[0] == 0
    arm = fa.load(target)
    friction, motors = [j.friction for j in arm.joints], [j.motor for j in arm.joints]
    assert all(f is not None and f.coulomb == (2.0, -2.0) for f in friction)
    assert [f.viscous for f in friction if f] == [0.5, 0.7, 0.5, 0.5, 0.5, 0.5, 0.5]
    assert [f.side for f in friction if f][:3] == ["joint", "motor", "joint"]
    assert all(m is not None and (m.gear_ratio, m.rotor_inertia) == (50.0, 1e-4) for m in motors)
    assert [m.max_current for m in motors if m][:3] == [None, None, 4.0]


def test_degrees_and_other_names_in_a_file_of_states(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    angles = [10.0, -30.0, 5.0, -90.0, 20.0, 80.0, 40.0]
    path.write_text(",".join(f"winkel{k}" for k in range(7)) + "\n" + ",".join(map(repr, angles)) + "\n")
    words = ("inverse", "panda", "--from", path, "--columns", "winkel=q")
    assert "Are these degrees? Set units to deg" in refused(capsys, *words)
    right = fa.dynamics.gravity(fa.load("panda"), np.radians(angles))
    found = document(capsys, *words, "--units", "deg")
    np.testing.assert_allclose(found["max"], right, rtol=0.0, atol=1e-9)
    assert called(capsys, *words, "--units", "rad")[0] == 0
