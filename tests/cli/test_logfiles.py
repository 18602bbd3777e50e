"""`forearm inverse` and `forward` on files of many states: right numbers, clear refusals,
nothing left after a failure.
"""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli.lines import Capture, called
from sweeps import long

import forearm as fa
from forearm.cli import progress
from forearm.logs import csvfile, parquet

RNG = np.random.default_rng(11)
# The kernels and the reference round differently; torques here are up to some hundreds of N m.
CLOSE = 1e-9
QUANTITIES = {"inverse": ("q", "qd", "qdd"), "forward": ("q", "qd", "tau")}
MADE = {"inverse": "tau", "forward": "qdd"}
# Not ru_maxrss, which a process inherits from the one that started it.
PEAK = (
    "import sys; from forearm.cli.main import main; main(sys.argv[1:]); "
    "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
)
MOST = 300 * 1024  # kB


def table_of(command: str, n: int, rows: int, scale: float = 1.0) -> dict[str, Any]:
    columns = {"t": np.arange(rows) / 1000.0}
    return columns | {
        f"{x}{i + 1}": scale * RNG.uniform(-2.0, 2.0, rows) for x in QUANTITIES[command] for i in range(n)
    }


def write(path: Path, table: dict[str, Any]) -> None:
    if path.suffix == ".parquet":
        pq.write_table(pa.table(table), path)
        return
    rows = zip(*(np.asarray(column).tolist() for column in table.values()), strict=True)
    path.write_text(
        "\n".join([",".join(table), *(",".join(map(repr, row)) for row in rows)]) + "\n", encoding="utf-8"
    )


def read(path: Path) -> dict[str, Any]:
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        return {name: table[name].to_numpy() for name in table.column_names}
    names, *lines = path.read_text(encoding="utf-8").splitlines()
    numbers = np.array([[float(word) for word in line.split(",")] for line in lines])
    return dict(zip(names.split(","), numbers.T, strict=True))


def reference(command: str, arm: fa.Arm, table: dict[str, Any]) -> Any:
    states = [np.column_stack([table[f"{x}{i + 1}"] for i in range(arm.n)]) for x in QUANTITIES[command]]
    function = fa.dynamics.inverse if command == "inverse" else fa.dynamics.forward
    return np.array([function(arm, *state) for state in zip(*states, strict=True)])


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    write(path, table_of("inverse", 6, 30))
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "source", "target"),
    [("inverse", "log.csv", "out.parquet"), ("forward", "log.parquet", "out.csv")],
)
def test_every_row_is_what_the_reference_says(
    command: str, source: str, target: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csvfile, "BLOCK", 10_000)
    monkeypatch.setattr(parquet, "BLOCK", 64)
    arm = fa.load("stanford")
    table = table_of(command, arm.n, 300)
    write(tmp_path / source, table)
    code, out, err = called(
        capsys, command, "stanford", "--from", tmp_path / source, "--to", tmp_path / target, "--json"
    )
    assert (code, err) == (0, "")
    result = read(tmp_path / target)
    made = [f"{MADE[command]}{i + 1}" for i in range(arm.n)]
    assert list(result) == [*table, *made]
    assert all(np.array_equal(result[name], table[name]) for name in table)
    expected = reference(command, arm, table)
    computed = np.column_stack([result[name] for name in made])
    assert np.allclose(computed, expected, rtol=CLOSE, atol=CLOSE)
    document = json.loads(out)
    assert document["rows"] == 300
    assert np.allclose(document["max_abs"], np.abs(expected).max(axis=0), rtol=CLOSE)
    assert np.allclose(document["rms"], np.sqrt((expected**2).mean(axis=0)), rtol=CLOSE)
    assert document["max_abs_row"] == (np.abs(computed).argmax(axis=0) + 1).tolist()


