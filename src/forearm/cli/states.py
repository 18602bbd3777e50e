"""Joint states on the command line: --q 0.1,0.2,... in radians, or degrees on request."""

from __future__ import annotations

import argparse
import math
import re

import numpy as np

from forearm.arm.arm import Arm
from forearm.cli.numbers import plain_float
from forearm.cli.terminal import complain
from forearm.errors import InputError, shorten
from forearm.spatial import Floats
from forearm.values import LARGEST

POSITIONS = ("q", "to")
MANY_TURNS = 4.0  # of a joint without limits
BETWEEN = re.compile(r"\s*,\s*|\s+")


def add_state(parser: argparse._ActionsContainer, name: str, help_text: str) -> None:
    """An option --NAME for one value per joint, and --degrees once."""
    parser.add_argument(f"--{name}", metavar="A,B,...", help=f"{help_text}; one value per joint")
    if not any("--degrees" in action.option_strings for action in parser._actions):
        add_degrees(parser)


def add_degrees(parser: argparse._ActionsContainer) -> None:
    """The --degrees option, the same everywhere."""
    parser.add_argument("--degrees", action="store_true", help="angles are in degrees, not radians")


def read_state(arm: Arm, text: str, name: str, degrees: bool) -> Floats:
    """The numbers of an option, SI; prismatic joints are in m regardless of --degrees."""
    values = read_per_joint(arm, text, name)
    if not degrees and name in POSITIONS:
        _ask_about_degrees(arm, values, name)
    if degrees:
        values = values * [math.pi / 180.0 if j.kind == "revolute" else 1.0 for j in arm.joints]
    return values


def read_states(arm: Arm, given: argparse.Namespace, *names: str) -> list[Floats]:
    """The numbers of several options, zero where one is not given."""
    texts = [(name, getattr(given, name)) for name in names]
    return [
        np.zeros(arm.n) if text is None else read_state(arm, text, name, given.degrees and name != "tau")
        for name, text in texts
    ]


def _ask_about_degrees(arm: Arm, values: Floats, name: str) -> None:
    """Suggest --degrees for a joint more than a turn from 0 and beyond its limits, or many turns from 0."""
    for joint, value in zip(arm.joints, values, strict=True):
        low, high = joint.limits
        turns = abs(value) / (2.0 * math.pi)
        if joint.kind != "revolute" or turns <= 1.0 or (low <= value <= high and turns <= MANY_TURNS):
            continue
        told = (
            f"beyond its limits, {low:.4g} to {high:.4g} rad"
            if not low <= value <= high
            else (f"{turns:.1f} turns")
        )
        complain(
            f"--{name}: {joint.name} at {value:g} rad is {told}. If degrees are meant, add --degrees.",
            kind="warning",
        )
        return


def read_per_joint(arm: Arm, text: str, name: str) -> Floats:
    """One finite number per joint, with commas between."""
    order = f"; one per joint: {', '.join(joint.name for joint in arm.joints)}"
    return read_numbers(text, name, arm.n, f"{arm.name} needs", order)


def read_numbers(text: str, name: str, count: int, who: str = "it needs", order: str = "") -> Floats:
    """That many finite numbers with commas between; `order` ends the message about a wrong count."""
    words = BETWEEN.split(text.strip()) if text.strip() else []
    numbers = [plain_float(word) for word in words]
    values = np.array([number for number in numbers if number is not None])
    if len(values) < len(words):
        wrong = numbers.index(None)
        raise InputError(
            f"expected numbers separated by commas, but number {wrong + 1} is "
            f"{shorten(words[wrong])}; got {shorten(text)}.",
            f"--{name}",
        )
    if len(values) != count:
        raise InputError(
            f"{who} {count} finite numbers, got {len(values)}: {shorten(text)}{order}.", f"--{name}"
        )
    if len(values) and np.abs(values).max() > LARGEST:
        raise InputError(f"no number may exceed {LARGEST:g}, got {shorten(text)}.", f"--{name}")
    return values
