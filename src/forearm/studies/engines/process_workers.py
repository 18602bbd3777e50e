"""Worker processes for the parts of a study: a killed process loses only its part."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from forearm.errors import InputError, shorten
from forearm.studies.storage.result_folder import StudyError

GUARD = "if __name__ == '__main__':"
WAIT = 0.5  # s granted to a process to end after its pipe is closed

Task = Callable[[int], Any]  # the bytes or the columns of a part


class WorkerDied(BrokenExecutor):
    """A worker process ended in the middle of a part."""


class InProcesses:
    """A task run in worker processes, one per calling thread.

    Each process has its own pipe: unlike in ProcessPoolExecutor, a process killed while sending a result
    blocks nobody, no other part is lost, and the lost part is known.
    """

    def __init__(self, task: Task) -> None:
        _check_guarded()
        try:
            self._task = pickle.dumps(task)
        except Exception as error:
            raise InputError(
                f"expected a picklable task, got {shorten(task)}: {shorten(str(error), 200)}. "
                "Define it at module level, or use engine='threads'.",
                "task",
            ) from error
        self._local = threading.local()
        self._lock = threading.Lock()
        self._processes: list[tuple[SpawnProcess, Connection]] = []
        self._is_closed = False
        self._has_answered = False  # set once any process has answered
        self._refusal: StudyError | None = None  # why processes cannot start at all

    def __call__(self, part: int) -> Any:
        """A part, computed by this thread's process."""
        process, pipe = self._own()
        try:
            # Not passed as an argument: if the process ended before reading it, the starter would wait for
            # ever.
            if not self._local.is_told:
                pipe.send_bytes(self._task)
                self._local.is_told = True
            pipe.send(part)
            is_good, reply = pipe.recv()
        except (EOFError, OSError) as error:
            self._drop()
            raise self._ended(process.exitcode) from error
        except BaseException:  # the pipe may hold the rest of a reply
            self._drop()
            raise
        self._has_answered = True
        if not is_good:
            raise reply
        return reply

    def close(self) -> None:
        """End the processes immediately."""
        with self._lock:
            self._is_closed = True
            for process, _ in self._processes:
                process.kill()
            for process, _ in self._processes:
                process.join()

    def _ended(self, code: int | None) -> Exception:
        """The error to raise for a process that ended; if none can start, parts are not retried."""
        if self._has_answered or code is None or code <= 0:
            return WorkerDied(_ending(code))
        self._refusal = StudyError(f"{_ending(code)}. Scripts must call this under {GUARD}")
        return self._refusal

    def _drop(self) -> None:
        """Release this thread's process, which ended or no longer answers."""
        process, pipe = own = self._local.own
        del self._local.own
        pipe.close()
        process.join(WAIT)
        process.kill()
        process.join()
        with self._lock:
            if own in self._processes:
                self._processes.remove(own)

    def _own(self) -> tuple[SpawnProcess, Connection]:
        if not hasattr(self._local, "own"):
            with self._lock:  # processes are started by one thread at a time
                if self._is_closed:
                    raise CancelledError
                if self._refusal is not None:
                    raise self._refusal
                self._local.own, self._local.is_told = self._started(), False
                self._processes.append(self._local.own)
        own: tuple[SpawnProcess, Connection] = self._local.own
        return own

    def _started(self) -> tuple[SpawnProcess, Connection]:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs,), daemon=True)
        with _interrupts_blocked():
            process.start()
        theirs.close()  # so that the pipe closes when the process ends
        return process, ours


def _check_guarded() -> None:
    """Refuse to run in a process that merely imports the script that started it: it would start more."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise StudyError(
            "engine 'processes': every worker imports the script that starts it, and this script runs the "
            f"study on import. Put the call under {GUARD}"
        )


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Worker processes ignore Ctrl-C, which is handled by the leading process."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # first, as Ctrl-C is unblocked when it ends
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: Connection) -> None:
    """Main loop of a worker: compute parts until its pipe or its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    task: Task | None = None
    with contextlib.suppress(EOFError, OSError):
        pickled = pipe.recv_bytes()
        while True:
            part = pipe.recv()
            try:
                task = task or pickle.loads(pickled)
                reply: tuple[bool, Any] = (True, task(part))
            except Exception as error:
                reply = (False, _sendable(error))
            pipe.send(reply)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _sendable(error: Exception) -> Exception:
    """The error, or one with its text if it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return StudyError(f"{type(error).__name__}: {error}")
    return error


def _ending(code: int | None) -> str:
    if code is None or code >= 0:
        return f"the process ended with code {code}; see its output on stderr"
    hint = " (out of memory?)" if -code == 9 else ""
    return f"the process ended by signal {-code}{hint}"
