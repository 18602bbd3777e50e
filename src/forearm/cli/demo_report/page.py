"""The page of the demo: `report.html` with `report.css` and the figures put in;
whatever comes from an arm is escaped.
"""

from __future__ import annotations

import html
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forearm import __version__
from forearm.arm.arm import Arm
from forearm.arm.text import headline
from forearm.benchmarks.timing import BenchmarkRow
from forearm.cli.demo_report.chapters import VOLTAGE, Chapters
from forearm.cli.demo_report.counted import CountTable
from forearm.cli.demo_report.motion import Followed, Torques
from forearm.cli.demo_report.speed import speed_report
from forearm.cli.demo_report.still import still_picture
from forearm.codegen import Source
from forearm.pages import SCRIPTS, filled_in, html_page
from forearm.palette import page_colours
from forearm.reading.textfile import write_text
from forearm.svg import INKS, INKS_ON_DARK
from forearm.tables import Report, number
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
        "player": html.escape(recording_page(report.known.run, plays=True)),
        "seconds": number(float(report.torques.t[-1]), 3),
        "known_off": _millimetres(report.known.off),
        "naive_off": _millimetres(report.naive.off),
        "torques": report.torques.report(report.arm).html(),
        "counts": "\n".join(_wide(table.report) for table in report.counts),
        "cost": html.escape(str(report.source.counts)),
        "code_name": html.escape(next(iter(report.source.files()))),
        "code": html.escape(report.source.text),
        "board": _board(report.chapters.board),
        "voltage": number(VOLTAGE, 3),
        "fastest": number(report.chapters.fastest.duration, 3),
        "savings": _savings(report.chapters.fastest),
        "learned": _wide(report.chapters.learned.report(report.arm)),
        "samples": str(report.chapters.learned.samples),
        "study": _wide(report.chapters.study.report()),
        "speed": _wide(speed_report(report.speed)),
        "machine": html.escape(_machine(report.machine)),
    }
    return html_page(
        f"forearm demo: {report.arm.name}",
        filled_in(FOLDER / "report.html", parts),
        FOLDER / "report.css",
        page_colours(INKS, INKS_ON_DARK),
        policy=SCRIPTS,
    )


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
    header = ["joint", "range", "link, kg", "gear ratio", "Coulomb friction, N m (where)"]
    return _wide(Report(header, rows))


def _wide(report: Report) -> str:
    return f'<div class="wide">{report.html()}</div>'


def _board(source: Source) -> str:
    size = source.figures
    return html.escape(f"{size['code_bytes']:,} bytes of code, {size['stack_bytes']} bytes of stack")


def _savings(fastest: Plan) -> str:
    savings = fastest.timing.savings[:3] if fastest.timing else ()
    return "".join(f"<li>{html.escape(saving.text)}</li>" for saving in savings)


def _millimetres(metres: float) -> str:
    return f"{number(1e3 * metres, 2)} mm"


def _machine(machine: dict[str, Any]) -> str:
    return f"{machine['cpu']}, Python {machine['python']}, NumPy {machine['versions']['numpy']}"
