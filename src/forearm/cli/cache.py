"""`forearm cache`: list or clear compiled code on disk."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

from forearm.cli.command import Command, complain
from forearm.cli.options import JSON, Option, finish
from forearm.kernels import cache
from forearm.reading.fields import FlagField
from forearm.tables import Report

SHOWN = 20  # entries in the table; --json has all of them


def _run(given: argparse.Namespace) -> int:
    place = cache.folder()
    return _clear(given, place) if given.clear else _show(given, place)


def _show(given: argparse.Namespace, place: Path | None) -> int:
    reason = _why_not(place)
    found = cache.entries(place)[::-1] if place else []
    unfinished = len(cache.unfinished(place)) if place else 0
    size = sum(entry.size for entry in found)
    document = {
        "folder": None if place is None else str(place),
        "used": reason is None,
        "why_not": reason,
        "files": len(found),
        "bytes": size,
        "bound": cache.bound(),
        "unfinished": unfinished,
        "entries": [_described(entry) for entry in found],
    }
    lines = [
        f"folder  {place or '-'}",
        f"used    {'yes' if reason is None else f'no: {reason}'}",
        f"files   {len(found)}, {_size(size)} of at most {_size(cache.bound())}",
        f"        and {unfinished} being written or left unfinished" if unfinished else "",
    ]
    header = ["arm", "functions", "dtype", "part", "size", "last used"]
    more = [f"... and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    table = [Report(header, [_row(entry) for entry in found[:SHOWN]], after=more)] if found else []
    return finish(given, Report(before=lines, parts=table, under=" " * 8), document)


def _clear(given: argparse.Namespace, place: Path | None) -> int:
    count, size = cache.clear(place) if place else (0, 0)
    left = len(cache.entries(place)) + len(cache.unfinished(place)) if place else 0
    document = {
        "folder": None if place is None else str(place),
        "removed": count,
        "bytes": size,
        "left": left,
    }
    said = f"{count} {'file' if count == 1 else 'files'} removed, {_size(size)}."
    finish(given, Report(before=[said]), document)
    if left:
        complain(
            f"{place}: {left} of its files are still there, written just now or not to "
            "be removed by this user."
        )
    return 2 if left else 0


def _why_not(place: Path | None) -> str | None:
    """Why nothing is read or written, None if it is."""
    if place is None:
        off = os.environ.get("FOREARM_CACHE") in cache.OFF
        return "FOREARM_CACHE is off" if off else "no home folder found; set FOREARM_CACHE=FOLDER"
    if not os.path.lexists(place):
        return "not created yet; compiling a function creates it"
    return cache.trouble(place)


def _described(entry: cache.Entry) -> dict[str, Any]:
    """An entry as JSON has it; `used` in seconds since 1970."""
    about = cache.about(entry.path)
    known = {name: about[name] for name in ("arm", "functions", "dtype", "part")} if about else {}
    return {
        "file": entry.path.name,
        **known,
        "damaged": about is None,
        "bytes": entry.size,
        "used": entry.used,
    }


def _row(entry: cache.Entry) -> list[str]:
    about = cache.about(entry.path)
    words = (
        [about["arm"], " + ".join(about["functions"]), about["dtype"], about["part"]]
        if about
        else ["damaged", "", "", ""]
    )
    return [*words, _size(entry.size), _date(entry.used)]


def _size(size: int) -> str:
    return f"{size / 2**20:.1f} MiB" if size >= 2**20 else f"{size / 2**10:.1f} KiB"


def _date(moment: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))
    except (OverflowError, ValueError, OSError):  # a date that no calendar has
        return "-"


COMMAND = Command(
    "forearm cache\nforearm cache --clear",
    (Option("--clear", "remove the files written by the cache", reads=FlagField()), JSON),
    _run,
)
