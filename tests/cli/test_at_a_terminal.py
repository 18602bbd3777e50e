"""At a terminal: long work says what it does and wipes that out;
Ctrl-C ends it with 130, one line and nothing half done.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from cli.lines import Capture
from sweeps import long

from forearm.cli import terminal
from forearm.cli.main import main
from forearm.cli.progress import ProgressBar

pty = pytest.importorskip("pty")
PATIENCE = 120  # s; a busy machine is slow, and a test that waits longer has hung
# Python ends itself by the signal where Ctrl-C met text being executed (as dataclasses are made);
# a shell says 130 of both.
INTERRUPTED = (130, -signal.SIGINT)
WIPED = "\r\x1b[K"
# Each takes more than a second without a cache, with words that it shows meanwhile.
LONG = [
    ("simulate puma560 --duration 2000 --to motion.csv --html motion.html", "simulating puma560, "),
    ("generate chain12 -o made", "finding the fewest operations of inverse_dynamics"),
    ("reproduce all --html page.html", " %  Swartz, "),
    ("control compare puma560 --plot a.png", " %  feed-forward"),
    ("precision puma560", "of 180 by 3 methods"),
    ("schedule chain7 --function forward_dynamics --method search --plot a.png --processors 6", "drawing"),
    ("bench --only kernels", "measuring kernels"),
    ("demo -o told", "counting operations"),
    (
        "plan panda --q 0,-0.5,0,-2,0,1.5,0.7 --to 0.5,0.2,0.3,-1.5,0.2,1.8,0.2 --step 2e-6 -o a.csv",
        "planning for panda",
    ),
]


class Run:
    """A command whose standard error is a terminal, read while it runs."""

    def __init__(self, line: str, folder: Path) -> None:
        ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "forearm.cli.main", *line.split()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=theirs,
            cwd=folder,
            start_new_session=True,
            env=os.environ | {"FOREARM_CACHE": "off", "COLUMNS": "100"},
        )
        os.close(theirs)
        self.text = ""
        self._reader = threading.Thread(target=self._read, args=(ours,))
        self._reader.start()

    def _read(self, ours: int) -> None:
        while True:
            try:
                data = os.read(ours, 65536)
            except OSError:  # Linux says so that the other side is closed
                data = b""
            if not data:
                os.close(ours)
                return
            self.text += data.decode()

    def says(self, words: str) -> bool:
        """Whether these words come before it ends."""
        end = time.monotonic() + PATIENCE
        while words not in self.text and time.monotonic() < end and self.process.poll() is None:
            time.sleep(0.02)
        return words in self.text

    def ends(self) -> int:
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code


@pytest.mark.slow
@pytest.mark.parametrize(("line", "words"), [*LONG[:2], *long(LONG[2:])])
def test_long_work_says_what_it_does_and_is_interrupted_cleanly(
    line: str, words: str, tmp_path: Path
) -> None:
    run = Run(line, tmp_path)
    try:
        assert run.says(words), run.text
        os.kill(run.process.pid, signal.SIGINT)
        assert run.ends() in INTERRUPTED
    finally:
        run.process.kill()
    assert run.text.endswith(f"{WIPED}forearm: interrupted.\r\n"), run.text[-300:]
    assert "Traceback" not in run.text
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and not line.startswith("demo")]
    assert not list(tmp_path.rglob(".*")), "no temporary file stays"


def test_silence_where_nobody_looks(capsys: Capture) -> None:
    with ProgressBar("working") as bar:
        bar(0.5, 1.0, "halfway")
        bar.say("working on")
    assert capsys.readouterr().err == ""


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forearm.cli.progress.is_terminal", lambda _: True)
    monkeypatch.setattr("forearm.cli.progress.TICK", 0.01)
    monkeypatch.setattr("forearm.cli.progress.SILENT", 0.0)


@pytest.mark.usefixtures("looked_at")
def test_a_complaint_takes_the_place_of_the_line_which_counts_seconds(capsys: Capture) -> None:
    with ProgressBar("working hard"):
        while not terminal._line["is_drawn"]:
            time.sleep(0.01)
        terminal.complain("look out.", kind="warning")
    drawn = capsys.readouterr().err
    assert "working hard (0 s)\x1b[K" in drawn
    assert re.sub(r"\r[^\r\n]*\x1b\[K", "", drawn.replace(WIPED, "")) == "warning: look out.\n"


@pytest.mark.usefixtures("looked_at")
def test_nothing_draws_while_times_are_measured(capsys: Capture) -> None:
    with ProgressBar("working") as bar:
        bar.say_once("measuring")
        capsys.readouterr()
        time.sleep(0.1)
        assert capsys.readouterr().err == ""
    assert capsys.readouterr().err == WIPED


@pytest.mark.usefixtures("looked_at")
def test_lines_are_cut_to_the_terminal_and_printable(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    with ProgressBar("arm \x1b[31m" + "x" * 100):
        while not terminal._line["is_drawn"]:
            time.sleep(0.01)
    line = capsys.readouterr().err.split("\x1b[K")[0]
    assert line.startswith("\rarm  [31mxxx")
    assert len(line) == 30  # 29 columns behind the return: none is left for a terminal that breaks full lines


@pytest.mark.usefixtures("looked_at")
def test_an_interrupted_command_wipes_its_line(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(*_: object) -> None:
        while not terminal._line["is_drawn"]:
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr("forearm.cli.precision.precision_study", work)
    assert main(["precision", "ascher2"]) == 130
    assert capsys.readouterr().err.endswith(f"{WIPED}forearm: interrupted.\n")


def test_ctrl_c_during_imports_comes_after_them(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    imported: list[str] = []

    def slow_import(name: str) -> object:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        imported.append(name)
        return __import__("importlib").import_module(name)

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr("forearm.cli.main.import_module", slow_import)
    assert main(["arms"]) == 130
    assert imported == ["forearm.cli.arms"]
    assert capsys.readouterr() == ("", "forearm: interrupted.\n")
    assert signal.getsignal(signal.SIGINT) is before
