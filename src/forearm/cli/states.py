"""Joint states on the command line: --q 0.1,0.2,... in radians, or degrees on request."""

from __future__ import annotations

import argparse
import math

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.errors import InputError, shorten


def add_state(parser: argparse.ArgumentParser, name: str, help_text: str) -> None:
    """An option --NAME for one number a joint, and --degrees once."""
    parser.add_argument(f"--{name}", metavar="A,B,...", help=f"{help_text}; one number a joint")
    if not any("--degrees" in action.option_strings for action in parser._actions):
        parser.add_argument("--degrees", action="store_true", help="angles are in degrees, not radians")


def read_state(arm: Arm, text: str, name: str, degrees: bool) -> NDArray[np.float64]:
    """The numbers of an option, SI; sliding joints are in m whatever --degrees says."""
    values = read_numbers(text, name, arm.n, f"{arm.name} needs")
    if degrees:
        values = values * [math.pi / 180.0 if j.kind == "revolute" else 1.0 for j in arm.joints]
    return values


def read_numbers(text: str, name: str, count: int, who: str = "it needs") -> NDArray[np.float64]:
    """That many finite numbers with commas between."""
    try:
        values = np.array([float(word) for word in text.replace(",", " ").split()])
    except ValueError:
        raise InputError(f"--{name}: numbers with commas between are needed, came {shorten(text)}.") from None
    if len(values) != count or not np.isfinite(values).all():
        raise InputError(f"--{name}: {who} {count} finite numbers, came {len(values)}: {shorten(text)}.")
    return values
