"""Parts on threads, on processes and on executors of others: all are committed, whatever dies."""

from __future__ import annotations

import gc
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import pytest
from studies.toy_campaign import ToyTask, assert_right, large, manifest_of

from forearm.errors import InputError, NameNotFound
from forearm.studies.engines import runner
from forearm.studies.engines.process_workers import InProcesses
from forearm.studies.engines.runner import run_parts
from forearm.studies.storage.result_folder import ResultFolder, StudyError

MANIFEST = manifest_of()
TASK = ToyTask(MANIFEST)
PARTS = 9


@pytest.fixture
def folder(tmp_path: Path) -> ResultFolder:
    return ResultFolder.open(tmp_path / "out", MANIFEST)


def test_only_what_is_wanted_and_missing_is_computed(folder: ResultFolder) -> None:
    seen: list[int] = []

    def task(part: int) -> bytes:
        seen.append(part)
        return TASK(part)

    folder.commit(4, TASK(4))
    assert run_parts(folder, task, wanted=[2, 4, 6, 2]) == 2
    assert sorted(seen) == [2, 6]
    assert folder.parts_done() == [2, 4, 6]
    assert run_parts(folder, task, wanted=[]) == 0


def test_progress_is_in_rows_and_counts_what_was_there(folder: ResultFolder) -> None:
    folder.commit(8, TASK(8))
    told: list[tuple[float, float, str]] = []
    run_parts(folder, TASK, workers=1, progress=lambda *now: told.append(now))
    assert [done for done, _, _ in told] == [4, *range(11, 61, 7)]
    assert told[-1] == (60, 60, "60 of 60 rows")


@dataclass
class Slots:
    """An executor that starts nothing by itself and counts what it is given."""

    given: list[tuple[Future[bytes], int]] = field(default_factory=list)
    most: int = 0
    delay: float = 0.05  # s

    def submit(self, task: Callable[[int], bytes], part: int, /) -> Future[bytes]:
        future: Future[bytes] = Future()
        self.given.append((future, part))
        self.most = max(self.most, sum(not future.done() for future, _ in self.given))
        threading.Timer(self.delay, lambda: future.set_result(task(part))).start()
        return future


def test_a_bounded_number_is_in_flight(folder: ResultFolder) -> None:
    slots = Slots()
    run_parts(folder, TASK, slots, workers=1)
    assert slots.most == 4
    assert_right(folder.path, MANIFEST)


@pytest.mark.slow
def test_what_the_task_raises_is_said_after_all_others_are_done(folder: ResultFolder) -> None:
    with pytest.raises(StudyError) as caught:
        run_parts(folder, ToyTask(MANIFEST, failing=(1,), wrong=(4,)), workers=2, engine="threads")
    assert str(caught.value) == (
        f"{folder.path}: 2 parts failed:\n"
        "  part 1 (rows 7 to 13): row 1: no such arm.\n"
        "  part 4 (rows 28 to 34): task: expected bytes, got 'part 4'.\n"
        "7 of 9 parts are complete and kept; fix the cause, then run the same command "
        "again: it computes only what is missing."
    )
    assert isinstance(caught.value.__cause__, InputError)
    assert folder.missing() == [1, 4]
    assert [run_parts(folder, TASK, workers=2, engine="threads") for _ in range(2)] == [2, 0]
    assert_right(folder.path, MANIFEST)


@pytest.mark.slow
def test_whatever_fails_in_processes_is_said_after_all_others_are_done(folder: ResultFolder) -> None:
    """An error of ours, a part that kills its process each time, an error that cannot be sent and comes as
    text, and a task that gives no bytes.
    """
    task = ToyTask(MANIFEST, failing=(1,), deadly=(3,), odd=(5,), wrong=(7,))
    with pytest.raises(StudyError) as caught:
        run_parts(folder, task, workers=1, engine="processes", retries=1)
    assert str(caught.value).startswith(
        f"{folder.path}: 4 parts failed:\n"
        "  part 1 (rows 7 to 13): row 1: no such arm.\n"
        "  part 3 (rows 21 to 27): given up after 2 tries: the process ended by signal 9 (out of memory?)\n"
        "  part 5 (rows 35 to 41): OddError: 5 and 2\n"
        "  part 7 (rows 49 to 55): task: expected bytes, got 'part 7'.\n"
        "5 of 9 parts are complete and kept"
    )
    assert folder.missing() == [1, 3, 5, 7]


@pytest.mark.slow
def test_a_process_killed_while_it_sends_its_result_blocks_nobody() -> None:
    """With ProcessPoolExecutor this hangs: the reader waits for the rest of the result."""
    called = InProcesses(large)
    try:
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(called, 0).result() == b""
            sent = [pool.submit(called, part) for part in (1, 1, 0)]
            time.sleep(0.02)
            os.kill(called._processes[0][0].pid or 0, signal.SIGKILL)
            lost = [future for future in sent if future.exception() is not None]
            assert len(lost) <= 1
            assert all(isinstance(future.exception(), BrokenExecutor) for future in lost)
    finally:
        called.close()


