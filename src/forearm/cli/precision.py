"""`forearm precision`: error of single precision in forward dynamics."""

from __future__ import annotations

import argparse
import math

import numpy as np

from forearm.arm.arm import Arm
from forearm.cli.command import Command
from forearm.cli.loading import load
from forearm.cli.options import ARM, JSON, Option, finish, plot
from forearm.cli.progress import ProgressBar
from forearm.dynamics.precision import METHODS, PrecisionStudy, precision_study
from forearm.errors import InputError
from forearm.spatial import Floats
from forearm.tables import Report, number
from forearm.values import check_choice

POSTURES, PIECE = 180, 10


def _run(given: argparse.Namespace) -> int:
    arm = load(given.arm, hand=given.hand)
    names = [joint.name for joint in arm.joints]
    if not names:
        raise InputError(f"{arm.name} has no movable joint.")
    swept = _index(names, given.sweep or names[min(1, arm.n - 1)], "sweep")
    shown = _index(names, given.show or names[swept], "show")
    lower, upper = arm.joints[swept].limits
    if not (math.isfinite(lower) and math.isfinite(upper)):
        lower, upper = (0.0, 2.0 * math.pi) if arm.joints[swept].kind == "revolute" else (0.0, 1.0)
    postures = np.zeros((POSTURES, arm.n))
    postures[:, swept] = lower + (upper - lower) * np.arange(POSTURES) / POSTURES
    study = _studied(arm.rigid(), postures)
    differences = {method: study.difference(method, shown) for method in METHODS}
    document = {"name": arm.name, "sweep": names[swept], "show": names[shown], "q": study.q}
    document |= {"condition": study.condition}
    document["differences"] = {m: {"max": a, "mean": b} for m, (a, b) in differences.items()}
    rows = [[method, number(largest, 4), number(mean, 4)] for method, (largest, mean) in differences.items()]
    unit = "rad/s^2" if arm.joints[shown].kind == "revolute" else "m/s^2"
    title = (
        f"{arm.name}: {names[swept]} through {POSTURES} positions, at rest; acceleration of "
        f"{names[shown]}, {unit}, float32 - float64"
    )
    after = [f"condition number of M: {study.condition.min():.4g} to {study.condition.max():.4g}"]
    report = Report(["method", f"largest {unit}", f"mean {unit}"], rows, title, after=after)

    def draw(path: str) -> None:
        from forearm.plots.figure import save_figure
        from forearm.plots.precision import precision_figure

        save_figure(precision_figure(arm, study, swept, shown), path)

    return finish(given, report, document, {"plot": draw})


def _studied(arm: Arm, postures: Floats) -> PrecisionStudy:
    """The study in pieces, for progress reports."""
    pieces = []
    with ProgressBar() as bar:
        for done in range(0, len(postures), PIECE):
            bar.say(
                f"solving configuration {done + 1} of {len(postures)} by {len(METHODS)} methods "
                "in float64 and float32"
            )
            pieces.append(precision_study(arm, postures[done : done + PIECE]))
    q, double, condition = (
        np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("q", "double", "condition")
    )
    return PrecisionStudy(
        q, double, {m: np.concatenate([piece.single[m] for piece in pieces]) for m in METHODS}, condition
    )


def _index(names: list[str], name: str, option: str) -> int:
    return names.index(check_choice(name, names, f"--{option}"))


COMMAND = Command(
    "forearm precision ascher2 --plot fig2.png",
    (
        *ARM,
        Option("--sweep", "joint to sweep through its range (default: the second)", "JOINT"),
        Option("--show", "joint whose acceleration is compared (default: the swept one)", "JOINT"),
        plot("both accelerations and their difference"),
        JSON,
    ),
    _run,
)
