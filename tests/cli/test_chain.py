"""What one command writes the next one reads: a plan, driven and controlled, held against the model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from cli.lines import Capture, called

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
    code, out, err = called(
        capsys, "simulate", "panda", "--torque-file", plan, "--linear", "--q", START, "--duration", "0.4"
    )
    assert code == 0
    assert "plan.csv: not read: q1, q2" in err


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz", "json"])
def test_a_controller_follows_a_plan_in_any_format(plan: str, ending: str, capsys: Capture) -> None:
    fa.plan(fa.load("panda"), plan).log.save(f"motion.{ending}")
    words = ["simulate", "panda", "--plan", f"motion.{ending}", "--controller", "computed_torque", "--json"]
    code, out, _ = called(capsys, *words, "--encoder-bits", "16", "--to", "run.npz")
    assert code == 0
    ended = json.loads(out)
    assert ended["controller"] == "computed torque"
    assert ended["hand_largest"] < 1e-3
    run = fa.load_simulation("run.npz")
    assert isinstance(run, fa.control.Run)
    assert len(run.t) == len(run.tau) == len(run.wanted[0]) == len(run.asked)


def test_a_run_is_followed_by_another_controller(plan: str, capsys: Capture) -> None:
    words = ["simulate", "panda", "--plan", plan, "--controller", "computed_torque", "--json"]
    code, out, _ = called(capsys, *words, "--to", "run.npz")
    assert code == 0
    ended = json.loads(out)
    again = ["control", "run", "panda", "run.npz", "--controller", "PD + gravity", "--json"]
    code, out, err = called(capsys, *again)
    assert code == 0
    assert json.loads(out)["hand_largest"] > ended["hand_largest"]
    assert "run.npz: tau: computed for this arm from q, qd and qdd, not read." in err


def test_a_run_is_held_against_the_model_and_tells_the_payload(capsys: Capture, tmp_path: Path) -> None:
    arm = fa.load("panda")
    t = np.arange(0.0, 6.0, 2e-3)
    w = np.linspace(1.0, 2.5, 7)
    q = np.array([0.0, -0.3, 0.0, -1.8, 0.0, 1.8, 0.7]) + 0.3 * np.sin(w * t[:, None])
    motion = fa.plan(arm, fa.MotionLog(tuple(j.name for j in arm.joints), t, q))
    motion.save(tmp_path / "motion.parquet")
    path = str(tmp_path / "motion.parquet")
    code, _, _ = called(
        capsys, "control", "run", "panda", path, "--payload", "0.8", "--to", str(tmp_path / "log.csv")
    )
    assert code == 0
    log = str(tmp_path / "log.csv")
    code, out, _ = called(capsys, "control", "log", "panda", log, "--json")
    assert code == 0
    assert max(json.loads(out)["rms"]) > 1.0
    code, out, _ = called(capsys, "control", "payload", "panda", "--log", log, "--shape", "point", "--json")
    assert code == 0
    assert json.loads(out)["mass"] == pytest.approx(0.8, rel=0.02)


def test_a_request_becomes_a_controlled_motion_by_one_command(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Waters Fig. 1."""
    monkeypatch.chdir(tmp_path)
    text = 'schema = "forearm-request/1"\n[limits]\nacceleration = 3.0\n'
    text += "".join(
        f"[[waypoint]]\nq = [{k * 0.2}, 0.6, -1.2, 0.1, {0.3 + 0.1 * k}, 0.0]\n" for k in range(3)
    )
    Path("request.toml").write_text(text, encoding="utf-8")
    words = [
        "control",
        "run",
        "puma560",
        "request.toml",
        "--to",
        "run.npz",
        "--plot",
        "run.png",
        "--html",
        "run.html",
    ]
    code, out, _ = called(capsys, *words)
    assert code == 0
    assert "under computed torque, sampled every 1 ms" in out
    assert "wrote run.npz\nwrote run.png\nwrote run.html" in out


