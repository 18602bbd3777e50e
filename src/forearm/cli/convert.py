"""`forearm convert`: from one format to another."""

from __future__ import annotations

import argparse
from pathlib import Path

from forearm.arm.arm import Arm
from forearm.arm.drive import SIDES
from forearm.arm.snap import rounded_angles
from forearm.cli.command import ARM_HELP, Command, add_hand, add_json, add_rigid, add_root, show_json, width
from forearm.cli.loading import add_reading, load, reading_of
from forearm.cli.numbers import plain_float
from forearm.cli.outputs import check_output, tell_written
from forearm.errors import InputError, located, shorten
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
        help="lock a joint at Q, rad (m); may be repeated",
    )
    for part, example in (
        ("motor", "gear_ratio=100,torque_constant=0.09"),
        ("friction", "coulomb=2,viscous=0.5"),
    ):
        parser.add_argument(
            f"--{part}",
            action="append",
            default=[],
            metavar="[JOINT:]NAME=X,...",
            help=f"{part} of every joint, or of one, such as {example}; may be repeated",
        )
    parser.add_argument(
        "--snap-angles",
        action="store_true",
        help="round angles within 1e-4 rad of a multiple of 45 degrees, such as 1.5708, to exactly that",
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
            f"a joint is locked at two positions: {', '.join(given.lock)}; name each once.", "--lock"
        )
    arm = arm.lock(dict(locked)) if locked else arm
    for part in ("motor", "friction"):
        for text in getattr(given, part):
            arm = _with_drive(arm, part, text)
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


def _with_drive(arm: Arm, part: str, text: str) -> Arm:
    """The arm with values of its motors or friction replaced."""
    joint, colon, figures = text.rpartition(":")
    fields = {name.strip(): _figure(part, text, word.strip()) for name, word in _pairs(part, text, figures)}
    with located(f"--{part} {shorten(text)}"):
        return arm.with_drives(
            {joint.strip(): {part: fields}} if colon else None, **({} if colon else {part: fields})
        )


def _pairs(part: str, text: str, figures: str) -> list[tuple[str, str]]:
    pairs = [word.partition("=") for word in figures.split(",")]
    if not all(name.strip() and sign and value.strip() for name, sign, value in pairs):
        raise InputError(
            f"expected [JOINT:]NAME=X,..., such as joint2:viscous=0.5, got {shorten(text)}.", f"--{part}"
        )
    return [(name, value) for name, _, value in pairs]


def _figure(part: str, text: str, word: str) -> float | str:
    """A number, or the word of a side."""
    value = plain_float(word)
    if value is None and word not in SIDES:
        raise InputError(f"expected a number, got {shorten(word)} in {shorten(text)}.", f"--{part}")
    return word if value is None else value


def _locked(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    at = plain_float(value)
    if at is None:
        raise InputError(f"expected JOINT=NUMBER, such as joint4=0.3, got {shorten(text)}.", "--lock")
    return name, at


COMMAND = Command(
    "forearm convert puma560 puma560.urdf\nforearm convert panda panda.xml\n"
    "forearm convert panda locked.toml --lock joint3=0.4 --rigid",
    _add_arguments,
    _run,
)
