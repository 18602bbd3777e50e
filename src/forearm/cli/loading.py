"""The arm of a command, and the options for reading a URDF."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

from forearm.arm.arm import Arm
from forearm.cli.numbers import POSITIVE
from forearm.cli.terminal import complain
from forearm.errors import InputError, NameNotFound, shorten
from forearm.files.load import load as load_arm


def load(source: str, hand: str | None = None, **reading: Any) -> Arm:
    """The arm of a name or a file, as `fa.load` gives it; each warning printed as a paragraph."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            arm = load_arm(source, hand=hand, **reading)
        except NameNotFound as error:
            if hand is None or shorten(hand) not in str(error):
                raise
            raise NameNotFound(f"{error}", "--hand") from error
    for warning in caught:
        complain(str(warning.message), kind="warning")
    return arm


def add_reading(parser: argparse.ArgumentParser) -> None:
    """The options that say how a URDF is read, the same everywhere."""
    parser.add_argument(
        "--lenient",
        action="store_true",
        help="replace physically impossible values of a URDF by the nearest valid ones, and warn",
    )
    parser.add_argument(
        "--density",
        type=POSITIVE,
        metavar="D",
        help="density, kg/m^3, for URDF links without mass: they get the mass of their shapes",
    )
    parser.add_argument(
        "--package",
        action="append",
        default=[],
        metavar="NAME=FOLDER",
        help="folder of a URDF's package://NAME; may be repeated",
    )


def reading_of(given: argparse.Namespace) -> dict[str, Any]:
    """The arguments of `fa.load` from these options."""
    packages = dict(_package(text) for text in given.package)
    return {"strict": not given.lenient, "density": given.density, "packages": packages}


def _package(text: str) -> tuple[str, str]:
    name, _, folder = text.partition("=")
    if not name or not folder:
        raise InputError(f"expected NAME=FOLDER, such as robot=../robot, got {shorten(text)}.", "--package")
    return name, folder
