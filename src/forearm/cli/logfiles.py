"""Many states: the rows of a file, computed by compiled code block after block."""

from __future__ import annotations

import argparse
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.cli.command import show_json
from forearm.cli.motions import COLUMNS, columns_of, read_table
from forearm.cli.options import Option
from forearm.cli.outputs import tell_written
from forearm.cli.progress import ProgressBar
from forearm.cli.terminal import show
from forearm.errors import InputError
from forearm.logs.block import Writer
from forearm.logs.columns import Columns, Question, find_columns
from forearm.logs.stream import STANDARD, Log, check_apart, reading, writing
from forearm.logs.summary import RowSummary
from forearm.spatial import Floats
from forearm.tables import Report, number

ANGULAR = ("q", "qd", "qdd")  # what --degrees is about
ARCHIVES = (".npz", ".json")
DEGREE = math.pi / 180.0
Evaluate = Callable[[Mapping[str, Floats]], Floats]


@dataclass(frozen=True)
class Computation:
    """What is computed for each row: the input quantities, the output, and the compiled function."""

    needed: tuple[str, str, str]
    made: str
    function: str

    def unit(self, kind: str, degrees: bool) -> str:
        """Unit of the result, for a joint of this kind."""
        if self.made == "tau":
            return "N m" if kind == "revolute" else "N"
        angle = "deg" if degrees else "rad"
        return f"{angle}/s^2" if kind == "revolute" else "m/s^2"


INVERSE = Computation(("q", "qd", "qdd"), "tau", "inverse_dynamics")
FORWARD = Computation(("q", "qd", "tau"), "qdd", "forward_dynamics")


def file_options(what: Computation) -> tuple[Option, ...]:
    """The options --from and --to."""
    columns = ", ".join(f"{x}1.." for x in what.needed)
    source = f"a .csv, .parquet, .npz or .json file with columns {columns}; - is CSV on standard input"
    target = (
        f"with --from: write its columns and {what.made}1.. to this .csv or .parquet file; - is "
        "CSV on standard output"
    )
    return (
        Option("--from", source, "FILE", dest="source"),
        Option("--to", target, "FILE", short="-o", dest="target"),
        *COLUMNS,
    )


def add_files(parser: argparse._ActionsContainer, what: Computation) -> None:
    """The same for commands that add options one by one."""
    for option in file_options(what):
        option.add_to(parser)


def check_files(given: argparse.Namespace, one_state: Mapping[str, object]) -> None:
    """Refuse --to without --from, and beside --from the options of one state (their names and
    defaults).
    """
    if given.source is None:
        if given.target is not None:
            raise InputError("--to: only for many states; give their file by --from FILE.")
        return
    for name, usual in one_state.items():
        option = f"--{name.replace('_', '-')}"
        if getattr(given, name) == usual:
            continue
        if name in ("formulation", "method"):
            raise InputError(f"not with --from, which uses compiled code; leave {option} out.", option)
        raise InputError(
            f"only for a single state, but --from {given.source} has many; leave one of them out.", option
        )
    if given.target is not None:
        check_apart(given.source, given.target)
    if given.target == STANDARD and given.json:
        raise InputError("standard output is taken by --to -; give --to a file.", "--json")


def run_files(given: argparse.Namespace, arm: Arm, what: Computation) -> int:
    """Compute every row of --from, write --to, and show a summary."""
    start = time.perf_counter()
    if Path(given.source).suffix.lower() in ARCHIVES:
        summary = _whole(given, arm, what)
    else:
        summary = _streamed(given, arm, what)
    seconds = time.perf_counter() - start
    if given.json:
        show_json(_document(given, arm, summary, seconds))
    elif given.target != STANDARD:
        show(_report(given, arm, what, summary, seconds))
        tell_written([given.target])
    return 0


def _whole(given: argparse.Namespace, arm: Arm, what: Computation) -> RowSummary:
    """The rows of an archive, which is in memory as a whole."""
    given.units = "deg" if given.degrees and given.units is None else given.units
    log = read_table(given, arm, given.source, used=what.needed)
    with ProgressBar(f"compiling {what.function} of {arm.name}"):
        evaluate = _evaluation(arm, what, degrees=False)
    states = {x: np.zeros((len(log.t), arm.n)) for x in what.needed} | log.blocks
    results, summary = evaluate(states), RowSummary(arm.n)
    summary.add(results)
    if given.target is not None:
        made: dict[str, Any] = {what.made: results}
        replace(log, **made).save(given.target)
    return summary


