"""Motion arguments: a request, a planned motion, or the table of a plan, a run or a log."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from forearm.arm.arm import Arm
from forearm.cli.options import Option
from forearm.cli.terminal import complain
from forearm.logs.motion import MotionLog
from forearm.logs.spelling import read_mapping

MOTION_HELP = (
    "a motion as forearm plan or simulate writes it (.csv, .parquet, .npz, .json), or a request (.toml)"
)


COLUMNS = (
    Option(
        "--columns",
        "map column names, such as angle=q,load=tau (position, effort... are recognised)",
        "THEIRS=OURS,...",
    ),
    Option("--units", "units of the file: rad or deg, and s, ms, us or ns (default: rad,s)", "NAME,..."),
)


def add_columns(parser: argparse._ActionsContainer) -> None:
    """Options that map the columns of a foreign table, for commands that add options one by one."""
    for option in COLUMNS:
        option.add_to(parser)


def columns_of(given: argparse.Namespace) -> Mapping[str, str] | None:
    """What --columns says."""
    return None if given.columns is None else read_mapping(given.columns, "--columns")


def read_table(
    given: argparse.Namespace, arm: Arm, path: str, recomputed: Sequence[str] = (), **more: Any
) -> MotionLog:
    """The table of a motion; ignored columns are reported, quantities that are `recomputed` as such."""
    from forearm.trajectories.recorded import read_motion

    units = "" if given.units is None else given.units
    log = read_motion(arm, path, columns=columns_of(given), units=units, **more)
    anew = [name for name in log.ignored if name in recomputed]
    ignored = [name for name in log.ignored if name not in anew]
    if anew:
        complain(
            f"{log.name}: {', '.join(anew)}: computed for this arm from q, qd and qdd, not read.", "note"
        )
    if ignored:
        complain(f"{log.name}: not read: {', '.join(ignored[:12])}.", kind="note")
    return log


def read_plan(given: argparse.Namespace, arm: Arm, path: str) -> Any:
    """The plan in a file: a motion with its torques."""
    from pathlib import Path

    from forearm.trajectories.planning import TABLES, plan
    from forearm.trajectories.recorded import recorded

    if Path(path).suffix.lower() not in TABLES:
        return plan(arm, path)
    used = ("q", "qd", "qdd", "wanted_q", "wanted_qd", "wanted_qdd")
    log = read_table(given, arm, path, recomputed=("tau", "voltage", "current"), used=used)
    return plan(arm, recorded(log))
