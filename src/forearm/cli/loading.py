"""The arm of a command, and the options for reading a URDF."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

from forearm.arm.arm import Arm
from forearm.cli.options import Option
from forearm.cli.terminal import complain
from forearm.errors import InputError, NameNotFound, shorten
from forearm.files.load import load as load_arm
from forearm.reading.fields import FlagField, NumberField

READING = (
    Option(
        "--lenient",
        "replace physically impossible values of a URDF by the nearest valid ones, and warn",
        reads=FlagField(),
    ),
    Option(
        "--density",
        "density, kg/m^3, for URDF links without mass: they get the mass of their shapes",
        "D",
        reads=NumberField(above=0.0),
    ),
    Option(
        "--package",
        "folder of a URDF's package://NAME; may be repeated",
        "NAME=FOLDER",
        default=[],
        count="append",
    ),
)


def load(source: str, hand: str | None = None, **reading: Any) -> Arm:
    """The arm of a name or a file, as `fa.load` gives it; each warning printed as a paragraph."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            arm = load_arm(source, hand=hand, **reading)
        except NameNotFound as error:
            if hand is not None and error.place[-1:] == ("link",):
                error.place = ("--hand", *error.place)
            raise
    for warning in caught:
        complain(str(warning.message), kind="warning")
    return arm


def reading_of(given: argparse.Namespace) -> dict[str, Any]:
    """The arguments of `fa.load` from these options."""
    packages = dict(_package(text) for text in given.package)
    return {"strict": not given.lenient, "density": given.density, "packages": packages}


def _package(text: str) -> tuple[str, str]:
    name, _, folder = text.partition("=")
    if not name or not folder:
        raise InputError(f"expected NAME=FOLDER, such as robot=../robot, got {shorten(text)}.", "--package")
    return name, folder
