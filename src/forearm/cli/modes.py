"""`forearm modes`: natural frequencies, damping and mode shapes of an arm with elastic joints."""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.drive import Elasticity
from forearm.cli.command import Command, show_json
from forearm.cli.inverse import STATE
from forearm.cli.loading import load
from forearm.cli.options import ARM, DEGREES, JSON, Option, state
from forearm.cli.states import BETWEEN, read_numbers, read_state, read_states
from forearm.cli.terminal import show
from forearm.dynamics.modes import modes
from forearm.errors import InputError
from forearm.reading.fields import FlagField


def _run(given: argparse.Namespace) -> int:
    arm = load(given.arm, hand=given.hand)
    if given.stiffness is not None:
        arm = _with_springs(arm, given.stiffness)
    (q,) = read_states(arm, given, "q")
    carried = None if given.load is None else read_state(arm, given.load, "load", degrees=False)
    if not any(joint.elasticity is not None for joint in arm.joints):
        raise InputError(
            f"{arm.name} has no elastic joint; give its springs in the arm file, or by --stiffness 10000."
        )
    found = modes(arm, q, carried, gravity=not given.no_gravity)
    if not given.json:
        show(found.report)
        return 0
    sets = {name: vars(getattr(found, name)) for name in ("locked", "free")}
    show_json({"name" if key == "arm" else key: value for key, value in vars(found).items()} | sets)
    return 0


def _with_springs(arm: Arm, text: str) -> Arm:
    """The arm with these springs, for all joints or one by one."""
    count = len(BETWEEN.split(text.strip()))
    values = read_numbers(text, "stiffness", 1 if count == 1 else arm.n, f"{arm.name} needs one or")
    if (values < 0.0).any() or not values.any():
        raise InputError(
            f"expected numbers above 0, or 0 for rigid joints but not for all, got {text}.", "--stiffness"
        )
    springs = [
        replace(
            joint.elasticity or Elasticity(stiffness=1.0),
            stiffness=float(k),
            curve=(),
            interpolation="linear",
        )
        if k
        else None
        for joint, k in zip(arm.joints, np.broadcast_to(values, arm.n), strict=True)
    ]
    return arm.with_drives(
        {j.name: {"elasticity": spring} for j, spring in zip(arm.joints, springs, strict=True)}
    )


COMMAND = Command(
    "forearm modes puma560 --stiffness 20000 --q 0,45,-90,0,30,0 --degrees\n"
    "forearm modes puma560 --stiffness 40000,40000,25000,0,0,0 --no-gravity --json",
    (
        *ARM,
        state("q", f"joint {STATE['q']} (default: zero)"),
        DEGREES,
        state("load", "torques carried by the springs, N m (N) (default: gravity torques at q)"),
        Option(
            "--stiffness",
            "stiffness of every spring, N m/rad (N/m), instead of the arm's, damping "
            "unchanged; or one value per "
            "joint, 0 for a rigid joint",
            "K",
        ),
        Option("--no-gravity", "ignore the stiffness due to gravity", reads=FlagField()),
        JSON,
    ),
    _run,
)