UNGUARDED = """
import sys
from studies.toy_campaign import ToyTask, manifest_of
from forearm.studies.storage.result_folder import ResultFolder
from forearm.studies.engines.runner import run_parts

manifest = manifest_of() | {"long": "x" * 300_000}  # more than a pipe holds
run_parts(ResultFolder.open(sys.argv[1], manifest), ToyTask(manifest), engine="processes", workers=1)
"""


@pytest.mark.slow
def test_a_script_without_a_guard_is_told_once(tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(UNGUARDED)
    ran = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "out")],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 1
    assert ran.stderr.count("study on import. Put the call under if __name__ ==") == 1
    assert "the process ended with code 1; see its output on stderr. Scripts must" in ran.stderr


@pytest.mark.slow
def test_a_cluster_that_grows_is_used(folder: ResultFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass
    class Growing(Slots):
        @property
        def max_workers(self) -> int:
            return 1 if len(self.given) < 4 else 3

    monkeypatch.setattr(runner, "ASKED", 0.0)
    slots = Growing(delay=0.2)
    run_parts(folder, TASK, slots)
    assert slots.most > 4
    assert_right(folder.path, MANIFEST)


def test_a_task_that_cannot_be_sent_is_refused(folder: ResultFolder) -> None:
    with pytest.raises(InputError, match=r"task: expected a picklable task, .* engine='threads'"):
        run_parts(folder, lambda part: b"" * part, engine="processes")


def test_bad_arguments_are_refused(folder: ResultFolder) -> None:
    with pytest.raises(NameNotFound, match="engine: expected one of threads, processes, got 'process'"):
        run_parts(folder, TASK, engine="process")
    with pytest.raises(InputError, match="workers: expected a whole number of at least 1, got 0"):
        run_parts(folder, TASK, workers=0)
    with pytest.raises(InputError, match="retries: expected a whole number of at least 0, got -1"):
        run_parts(folder, TASK, retries=-1)
    with pytest.raises(InputError, match="part: expected a whole number from 0 to 8, got 9"):
        run_parts(folder, TASK, wanted=[9])


@pytest.mark.slow
def test_pools_of_others_stay_open_until_they_break_and_what_was_done_is_kept(
    folder: ResultFolder, tmp_path: Path
) -> None:
    task = ToyTask(MANIFEST, deadly=(6,), deadly_once=tmp_path)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert run_parts(folder, task, pool, wanted=range(3)) == 3
        assert pool.submit(abs, -1).result() == 1
        with pytest.raises(StudyError, match=r"the executor accepts no more parts: .*; create a new one"):
            run_parts(folder, task, pool)
    assert 3 <= len(folder.parts_done()) < PARTS
    with ThreadPoolExecutor(1) as other:
        run_parts(folder, TASK, other)
        assert other.submit(abs, -1).result() == 1
    assert_right(folder.path, MANIFEST)


def test_a_pool_that_was_shut_down_is_said(folder: ResultFolder) -> None:
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(
        StudyError, match="it was stopped:\n  the executor accepts no more parts: 'cannot schedule"
    ):
        run_parts(folder, TASK, pool)


@dataclass
class LostCluster:
    """As a client of Dask that lost its scheduler: some parts come, and the others never do."""

    good: int
    status: str = "running"

    def nthreads(self) -> dict[str, int]:
        if self.status != "running":
            raise RuntimeError("ConnectionPool is closed")
        return {"tcp://1": 3}

    def submit(self, task: Callable[[int], bytes], part: int, /) -> Future[bytes]:
        future: Future[bytes] = Future()
        if part < self.good:
            future.set_result(task(part))
        else:
            self.status = "closed"
        return future


@pytest.mark.slow
def test_a_cluster_that_is_gone_ends_the_run(folder: ResultFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "ASKED", 0.0)
    with pytest.raises(StudyError) as caught:
        run_parts(folder, TASK, LostCluster(4))
    assert str(caught.value) == (
        f"{folder.path}: it was stopped:\n"
        "  the executor accepts no more parts: 'the connection to its scheduler was lost'; create a new one\n"
        "4 of 9 parts are complete and kept; fix the cause, then run the same command "
        "again: it computes only what is missing."
    )
    run_parts(folder, TASK)
    assert_right(folder.path, MANIFEST)


def test_a_cluster_that_does_not_say_its_size_is_used(folder: ResultFolder) -> None:
    class Silent(Slots):
        @property
        def max_workers(self) -> int:
            raise OSError("no answer")

    slots = Silent(delay=0.01)
    assert run_parts(folder, TASK, slots) == PARTS
    assert slots.most == 2


class TaskError(Exception):
    """As Ray's: a traceback for its text, and the error itself beside it."""

    def __init__(self, cause: Exception) -> None:
        super().__init__("ray::_call() File somewhere " * 50)
        self.cause = cause


@pytest.mark.parametrize(
    "make", [lambda text: TaskError(InputError(text)), InputError, ValueError, MemoryError]
)
def test_what_the_task_raises_is_said_itself_and_no_lost_worker(
    folder: ResultFolder, make: Callable[[str], Exception]
) -> None:
    losing = Losing(make("no such arm"), losses=1)
    with pytest.raises(StudyError, match=r"  part 2 \(rows 14 to 20\): .*no such arm"):
        run_parts(folder, TASK, losing, wanted=[2], retries=2)
    assert losing.tries[2] == 1


@dataclass
class Job:
    """A future that does not call back, as submitit's."""

    task: Callable[[int], bytes]
    part: int
    looks: int = 0

    def done(self) -> bool:
        self.looks += 1
        return self.looks > 2

    def result(self) -> bytes:
        return self.task(self.part)

    __hash__ = object.__hash__


class Jobs:
    def submit(self, task: Callable[[int], bytes], part: int, /) -> Job:
        return Job(task, part)


@pytest.mark.slow
def test_futures_that_do_not_call_back_are_asked(folder: ResultFolder) -> None:
    run_parts(folder, TASK, Jobs())
    assert_right(folder.path, MANIFEST)


class KilledWorker(Exception):
    """As Dask's, which need not be installed."""


KilledWorker.__module__ = "distributed.scheduler"


@dataclass
class Losing:
    """An executor that loses the first workers of every part."""

    error: BaseException
    losses: int
    tries: Counter[int] = field(default_factory=Counter)

    def submit(self, task: Callable[[int], bytes], part: int, /) -> Future[bytes]:
        future: Future[bytes] = Future()
        self.tries[part] += 1
        if self.tries[part] <= self.losses:
            future.set_exception(self.error)
        else:
            future.set_result(task(part))
        return future


LOSSES = [BrokenExecutor("gone"), CancelledError(), OSError("closed"), KilledWorker("part", "tcp://1")]


@pytest.mark.parametrize("error", LOSSES, ids=lambda error: type(error).__name__)
def test_a_lost_worker_is_forgiven_some_times(folder: ResultFolder, error: BaseException) -> None:
    losing = Losing(error, losses=3)
    with pytest.raises(
        StudyError, match=r"1 part failed:\n  part 0 \(rows 0 to 6\): given up after 3 tries: "
    ):
        run_parts(folder, TASK, Losing(error, losses=3), retries=2, wanted=[0])
    run_parts(folder, TASK, losing, retries=3)
    assert set(losing.tries.values()) == {4}
    assert_right(folder.path, MANIFEST)


@pytest.mark.parametrize("always", [False, True])
def test_parts_that_go_meanwhile_are_computed_again_unless_they_always_go(
    folder: ResultFolder, always: bool
) -> None:
    gone: list[int] = []

    def progress(done: float, total: float, what: str) -> None:
        if done == total and (always or not gone):
            gone.append(1)
            folder.part_path(2).unlink()

    if always:
        said = "but 1 are missing again: another process removes or changes files there"
        with pytest.raises(StudyError, match=said):
            run_parts(folder, TASK, workers=1, progress=progress)
        return
    assert run_parts(folder, TASK, workers=1, progress=progress) == PARTS + 1
    assert_right(folder.path, MANIFEST)


@pytest.mark.slow
def test_many_failures_are_counted_and_not_kept_with_all_that_their_frames_hold(folder: ResultFolder) -> None:
    class Large:
        pass

    alive: weakref.WeakSet[Large] = weakref.WeakSet()

    def task(part: int) -> bytes:
        large = Large()
        alive.add(large)
        raise InputError(f"row {part}")

    with pytest.raises(StudyError, match=r"9 parts failed:\n(  part .*\n){5}  and 4 more\n0 of 9 parts are"):
        run_parts(folder, task, workers=1)
    gc.collect()
    assert len(alive) <= 1, "of the first, which is the cause"


def test_another_run_on_the_folder_is_taken_into_account(folder: ResultFolder) -> None:
    seen: queue.SimpleQueue[int] = queue.SimpleQueue()

    def task(part: int) -> bytes:
        if part == 0:
            for other in range(5, PARTS):
                ResultFolder.at(folder.path).commit(other, TASK(other))
        seen.put(part)
        return TASK(part)

    assert run_parts(folder, task, workers=1) < PARTS
    assert_right(folder.path, MANIFEST)


@pytest.mark.parametrize("by_signal", [False, True])
def test_an_interrupt_or_a_request_to_end_keeps_what_was_committed(
    folder: ResultFolder, by_signal: bool
) -> None:
    before = signal.getsignal(signal.SIGTERM)

    def progress(done: float, total: float, what: str) -> None:
        if done >= 14:
            if not by_signal:
                raise KeyboardInterrupt
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt):
        run_parts(folder, ToyTask(MANIFEST, pause=0.01), workers=1, progress=progress)
    assert signal.getsignal(signal.SIGTERM) is before
    assert len(folder.parts_done()) == 2
    run_parts(folder, TASK)
    assert_right(folder.path, MANIFEST)


def test_a_handler_of_others_for_requests_to_end_stays(folder: ResultFolder) -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        run_parts(folder, TASK, workers=1, progress=lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert set(seen) == {signal.SIGTERM}
    assert_right(folder.path, MANIFEST)


def test_beside_the_main_thread_signals_are_left_alone(folder: ResultFolder) -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run_parts, folder, TASK).result() == PARTS
    assert_right(folder.path, MANIFEST)
