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
    parser.add_argument("--only", choices=("loading", "dynamics", "code", "kernels"), help="measure only this")
    add_json(parser)


def _run(given: argparse.Namespace) -> int:
    from forearm.benchmarks import code, dynamics, kernels, loading

    if given.peers and find_spec("mujoco") is None:
        raise InputError("--peers needs MuJoCo: pip install mujoco")
    rooms = {"loading": loading.rows, "dynamics": dynamics.rows, "code": code.rows, "kernels": kernels.rows}
    rows = [row for name, measure in rooms.items() if given.only in (None, name) for row in measure(given.peers)]
    if given.json:
        show_json({"machine": platform.processor() or platform.machine(), "rows": [vars(row) for row in rows]})
        return 0
    cells = []
    for row in rows:
        ratio = row.peer_seconds / row.seconds if row.peer_seconds else None
        peer = f"{row.peer} {_time(row.peer_seconds)}" if row.peer_seconds else "-"
        cells.append([row.name, _time(row.seconds), _time(row.bar), peer, number(ratio, 3)])
    print(text_table(["what", "median", "to stay under", "peer in the same run", "peer / ours"], cells, width()))
    return 0


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    scale, unit = next(
        (s, u) for s, u in ((1.0, "s"), (1e3, "ms"), (1e6, "us"), (1e9, "ns")) if seconds * s >= 1.0 or u == "ns"
    )
    return f"{seconds * scale:.3g} {unit}"


COMMAND = Command("forearm bench --peers", _add_arguments, _run)
