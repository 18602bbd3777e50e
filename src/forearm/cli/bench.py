"""`forearm bench`: figures measured now, on this machine."""

from __future__ import annotations

import argparse
import platform
from importlib.util import find_spec

from forearm.cli.command import Command, add_json, show_json, width
from forearm.errors import InputError
from forearm.tables import number, text_table


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--peers", action="store_true", help="time other packages beside ours, where installed")
    parser.add_argument("--only", choices=("loading", "dynamics"), help="measure only this")
    add_json(parser)


def _run(given: argparse.Namespace) -> int:
    from forearm.benchmarks import dynamics, loading

    if given.peers and find_spec("mujoco") is None:
        raise InputError("--peers needs MuJoCo: pip install mujoco")
    rooms = {"loading": loading.rows, "dynamics": dynamics.rows}
    rows = [row for name, measure in rooms.items() if given.only in (None, name) for row in measure(given.peers)]
    if given.json:
        show_json({"machine": platform.processor() or platform.machine(), "rows": [vars(row) for row in rows]})
        return 0
    cells = []
    for row in rows:
        ratio = row.peer_seconds / row.seconds if row.peer_seconds else None
        peer = f"{row.peer} {1e3 * row.peer_seconds:.4g} ms" if row.peer_seconds else "-"
        bar = None if row.bar is None else 1e3 * row.bar
        cells.append([row.name, number(1e3 * row.seconds, 4), number(bar), peer, number(ratio, 3)])
    print(text_table(["what", "median ms", "to stay under", "peer in the same run", "peer / ours"], cells, width()))
    return 0


COMMAND = Command("forearm bench --peers", _add_arguments, _run)
