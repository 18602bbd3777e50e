"""`forearm inverse`: the joint torques of a state, by any formulation."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.cli.command import Command, group, names_of, show_json, width
from forearm.cli.loading import load
from forearm.cli.logfiles import INVERSE as MANY
from forearm.cli.logfiles import Computation, add_files, check_files, run_files
from forearm.cli.options import ARM, DEGREES, JSON, RIGID, Group, Option, state
from forearm.cli.progress import ProgressBar
from forearm.cli.states import read_numbers, read_states
from forearm.drives.motor import voltage_of, without_constants
from forearm.dynamics.reference import INVERSE, inverse
from forearm.dynamics.tracing import trace
from forearm.reading.fields import FlagField
from forearm.tables import number, text_table
from forearm.values import frozen

USUAL = "newton-euler"
STATE = {
    "q": "positions, rad (m)",
    "qd": "velocities, rad/s (m/s)",
    "qdd": "accelerations, rad/s^2 (m/s^2)",
    "tau": "torques, N m (forces, N)",
}
# what the surroundings do, the same for inverse and forward
LOAD = (
    Option("--hand-force", "external force on the hand, hand axes, N (default: 0)", "X,Y,Z"),
    Option("--hand-moment", "external moment on the hand, hand axes, N m (default: 0)", "X,Y,Z"),
)


@frozen
class ManyStates:
    """The options for files with many states."""

    what: Computation

    def add_to(self, parser: argparse.ArgumentParser) -> tuple[Option, ...]:
        """Add them to a parser, as a group."""
        add_files(group(parser, "many states"), self.what)
        return ()


ONE_STATE = Group(
    "one state",
    (
        *(state(name, f"joint {STATE[name]} (default: zero)") for name in ("q", "qd", "qdd")),
        *LOAD,
        Option("--formulation", names_of(INVERSE, USUAL), "NAME", default=USUAL),
        Option(
            "--trace",
            "show every intermediate quantity under the document's symbol",
            reads=FlagField(),
            default=False,
        ),
    ),
)


def defaults_of(options: Group) -> dict[str, Any]:
    """The options of a group with their defaults."""
    return {option.dest: option.default for option in options.options}


def read_load(given: argparse.Namespace) -> dict[str, Any]:
    """The surroundings as the keyword arguments of the reference functions."""
    options = {"hand_force": given.hand_force, "hand_moment": given.hand_moment}
    return {k: read_numbers(v, k.replace("_", "-"), 3) for k, v in options.items() if v is not None}


def _run(given: argparse.Namespace) -> int:
    check_files(given, defaults_of(ONE_STATE))
    arm = load(given.arm, hand=given.hand)
    arm = arm.rigid() if given.rigid else arm
    if given.source is not None:
        return run_files(given, arm, MANY)
    q, qd, qdd = read_states(arm, given, "q", "qd", "qdd")
    surroundings = read_load(given)
    with ProgressBar(f"computing torques of {arm.name} by {given.formulation}"):
        tau = inverse(arm, q, qd, qdd, given.formulation, **surroundings)
        traced = trace(arm, q, qd, qdd, given.formulation, **surroundings) if given.trace else None
    voltage = None if without_constants(arm) or not arm.n else voltage_of(arm, tau, qd)
    if given.json:
        document = {"name": arm.name, "formulation": given.formulation, "q": q, "qd": qd, "qdd": qdd}
        document |= {"tau": tau, "voltage": voltage}
        show_json(document | ({"trace": traced} if traced is not None else {}))
        return 0
    print(_table(arm, q, qd, qdd, tau, voltage))
    if traced is not None:
        rows = [
            [link, symbol, _words(value)]
            for link, symbols in traced.items()
            for symbol, value in symbols.items()
        ]
        print(f"\nTrace of {given.formulation}, rigid arm\n{text_table(['link', 'symbol', 'value'], rows)}")
    return 0


def _table(arm: Arm, q: Any, qd: Any, qdd: Any, tau: Any, voltage: Any) -> str:
    header = ["joint", "q rad (m)", "qd rad/s (m/s)", "qdd rad/s^2 (m/s^2)", "tau", "unit"]
    rows = [
        [j.name, number(a), number(b), number(c), number(t), "N m" if j.kind == "revolute" else "N"]
        for j, a, b, c, t in zip(arm.joints, q, qd, qdd, tau, strict=True)
    ]
    if voltage is not None:
        header.append("voltage V")
        rows = [[*row, number(float(v))] for row, v in zip(rows, voltage, strict=True)]
    return text_table(header, rows, width())


def _words(value: Any) -> str:
    if isinstance(value, float):
        return number(value)
    rows = np.atleast_2d(np.asarray(value))
    return " ; ".join(" ".join(number(float(v), 5) for v in row) for row in rows)


COMMAND = Command(
    (
        "forearm inverse puma560 --q 0,0.8,-1.6,0,0.5,0 --qd 1,1,1,1,1,1\nforearm inverse puma560 --from "
        "log.csv --to torques.csv"
    ),
    (*ARM, DEGREES, RIGID, JSON, ONE_STATE, ManyStates(MANY)),
    _run,
)
