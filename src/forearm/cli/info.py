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
from forearm.cli.command import Command, add_arm, add_json, add_root, show_json, width
from forearm.cli.loading import add_reading, load, reading_of
from forearm.cli.outputs import add_plot, check_picture, tell_written
from forearm.cli.progress import ProgressBar
from forearm.cli.skeleton import draw
from forearm.cli.states import add_state, read_state
from forearm.cli.terminal import is_unicode, show
from forearm.files.armfile_write import to_document
from forearm.files.builtin import is_builtin
from forearm.kinematics.poses import forward
from forearm.reduction.base import BaseParameters, base_parameters
from forearm.spatial import Floats
from forearm.tables import Report, filled, number


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_arm(parser)
    add_reading(parser)
    add_root(parser)
    add_state(parser, "q", "configuration to draw, rad (m) (default: zero, or the nearest within limits)")
    parser.add_argument(
        "--base",
        action="store_true",
        help="also the base parameters, the combinations that joint torques identify",
    )
    add_plot(parser, "the arm in that configuration")
    add_json(parser)


def _run(given: argparse.Namespace) -> int:
    check_picture("--plot", given.plot)
    arm = load(given.arm, hand=given.hand, root=given.root, **reading_of(given))
    q = resting(arm) if given.q is None else read_state(arm, given.q, "q", given.degrees)
    if given.plot:
        from forearm.plots.arms import save_picture

        save_picture([(arm, q)], given.plot)
    if given.json:
        document: dict[str, Any] = {
            "name": arm.name,
            "n": arm.n,
            "mass": arm.mass,
            "reach": reach(arm),
            "q": q,
            "hand": forward(arm, q),
        }
        document |= {"joints": [j.name for j in arm.joints], "arm": to_document(arm), "plot": given.plot}
        document["elastic"] = [asdict(figures) for figures in spring_figures(arm, q)]
        document["bristles"] = [asdict(figures) for figures in bristle_figures(arm)]
        if given.base:
            base = _base(arm)
            rows = zip(base.names, base.values, base.labels, strict=True)
            document["base_parameters"] = [
                {"name": name, "value": value, "label": label} for name, value, label in rows
            ]
        show_json(document)
        return 0
    show(arm_report(arm))
    hand = forward(arm, q)[:3, 3]
    at = (
        f"q = {' '.join(number(v, 4) for v in q) or '-'} rad (m): hand at "
        f"{' '.join(number(v, 4) for v in hand)} m"
    )
    print(f"\n{filled(f'Reach at most {number(reach(arm), 4)} m. Drawn at {at}', width())}\n")
    print(draw(arm, q, width(), unicode=is_unicode(sys.stdout)))
    if springs := spring_figures(arm, q):
        print()
        show(_oscillations(springs))
    if given.base:
        print(f"\n{_base_table(arm)}")
    for title, text in (("Source", arm.source), ("Notes", arm.notes), ("Data", _known_of(arm, given.arm))):
        if text:
            print(f"\n{title}\n{wrapped(text)}")
    if given.plot:
        print()
        tell_written([given.plot])
    return 0


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


def _base(arm: Arm) -> BaseParameters:
    with ProgressBar("finding the base parameters"):
        return base_parameters(arm)


def _base_table(arm: Arm) -> str:
    base = _base(arm)
    title = (
        f"Base parameters: {len(base)} of {len(base.standard)} (m in kg, mx in kg m, Ixx in kg m^2 "
        "about the link's origin)"
    )
    lines = [
        f"{number(value, 6):>12}  {label}" for value, label in zip(base.values, base.labels, strict=True)
    ]
    columns = max(width(), 40)
    return "\n".join([filled(title, columns), *(filled(line, columns, " " * 16) for line in lines)])


def wrapped(text: str) -> str:
    """Text as written, wrapped to the terminal; a line that does not end a sentence is joined to the next."""
    lines: list[str] = []
    for line in text.strip().splitlines():
        goes_on = lines and lines[-1] and lines[-1][-1] not in ".:;"
        lines[-1:] = [f"{lines[-1]} {line}"] if goes_on else [*lines[-1:], line]
    return filled("\n".join(lines), width())


def resting(arm: Arm) -> Floats:
    """The zero configuration, or the nearest to it within the limits."""
    return np.array([min(max(0.0, j.limits.lower), j.limits.upper) for j in arm.joints])


COMMAND = Command("forearm info puma560 --q 0,45,-90,0,0,0 --degrees", _add_arguments, _run)
