"""`forearm forward`: the accelerations that torques produce, by any method."""

from __future__ import annotations

import argparse

from forearm.cli.command import Command, names_of, show_json, width
from forearm.cli.inverse import LOAD, STATE, ManyStates, defaults_of, read_load
from forearm.cli.loading import load
from forearm.cli.logfiles import FORWARD as MANY
from forearm.cli.logfiles import check_files, run_files
from forearm.cli.options import ARM, DEGREES, JSON, RIGID, Group, Option, state
from forearm.cli.progress import ProgressBar
from forearm.cli.states import read_state, read_states
from forearm.drives.motor import torque_of
from forearm.dynamics.reference import FORWARD, forward
from forearm.errors import InputError
from forearm.tables import number, text_table

USUAL = "articulated-body"
ONE_STATE = Group(
    "one state",
    (
        *(state(name, f"joint {STATE[name]} (default: zero)") for name in ("q", "qd", "tau")),
        state("voltage", "motor voltages instead of torques, V"),
        *LOAD,
        Option("--method", names_of(FORWARD, USUAL), "NAME", default=USUAL),
    ),
)


def _run(given: argparse.Namespace) -> int:
    check_files(given, defaults_of(ONE_STATE))
    arm = load(given.arm, hand=given.hand)
    arm = arm.rigid() if given.rigid else arm
    if given.source is not None:
        return run_files(given, arm, MANY)
    q, qd, tau = read_states(arm, given, "q", "qd", "tau")
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
    (*ARM, DEGREES, RIGID, JSON, ONE_STATE, ManyStates(MANY)),
    _run,
)