def test_degrees_hold_for_turning_joints_and_forward_undoes_inverse(tmp_path: Path, capsys: Capture) -> None:
    arm = fa.load("stanford")
    table = table_of("inverse", 6, 20, scale=30.0)
    write(tmp_path / "log.csv", table)
    given = ("--degrees", "--from", tmp_path / "log.csv", "--to", tmp_path / "a.csv")
    assert called(capsys, "inverse", arm.name, *given)[0] == 0
    torques = read(tmp_path / "a.csv")
    turning = {str(i + 1) for i, j in enumerate(arm.joints) if j.kind == "revolute"}
    assert len(turning) == 5
    radians = {name: np.radians(v) if name != "t" and name[-1] in turning else v for name, v in table.items()}
    expected = reference("inverse", arm, radians)
    assert np.allclose(
        np.column_stack([torques[f"tau{i + 1}"] for i in range(6)]), expected, rtol=CLOSE, atol=CLOSE
    )
    write(tmp_path / "b.csv", {name: v for name, v in torques.items() if not name.startswith("qdd")})
    called(capsys, "forward", arm.name, "--degrees", "--from", tmp_path / "b.csv", "--to", tmp_path / "c.csv")
    back = read(tmp_path / "c.csv")
    assert all(np.allclose(back[f"qdd{i + 1}"], table[f"qdd{i + 1}"], atol=1e-6) for i in range(6))