def test_a_controller_that_is_not_there_is_answered_with_those_there_are(plan: str, capsys: Capture) -> None:
    code, _, err = called(capsys, "simulate", "panda", "--plan", plan, "--controller", "computed_torqe")
    assert code == 2
    assert "controller: unknown name 'computed_torqe'; did you mean 'computed torque'" in " ".join(
        err.split()
    )
    code, _, err = called(
        capsys, "simulate", "panda", "--plan", plan, "--controller", "computed torque, counterbalanced"
    )
    assert code == 2
    assert "it needs a modified arm" in err


def test_voltages_both_ways(capsys: Capture) -> None:
    arm = fa.load("cmu-dd")
    q, qd, qdd = (0.1 * np.arange(1, 7) for _ in range(3))
    given = [f"--{x}={','.join(map(repr, v.tolist()))}" for x, v in (("q", q), ("qd", qd), ("qdd", qdd))]
    code, out, _ = called(capsys, "inverse", "cmu-dd", *given, "--json")
    assert code == 0
    volts = json.loads(out)["voltage"]
    np.testing.assert_allclose(volts, fa.drives.voltage_of(arm, fa.dynamics.inverse(arm, q, qd, qdd), qd))
    code, out, _ = called(
        capsys, "forward", "cmu-dd", *given[:2], f"--voltage={','.join(map(repr, volts))}", "--json"
    )
    assert code == 0
    np.testing.assert_allclose(json.loads(out)["qdd"], qdd, atol=1e-9)
    code, _, err = called(capsys, "forward", "cmu-dd", "--voltage", "1,1,1,1,1,1", "--tau", "1,1,1,1,1,1")
    assert code == 2
    assert "--voltage: it replaces --tau" in err


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


@pytest.mark.parametrize("ending", ["npz", "json", "csv", "parquet"])
def test_torques_of_a_plan_come_out_of_its_table(plan: str, ending: str, capsys: Capture) -> None:
    arm = fa.load("panda")
    made = fa.plan(arm, plan)
    made.log.save(f"motion.{ending}")
    code, out, _ = called(
        capsys, "inverse", "panda", "--from", f"motion.{ending}", "--to", "tau.csv", "--json"
    )
    assert code == 0
    assert json.loads(out)["rows"] == len(made.t)
    name = "tau" if ending in ("npz", "json") else "tau_model"
    header, *rows = Path("tau.csv").read_text(encoding="utf-8").splitlines()
    place = header.split(",").index(f"{name}3")
    found = np.array([float(row.split(",")[place]) for row in rows])
    np.testing.assert_allclose(found, made.tau[:, 2], rtol=0.0, atol=1e-9)
    code, _, _ = called(capsys, "forward", "panda", "--from", f"motion.{ending}")
    assert code == 0


def test_degrees_and_other_names_in_a_file_of_states(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    angles = [10.0, -30.0, 5.0, -90.0, 20.0, 80.0, 40.0]
    path.write_text(",".join(f"winkel{k}" for k in range(7)) + "\n" + ",".join(map(repr, angles)) + "\n")
    words = ["inverse", "panda", "--from", str(path), "--columns", "winkel=q", "--json"]
    code, _, err = called(capsys, *words)
    assert code == 2
    assert "Are these degrees? Set units to deg" in " ".join(err.split())
    code, out, _ = called(capsys, *words, "--units", "deg")
    assert code == 0
    right = fa.dynamics.gravity(fa.load("panda"), np.radians(angles))
    np.testing.assert_allclose(json.loads(out)["max"], right, rtol=0.0, atol=1e-9)
    assert called(capsys, *words, "--units", "rad")[0] == 0


def test_a_run_is_kept_as_json_too(plan: str, capsys: Capture) -> None:
    words = ["simulate", "panda", "--plan", plan, "--controller", "PD + gravity", "--to", "run.json"]
    assert called(capsys, *words)[0] == 0
    log = fa.read_motion(fa.load("panda"), "run.json")
    assert {"q", "tau", "wanted_q", "measured_q", "asked"} <= log.blocks.keys()
    assert called(capsys, "control", "log", "panda", "run.json")[0] == 0
