"""The page of the demo: `report.html` with `report.css` and the figures put in;
whatever comes from an arm is escaped.
"""

from __future__ import annotations

import html
import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forearm import __version__
from forearm.arm.arm import Arm
from forearm.arm.text import headline
from forearm.benchmarks.timing import BenchmarkRow
from forearm.cli.demo_report.chapters import VOLTAGE, Chapters, Learned, Studied
from forearm.cli.demo_report.counted import CountTable
from forearm.cli.demo_report.curves import torque_curves
from forearm.cli.demo_report.motion import Followed, Torques
from forearm.cli.demo_report.speed import micro, times
from forearm.cli.demo_report.still import still_picture
from forearm.codegen import Source
from forearm.pages import SCRIPTS, filled_in, html_page
from forearm.palette import COLOURS, ON_DARK, page_colours
from forearm.reading.textfile import write_text
from forearm.tables import number
from forearm.trajectories import Plan
from forearm.viewer.door import recording_page

FOLDER = Path(__file__).parent
# The page opens with the arm moving, unless the reader's system asks for stillness.


@dataclass(frozen=True, eq=False)
class DemoReport:
    """Everything that the page shows; `naive` is the run of a controller without a friction model."""

    arm: Arm
    findings: tuple[str, ...]
    torques: Torques
    known: Followed
    naive: Followed
    counts: tuple[CountTable, ...]
    source: Source
    chapters: Chapters
    speed: tuple[BenchmarkRow, ...]
    machine: dict[str, Any]


def write_report(report: DemoReport, path: str | os.PathLike[str]) -> None:
    """Write the page, whole or not at all."""
    write_text(path, report_page(report))


