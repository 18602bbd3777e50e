"""`forearm simulate` and `forearm sim` as a user meets them."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.lines import Capture, called, refused
from cli.lines import document as document_of

import forearm as fa
from forearm.drives import DAC
from forearm.simulation import Accuracy, Sampling, Schedule, load_simulation, simulate

Q = [0.1, -0.4, 0.7, 0.3, -0.9, 0.5]
QD = [0.2, 0.3, -0.5, 0.7, 1.1, -1.3]
VOLTAGE = [1.3, 8.1, -1.1, 4.7, 0.6, -0.9]
STATE = ("--q", ",".join(map(str, Q)), "--qd", ",".join(map(str, QD)))
VOLTS = ("--voltage", ",".join(map(str, VOLTAGE)))
# of the arm and the gravity of `sim`, before anything is computed
SAID_OF_CMU = (
    "note: cmu-dd: 6 joints (joint1, joint2, joint3, joint4, joint5, joint6); gravity = -9.80621: z of the "
    "base points down; gravity is that of the session, -9.80621; that of the arm file is 9.80621: "
    "'gravity = 9.80621' sets it"
)
SCHEDULE = "t,u1,u2,u3,u4,u5,u6\n0,1,8,1,7,1,1\n0.01,2,7,0.5,6,-0.5,0.25\n0.03,0,0,0,0,0,0\n"


def run(capsys: Capture, *arguments: object) -> tuple[int, str, str]:
    code, out, err = called(capsys, *arguments)
    return code, out, " ".join(err.split())


def document(capsys: Capture, *arguments: object) -> Any:
    return document_of(capsys, "simulate", *arguments)


def same_end(shown: Any, run: fa.Simulation) -> None:
    for name in ("q", "qd", "qdd", "tau"):
        assert shown[name] == getattr(run, name)[-1].tolist()
    assert shown["t"] == run.t[-1]
    assert shown["rows"] == len(run.t)
    assert shown["energy"] == {name: column[-1] for name, column in run.energy.items()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ((), {}),
        (VOLTS, {"voltage": VOLTAGE}),
        (("--torque", "1,2,3,4,0.5,-0.6"), {"torque": [1.0, 2.0, 3.0, 4.0, 0.5, -0.6]}),
        (
            (*VOLTS, "--method", "rk4", "--step", "0.002", "--record", "5"),
            {"voltage": VOLTAGE, "method": "rk4", "step": 0.002, "sampling": Sampling(record=5)},
        ),
        (
            (*VOLTS, "--method", "dp45", "--rtol", "1e-8", "--atol", "1e-10"),
            {"voltage": VOLTAGE, "method": "dp45", "accuracy": Accuracy(1e-8, 1e-10)},
        ),
        (
            (*VOLTS, "--dac-period", "0.002", "--dac-bits", "8", "--dac-range", "5", "--dac-gain", "2"),
            {"voltage": VOLTAGE, "sampling": Sampling(DAC(0.002, 8, 5.0, 2.0))},
        ),
    ],
)
def test_it_is_fa_simulate(options: tuple[str, ...], arguments: dict[str, Any], capsys: Capture) -> None:
    shown = document(capsys, "cmu-dd", "--duration", "0.04", *STATE, *options)
    same_end(shown, simulate(fa.load("cmu-dd"), Q, QD, 0.04, **arguments))
    assert shown["message"] == "the end was reached"


@pytest.mark.slow
def test_schedule_files_drive(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "u.csv"
    path.write_text(SCHEDULE, encoding="utf-8")
    arm, given = fa.load("cmu-dd"), ("cmu-dd", "--duration", "0.03")
    shown = document(capsys, *given, "--voltage-file", path)
    same_end(shown, simulate(arm, [0.0] * 6, [0.0] * 6, 0.03, voltage=Schedule.read(path, arm, how="hold")))
    shown = document(capsys, *given, "--torque-file", path, "--linear")
    same_end(shown, simulate(arm, [0.0] * 6, [0.0] * 6, 0.03, torque=Schedule.read(path, arm, how="linear")))


@pytest.mark.slow
def test_degrees_and_rigid_and_limits(capsys: Capture) -> None:
    arm = fa.load("cmu-dd").rigid()
    shown = document(
        capsys, "cmu-dd", "--duration", "0.01", "--q", "10,20,30,-40,50,60", "--degrees", "--rigid"
    )
    same_end(shown, simulate(arm, np.radians([10.0, 20.0, 30.0, -40.0, 50.0, 60.0]), [0.0] * 6, 0.01))
    assert shown["voltage"] is None
    stopped = document(
        capsys, "cmu-dd", "--duration", "1", "--q", "0,0,0,0,0,1.8", "--qd", "0,0,0,0,0,2", "--stops"
    )
    assert stopped["t"] < 0.1
    assert [event["kind"] for event in stopped["events"]] == ["stop"]
    assert stopped["events"][0]["joint"] == "joint6"


@pytest.mark.slow
def test_a_file_of_inputs_ends_with_its_last_row(tmp_path: Path, capsys: Capture) -> None:
    file, npz = tmp_path / "volts.csv", tmp_path / "run.npz"
    file.write_text(SCHEDULE, encoding="utf-8")
    given = ("cmu-dd", *STATE, "--voltage-file", file)
    ended = document(capsys, *given, "--to", npz)
    assert ended["t"] == 0.03
    assert ended["q"] == document(capsys, *given, "--duration", "0.03")["q"]
    assert "--duration: the last row of the file is at 0.03 s, the simulation begins at 0.03 s" in refused(
        capsys, "simulate", "cmu-dd", "--voltage-file", file, "--continue", npz
    )
    file.write_text(SCHEDULE + "0.05,1,1,1,1,1,1\n", encoding="utf-8")
    longer = document(capsys, "cmu-dd", "--voltage-file", file, "--continue", npz)
    assert longer["t"] == pytest.approx(0.05)


@pytest.mark.slow
def test_continued_it_is_one_longer_run(tmp_path: Path, capsys: Capture) -> None:
    half, whole = tmp_path / "half.npz", tmp_path / "whole.npz"
    fixed = (*STATE, *VOLTS, "--method", "rk4", "--step", "0.002")
    document(capsys, "cmu-dd", "--duration", "0.02", *fixed, "--to", half)
    shown = document(capsys, "cmu-dd", "--duration", "0.03", *VOLTS, "--continue", half, "--to", whole)
    once = simulate(fa.load("cmu-dd"), Q, QD, 0.05, voltage=VOLTAGE, method="rk4", step=0.002)
    joined = load_simulation(whole)
    assert shown["method"] == "rk4"
    assert np.array_equal(joined.q, once.q)
    assert np.array_equal(joined.qd, once.qd)
    assert joined.t == pytest.approx(once.t, rel=1e-14)
    for name, column in once.energy.items():
        assert joined.energy[name] == pytest.approx(column, rel=1e-12, abs=1e-12)


@pytest.mark.slow
def test_files_are_written_and_the_table_tells(tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("matplotlib")
    csv, png, html = (tmp_path / name for name in ("m.csv", "m.png", "m.html"))
    given = ("--duration", "0.02", "--q", "0,0.1,0.4,0,0,0", "--to", csv, "--plot", png, "--html", html)
    code, out, err = run(capsys, "simulate", "stanford", *given)
    assert (code, err) == (0, "")
    assert out.startswith("stanford at 0.02 s, by rk3 in steps of 0.001 s, 21 samples: the end was reached\n")
    for piece in ("joint3", "m, N", "energy, J: kinetic", *(f"wrote {path}\n" for path in (csv, png, html))):
        assert piece in out
    assert csv.read_text(encoding="utf-8").startswith("t,q1,")
    assert len(csv.read_text(encoding="utf-8").splitlines()) == 22
    assert png.read_bytes().startswith(b"\x89PNG")
    assert "<html" in html.read_text(encoding="utf-8").lower()


@pytest.mark.slow
def test_divergence_is_told_and_not_gone_on_with(tmp_path: Path, capsys: Capture) -> None:
    given, path = ("simulate", "cmu-dd", "--duration", "1"), tmp_path / "run.npz"
    fast = (*given, "--step", "0.1", "--qd", ",".join(["1e9"] * 6))
    code, out, err = run(capsys, *fast)
    assert code == 1
    assert err.startswith("forearm: joint")
    assert "use smaller steps" in err
    assert "diverged" in out
    code, out, err = run(capsys, *fast, "--to", path, "--json")
    assert code == 1
    assert " overflowed; " in err
    assert json.loads(out)["status"] == "diverged"
    assert "--continue: that run failed" in refused(capsys, *given, "--continue", path)


@pytest.mark.slow
def test_inductance_and_gain_of_the_arm_file(tmp_path: Path, capsys: Capture) -> None:
    path, given = tmp_path / "wound.toml", ("--duration", "0.01", *VOLTS)
    fa.load("cmu-dd").with_drives(motor={"amplifier_gain": 4.0, "inductance": 1e-3}).save(path)
    wound = document(capsys, path, *given, "--method", "dp45")
    assert wound["energy"]["field"] > 0.0
    assert max(map(abs, wound["drives"]["current"])) > 0.0
    plain = document(capsys, path, *given, "--no-inductance")
    assert plain["q"] == document(capsys, "cmu-dd", *given)["q"]
    assert "--dac-gain: motors of 'cmu-dd' have an amplifier_gain in the arm file" in refused(
        capsys, "simulate", path, "--duration", "0.01", "--dac-gain", "1"
    )


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


@pytest.mark.slow
def test_sim_reads_a_pipe_without_prompts(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, "gravity\nsimulate\nnew\nyes\n5\n")
    code, out, err = run(capsys, "sim")
    assert (code, err) == (0, SAID_OF_CMU)
    assert out.startswith("gravity = -9.80621  # m/s^2\n0.005 s, 6 samples")
    typed(monkeypatch, "gravity\ntheta = 1\ngravity\n")
    code, out, err = run(capsys, "sim")
    assert (code, out) == (2, "gravity = -9.80621  # m/s^2\n")
    assert err.startswith(f"{SAID_OF_CMU} forearm: line 2: theta: expected 6 numbers")


@pytest.mark.slow
def test_sim_reads_a_script_and_gives_json(tmp_path: Path, capsys: Capture) -> None:
    script = tmp_path / "session.txt"
    script.write_text("\ufeff# on another arm\ntheta = 0.3 -0.2\ngravity\nsim new no 5\n", encoding="utf-8")
    code, out, _ = run(capsys, "sim", "ascher2", "--script", script, "--json")
    assert code == 0
    shown = json.loads(out)
    arm = fa.load("ascher2").replace(gravity=(0.0, 0.0, 9.80621))
    assert shown["q"] == simulate(arm, [0.3, -0.2], [0.0, 0.0], 0.005).q[-1].tolist()
    assert (shown["name"], shown["voltage"], shown["simulation"]["rows"]) == ("ascher2", None, 6)
    assert shown["printed"][0] == "gravity = -9.80621  # m/s^2"
    assert run(capsys, "sim", "--script", tmp_path / "absent.txt")[0] == 2
    script.write_text("nonsense\n", encoding="utf-8")
    assert run(capsys, "sim", "--script", script, "--json")[:2] == (2, "")


def test_sim_takes_the_converter_s_options(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, "voltage = 3 0 0 0 0 0\nDACOut\n")
    code, out, _ = run(capsys, "sim", "--dac-gain", "2")
    assert (code, out) == (0, "DACOut = 1.5 0 0 0 0 0  # V\n")


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])  # as in UTF-8 locales, and in C
def test_sim_refuses_bytes_that_are_no_text(
    errors: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = io.TextIOWrapper(io.BytesIO(b"\xff\xfe\n"), encoding="utf-8", errors=errors)
    monkeypatch.setattr("sys.stdin", given)
    code, out, err = called(capsys, "sim")
    assert (code, out) == (2, "")
    assert err.endswith("\nforearm: line 1: the input is not UTF-8 text; write the script as plain text.\n")


def read_until(terminal: int, end: bytes) -> bytes:
    """What a terminal shows up to some words; a program that does not come to them in time is a failure."""
    shown = b""
    deadline = time.monotonic() + 30.0
    while end not in shown:
        ready = select.select([terminal], [], [], max(deadline - time.monotonic(), 0.0))[0]
        assert ready, f"{end!r} never came; shown was {shown!r}"
        shown += os.read(terminal, 4096)
    return shown


@pytest.mark.slow
def test_sim_at_a_terminal_prompts_and_survives_errors() -> None:
    ours, theirs = pty.openpty()
    program = [sys.executable, "-m", "forearm.cli.main", "sim"]
    environment = os.environ | {"TERM": "dumb", "COLUMNS": "100"}
    with subprocess.Popen(program, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        try:
            said = read_until(ours, b"sim> ")
            assert b"cmu-dd: 6 joints" in said
            assert b"that of the arm file is 9.80621: 'gravity = 9.80621' sets it" in said
            for typed_in, answer, prompt in (
                (b"nonsense\n", b"unknown command or variable 'nonsense'", b"sim> "),
                (b"gravi\t\n", b"gravity = -9.80621", b"sim> "),
                (b"simulate\n", b"new or continue", b"(new or continue) "),
                (b"new\n", b"zero first", b"(yes or no) "),
                (b"\x04", b"the input ended before an answer to", b"sim> "),
            ):
                os.write(ours, typed_in)
                assert answer in read_until(ours, prompt)
            os.write(ours, b"quit\n")
            assert process.wait(timeout=60) == 0
        finally:
            process.kill()
            os.close(ours)
            os.close(theirs)
