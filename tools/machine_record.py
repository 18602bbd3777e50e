"""The page docs/machines.md: what ran where. A section for each machine, a row for each circumstance."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HEAD = """# Machines

Results of the test suite, or parts of it, on several machines and in several environments.
`make test-machines` runs them all on a machine and replaces its rows here.
"""
COLUMNS = {
    "circumstance": "name", "what differs": "about", "tests": "tests", "result": "result",
    "seconds": "seconds", "date": "day", "Python": "python", "NumPy": "numpy", "llvmlite": "llvmlite",
}  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What came of a circumstance: the cells of a row."""

    name: str
    about: str
    tests: str
    result: str
    seconds: str = ""
    day: str = ""
    python: str = ""
    numpy: str = ""
    llvmlite: str = ""


def this_machine() -> str:
    """The CPU's name and the system, nothing else."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    cpu = next(named, platform.processor() or platform.machine())
    try:
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        system = f"{platform.system()} {platform.release()}"
    return f"{cpu}, {system}"


def read_record(path: Path) -> dict[str, dict[str, Outcome]]:
    """Rows by machine and circumstance."""
    sections: dict[str, dict[str, Outcome]] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("## "):
            sections[line[3:]] = {}
        elif line.startswith("|") and len(cells) == len(COLUMNS) and cells[0] not in ("circumstance", "---"):
            sections[next(reversed(sections))][cells[0]] = Outcome(*cells)
    return sections


def write_record(path: Path, new: Outcome, order: Sequence[str]) -> None:
    """Put an outcome into the record, rows in this order; one that was not tried replaces none that ran."""
    sections = read_record(path)
    rows = sections.setdefault(this_machine(), {})
    if new.day or not rows.get(new.name, new).day:
        rows[new.name] = new
    text = HEAD
    for machine, kept in sections.items():
        text += f"\n## {machine}\n\n| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}\n"
        names = [name for name in (*order, *sorted(set(kept) - set(order))) if name in kept]
        for row in (kept[name] for name in names):
            cells = [getattr(row, name) for name in COLUMNS.values()]
            text += f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |\n"
    path.write_text(text, encoding="utf-8")
