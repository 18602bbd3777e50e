"""Processes that need the same code at the same moment: one compiles it, the others load it."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from forearm.kernels import cache, file_lock
from forearm.kernels.file_lock import compiling

KEY = hashlib.sha256(b"code").hexdigest()
PATIENCE = 120  # s that a process may take before it is said to hang
# Loads everything, says so, waits for the others, and prints what it compiled and the torques.
WORKER = """
import sys
import numpy as np
import forearm as fa
from forearm.kernels import compile_request

parts, made = [], compile_request.made
compile_request.made = lambda request, part, *rest: parts.append(part) or made(request, part, *rest)
arm = fa.load("ascher2")
print("ready", flush=True)
sys.stdin.readline()
states = np.linspace(0.1, 0.9, 3 * 5 * arm.n).reshape(3, 5, arm.n)
torques = fa.compile(arm).inverse_dynamics(*states)
print(*parts, flush=True)
print(torques.tobytes().hex())
"""
# Holds the lock, says so, and goes on holding it.
HOLDER = """
import sys, time
from forearm.kernels.file_lock import compiling
with compiling(sys.argv[1]):
    print("held", flush=True)
    time.sleep(1000)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache: the folder is not there yet."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("FOREARM_CACHE", str(folder))
    return folder


def started(code: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


@pytest.fixture
def holder(place: Path) -> subprocess.Popen[str]:
    process = started(HOLDER, KEY)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def ended(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate(timeout=PATIENCE)


@pytest.mark.slow
def test_of_two_processes_each_part_is_compiled_by_one(place: Path) -> None:
    processes = [started(WORKER) for _ in range(2)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate(timeout=PATIENCE)[0].split("\n")[:2] for process in processes]
    assert all(process.returncode == 0 for process in processes)
    assert len({torques for _, torques in said}) == 1
    compiled = [part for parts, _ in said for part in parts.split()]
    assert sorted(compiled) == ["batch", "single"], "each part once, whoever was first"
    assert sorted(place.iterdir()) == sorted(entry.path for entry in cache.entries(place))


@pytest.mark.slow
def test_a_holder_that_is_killed_lets_others_go_on(place: Path, holder: subprocess.Popen[str]) -> None:
    entered = threading.Event()

    def enter() -> None:
        with compiling(KEY):
            entered.set()

    thread = threading.Thread(target=enter)
    thread.start()
    assert not entered.wait(0.1)
    os.kill(holder.pid, signal.SIGKILL)
    thread.join(PATIENCE)
    ended(holder)
    assert entered.is_set()
    assert list(place.iterdir()) == []


@pytest.mark.slow
def test_a_holder_that_hangs_is_not_waited_for_for_ever(
    place: Path, holder: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_lock, "PATIENCE", 0.1)
    try:
        with compiling(KEY):
            assert (place / f"{KEY}.lock").exists()
        assert (place / f"{KEY}.lock").exists(), "it is the other's"
    finally:
        ended(holder)


def test_the_thread_that_holds_it_does_not_wait_for_itself(place: Path) -> None:
    """As a signal handler that calls the kernel which its thread compiles."""
    with compiling(KEY), compiling(KEY):
        assert [path.name for path in place.iterdir()] == [f"{KEY}.lock"]
    assert list(place.iterdir()) == []


def test_an_error_under_the_lock_lets_go_of_it(place: Path) -> None:
    with pytest.raises(ValueError, match="no such arm"), compiling(KEY):
        raise ValueError("no such arm")
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("trouble", ["no cache", "no folder", "no locks", "a link in its place"])
def test_without_a_lock_code_is_compiled_all_the_same(
    place: Path, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    def refuse(descriptor: int) -> bool:
        raise OSError("no locks available")

    if trouble == "no cache":
        monkeypatch.setenv("FOREARM_CACHE", "off")
    if trouble == "no folder":
        place.touch()
    if trouble == "no locks":
        monkeypatch.setattr(file_lock, "_try_lock", refuse)
    if trouble == "a link in its place":
        place.mkdir(mode=0o700)
        (place / f"{KEY}.lock").symlink_to(place / "other")
    began = time.monotonic()
    with compiling(KEY):
        assert time.monotonic() - began < file_lock.PATIENCE, "nobody was waited for"
    assert not (place / "other").exists()


def test_old_locks_are_removed_with_what_else_was_left(place: Path) -> None:
    cache.write(KEY, {"arm": "a", "functions": ["f"], "dtype": "float64", "part": "single"}, b"code")
    left = place / f"{KEY}.lock"
    left.touch()
    os.utime(left, (1.0, 1.0))
    cache.write(KEY, {"arm": "a", "functions": ["f"], "dtype": "float64", "part": "single"}, b"code")
    assert not left.exists()
    left.touch()
    assert cache.clear(place)[0] == 2
    assert list(place.iterdir()) == []
