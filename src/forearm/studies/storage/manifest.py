"""The manifest of a results folder: what is computed, and how it differs from another study."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

from forearm.errors import InputError, shorten
from forearm.reading.textfile import read_json_table
from forearm.values import check_name, check_whole

MANIFEST = "study.json"
ROW = "row"  # the first column of every part
TYPES = ("float64", "string", "int64")
MAX_DIFFERENCES = 12


def digest_of(manifest: Mapping[str, Any]) -> str:
    """The SHA-256 of a manifest, independent of the order of its keys."""
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def plain(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest as read back from its file."""
    try:
        found: dict[str, Any] = json.loads(json.dumps(dict(manifest), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            "expected finite numbers, text, lists and tables, as in JSON: "
            f"{shorten(str(error), 200)}. Convert other values to text.",
            "study",
        ) from error
    return found


def check_fields(manifest: dict[str, Any], where: str) -> None:
    """Refuse a manifest without valid rows and columns."""
    check_whole(manifest.get("rows"), f"{where}, rows", 1)
    check_whole(manifest.get("rows_per_part"), f"{where}, rows_per_part", 1)
    columns = manifest.get("columns")
    if not isinstance(columns, dict) or not columns:
        raise InputError(f"expected a table of names and types, got {shorten(columns)}.", where, "columns")
    for name, kind in columns.items():
        check_name(name, "column")
        if name == ROW or kind not in TYPES:
            raise InputError(
                f"expected one of {', '.join(TYPES)} under a name other than {ROW!r}, which "
                f"every part has anyway; got {shorten(kind)}.",
                where,
                f"column {shorten(name)}",
            )


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder, checked."""
    place = folder / MANIFEST
    manifest = plain(read_json_table(place, "rows, rows_per_part and columns"))
    check_fields(manifest, str(place))
    return manifest


def check_same(folder: Path, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Refuse a folder of another study, listing the differences."""
    differences = list(_differences(found, wanted, ""))
    if differences:
        shown = differences[:MAX_DIFFERENCES]
        more = len(differences) - len(shown)
        lines = "\n".join(f"  {line}" for line in shown) + (f"\n  and {more} more" if more else "")
        raise InputError(
            f"expected the study of its {MANIFEST}, got another one:\n{lines}\nGive another "
            "folder, or restore the study.",
            folder,
        )


def _differences(found: Any, wanted: Any, path: str) -> Iterator[str]:
    """A line for every key in which two manifests differ."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in dict.fromkeys((*found, *wanted)):
            place = f"{path}.{key}" if path else key
            yield from _differences(found.get(key, _ABSENT), wanted.get(key, _ABSENT), place)
    elif isinstance(found, list) and isinstance(wanted, list):
        for k, (one, other) in enumerate(zip_longest(found, wanted, fillvalue=_ABSENT)):
            yield from _differences(one, other, f"{path}{_label(one, other, k)}")
    elif repr(found) != repr(wanted):  # by their digests: 1 is not 1.0, nor 0.0 -0.0
        is_data = all(isinstance(x, str) and len(x) > LONGEST_SHOWN for x in (found, wanted))
        said = "other numbers" if is_data else f"{_shown(found)} in the folder, {_shown(wanted)} given"
        yield f"{path}: {said}."


LONGEST_SHOWN = 200  # characters; longer texts are digests
_ABSENT = object()


def _label(one: Any, other: Any, k: int) -> str:
    """The common name of two entries of a list, or their index."""
    names = [entry.get("name") if isinstance(entry, dict) else None for entry in (one, other)]
    return f".{names[0]}" if names[0] is not None and names[0] == names[1] else f"[{k}]"


def _shown(value: Any) -> str:
    return "absent" if value is _ABSENT else shorten(value)
