"""`forearm arms`: the built-in arms."""

from __future__ import annotations

import argparse
import warnings

from forearm.arm.arm import Arm
from forearm.cli.command import Command, add_json, show_json, width
from forearm.files.builtin import arms, load_builtin
from forearm.tables import filled, number, text_table


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json(parser)


def _run(given: argparse.Namespace) -> int:
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in (*arms(), "chainN"):
            arm = load_builtin("chain7" if name == "chainN" else name)
            rows.append((name, arm, _about(arm, name)))
    if given.json:
        show_json(
            {
                "arms": [
                    {"name": n, "n": a.n, "joints": _kinds(a), "mass": a.mass, "source": a.source.strip()}
                    for n, a, _ in rows
                ]
            }
        )
        return 0
    table = [[n, str(a.n), _kinds(a), number(a.mass, 4), about] for n, a, about in rows]
    print(text_table(["name", "joints", "kinds", "mass kg", "source"], table, width()))
    note = (
        "chainN stands for a chain of any N joints, such as chain7. R: revolute, P: prismatic. 'forearm "
        "info NAME' shows an arm."
    )
    print(f"\n{filled(note, width())}")
    return 0


def _kinds(arm: Arm) -> str:
    return "".join("R" if j.kind == "revolute" else "P" for j in arm.joints)


def _about(arm: Arm, name: str) -> str:
    return "any number of joints, generic (7 shown)" if name == "chainN" else " ".join(arm.source.split())


COMMAND = Command("forearm arms\nforearm arms --json", _add_arguments, _run)
