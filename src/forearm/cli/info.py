"""`forearm info`: an arm in tables and a small drawing."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.text import arm_report
from forearm.checking.bristles import bristle_figures
from forearm.checking.elasticity import SpringFigures, spring_figures
from forearm.checking.links import inertia_without_mass, triangle_violations
from forearm.checking.magnitudes import reach
from forearm.cli.command import Command, width
from forearm.cli.loading import READING, load, reading_of
from forearm.cli.options import ARM, DEGREES, JSON, ROOT, Option, finish, plot, state
from forearm.cli.progress import ProgressBar
from forearm.cli.skeleton import draw
from forearm.cli.states import read_state
from forearm.cli.terminal import is_unicode
from forearm.files.armfile_write import to_document
from forearm.files.builtin import is_builtin
from forearm.kinematics.poses import forward
from forearm.reading.fields import FlagField
from forearm.reduction.base import base_parameters
from forearm.spatial import Floats
from forearm.tables import Report, number

UNITS_OF_BASE = "(m in kg, mx in kg m, Ixx in kg m^2 about the link's origin)"


def _run(given: argparse.Namespace) -> int:
    arm = load(given.arm, hand=given.hand, root=given.root, **reading_of(given))
    q = resting(arm) if given.q is None else read_state(arm, given.q, "q", given.degrees)
    hand, springs, farthest = forward(arm, q), spring_figures(arm, q), reach(arm)
    document: dict[str, Any] = {"name": arm.name, "n": arm.n, "mass": arm.mass, "reach": farthest, "q": q}
    document |= {"hand": hand, "joints": [j.name for j in arm.joints], "arm": to_document(arm)}
    document["elastic"] = [asdict(figures) for figures in springs]
    document["bristles"] = [asdict(figures) for figures in bristle_figures(arm)]
    places = [" ".join(number(v, 4) for v in values) for values in (q, hand[:3, 3])]
    at = f"q = {places[0] or '-'} rad (m): hand at {places[1]} m"
    drawing = draw(arm, q, width(), unicode=is_unicode(sys.stdout))
    parts = [
        arm_report(arm),
        Report(before=[f"Reach at most {number(farthest, 4)} m. Drawn at {at}"]),
        Report(before=[drawing]),
    ]
    parts += [_oscillations(springs)] if springs else []
    if given.base:
        with ProgressBar("finding the base parameters"):
            base = base_parameters(arm)
        rows = list(zip(base.names, base.values, base.labels, strict=True))
        document["base_parameters"] = [
            {"name": name, "value": value, "label": label} for name, value, label in rows
        ]
        title = f"Base parameters: {len(base)} of {len(base.standard)} {UNITS_OF_BASE}"
        lines = [f"{number(value, 6):>12}  {label}" for _, value, label in rows]
        parts.append(Report(title=title, after=lines, under=" " * 16))
    for title, text in (("Source", arm.source), ("Notes", arm.notes), ("Data", _known_of(arm, given.arm))):
        parts += [Report(title=title, after=[joined_lines(text)])] if text else []
    return finish(given, Report(parts=parts), document, {"plot": lambda path: _save(arm, q, path)})


def _save(arm: Arm, q: Floats, path: str) -> None:
    from forearm.plots.arms import save_picture

    save_picture([(arm, q)], path)


def _oscillations(springs: list[SpringFigures]) -> Report:
    header = ["joint", "link kg m^2", "rotor kg m^2", "motor held Hz", "motor free Hz", "damping ratio"]
    rows = []
    for f in springs:
        values = (f.link_inertia, f.rotor_inertia, f.locked_motor_hz, f.free_motor_hz, f.damping_ratio)
        rows.append([f.joint, *(number(x, 4) for x in values)])
    return Report(header, rows, "Oscillations of the springs as drawn, each with the other joints held")


def _known_of(arm: Arm, source: str) -> str:
    """The warnings that loading a file with these values would give: built-in arms load without warnings."""
    if not is_builtin(source):
        return ""
    return "\n".join(
        f.text[:1].upper() + f.text[1:] for f in (*triangle_violations(arm), *inertia_without_mass(arm))
    )


def joined_lines(text: str) -> str:
    """Text as written; a line that does not end a sentence is joined to the next."""
    lines: list[str] = []
    for line in text.strip().splitlines():
        goes_on = lines and lines[-1] and lines[-1][-1] not in ".:;"
        lines[-1:] = [f"{lines[-1]} {line}"] if goes_on else [*lines[-1:], line]
    return "\n".join(lines)


def resting(arm: Arm) -> Floats:
    """The zero configuration, or the nearest to it within the limits."""
    return np.array([min(max(0.0, j.limits.lower), j.limits.upper) for j in arm.joints])


COMMAND = Command(
    "forearm info puma560 --q 0,45,-90,0,0,0 --degrees",
    (
        *ARM,
        *READING,
        ROOT,
        state("q", "configuration to draw, rad (m) (default: zero, or the nearest within limits)"),
        DEGREES,
        Option(
            "--base",
            "also the base parameters, the combinations that joint torques identify",
            reads=FlagField(),
        ),
        plot("the arm in that configuration"),
        JSON,
    ),
    _run,
)
