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
from forearm.tables import number


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_arm(parser)
    add_state(parser, "q", "posture to draw; zero, or the nearest to it within limits, unless given")
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
        show_json(document | {"hand": forward(arm, q), "joints": [j.name for j in arm.joints], "arm": to_document(arm)})
        return 0
    print(describe(arm, width()))
    hand = forward(arm, q)[:3, 3]
    print(f"\nReach at most {number(reach(arm), 4)} m. Drawn at q = {' '.join(number(v, 4) for v in q) or '-'}:", end="")
    print(f" hand at {' '.join(number(v, 4) for v in hand)} m\n")
    print(draw(arm, q, width(), unicode=(sys.stdout.encoding or "").lower().startswith("utf")))
    for title, text in (("Source", arm.source), ("Notes", arm.notes)):
        if text:
            print(f"\n{title}\n{wrapped(text)}")
    return 0


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