def _streamed(given: argparse.Namespace, arm: Arm, what: Computation) -> RowSummary:
    """The rows of a table, block after block."""
    from forearm.logs.units import units_of
    from forearm.trajectories.recorded import ask_about_degrees  # where used: it brings planning

    question = Question(tuple(j.name for j in arm.joints), what.needed, what.made)
    units = units_of(given.units or "")
    degrees = given.degrees or units.get("angles", 1.0) != 1.0
    with ProgressBar(f"compiling {what.function} of {arm.name}"):
        evaluate = _evaluation(arm, what, degrees)
    with _ended_cleanly(), reading(given.source) as log:
        columns = find_columns(log.header, question, log.name, given.target is not None, columns_of(given))
        asked = degrees or "angles" in units

        def asking(states: Mapping[str, Floats]) -> Floats:
            nonlocal asked
            if not asked:  # the first rows tell
                ask_about_degrees(arm, states["q"], log.name)
                asked = True
            return evaluate(states)

        if given.target is None:
            return _stream(log, columns, asking, None)
        with writing(given.target, log, columns) as writer:
            return _stream(log, columns, asking, writer)


def _evaluation(arm: Arm, what: Computation, degrees: bool) -> Evaluate:
    """Convert states from the file's units and results back to them: degrees with --degrees."""
    from forearm.kernels.kernel import compile as compile_arm

    function = getattr(compile_arm(arm), what.function)
    scale = np.array([DEGREE if degrees and j.kind == "revolute" else 1.0 for j in arm.joints])

    def evaluate(states: Mapping[str, Floats]) -> Floats:
        results = function(
            *(states[x] * scale if degrees and x in ANGULAR else states[x] for x in what.needed)
        )
        made: Floats = results / scale if degrees and what.made in ANGULAR else results
        return made

    return evaluate


def _stream(log: Log, columns: Columns, evaluate: Evaluate, writer: Writer | None) -> RowSummary:
    summary = RowSummary(len(columns.made))
    with ProgressBar(f"reading {log.name}") as bar:
        for block in log.blocks(columns, whole=writer is not None):
            results = evaluate(block.states)
            summary.add(results)
            if writer is not None:
                writer.write(block, results)
            share = log.fraction()
            bar(share or 0.0, 0.0 if share is None else 1.0, f"{summary.rows:,} rows")
    return summary


@contextmanager
def _ended_cleanly() -> Iterator[None]:
    """Treat a termination request (SIGTERM) like Ctrl-C, so that no half-written file is left behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _document(given: argparse.Namespace, arm: Arm, summary: RowSummary, seconds: float) -> dict[str, Any]:
    joints = [j.name for j in arm.joints]
    document = {"name": arm.name, "from": given.source, "to": given.target, "joints": joints}
    document |= {
        name: getattr(summary, name) for name in ("rows", "not_finite", "rms", "max_abs", "max_abs_row")
    }
    document |= {"seconds": seconds, "rows_per_second": summary.rows / seconds}
    return document | {"min": summary.smallest, "max": summary.largest}


def _report(
    given: argparse.Namespace, arm: Arm, what: Computation, summary: RowSummary, seconds: float
) -> Report:
    lines = [f"{summary.rows} rows of {given.source} in {seconds:.2f} s"]
    if summary.not_finite:
        lines.append(f"Not finite: {summary.not_finite} rows, omitted below. Are all values in SI units?")
    parts = []
    if summary.rows > summary.not_finite:
        figures = zip(
            summary.smallest, summary.largest, summary.rms, summary.max_abs, summary.max_abs_row, strict=True
        )
        rows = [
            [j.name, *(number(float(v)) for v in values), str(at), what.unit(j.kind, given.degrees)]
            for j, (*values, at) in zip(arm.joints, figures, strict=True)
        ]
        made = what.made
        header = ["joint", f"{made} min", "max", "rms", f"|{made}| max", "at row", "unit"]
        parts.append(Report(header, rows))
    return Report(before=lines, parts=parts)
