"""`forearm studio`: an arm, or several side by side, as one page for a browser."""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path

from forearm.cli.command import Command, add_arm, add_json, add_root, show_json
from forearm.cli.loading import add_reading, load, reading_of
from forearm.cli.numbers import Whole
from forearm.cli.outputs import check_page, tell_written
from forearm.cli.progress import ProgressBar
from forearm.cli.states import add_state, read_state
from forearm.cli.terminal import complain
from forearm.viewer.door import TRIANGLES, ShownArm, origin_of, write_studio
from forearm.visuals.visual import by_reason


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_arm(parser)
    parser.add_argument(
        "--beside",
        action="append",
        default=[],
        metavar="ARM",
        help="another arm, shown beside the first; may be repeated",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="the page, .html (default: ARM.html)")
    parser.add_argument(
        "--meshes",
        action="store_true",
        help="include the meshes that the file names (STL, OBJ, DAE, MSH), simplified; warn of missing ones",
    )
    parser.add_argument(
        "--triangles",
        type=Whole(100, 1_000_000),
        default=TRIANGLES,
        metavar="N",
        help=f"at most this many triangles in all meshes together, from 100 (default: {TRIANGLES})",
    )
    add_reading(parser)
    add_root(parser)
    add_state(parser, "q", "initial joint positions, rad (m) (default: zero, or the nearest within limits)")
    add_json(parser)


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
    if given.json:
        size = os.path.getsize(page.path)
        show_json(
            {
                "arms": [each.arm.name for each in shown],
                "written": [str(page.path)],
                "bytes": size,
                "missing": list(page.missing),
            }
        )
    else:
        tell_written([page.path])
    return 0


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
    _add_arguments,
    _run,
)
