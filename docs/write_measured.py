"""Write docs/measured.md from what `forearm bench` measured, kept as JSON:

    forearm bench --peers --json > cpu.json
    forearm bench --device cuda --json > gpu.json
    python docs/write_measured.py cpu.json gpu.json

Every row of the benchmarks is on the page, those that missed their target first.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from forearm.benchmarks.on_device import DeviceRow
from forearm.benchmarks.timing import BenchmarkRow
from forearm.cli.bench import DEVICE_HEADER, HEADER, device_cells, grouped, row_cells

PAGE = Path(__file__).parent / "measured.md"
INTRODUCTION = """# Measurements

Every row of the benchmarks, measured in one session, and what missed its target.
[Performance](performance.md) describes each measurement, what limits it and what was tried; where a number
there differs from this page, this page is the later measurement.

"""


def page(documents: Iterable[dict[str, Any]]) -> str:
    """The whole page."""
    cpu, gpu = [], []
    for document in documents:
        (gpu if "device" in document else cpu).append(document)
    missed = [_missed(d) for d in (*cpu, *gpu)]
    parts = [INTRODUCTION, "## Missed targets\n"]
    header = ("what", "measured", "compared with", "ratio", "target")
    parts.append(_table(header, [row for rows in missed for row in rows]) or "None.\n")
    for document in cpu:
        parts.append(_about(document, "forearm bench --peers"))
        for group, rows in grouped(_rows(document)).items():
            parts.append(
                f"### {group.replace('_', ' ')}\n\n{_columns(HEADER, [row_cells(row) for row in rows])}"
            )
        parts += [f"Not measured: {text}\n" for text in document.get("missing", ())]
    for document in gpu:
        rows = [device_cells(row) for row in _device_rows(document)]
        parts.append(f"{_about(document, 'forearm bench --device cuda')}\n{_columns(DEVICE_HEADER, rows)}")
    return "\n".join(parts)


def _rows(document: dict[str, Any]) -> list[BenchmarkRow]:
    return [_record(BenchmarkRow, row) for row in document["rows"]]


def _device_rows(document: dict[str, Any]) -> list[DeviceRow]:
    return [_record(DeviceRow, row) for row in document["rows"]]


def _record(kind: Any, row: dict[str, Any]) -> Any:
    return kind(**{field.name: row[field.name] for field in dataclasses.fields(kind) if field.name in row})


def _missed(document: dict[str, Any]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    if "device" in document:
        for row in _device_rows(document):
            if row.met is False:
                cells = dict(zip(DEVICE_HEADER, device_cells(row), strict=True))
                done = cells["per second"] if row.rate else cells["time"]
                found.append((f"{row.name}, {row.dtype}, GPU", done, "-", cells["of copy"], cells["target"]))
        return found
    for row in _rows(document):
        if row.met is False:
            cells = dict(zip(HEADER, row_cells(row), strict=True))
            other = " ".join(word for word in (cells["peer"], cells["peer time"]) if word != "-") or "-"
            found.append((f"{row.group}: {row.name}", cells["ours"], other, cells["ratio"], cells["target"]))
    return found


def _about(document: dict[str, Any], command: str) -> str:
    machine = document["machine"]
    versions = ", ".join(f"{name} {v}" for name, v in machine["versions"].items() if v)
    where = (
        document["device"]["name"] if "device" in document else f"{machine['cpu']}, {machine['cores']} cores"
    )
    return f"## {where}\n\n`{command}`; Python {machine['python']}, {versions}.\n"


def _columns(header: Sequence[str], rows: list[list[str]]) -> str:
    """A table without empty columns."""
    kept = [k for k in range(len(header)) if any(row[k] != "-" for row in rows)]
    return _table([header[k] for k in kept], [[row[k] for k in kept] for row in rows])


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |\n" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(
        page(json.loads(Path(path).read_text(encoding="utf-8")) for path in sys.argv[1:]), encoding="utf-8"
    )
