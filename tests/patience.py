"""An end to what would go on for ever: an alarm on the processor time that a piece of code may use."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TooLongError(BaseException):
    """The time is up; not an Exception, so that the code under test cannot catch it."""


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Raise TooLongError after so many seconds of processor time, which other processes cannot use up."""

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise TooLongError(f"still busy after {seconds:g} s of processor time")

    before = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
