"""`forearm convert`: from one format to another."""

from __future__ import annotations

import argparse
from pathlib import Path

from forearm.arm.arm import Arm
from forearm.arm.snap import rounded_angles
from forearm.cli.command import ARM_HELP, Command, add_hand, add_json, add_rigid, add_root, show_json, width
from forearm.cli.loading import add_reading, load, reading_of
from forearm.cli.numbers import plain_float
from forearm.cli.outputs import check_output, tell_written
from forearm.errors import InputError, shorten
from forearm.tables import filled

WRITERS = {".toml": Arm.save, ".urdf": Arm.to_urdf, ".xml": Arm.to_mjcf, ".mjcf": Arm.to_mjcf}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="IN", help=ARM_HELP)
    parser.add_argument("target", metavar="OUT", help="file to write, ending in .toml, .urdf, .xml or .mjcf")
    add_hand(parser)
    add_reading(parser)
    add_root(parser)
    add_rigid(parser)
    parser.add_argument(
        "--lock",
        action="append",
        default=[],
        metavar="JOINT=Q",
        help="hold a joint at Q, rad (m); may be repeated",
    )
    parser.add_argument(
        "--snap-angles",
        action="store_true",
        help="exact multiples of 45 degrees for angles within 1e-4 rad of them, such as 1.5708",
    )
    add_json(parser)


def _run(given: argparse.Namespace) -> int:
    target = Path(given.target)
    check_output("OUT", given.target, tuple(WRITERS))
    arm = load(given.source, hand=given.hand, root=given.root, **reading_of(given))
    arm = arm.rigid() if given.rigid else arm
    locked = [_locked(text) for text in given.lock]
    if len(dict(locked)) < len(locked):
        raise InputError(
            f"--lock: a joint is held at two positions: {', '.join(given.lock)}; name each once."
        )
    arm = arm.lock(dict(locked)) if locked else arm
    snapped = rounded_angles(arm) if given.snap_angles else ()
    arm = arm.snap_angles() if snapped else arm
    WRITERS[target.suffix.lower()](arm, target)
    if given.json:
        document = {"name": arm.name, "n": arm.n, "written": str(target)}
        show_json(document | ({"snapped": [vars(a) for a in snapped]} if given.snap_angles else {}))
    else:
        print(f"{arm.name}: {arm.n} joints, {len(arm.links)} links")
        if given.snap_angles:
            changes = ", ".join(f"{angle} -> {angle.exact:.9g}" for angle in snapped)
            print(filled(f"Angles made exact: {changes or 'none'}", width()))
        tell_written([target])
    return 0


def _locked(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    at = plain_float(value)
    if at is None:
        raise InputError(f"--lock: expected JOINT=NUMBER, such as joint4=0.3, got {shorten(text)}.")
    return name, at


COMMAND = Command(
    "forearm convert puma560 puma560.urdf\nforearm convert panda panda.xml\n"
    "forearm convert panda locked.toml --lock joint3=0.4 --rigid",
    _add_arguments,
    _run,
)
