"""The lock for compiling: one per process, like LLVM's global tables.

It is re-entrant: a signal handler may call a kernel while its thread compiles another. Python runs handlers
between bytecode instructions, so never inside a call of LLVM. `os.fork` waits until no other thread holds it:
a child would otherwise find LLVM, or a half-imported module, locked for ever.
"""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from forearm.errors import ForearmError

PATIENCE = 60.0  # s that a fork waits for a compiling thread
_fork = threading.local()


@dataclass
class _Process:
    """The lock;
    and whether this process was forked while another thread held it, so that LLVM is unusable.
    """

    lock: Any
    is_lost: bool = False


_here = _Process(threading.RLock())


def making() -> AbstractContextManager[Any]:
    """The lock, for a `with` statement. Code under it must not wait for another lock held by a thread."""
    if _here.is_lost:
        raise ForearmError(
            "this process was forked while another thread was compiling, which took more "
            f"than {PATIENCE:g} s; compile before the fork, or start processes by 'spawn' or "
            "'forkserver'. Kernels that are in the cache, or were compiled before, work.",
            "compile",
        )
    return _here.lock  # type: ignore[no-any-return]


def _before() -> None:
    _fork.held = False  # an interrupt may end the next line
    _fork.held = _here.lock.acquire(timeout=PATIENCE)


def _in_parent() -> None:
    if _fork.held:
        _here.lock.release()


def _in_child() -> None:
    if _fork.held:
        _here.lock.release()
    else:  # the thread that holds it does not exist in this process
        _here.lock, _here.is_lost = threading.RLock(), True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
