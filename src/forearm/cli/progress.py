"""A progress bar on standard error, where that is a terminal."""

from __future__ import annotations

import sys
import time

from forearm.cli.command import width

EVERY = 0.1  # s between two drawings
BAR = 24  # characters


class Progress:
    """How far a long computation is. Silent where standard error is no terminal; wiped out at the end."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty()
        self._start = self._drawn = time.monotonic()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def show(self, rows: int, fraction: float | None) -> None:
        """Draw the bar anew, at most some times a second."""
        now = time.monotonic()
        if not self._is_shown or now - self._drawn < EVERY:
            return
        self._drawn = now
        line = progress_line(rows, fraction, now - self._start)
        print(f"\r{line[: width() - 1]}\x1b[K", end="", file=sys.stderr, flush=True)


def progress_line(rows: int, fraction: float | None, seconds: float) -> str:
    """The bar, the share, rows done, their rate and the time left; without a bar where the length is unknown."""
    rate = f"{rows:,} rows, {rows / max(seconds, 1e-9):,.0f} a second"
    if not fraction:
        return rate
    full = round(BAR * fraction)
    left = seconds * (1.0 - fraction) / fraction
    return f"[{'#' * full}{'-' * (BAR - full)}] {100 * fraction:3.0f} %  {rate}, {left:.0f} s left"
