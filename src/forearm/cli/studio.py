"""`forearm studio`: an arm, or several side by side, as one page for a browser."""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path

from forearm.cli.command import Command
from forearm.cli.loading import READING, load, reading_of
from forearm.cli.options import ARM, DEGREES, JSON, ROOT, Option, finish, state
from forearm.cli.outputs import check_page
from forearm.cli.progress import ProgressBar
from forearm.cli.states import read_state
from forearm.cli.terminal import complain
from forearm.reading.fields import FlagField, WholeField
from forearm.tables import Report
from forearm.viewer.door import TRIANGLES, ShownArm, origin_of, write_studio
from forearm.visuals.visual import by_reason


def _run(given: argparse.Namespace) -> int:
    path = given.output or f"{Path(given.arm).stem}.html"
    check_page("--output" if given.output else "studio", path)
    shown = [_shown(given, given.arm, given.hand), *(_shown(given, arm, None) for arm in given.beside)]
    q = None if given.q is None else read_state(shown[0].arm, given.q, "q", given.degrees)
    with ProgressBar("writing the arm's dynamics as JavaScript"):
        page = write_studio(shown, path, triangles=given.triangles, q=q)
    missing = (entry for each in shown if each.visuals is not None for entry in each.visuals.missing)
    for text in by_reason(missing):
        complain(f"not shown: {text}", kind="warning")
    document = {
        "arms": [each.arm.name for each in shown],
        "written": [str(page.path)],
        "bytes": os.path.getsize(page.path),
        "missing": list(page.missing),
    }
    return finish(given, Report(), document, written=[page.path])


def _shown(given: argparse.Namespace, source: str, hand: str | None) -> ShownArm:
    from forearm.visuals.load import load_visuals

    reading = reading_of(given)
    arm = load(source, hand=hand, root=given.root, **reading)
    packages = reading["packages"]
    visuals = load_visuals(source, root=given.root, packages=packages) if given.meshes else None
    # What commands cannot say is in the file that the page saves.
    if given.root or given.lenient or given.density or packages:
        return ShownArm(arm, *origin_of(arm), visuals)
    python = f"fa.load({source!r}{f', hand={hand!r}' if hand else ''})"
    command = shlex.quote(source) + (f" --hand {shlex.quote(hand)}" if hand else "")
    return ShownArm(arm, python, command, visuals)


COMMAND = Command(
    "forearm studio panda -o panda.html\n"
    "forearm studio cmu-dd --meshes -o cmu.html\n"
    "forearm studio puma560 --beside stanford -o two.html",
    (
        *ARM,
        Option(
            "--beside",
            "another arm, shown beside the first; may be repeated",
            "ARM",
            default=[],
            count="append",
        ),
        Option("--output", "the page, .html (default: ARM.html)", "FILE", short="-o"),
        Option(
            "--meshes",
            "include the meshes that the file names (STL, OBJ, DAE, MSH), simplified; warn of missing ones",
            reads=FlagField(),
        ),
        Option(
            "--triangles",
            f"at most this many triangles in all meshes together, from 100 (default: {TRIANGLES})",
            reads=WholeField("", 100, 1_000_000),
            default=TRIANGLES,
        ),
        *READING,
        ROOT,
        state("q", "initial joint positions, rad (m) (default: zero, or the nearest within limits)"),
        DEGREES,
        JSON,
    ),
    _run,
)