@pytest.mark.slow
def test_rigid_leaves_motors_and_friction_out_and_pipes_do_as_files(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    arm, source, target = fa.load("puma560"), tmp_path / "log.csv", tmp_path / "out.csv"
    table = table_of("inverse", 6, 5)
    write(source, table)
    for words, expected in (((), arm), (("--rigid",), arm.rigid())):
        called(capsys, "inverse", "puma560", *words, "--from", source, "--to", target)
        result = read(target)
        computed = np.column_stack([result[f"tau{i + 1}"] for i in range(6)])
        assert np.allclose(computed, reference("inverse", expected, table), rtol=CLOSE, atol=CLOSE)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(source.read_bytes()), encoding="utf-8"))
    code, out, _ = called(capsys, "inverse", "puma560", "--rigid", "--from", "-", "--to", "-")
    assert (code, out) == (0, target.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_summary_without_a_target(log: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    code, out, err = called(capsys, "inverse", "ur5", "--from", log)
    assert (code, err) == (0, "")
    assert out.startswith(f"30 rows of {log} in ")
    for word in ("tau min", "rms", "|tau| max", "at row", "shoulder_pan_joint", "N m"):
        assert word in out
    assert sorted(p.name for p in log.parent.iterdir()) == ["log.csv"]


def test_numbers_too_large_to_compute_with_are_counted_not_hidden(tmp_path: Path, capsys: Capture) -> None:
    table = table_of("inverse", 6, 10)
    table["qd2"][3] = 1e200
    write(tmp_path / "log.csv", table)
    _, out, _ = called(capsys, "inverse", "ur5", "--from", tmp_path / "log.csv", "--json")
    document = json.loads(out)
    assert (document["rows"], document["not_finite"]) == (10, 1)
    assert all(np.isfinite(document["max_abs"]))
    _, out, _ = called(capsys, "inverse", "ur5", "--from", tmp_path / "log.csv")
    assert "Not finite: 1 rows, omitted below." in out


def test_a_log_without_rows_gives_no_figures(tmp_path: Path, capsys: Capture) -> None:
    write(tmp_path / "log.csv", table_of("inverse", 6, 0))
    code, out, _ = called(capsys, "inverse", "ur5", "--from", tmp_path / "log.csv")
    assert code == 0
    assert out.startswith("0 rows of ")
    _, out, _ = called(capsys, "inverse", "ur5", "--from", tmp_path / "log.csv", "--json")
    assert json.loads(out)["max_abs"] == [None] * 6


def test_a_fault_far_down_leaves_no_file(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csvfile, "BLOCK", 5_000)
    write(tmp_path / "log.csv", table_of("inverse", 6, 200))
    lines = (tmp_path / "log.csv").read_text(encoding="utf-8").splitlines()
    lines[150] = lines[150].replace(",", ",oops", 1)
    (tmp_path / "log.csv").write_text("\n".join(lines), encoding="utf-8")
    code, out, err = called(
        capsys, "inverse", "ur5", "--from", tmp_path / "log.csv", "--to", tmp_path / "out.csv"
    )
    assert (code, out) == (2, "")
    assert "log.csv, line 151, column 'q1': expected a finite number, got 'oops" in err
    assert [p.name for p in tmp_path.iterdir()] == ["log.csv"]


def test_measured_torques_are_not_overwritten(tmp_path: Path, capsys: Capture) -> None:
    write(tmp_path / "log.csv", table_of("inverse", 6, 3) | {"tau1": [1.0, 2.0, 3.0]})
    code, _, _ = called(
        capsys, "inverse", "ur5", "--from", tmp_path / "log.csv", "--to", tmp_path / "out.csv"
    )
    assert code == 0
    header = (tmp_path / "out.csv").read_text().splitlines()[0]
    assert header.endswith(",tau1," + ",".join(f"tau_model{k}" for k in range(1, 7)))
    assert called(capsys, "inverse", "ur5", "--from", tmp_path / "log.csv")[0] == 0


@pytest.mark.slow
def test_a_run_that_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    """Rows come through a pipe that stays open, so that the run is in the middle whenever it is stopped."""
    header, row = ",".join(f"q{i + 1}" for i in range(6)), "1,2,3,4,5,6\n"
    words = ["inverse", "ur5", "--from", "-", "--to", str(tmp_path / "out.csv")]
    process = subprocess.Popen(
        [sys.executable, "-m", "forearm.cli.main", *words],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(f"{header}\n{row * 10}")
    process.stdin.flush()
    deadline = time.monotonic() + 60.0
    while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(list(tmp_path.iterdir())) == 1, "a temporary file is there while it runs"
    process.terminate()
    _, err = process.communicate(timeout=60)
    assert process.returncode in (130, -signal.SIGINT)  # both are 130 to a shell
    assert "interrupted" in err
    assert list(tmp_path.iterdir()) == []


class Terminal(io.StringIO):
    """Standard error that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_shows_on_a_terminal_only(
    log: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.0)
    assert called(capsys, "inverse", "ur5", "--from", log)[2] == ""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    called(capsys, "inverse", "ur5", "--from", log)
    text = terminal.getvalue()
    assert "[########################] 100 %  30 rows, " in text
    assert text.endswith("\r\x1b[K"), "wiped out at the end"


def test_progress_line_says_what_is_known() -> None:
    line = progress.progress_line
    assert line(1.5, 6.0, "5,000 rows", 2.0) == "[######------------------]  25 %  5,000 rows, 6 s left"
    assert line(0.0, 6.0, "5,000 rows", 2.0) == "[------------------------]   0 %  5,000 rows"
    assert line(6.1, 6.0, "rounded up", 2.0) == "[########################] 100 %  rounded up, 0 s left"
    assert line(1.5, 0.0, "5,000 rows", 2.0) == "5,000 rows"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is read from /proc")
@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("log.parquet", "out.parquet"),
        *long([("log.csv", "out.csv"), ("log.csv", "out.parquet"), ("log.parquet", "out.csv")]),
    ],
)
def test_memory_stays_bounded_for_long_files(source: str, target: str, tmp_path: Path) -> None:
    """300,000 rows of 7 joints are 130 MB of text; the peak is measured by the process itself."""
    rows = 300_000
    write(tmp_path / source, table_of("inverse", 7, rows))
    words = ["inverse", "panda", "--from", str(tmp_path / source), "--to", str(tmp_path / target), "--json"]
    done = subprocess.run([sys.executable, "-c", PEAK, *words], capture_output=True, text=True, check=True)
    document, peak = done.stdout.rsplit("}\n", 1)
    assert json.loads(f"{document}}}")["rows"] == rows
    assert os.path.getsize(tmp_path / target) > 0
    assert int(peak) < MOST
