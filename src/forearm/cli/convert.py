"""`forearm convert`: from one format to another."""

from __future__ import annotations

import argparse
from pathlib import Path

from forearm.cli.command import Command, add_json, show_json
from forearm.errors import InputError, shorten
from forearm.files.load import load


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="IN", help="built-in name, or path to a .toml or .urdf file")
    parser.add_argument("target", metavar="OUT", help="file to write, ending in .toml or .urdf")
    parser.add_argument("--hand", metavar="LINK", help="the link that is the hand, where it is another than usual")
    parser.add_argument("--rigid", action="store_true", help="leave out motors, friction, bearings and transmissions")
    parser.add_argument(
        "--lock", action="append", default=[], metavar="JOINT=Q", help="hold a joint at Q (rad or m); may be repeated"
    )
    add_json(parser)


def _run(given: argparse.Namespace) -> int:
    target = Path(given.target)
    if target.suffix.lower() not in (".toml", ".urdf"):
        raise InputError(f"OUT must end in .toml or .urdf, so that it is clear which to write; came {shorten(given.target)}.")
    arm = load(given.source, hand=given.hand)
    arm = arm.rigid() if given.rigid else arm
    locked = [_locked(text) for text in given.lock]
    if len(dict(locked)) < len(locked):
        raise InputError(f"--lock: a joint is held at two positions: {', '.join(given.lock)}; name each once.")
    arm = arm.lock(dict(locked)) if locked else arm
    if target.suffix.lower() == ".toml":
        arm.save(target)
    else:
        arm.to_urdf(target)
    if given.json:
        show_json({"name": arm.name, "n": arm.n, "written": str(target)})
    else:
        print(f"wrote {target}: {arm.name}, {arm.n} joints, {len(arm.links)} links")
    return 0


def _locked(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    try:
        return name, float(value)
    except ValueError:
        raise InputError(f"--lock: JOINT=NUMBER is needed, such as joint4=0.3; came {shorten(text)}.") from None


COMMAND = Command(
    "forearm convert puma560 puma560.urdf",
    _add_arguments,
    _run,
)
