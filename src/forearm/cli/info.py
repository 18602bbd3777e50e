"""`forearm info`: an arm in tables and a small drawing."""

from __future__ import annotations

import argparse
import sys
import textwrap

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.arm.text import describe
from forearm.checking.magnitudes import reach
from forearm.cli.command import Command, add_arm, add_json, show_json, width
from forearm.cli.skeleton import draw
from forearm.cli.states import add_state, read_state
from forearm.files.armfile_write import to_document
from forearm.files.load import load
from forearm.kinematics.poses import forward
from forearm.reduction.base import base_parameters
from forearm.tables import number


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_arm(parser)
    add_state(parser, "q", "posture to draw; zero, or the nearest to it within limits, unless given")
    parser.add_argument("--base", action="store_true", help="also the base parameters: what joint torques can tell apart")
    parser.add_argument("--plot", metavar="FILE", help="also draw it into a .png, .svg or .pdf file")
    add_json(parser)


def _run(given: argparse.Namespace) -> int:
    arm = load(given.arm, hand=given.hand)
    q = resting(arm) if given.q is None else read_state(arm, given.q, "q", given.degrees)
    if given.plot:
        from forearm.plots.arms import save_picture

        save_picture([(arm, q)], given.plot)
    if given.json:
        document = {
            "name": arm.name,
            "n": arm.n,
            "mass": arm.mass,
            "reach": reach(arm),
            "q": q,
            "hand": forward(arm, q),
        }
        document |= {"joints": [j.name for j in arm.joints], "arm": to_document(arm)}
        if given.base:
            base = base_parameters(arm)
            rows = zip(base.names, base.values, base.labels, strict=True)
            document["base_parameters"] = [{"name": name, "value": value, "label": label} for name, value, label in rows]
        show_json(document)
        return 0
    print(describe(arm, width()))
    hand = forward(arm, q)[:3, 3]
    print(f"\nReach at most {number(reach(arm), 4)} m. Drawn at q = {' '.join(number(v, 4) for v in q) or '-'}:", end="")
    print(f" hand at {' '.join(number(v, 4) for v in hand)} m\n")
    print(draw(arm, q, width(), unicode=(sys.stdout.encoding or "").lower().startswith("utf")))
    if given.base:
        print(f"\n{_base_table(arm)}")
    for title, text in (("Source", arm.source), ("Notes", arm.notes)):
        if text:
            print(f"\n{title}\n{wrapped(text)}")
    return 0


def _base_table(arm: Arm) -> str:
    base = base_parameters(arm)
    lines = [f"{number(value, 6):>12}  {label}" for value, label in zip(base.values, base.labels, strict=True)]
    filled = [textwrap.fill(line, max(width(), 60), subsequent_indent=" " * 16, break_long_words=False) for line in lines]
    title = f"Base parameters: {len(base)} of {len(base.standard)} (m in kg, mx in kg m, Ixx in kg m^2 about the link's origin)"
    return "\n".join([title, *filled])


def wrapped(text: str) -> str:
    """Text as written, its longer lines broken to fit the terminal."""
    return "\n".join(textwrap.fill(line, width()) for line in text.strip().splitlines())


def resting(arm: Arm) -> NDArray[np.float64]:
    """The zero posture, or the nearest to it that the limits allow."""
    return np.array([min(max(0.0, j.limits.lower), j.limits.upper) for j in arm.joints])


COMMAND = Command(
    "forearm info puma560 --q 0,45,-90,0,0,0 --degrees",
    _add_arguments,
    _run,
)
