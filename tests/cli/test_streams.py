"""What a command writes where: JSON alone, nothing for terminals into pipes, every encoding,
readers that have gone.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli.lines import LINES, SAMPLE, Capture, called, document, make_files, process, refused, strict_json
from reproduced import reproduced

from forearm.cli.main import main

# Code, Swartz's words, a folder, tables that Python gives too.
AS_WRITTEN = ("generate", "completion", "sim", "cache", "control log", "control payload")
FULL = Path("/dev/full")
# What writes and where that stands in --json.
WRITING = {
    "info --plot a.png": ("a.png",),
    "convert": ("out.toml",),
    "plan -o a.csv --plot a.svg": ("a.csv", "a.svg"),
    "plan --phase p.png --joint 1": ("p.png",),
    "simulate -o a.npz --plot a.png --html a.html": ("a.npz", "a.png", "a.html"),
    "control compare --plot a.png": ("a.png",),
    "control log --plot a.pdf": ("a.pdf",),
    "generate -o made": ("made/ascher2_inverse_dynamics.c", "made/ascher2_inverse_dynamics.h"),
    "schedule --plot a.png --layers b.png": ("a.png", "b.png"),
    "precision --plot a.png": ("a.png",),
    "parts --update arm.toml": ("arm.toml",),
    "inverse --from states.csv --to tau.csv": ("tau.csv",),
    "inverse --from states.csv -o tau.parquet": ("tau.parquet",),
}


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("forearm.cli.precision.POSTURES", 20)
    monkeypatch.setattr("forearm.cli.reproduce.reproduce", lambda document, _: reproduced(document))
    make_files(tmp_path)
    (tmp_path / "states.csv").write_text("q1,q2\n0.1,0.2\n0.3,0.4\n", encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLE)
def test_a_narrow_terminal_and_ascii_are_enough_and_json_is_one_document(
    name: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the stream cannot take is written as \\xe9; nothing is for terminals where nobody looks."""
    monkeypatch.setenv("COLUMNS", "40")
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True) for _ in range(2)]
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", streams[0])
        patch.setattr("sys.stderr", streams[1])
        assert main([*name.split(), *LINES[name]]) == 0
    out, err = (stream.buffer.getvalue().decode("ascii") for stream in streams)
    assert out
    assert name in AS_WRITTEN or [line for line in out.splitlines() if len(line) > 40] == []
    assert not any(letter in out + err for letter in "\x1b\r\b\a")
    found = document(capsys, *name.split(), *LINES[name])
    assert isinstance(found, dict)
    assert found


def test_json_of_numbers_beyond_all_bounds(capsys: Capture) -> None:
    fast, push = ",".join(["1e30"] * 6), "1e30,0,0,0,0,0"
    code, out, err = called(capsys, "inverse", "puma560", "--qd", fast, "--qdd", push, "--json")
    assert (code, out == "", "forearm: " in err) == (2, True, True) or len(strict_json(out)["tau"]) == 6


def _line(line: str) -> list[str]:
    name = next(name for name in sorted(LINES, key=len, reverse=True) if line.startswith(name))
    return [*name.split(), *LINES[name], *line.removeprefix(name).split()]


@pytest.mark.sweep(first=4)
@pytest.mark.slow
@pytest.mark.parametrize(("line", "paths"), WRITING.items())
def test_the_last_lines_say_what_was_written(line: str, paths: tuple[str, ...], capsys: Capture) -> None:
    if "--update" in line:
        assert called(capsys, "convert", "cmu-dd", "arm.toml")[0] == 0
    code, out, err = called(capsys, *_line(line))
    assert code == 0, err
    assert out.splitlines()[-len(paths) :] == [f"wrote {path}" for path in paths]
    assert all(Path(path).stat().st_size for path in paths)
    code, out, _ = called(capsys, *_line(line), "--json")
    assert code == 0
    assert all(f'"{path}"' in out for path in paths), "JSON names them too"


@pytest.mark.slow
def test_letters_beyond_ascii_come_through_as_escapes(tmp_path: Path, capsys: Capture) -> None:
    joint, link = '[[joint]]\nkind = "revolute"\nframe = {}\n', '[[link]]\nname = "link1"\nmass = 1\n'
    text = f'schema = "forearm-arm/1"\nname = "arm \u00e9"\n{joint}{link}'
    (tmp_path / "letters.toml").write_text(text, encoding="utf-8")
    done = process("info", "letters.toml", cwd=tmp_path, env={"PYTHONIOENCODING": "ascii", "LC_ALL": "C"})
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"arm \\xe9: ")
    assert document(capsys, "info", "letters.toml")["name"] == "arm \u00e9"
    assert "no such file" in refused(capsys, "info", "no-\udcff.toml")


@pytest.mark.slow
@pytest.mark.parametrize("words", [("--help",), ("info", "ascher2")])
def test_a_reader_that_has_gone_is_no_error(words: tuple[str, ...], tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as gone:
        done = process(*words, stdout=gone, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")
def test_a_full_disk_is_said(tmp_path: Path) -> None:
    with FULL.open("wb") as full:
        done = process("info", "ascher2", stdout=full, cwd=tmp_path)
    assert done.returncode == 2
    said = " ".join(done.stderr.decode().split())
    assert said.startswith("forearm: standard output: cannot be written: No space left on device.")
    assert "Traceback" not in said


@pytest.mark.slow
@pytest.mark.parametrize(("line", "code"), [("bogus 2>&-", 2), ("info ascher2 >&-", 0)])
def test_closed_streams(line: str, code: int, tmp_path: Path) -> None:
    line = f"exec {sys.executable} -m forearm.cli.main {line}"
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert "there is no" not in done.stdout, "a complaint is never among results"


def test_errors_and_a_drawing_fit_a_narrow_terminal(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert max(map(len, called(capsys, "info", "nobody")[2].splitlines())) <= 40
    for columns in (40, 100):
        monkeypatch.setenv("COLUMNS", str(columns))
        _, out, _ = called(capsys, "info", "panda")
        drawing = out.split("from the side")[1].split("\n\nSource")[0]
        assert "from above" in drawing
        assert "# base" in drawing
        assert max(len(line) for line in drawing.splitlines()) <= columns


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("inverse ascher2 --from -", "states.csv"),
        ("simulate ascher2 --duration 0.01 --torque-file -", "torques.csv"),
        ("control log ascher2 -", "log.csv"),
        ("control payload ascher2 - --shape point", "tests.csv"),
        ("sim ascher2 --script -", "script.txt"),
    ],
)
def test_standard_input_is_read_where_a_table_is(
    line: str, given: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("torques.csv").write_bytes(b"t,joint1,joint2\n0,0,0\n1,0,0\n")
    data = io.BytesIO(Path(given).read_bytes())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(data, encoding="utf-8"))
    assert document(capsys, *line.split())
