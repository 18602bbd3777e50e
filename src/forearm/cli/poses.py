"""Poses of the hand on the command line: x, y, z in m, then the numbers of a form of orientations."""

from __future__ import annotations

import argparse

import numpy as np

from forearm.cli.command import names_of
from forearm.cli.states import read_numbers
from forearm.errors import InputError, shorten
from forearm.kinematics.hand import hand_pose
from forearm.kinematics.orientation import FORMS
from forearm.spatial import Floats
from forearm.values import check_choice

USUAL = "rpy"


def add_form(parser: argparse._ActionsContainer) -> None:
    """The --form option, the same everywhere."""
    parser.add_argument(
        "--form", metavar="NAME", help=f"representation of orientation: {names_of(FORMS, USUAL)}"
    )


def read_form(given: str | None) -> str:
    """The form's name, or an error that lists them."""
    return check_choice(USUAL if given is None else given, FORMS, "--form")


def read_pose(text: str, form: str, degrees: bool) -> Floats:
    """The pose (4, 4) that --pose gives; angles in degrees on request."""
    kind = FORMS[form]
    values = read_numbers(
        text, "pose", 3 + len(kind.names), f"x, y, z and {', '.join(kind.names)} ({form}) are"
    )
    turned = np.radians(values[3:]) if degrees and kind.angles else values[3:]
    T = hand_pose(values[:3], turned.reshape(kind.shape), form)
    if np.isnan(T).any():
        raise InputError(
            f"no rotation has the {form} angles {shorten(values[3:].tolist())}; cos x cos y "
            "cos z + sin x sin y sin z must be above 0.",
            "--pose",
        )
    return T
