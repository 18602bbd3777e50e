"""Progress of a long computation on one line of standard error, if that is a terminal."""

from __future__ import annotations

import sys
import threading
import time

from forearm.cli.terminal import draw_line, is_terminal, wipe_line

EVERY = 0.1  # s between two drawings
SILENT = 0.5  # s before the first words: what is done by then needs none
TICK = 0.2  # s between two looks at the clock
BAR = 24  # characters


class ProgressBar:
    """What is done now, with the seconds that it takes, or a bar. Silent where standard error is no
    terminal; wiped out at the end.
    """

    def __init__(self, doing: str = "") -> None:
        self._is_shown = is_terminal(sys.stderr)
        self._start = self._drawn = time.monotonic()
        self._doing = doing
        self.before = 0.0  # how much was done when it began, by an earlier run
        self._lock = threading.Lock()
        self._ended = threading.Event()

    def __enter__(self) -> ProgressBar:
        if self._is_shown:
            threading.Thread(target=self._tick, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._ended.set()
            wipe_line()

    def say(self, doing: str) -> None:
        """Set the current activity; an empty text shows nothing."""
        with self._lock:
            self._doing = doing
            if not doing:
                wipe_line()

    def say_once(self, doing: str) -> None:
        """Set the current activity and draw it once: no redrawing while times are measured."""
        with self._lock:
            self._doing = ""
            if self._is_shown:
                draw_line(doing)

    def __call__(self, done: float, total: float, what: str) -> None:
        """Set the current activity with a bar, redrawn at most a few times per second: a `Progress`."""
        if not self._is_shown:
            return
        now = time.monotonic()
        with self._lock:
            self._doing = progress_line(done, total, what, now - self._start, self.before)
            if now - self._drawn >= EVERY:
                self._drawn = now
                draw_line(self._doing)

    def _tick(self) -> None:
        while not self._ended.wait(TICK):
            with self._lock:
                seconds = time.monotonic() - self._start
                if self._doing and seconds > SILENT and not self._ended.is_set():
                    draw_line(f"{self._doing} ({seconds:.0f} s)")


def progress_line(done: float, total: float, what: str, seconds: float, before: float = 0.0) -> str:
    """The bar, the percentage, the activity and the time left; only the activity if the total is unknown.
    Work done `before`, by an earlier run, did not take any of the seconds.
    """
    if not total > 0.0:
        return what
    share = min(max(done / total, 0.0), 1.0)
    full = round(BAR * share)
    left = f", {seconds * max(total - done, 0.0) / (done - before):.0f} s left" if done > before else ""
    return f"[{'#' * full}{'-' * (BAR - full)}] {100 * share:3.0f} %  {what}{left}"
