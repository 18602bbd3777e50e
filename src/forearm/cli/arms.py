"""`forearm arms`: the built-in arms."""

from __future__ import annotations

import argparse
import warnings

from forearm.arm.arm import Arm
from forearm.cli.command import Command
from forearm.cli.options import JSON, finish
from forearm.files.builtin import arms, load_builtin
from forearm.tables import Report, number

NOTE = (
    "chainN stands for a chain of any N joints, such as chain7. R: revolute, P: prismatic. 'forearm "
    "info NAME' shows an arm."
)


def _run(given: argparse.Namespace) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: load_builtin(name) for name in arms()} | {"chainN": load_builtin("chain7")}
    rows = [
        [name, str(arm.n), _kinds(arm), number(arm.mass, 4), _about(arm, name)] for name, arm in found.items()
    ]
    document = [
        {"name": name, "n": arm.n, "joints": _kinds(arm), "mass": arm.mass, "source": arm.source.strip()}
        for name, arm in found.items()
    ]
    header = ["name", "joints", "kinds", "mass kg", "source"]
    return finish(given, Report(header, rows, parts=[Report(before=[NOTE])]), {"arms": document})


def _kinds(arm: Arm) -> str:
    return "".join("R" if j.kind == "revolute" else "P" for j in arm.joints)


def _about(arm: Arm, name: str) -> str:
    return "any number of joints, generic (7 shown)" if name == "chainN" else " ".join(arm.source.split())


COMMAND = Command("forearm arms\nforearm arms --json", (JSON,), _run)
