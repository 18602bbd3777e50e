"""`forearm convert`: from one format to another."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from forearm.arm.arm import Arm
from forearm.arm.drive import SIDES
from forearm.arm.snap import rounded_angles
from forearm.cli.command import ARM_HELP, Command
from forearm.cli.loading import READING, load, reading_of
from forearm.cli.numbers import plain_float
from forearm.cli.options import HAND, JSON, RIGID, ROOT, Option, finish
from forearm.errors import ForearmError, InputError, shorten
from forearm.reading.fields import FlagField
from forearm.tables import Report

WRITERS = {".toml": Arm.save, ".urdf": Arm.to_urdf, ".xml": Arm.to_mjcf, ".mjcf": Arm.to_mjcf}


def _run(given: argparse.Namespace) -> int:
    arm = load(given.source, hand=given.hand, root=given.root, **reading_of(given))
    arm = arm.rigid() if given.rigid else arm
    locked = [_locked(text) for text in given.lock]
    if len(dict(locked)) < len(locked):
        raise InputError(
            f"a joint is locked at two positions: {', '.join(given.lock)}; name each once.", "--lock"
        )
    arm = arm.lock(dict(locked)) if locked else arm
    for part in DRIVES:
        for text in getattr(given, part):
            arm = _with_drive(arm, part, text)
    snapped = rounded_angles(arm) if given.snap_angles else ()
    arm = arm.snap_angles() if snapped else arm
    WRITERS[Path(given.target).suffix.lower()](arm, given.target)
    lines = [f"{arm.name}: {arm.n} joints, {len(arm.links)} links"]
    document: dict[str, Any] = {"name": arm.name, "n": arm.n, "written": given.target}
    if given.snap_angles:
        changes = ", ".join(f"{angle} -> {angle.exact:.9g}" for angle in snapped)
        lines.append(f"Angles made exact: {changes or 'none'}")
        document["snapped"] = [vars(angle) for angle in snapped]
    return finish(given, Report(before=lines), document, written=[given.target])


def _with_drive(arm: Arm, part: str, text: str) -> Arm:
    """The arm with values of its motors or friction replaced."""
    joint, colon, figures = text.rpartition(":")
    pairs = [word.partition("=") for word in figures.split(",")]
    if not all(name.strip() and sign and value.strip() for name, sign, value in pairs):
        raise InputError(
            f"expected [JOINT:]NAME=X,..., such as joint2:viscous=0.5, got {shorten(text)}.", f"--{part}"
        )
    fields = {name.strip(): _figure(part, text, word.strip()) for name, _, word in pairs}
    try:
        return arm.with_drives(
            {joint.strip(): {part: fields}} if colon else None, **({} if colon else {part: fields})
        )
    except ForearmError as error:
        inside = (name for name in error.place if name not in ("with_drives", part))
        error.place = (f"--{part} {shorten(text)}", *inside)
        raise


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


DRIVES = {"motor": "gear_ratio=100,torque_constant=0.09", "friction": "coulomb=2,viscous=0.5"}
COMMAND = Command(
    "forearm convert puma560 puma560.urdf\nforearm convert panda panda.xml\n"
    "forearm convert panda locked.toml --lock joint3=0.4 --rigid",
    (
        Option("source", ARM_HELP, "IN", keyword="load"),
        Option(
            "target", "file to write, ending in .toml, .urdf, .xml or .mjcf", "OUT", endings=tuple(WRITERS)
        ),
        HAND,
        *READING,
        ROOT,
        RIGID,
        Option(
            "--lock", "lock a joint at Q, rad (m); may be repeated", "JOINT=Q", default=[], count="append"
        ),
        *(
            Option(
                f"--{part}",
                f"{part} of every joint, or of one, such as {example}; may be repeated",
                "[JOINT:]NAME=X,...",
                default=[],
                count="append",
            )
            for part, example in DRIVES.items()
        ),
        Option(
            "--snap-angles",
            "round angles within 1e-4 rad of a multiple of 45 degrees, such as 1.5708, to exactly that",
            reads=FlagField(),
        ),
        JSON,
    ),
    _run,
)
