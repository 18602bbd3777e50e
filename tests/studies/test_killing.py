"""Campaigns that are really killed, at random moments, until they are complete: no row is lost or wrong."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from studies.toy_campaign import ToyTask, assert_right, manifest_of

from forearm.studies.engines.runner import run_parts
from forearm.studies.storage.result_folder import ResultFolder

TOY = Path(__file__).with_name("toy_campaign.py")
ROWS, SIZE = 500, 5
PAUSE = 0.02  # s on average for a part: a study takes longer than it is let live
PATIENCE = 120.0  # s until a run that should end counts as hanging

pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="finds processes in /proc")


def started(folder: Path, engine: str, pause: float, workers: int = 2) -> subprocess.Popen[bytes]:
    words = [sys.executable, str(TOY), str(folder), "--engine", engine, "--workers", str(workers)]
    words += ["--rows", str(ROWS), "--rows-per-part", str(SIZE), "--pause", str(pause)]
    return subprocess.Popen(words, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def workers_of(pid: int) -> list[int]:
    """Its children, without the one in which Python keeps its books."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text(encoding="utf-8").rsplit(")", 1)[1].split()
            is_worker = b"spawn_main" in place.with_name("cmdline").read_bytes()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z" and is_worker:
            found.append(int(place.parent.name))
    return found


def wait_for_workers(process: subprocess.Popen[bytes], count: int) -> list[int]:
    """So many workers; fewer where the run ends first."""
    deadline = time.monotonic() + PATIENCE
    workers: list[int] = []
    while len(workers) < count and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
        workers = workers_of(process.pid)
    return workers


def killed_workers(process: subprocess.Popen[bytes], chance: random.Random) -> int:
    """Kill a worker or more, one after the other, and let the run go on for a while; how many were hit."""
    hits = 0
    for _ in range(chance.choice([1, 2, 3])):
        for worker in wait_for_workers(process, 1)[:1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
                hits += 1
        time.sleep(chance.uniform(0.0, 0.3))
    return hits


def struck(process: subprocess.Popen[bytes], engine: str, chance: random.Random) -> Counter[str]:
    """Kill the coordinator, alone or with all its workers, perhaps after some of these; which kills hit."""
    way = chance.choice(["coordinator", "group", "workers"])
    hits: Counter[str] = Counter()
    if way == "workers" and engine == "processes":
        hits["workers"] = killed_workers(process, chance)
    with contextlib.suppress(ProcessLookupError):
        (os.killpg if way == "group" else os.kill)(process.pid, signal.SIGKILL)
    _, text = process.communicate(timeout=PATIENCE)
    assert process.returncode in (0, -signal.SIGKILL), text.decode()
    hits["group" if way == "group" else "coordinator"] += process.returncode != 0
    return hits


def wait_until_begun(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() in (b"begun\n", b"")


def assert_whole(folder: Path) -> None:
    """Every row once and right, and no other file than the parts."""
    manifest = manifest_of(ROWS, SIZE)
    assert_right(folder, manifest)
    expected = {f"part-{part:06d}.parquet" for part in range(ROWS // SIZE)}
    assert {found.name for found in (folder / "parts").iterdir()} == expected
    assert {found.name for found in folder.iterdir()} == {"parts", "study.json"}


@pytest.mark.long
def test_two_hundred_kills(tmp_path: Path) -> None:
    """Studies one after the other, each killed and started again until it is complete; at times two
    coordinators share a folder.
    """
    chance, least = random.Random(2), 200
    kills: Counter[str] = Counter()
    studies = 0
    while kills.total() < least:
        engines = chance.choices(["threads", "processes"], k=chance.choice([1, 1, 2]))
        several = [started(tmp_path / str(studies), engine, PAUSE) for engine in engines]
        if chance.random() < 0.8:  # else it may be killed before it has begun
            wait_until_begun(several[0])
        time.sleep(chance.uniform(0.0, 0.6))
        for process, engine in zip(several, engines, strict=True):
            kills += struck(process, engine, chance)
        studies += any(process.returncode == 0 for process in several)
    assert all(kills[way] >= least // 20 for way in ("coordinator", "group", "workers")), kills
    for _ in range(2):  # the second finds nothing to do, and sweeps
        for k in range(studies + 1):
            process = started(tmp_path / str(k), "threads", 0.0)
            _, text = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, text.decode()
    for k in range(studies + 1):
        assert_whole(tmp_path / str(k))


@pytest.mark.slow
def test_an_interrupted_run_is_silent_and_goes_on_when_started_again(tmp_path: Path) -> None:
    """Ctrl-C goes to the whole group; only the coordinator may answer, and it does not print."""
    process = started(tmp_path / "out", "processes", PAUSE, workers=1)
    wait_for_a_part(tmp_path / "out")
    os.killpg(process.pid, signal.SIGINT)
    _, text = process.communicate(timeout=PATIENCE)
    assert (process.returncode, text) == (130, b"")
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "parts").iterdir()}
    manifest = manifest_of(ROWS, SIZE)
    run_parts(ResultFolder.open(tmp_path / "out", manifest), ToyTask(manifest))
    assert_whole(tmp_path / "out")
    assert {path: path.stat().st_mtime_ns for path in times} == times, "only what was missing is computed"


def wait_for_a_part(folder: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not list(folder.rglob("part-*.parquet")) and time.monotonic() < deadline:
        time.sleep(0.01)


@pytest.mark.slow
def test_workers_end_with_a_coordinator_that_was_killed_alone(tmp_path: Path) -> None:
    process = started(tmp_path / "out", "processes", PAUSE, workers=1)
    workers = wait_for_workers(process, 1)
    process.kill()
    process.communicate(timeout=PATIENCE)
    deadline = time.monotonic() + PATIENCE
    assert len(workers) == 1
    while any(map(is_running, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_running, workers))


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
