"""Standard output and error of a command: errors as one paragraph, one line of progress,
and characters that the terminal cannot display.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from typing import Any

from forearm.tables import Report

NARROWEST = 40  # columns that a paragraph is broken to at the least
WIPE = "\r\x1b[K"

_line = {"is_drawn": False}  # of progress, on standard error


def width() -> int:
    """How wide the terminal is; 100 columns where there is none."""
    return shutil.get_terminal_size((100, 24)).columns


def is_terminal(stream: Any) -> bool:
    """Whether the stream is a terminal; a closed stream (2>&-) is None."""
    return stream is not None and bool(stream.isatty())


def is_unicode(stream: Any) -> bool:
    """Whether the stream can encode every character."""
    return (getattr(stream, "encoding", None) or "").lower().startswith("utf")


def complain(text: str, kind: str = "forearm") -> None:
    """Print one paragraph to standard error."""
    wipe_line()
    columns = max(width(), NARROWEST)
    _write_error(
        textwrap.fill(f"{kind}: {text}", columns, break_long_words=False, break_on_hyphens=False) + "\n"
    )


def show(report: Report) -> None:
    """Print a report to standard output, as wide as the terminal."""
    print(report.text(width()))


def draw_line(text: str) -> None:
    """Draw a line on standard error, replacing the last one."""
    line = "".join(letter if letter.isprintable() else " " for letter in text[: max(width() - 1, 1)])
    _write_error(f"\r{line}\x1b[K")
    _line["is_drawn"] = True


def wipe_line() -> None:
    """Erase the progress line, if drawn."""
    if _line["is_drawn"]:
        _write_error(WIPE)
        _line["is_drawn"] = False


def show_all_characters() -> None:
    """Write characters that a stream cannot encode as \\xe9, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure") and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def give_up_output() -> None:
    """Discard further standard output: its reader has gone or its disk is full."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (AttributeError, OSError, ValueError):  # it is closed, or no file
        return


def _write_error(text: str) -> None:
    """Write to standard error if possible; failures are ignored, as they cannot be reported."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        return
