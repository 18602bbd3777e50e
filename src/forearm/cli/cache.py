"""`forearm cache`: list or clear compiled code on disk."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

from forearm.cli.command import Command, add_json, complain, show_json, width
from forearm.kernels import cache
from forearm.tables import text_table

SHOWN = 20  # entries in the table; --json has all of them


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--clear", action="store_true", help="remove the files written by the cache")
    add_json(parser)


def _run(given: argparse.Namespace) -> int:
    place = cache.folder()
    return _clear(place, given.json) if given.clear else _show(place, given.json)


def _show(place: Path | None, as_json: bool) -> int:
    reason = _why_not(place)
    found = cache.entries(place)[::-1] if place else []
    unfinished = len(cache.unfinished(place)) if place else 0
    size = sum(entry.size for entry in found)
    if as_json:
        show_json(
            {
                "folder": None if place is None else str(place),
                "used": reason is None,
                "why_not": reason,
                "files": len(found),
                "bytes": size,
                "bound": cache.bound(),
                "unfinished": unfinished,
                "entries": [_described(entry) for entry in found],
            }
        )
        return 0
    print(f"folder  {place or '-'}")
    print(f"used    {'yes' if reason is None else f'no: {reason}'}")
    print(f"files   {len(found)}, {_size(size)} of at most {_size(cache.bound())}")
    if unfinished:
        print(f"        and {unfinished} being written or left unfinished")
    if found:
        header = ["arm", "functions", "dtype", "part", "size", "last used"]
        print("\n" + text_table(header, [_row(entry) for entry in found[:SHOWN]], width()))
    if len(found) > SHOWN:
        print(f"... and {len(found) - SHOWN} more")
    return 0


def _clear(place: Path | None, as_json: bool) -> int:
    count, size = cache.clear(place) if place else (0, 0)
    left = len(cache.entries(place)) + len(cache.unfinished(place)) if place else 0
    if as_json:
        show_json(
            {"folder": None if place is None else str(place), "removed": count, "bytes": size, "left": left}
        )
    else:
        print(f"{count} {'file' if count == 1 else 'files'} removed, {_size(size)}.")
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


COMMAND = Command("forearm cache\nforearm cache --clear", _add_arguments, _run)