def report_page(report: DemoReport) -> str:
    """The text of the page."""
    parts = {
        "name": html.escape(report.arm.name),
        "version": html.escape(__version__),
        "headline": html.escape(headline(report.arm)),
        "joints": _joints(report.arm),
        "findings": "".join(f"<li>{html.escape(text)}</li>" for text in report.findings)
        or "<li>Nothing implausible found.</li>",
        "still": still_picture(report.known.run),
        "player": html.escape(_player(report.known)),
        "seconds": number(float(report.torques.t[-1]), 3),
        "known_off": _millimetres(report.known.off),
        "naive_off": _millimetres(report.naive.off),
        "curves": _curves(report.arm, report.torques),
        "peaks": _peaks(report.arm, report.torques),
        "counts": "\n".join(_count_table(table) for table in report.counts),
        "cost": html.escape(str(report.source.counts)),
        "code_name": html.escape(next(iter(report.source.files()))),
        "code": html.escape(report.source.text),
        "board": _board(report.chapters.board),
        "voltage": number(VOLTAGE, 3),
        "fastest": number(report.chapters.fastest.duration, 3),
        "savings": _savings(report.chapters.fastest),
        "learned": _learned(report.arm, report.chapters.learned),
        "samples": str(report.chapters.learned.samples),
        "study": _study(report.chapters.study),
        "speed": _speed(report.speed),
        "machine": html.escape(_machine(report.machine)),
    }
    return html_page(
        f"forearm demo: {report.arm.name}",
        filled_in(FOLDER / "report.html", parts),
        FOLDER / "report.css",
        page_colours(*({"without": c[0], "with": c[1], "way": c[2]} for c in (COLOURS, ON_DARK))),
        policy=SCRIPTS,
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]], marked: int | None = None) -> str:
    """A table, all of it escaped; the first column is words, columns of numbers stand to the
    right; a row may be marked.
    """
    sides = ["", *(_side(column) for column in list(zip(*rows, strict=True))[1:])]
    head = "".join(
        f'<th scope="col"{side}>{html.escape(cell)}</th>' for cell, side in zip(header, sides, strict=True)
    )
    lines = [f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>']
    for k, (first, *rest) in enumerate(rows):
        cells = "".join(
            f"<td{side}>{html.escape(cell)}</td>" for cell, side in zip(rest, sides[1:], strict=True)
        )
        mark = ' class="ours"' if k == marked else ""
        lines.append(f'<tr{mark}><th scope="row">{html.escape(first)}</th>{cells}</tr>')
    return "\n".join([*lines, "</tbody></table></div>"])


def _side(column: Sequence[str]) -> str:
    return ' class="number"' if all(re.match(r"-?\d|-$", cell) for cell in column) else ""


def _joints(arm: Arm) -> str:
    rows = []
    for joint in arm.joints:
        low, high = joint.limits
        drive, friction = joint.motor, joint.friction
        coulomb = (
            "-"
            if friction is None
            else f"{', '.join(number(x, 3) for x in friction.coulomb)} ({friction.side})"
        )
        turns = joint.kind == "revolute"
        place = (
            f"{math.degrees(low):.0f} to {math.degrees(high):.0f} deg" if turns else f"{low:g} to {high:g} m"
        )
        gear = "-" if drive is None else number(drive.gear_ratio, 4)
        rows.append([joint.name, place, number(arm.link(joint.child).mass, 4), gear, coulomb])
    return table(["joint", "range", "link, kg", "gear ratio", "Coulomb friction, N m (where)"], rows)


def _player(followed: Followed) -> str:
    return recording_page(followed.run, plays=True)


def _curves(arm: Arm, torques: Torques) -> str:
    boxes = []
    for i, joint in enumerate(arm.joints):
        drawn = torque_curves(torques.t, torques.smooth[:, i], torques.real[:, i], joint.name)
        unit = "N m" if joint.kind == "revolute" else "N"
        boxes.append(f"<figure><figcaption>{html.escape(joint.name)}, {unit}</figcaption>\n{drawn}</figure>")
    return "\n".join(boxes)


def _peaks(arm: Arm, torques: Torques) -> str:
    rows = [
        [joint.name, *(number(x, 3) for x in peaks)]
        for joint, peaks in zip(arm.joints, torques.peaks, strict=True)
    ]
    return table(["largest torque, N m", "rigid links only", "with rotors", "with rotors and friction"], rows)


def _count_table(found: CountTable) -> str:
    ours = found.rows[-1].total
    rows = [
        [r.method, *(str(x) for x in r.pair), str(r.total), f"{r.total / ours:.2f}", r.source]
        for r in found.rows
    ]
    header = ["method", "mul", "add", "total", "relative to generated", "source"]
    note = f"<p><small>{html.escape(found.note)}</small></p>" if found.note else ""
    return f"<h3>{html.escape(found.title)}</h3>\n{table(header, rows, len(rows) - 1)}{note}"


def _board(source: Source) -> str:
    size = source.figures
    return html.escape(f"{size['code_bytes']:,} bytes of code, {size['stack_bytes']} bytes of stack")


def _savings(fastest: Plan) -> str:
    savings = fastest.timing.savings[:3] if fastest.timing else ()
    return "".join(f"<li>{html.escape(saving.text)}</li>" for saving in savings)


def _learned(arm: Arm, learned: Learned) -> str:
    rows = [
        [joint.name, number(before, 3), number(after, 3)]
        for joint, before, after in zip(arm.joints, learned.before, learned.after, strict=True)
    ]
    return table(["rms torque error, N m", "model 30 % wrong", "identified model"], rows)


def _study(study: Studied) -> str:
    rows = [[name, unit or "-", *(number(x, 3) for x in values)] for name, unit, *values in study.table]
    share = f"<p>{study.overloaded:.0%} of the {study.rows:,} arms exceed a torque limit of the arm.</p>"
    return table(["value", "unit", "5 %", "median", "95 %", "largest"], rows) + share


def _speed(rows: Sequence[BenchmarkRow]) -> str:
    cells = [
        [
            row.name,
            row.peer or "-",
            micro(row.peer_seconds),
            micro(row.seconds),
            times(row.ratio),
            f"{row.agreement:.0e}",
        ]
        for row in rows
    ]
    return table(["", "NumPy", "NumPy, us", "forearm, us", "ratio", "largest difference"], cells)


def _millimetres(metres: float) -> str:
    return f"{number(1e3 * metres, 2)} mm"


def _machine(machine: dict[str, Any]) -> str:
    return f"{machine['cpu']}, Python {machine['python']}, NumPy {machine['versions']['numpy']}"
