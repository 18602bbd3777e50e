"""Output files of a command: checked before the work starts, listed at the end."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

from forearm.errors import InputError
from forearm.values import listed

PICTURES = (".png", ".svg", ".pdf")
PAGES = (".html", ".htm")


def add_plot(parser: argparse._ActionsContainer, what: str, option: str = "--plot") -> None:
    """An option for a picture, the same everywhere."""
    parser.add_argument(option, metavar="FILE", help=f"draw {what} (.png, .svg or .pdf)")


def check_picture(option: str, path: str | None) -> None:
    """Refuse a picture that could not be drawn or written."""
    if path is None:
        return
    check_output(option, path, PICTURES, "a picture ends")
    if find_spec("matplotlib") is None:
        raise InputError("plots need matplotlib: pip install 'forearm[plot]'", f"{option} {path}")


def check_page(option: str, path: str | None) -> None:
    """Refuse a page for a browser that could not be written."""
    check_output(option, path, PAGES, "a page ends")


def check_output(
    option: str, path: str | None, endings: Sequence[str], what: str = "the name must end"
) -> None:
    """Refuse a file with another extension, in a missing folder, or at the path of a folder."""
    if path is None:
        return
    target = Path(path)
    if target.suffix.lower() not in endings:
        raise InputError(f"{what} in {listed(endings)}.", f"{option} {path}")
    if target.is_dir():
        raise InputError("a folder, not a file; name a file in it.", f"{option} {path}")
    if not target.parent.is_dir():
        raise InputError(f"there is no folder {target.parent}; make it, or name another.", f"{option} {path}")
    if not os.access(target.parent, os.W_OK):
        raise InputError(
            f"nothing can be written in the folder {target.parent}; name another.", f"{option} {path}"
        )


def tell_written(paths: Iterable[str | os.PathLike[str] | None]) -> None:
    """Print the last lines of every command that writes: one for each file."""
    for path in paths:
        if path is not None:
            print(f"wrote {os.fspath(path)}")
