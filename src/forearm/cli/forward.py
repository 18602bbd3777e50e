"""`forearm forward`: the accelerations that torques produce, by any method."""

from __future__ import annotations

import argparse

import numpy as np

from forearm.cli.command import Command, add_arm, add_json, add_rigid, group, names_of, show_json, width
from forearm.cli.inverse import STATE, add_load, read_load
from forearm.cli.loading import load
from forearm.cli.logfiles import FORWARD as MANY
from forearm.cli.logfiles import add_files, check_files, run_files
from forearm.cli.progress import ProgressBar
from forearm.cli.states import add_degrees, add_state, read_state
from forearm.drives.motor import torque_of
from forearm.dynamics.reference import FORWARD, forward
from forearm.errors import InputError
from forearm.tables import number, text_table

USUAL = "articulated-body"
ONE_STATE = {
    "q": None,
    "qd": None,
    "tau": None,
    "voltage": None,
    "method": USUAL,
    "hand_force": None,
    "hand_moment": None,
}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_arm(parser)
    add_degrees(parser)
    add_rigid(parser)
    add_json(parser)
    state = group(parser, "one state")
    for name in ("q", "qd", "tau"):
        add_state(state, name, f"joint {STATE[name]} (default: zero)")
    add_state(state, "voltage", "motor voltages instead of torques, V")
    add_load(state)
    state.add_argument("--method", default=USUAL, metavar="NAME", help=names_of(FORWARD, USUAL))
    add_files(group(parser, "many states"), MANY)


def _run(given: argparse.Namespace) -> int:
    check_files(given, ONE_STATE)
    arm = load(given.arm, hand=given.hand)
    arm = arm.rigid() if given.rigid else arm
    if given.source is not None:
        return run_files(given, arm, MANY)
    q, qd, tau = (
        np.zeros(arm.n) if text is None else read_state(arm, text, name, given.degrees and name != "tau")
        for name, text in (("q", given.q), ("qd", given.qd), ("tau", given.tau))
    )
    voltage = None
    if given.voltage is not None:
        if given.tau is not None:
            raise InputError("it replaces --tau; give only one of them.", "--voltage")
        voltage = read_state(arm, given.voltage, "voltage", degrees=False)
        tau = torque_of(arm, voltage, qd)
    with ProgressBar(f"computing accelerations of {arm.name} by {given.method}"):
        qdd = forward(arm, q, qd, tau, given.method, **read_load(given))
    if given.json:
        document = {"name": arm.name, "method": given.method, "q": q, "qd": qd, "tau": tau, "qdd": qdd}
        show_json(document | {"voltage": voltage})
        return 0
    rows = [
        [j.name, number(a), number(b), number(t), number(c), "rad/s^2" if j.kind == "revolute" else "m/s^2"]
        for j, a, b, t, c in zip(arm.joints, q, qd, tau, qdd, strict=True)
    ]
    print(text_table(["joint", "q rad (m)", "qd rad/s (m/s)", "tau N m (N)", "qdd", "unit"], rows, width()))
    return 0


COMMAND = Command(
    "forearm forward puma560 --q 0,0.8,-1.6,0,0.5,0 --tau 1,30,5,0,0,0\n"
    "forearm forward puma560 --from log.csv --to accelerations.csv",
    _add_arguments,
    _run,
)
