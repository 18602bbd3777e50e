"""Runs the parts of a study on threads, processes or any executor, and commits each result as it arrives.

Tasks only compute; this process alone writes. Workers may die, and so may this process: the next run
continues with the missing parts.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, ThreadPoolExecutor
from typing import Any, NamedTuple

from forearm.errors import ForearmError, InputError, shorten
from forearm.progress import Progress
from forearm.studies.engines.process_workers import InProcesses, Task, WorkerDied
from forearm.studies.storage.memory_results import MemoryResults
from forearm.studies.storage.result_folder import ResultFolder, StudyError
from forearm.values import check_choice, check_whole

ENGINES = ("threads", "processes")
Results = ResultFolder | MemoryResults
ASKED = 5.0  # s between queries of an executor's worker count
ROUNDS = 3  # scans of the folder: parts may disappear while others are computed
MAX_SHOWN = 5  # failed parts listed in a message
LONGEST_TEXT = 300  # characters of the error of a part
POLL = 0.05, 1.0  # s between polls of futures without callbacks: at first, and at most
WAKE = 0.5  # s: waiting for a queue is not interruptible on every system
DASK_ENDED = ("closing", "closed")  # states of a client that has lost its scheduler
# Errors by which libraries report a lost worker, by name: they need not be installed here.
LOST_WORKER = {
    ("distributed", "KilledWorker"),
    ("distributed", "CommClosedError"),
    ("distributed", "FutureCancelledError"),
    ("ray", "RaySystemError"),
    ("ray", "WorkerCrashedError"),
    ("ray", "NodeDiedError"),
    ("ray", "ObjectLostError"),
    ("ray", "OutOfMemoryError"),
    ("submitit", "UncompletedJobError"),
}


def run_parts(
    folder: Results,
    task: Task,
    executor: Any = None,
    *,
    workers: int | None = None,
    engine: str = "threads",
    wanted: Sequence[int] | None = None,
    progress: Progress | None = None,
    retries: int = 3,
) -> int:
    """Compute and commit the missing parts of a folder; return how many parts this run committed.

    Args:
        folder: The folder, opened for writing, or the parts in memory.
        task: Returns the Parquet bytes of a part (`part_bytes`), or for parts in memory its columns;
            picklable unless run by threads.
        executor: Anything with `submit(task, part)`; it stays open (default: local workers).
        workers: Number of concurrent workers (default: the executor's, or the cores of this machine).
        engine: "threads" or "processes", for local workers.
        wanted: The parts to compute (default: all).
        progress: Called with the number of completed rows.
        retries: How often a part is retried after its worker died.
    """
    check_choice(engine, ENGINES, "engine")
    check_whole(retries, "retries", 0)
    count = None if workers is None else check_whole(workers, "workers", 1)
    parts = list(range(folder.parts)) if wanted is None else list(dict.fromkeys(wanted))
    done = 0
    with _ended_as_interrupted():
        for _ in range(ROUNDS):
            missing = folder.missing(parts)
            if not missing:
                break
            with _pool(executor, task, engine, count, len(missing)) as pool:
                done += _PartRun(folder, pool, retries, missing).completed(parts, progress)
    left = folder.missing(parts)
    if left:
        raise StudyError(
            f"{folder.place}: expected the {len(parts)} parts of this run, but {len(left)} are missing "
            "again: another process removes or changes files there. Stop it, then run the same command again."
        )
    return done


class _PartRun:
    """One pass over the missing parts, with a bounded number in flight."""

    def __init__(self, folder: Results, pool: _Pool, retries: int, missing: list[int]) -> None:
        self._folder, self._pool, self._retries = folder, pool, retries
        self._width, self._asked = 0, -ASKED
        self._queue = deque(missing)
        self._flying: dict[Any, int] = {}
        self._polled: list[Any] = []  # futures without callbacks
        self._landed: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._deaths: Counter[int] = Counter()
        self._failed: dict[int, str] = {}  # text, as an error keeps references to its frames
        self._cause: BaseException | None = None  # the first error of a part
        self._broken: BaseException | None = None  # why the executor refuses more parts
        self._committed = 0

    def completed(self, parts: list[int], progress: Progress | None) -> int:
        """Compute and commit parts; return how many, and an error about the failed ones. Progress counts the
        rows of all these parts.
        """
        self._progress, self._rows_total = progress, sum(map(self._rows, parts))
        self._rows_done = self._rows_total - sum(map(self._rows, self._queue))
        try:
            self._report()
            while self._queue or self._flying:
                self._fill()
                if self._flying:
                    self._land(self._next())
        except _PoolGone as error:
            self._broken = error
            self._flying.clear()
        finally:
            self._cancel()
        if self._failed or self._broken is not None:
            raise self._failure() from self._cause or self._broken
        return self._committed

    def _fill(self) -> None:
        self._widen()
        while self._queue and len(self._flying) < self._width:
            part = self._queue.popleft()
            if self._folder.has(part):  # another run on the same folder was faster
                self._advance(part)
                continue
            try:
                future = self._pool.submit(part)
            except Exception as error:  # broken, shut down, or unable to send the task
                self._broken = _PoolGone() if self._pool.is_gone() else error
                self._queue.clear()
                return
            self._flying[future] = part
            if hasattr(future, "add_done_callback"):
                future.add_done_callback(self._landed.put)
            else:
                self._polled.append(future)

    def _widen(self) -> None:
        """Two parts per worker, and some to spare; clusters grow and shrink."""
        now = time.monotonic()
        if now - self._asked < ASKED:
            return
        self._asked = now
        try:
            self._width = 2 * self._pool.workers() + 2
        except Exception:  # a lost cluster is reported by the next submission
            self._width = max(self._width, 2)

    def _next(self) -> Any:
        """Wait for a finished future; futures of a lost cluster never finish."""
        pause = POLL[0]
        while True:
            for future in self._polled:
                if future.done():
                    self._polled.remove(future)
                    return future
            with contextlib.suppress(queue.Empty):
                return self._landed.get(timeout=pause if self._polled else WAKE)
            if self._pool.is_gone():
                raise _PoolGone
            pause = min(2.0 * pause, POLL[1])

    def _land(self, future: Any) -> None:
        part = self._flying.pop(future)
        try:
            data: Any = future.result()
            if not isinstance(data, self._folder.part_type):
                raise InputError(f"expected {self._folder.part_type.__name__}, got {shorten(data)}.", "task")
        except Exception as error:
            self._fail(part, error)
            return
        self._folder.commit(part, data)  # type: ignore[arg-type]
        self._committed += 1
        self._advance(part)

    def _fail(self, part: int, error: Exception) -> None:
        """Retry a part whose worker died, up to a limit; errors of the task itself are final."""
        self._deaths[part] += 1
        if is_lost_worker(error) and self._deaths[part] <= self._retries:
            self._queue.append(part)
        else:
            self._failed[part] = self._described(part, error)
            self._cause = self._cause or error

    def _advance(self, part: int) -> None:
        self._rows_done += self._rows(part)
        self._report()

    def _report(self) -> None:
        if self._progress is not None:
            rows = f"{self._rows_done:,} of {self._rows_total:,} rows"
            self._progress(self._rows_done, self._rows_total, rows)

    def _rows(self, part: int) -> int:
        first, last = self._folder.rows_of(part)
        return last - first

    def _cancel(self) -> None:
        """Cancel the parts in flight after an interrupt or a full disk."""
        for future in self._flying:
            cancel = getattr(future, "cancel", None)
            if cancel is not None:
                with contextlib.suppress(Exception):  # it may have ended, or its cluster may be gone
                    cancel()

    def _failure(self) -> StudyError:
        parts = sorted(self._failed)
        lines = [f"  {self._failed[part]}" for part in parts[:MAX_SHOWN]]
        lines += [f"  and {len(parts) - MAX_SHOWN} more"] if len(parts) > MAX_SHOWN else []
        if self._broken is not None:
            reason = shorten(str(self._broken) or type(self._broken).__name__, 200)
            lines.append(f"  the executor accepts no more parts: {reason}; create a new one")
        what = f"{len(parts)} {'part' if len(parts) == 1 else 'parts'} failed" if parts else "it was stopped"
        return StudyError(
            f"{self._folder.place}: {what}:\n" + "\n".join(lines) + f"\n{self._folder.on_failure()}"
        )

    def _described(self, part: int, error: Exception) -> str:
        first, last = self._folder.rows_of(part)
        # The text of Ray's error is a traceback; the task's error is its cause.
        cause = getattr(error, "cause", None)
        error = cause if isinstance(cause, Exception) else error
        is_ours = isinstance(error, ForearmError | WorkerDied)
        text = str(error) if is_ours else f"{type(error).__name__}: {error}"
        tries = f"given up after {self._deaths[part]} tries: " if is_lost_worker(error) else ""
        text = " ".join(text.split())
        text = text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 3] + "..."
        return f"part {part} (rows {first} to {last - 1}): {tries}{text}"


def is_lost_worker(error: BaseException) -> bool:
    """Whether an error means a lost worker rather than a failed task."""
    if isinstance(error, ForearmError):
        return False
    if isinstance(error, BrokenExecutor | CancelledError | OSError):
        return True
    kinds = {(kind.__module__.split(".")[0], kind.__name__) for kind in type(error).__mro__}
    return bool(kinds & LOST_WORKER) and ("submitit", "FailedJobError") not in kinds


class _PoolGone(Exception):
    """An executor whose futures will never finish."""

    def __str__(self) -> str:
        return "the connection to its scheduler was lost"


class _Pool(NamedTuple):
    """Where parts are submitted, the current number of workers, and whether they are unreachable."""

    submit: Callable[[int], Any]
    workers: Callable[[], int]
    is_gone: Callable[[], bool]


@contextlib.contextmanager
def _pool(executor: Any, task: Task, engine: str, workers: int | None, parts: int) -> Iterator[_Pool]:
    if executor is not None:
        # Dask's own submit takes a retried part for a known one; its executor does not.
        foreign = executor.get_executor(pure=False) if hasattr(executor, "get_executor") else executor
        yield _Pool(
            lambda part: foreign.submit(task, part),
            lambda: workers or _workers_of(executor),
            lambda: getattr(_dask_client(executor), "status", None) in DASK_ENDED,
        )
        return
    count = min(workers or _cores(), parts)
    called = InProcesses(task) if engine == "processes" else task
    pool = ThreadPoolExecutor(count, thread_name_prefix="forearm-study")
    try:
        yield _Pool(lambda part: pool.submit(called, part), lambda: count, lambda: False)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        if isinstance(called, InProcesses):
            called.close()


def _dask_client(executor: Any) -> Any:
    """The Dask client that an executor has or is; otherwise the executor itself."""
    return getattr(executor, "_client", executor)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _workers_of(executor: Any) -> int:
    """Number of workers of an executor, if it tells."""
    for name in ("_max_workers", "max_workers", "num_workers"):
        found = getattr(executor, name, None)
        if isinstance(found, int) and found > 0:
            return found
    client = _dask_client(executor)
    if hasattr(client, "nthreads"):
        return max(int(sum(client.nthreads().values())), 1)
    return _cores()


@contextlib.contextmanager
def _ended_as_interrupted() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C, unless already handled."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
