"""`forearm sweep`: run, watch and show a study."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from forearm.cli.command import Command, names_of
from forearm.cli.options import JSON, Group, Option, finish
from forearm.cli.outputs import PAGES, tell_written
from forearm.cli.progress import ProgressBar
from forearm.cli.sweep_engines import ALL, executor_of
from forearm.cli.terminal import complain, is_terminal
from forearm.errors import InputError
from forearm.reading.fields import ChoiceField, FlagField, WholeField
from forearm.studies.description import study_of
from forearm.studies.engines.cluster_scripts import part_range, slurm_script
from forearm.studies.engines.runner import ENGINES
from forearm.studies.engines.sweep import sweep
from forearm.studies.report.page import SIMULATIONS
from forearm.studies.results import StudyResults
from forearm.studies.sampling.designs import MAX_ROWS
from forearm.studies.storage.manifest import MANIFEST
from forearm.studies.storage.result_folder import ResultFolder
from forearm.studies.study import Study
from forearm.tables import Report, number

LOOKED = 0.5  # s between two looks at a folder that is watched
SAID = 10.0  # s between two lines about it where there is no terminal
MOST_SHOWN = 24  # variables and figures that are listed
FLAG, COUNT = FlagField(), WholeField("", 1, MAX_ROWS)


def _run(given: argparse.Namespace) -> int:
    if given.html is not None and given.row is None:
        raise InputError(
            "a page of one row; give --row K as well, or --report FILE for all of them.", "--html"
        )
    study, folder = _study_and_folder(given)
    if given.emit is not None:
        print(_script(given, study, folder), end="")
        return 0
    if given.check:
        return _tell_study(given, study)
    if given.row is not None:
        return _tell_row(given, study, folder)
    results = _watched(folder) if given.watch else _computed(given, study, folder)
    with ProgressBar("reading results") as bar:
        if given.report is not None:
            results.report(given.report, worst=given.worst, simulations=given.simulations, progress=bar)
        if given.csv is not None:
            results.to_csv(given.csv)
        report, document = results.describe(), _document(results)
    finish(given, report, document)
    tell_written(() if given.json else (given.report, given.csv))
    return 0


def _study_and_folder(given: argparse.Namespace) -> tuple[Study, Path]:
    """The study of a file, with the folder of its results; or that of a folder."""
    place = Path(given.study)
    if (place / MANIFEST).is_file():
        if given.output is not None:
            raise InputError(
                "results continue in their own folder; leave it out, or name a study file.", "-o"
            )
        return study_of(ResultFolder.at(place).manifest), place
    if place.is_dir():
        raise InputError(
            f"a folder without {MANIFEST}, so no results of a study; name a study file (.toml).", place
        )
    if place.suffix.lower() != ".toml":
        raise InputError("expected a study file that ends in .toml, or a folder of results.", place)
    return Study.read(place), Path(given.output or f"{place.stem}-results")


def _computed(given: argparse.Namespace, study: Study, folder: Path) -> StudyResults:
    parts = None
    if given.part is not None:
        parts = part_range(given.part, -(-study.rows // study.rows_per_part))
    own = given.engine if given.engine in ENGINES else "threads"
    workers = given.workers if given.engine in ENGINES else None
    try:
        with (
            ProgressBar(f"{study.name}: {study.rows} rows") as bar,
            executor_of(given.engine, given.scheduler, given.workers) as executor,
        ):
            return sweep(
                study,
                executor,
                folder=folder,
                engine=own,
                workers=workers,
                parts=parts,
                progress=RowProgress(bar),
            )
    except KeyboardInterrupt:
        if not (folder / MANIFEST).is_file():
            raise
        complain(f"{ResultFolder.at(folder).kept()}; repeat the same command to continue.", kind="note")
        raise


class RowProgress:
    """Progress in rows for a bar: rows per second of this run, and the rows of an earlier one."""

    def __init__(self, bar: ProgressBar) -> None:
        self._bar = bar
        self._start: tuple[float, float] | None = None

    def __call__(self, done: float, total: float, what: str) -> None:
        """A `Progress`."""
        now = time.monotonic()
        if self._start is None:
            self._start = now, done
            self._bar.before = done
        seconds, rows = now - self._start[0], done - self._start[1]
        rate = f", {number(rows / seconds, 3)} rows/s" if seconds > 0.0 and rows > 0.0 else ""
        self._bar(done, total, what + rate)


def _watched(folder: Path) -> StudyResults:
    """Watch until all parts are complete."""
    found = ResultFolder.at(folder)
    said = -SAID
    with ProgressBar(f"watching {folder}") as bar:
        while True:
            now = found.progress_now()
            rows = min(now.parts_done * found.rows_per_part, found.rows)
            rate = now.parts_per_s * found.rows_per_part
            left = f", {(found.rows - rows) / rate:.0f} s left" if rate and rows < found.rows else ""
            line = f"{rows:,} of {found.rows:,} rows, {number(rate, 3)} rows/s{left}"
            bar.say(line)
            if not is_terminal(sys.stderr) and time.monotonic() - said >= SAID:
                said = time.monotonic()
                complain(line, kind="note")
            if now.parts_done >= now.parts:
                return StudyResults.read(folder)
            time.sleep(LOOKED)


def _script(given: argparse.Namespace, study: Study, folder: Path) -> str:
    command = ["forearm", "sweep", given.study]
    if not (Path(given.study) / MANIFEST).is_file():
        command += ["-o", str(folder)]
    command += ["--workers", str(given.cpus)]
    return slurm_script(
        command,
        given.jobs,
        _word(study.name),
        cpus=given.cpus,
        time_limit=given.time,
        memory=given.memory,
        partition=given.partition,
        setup=given.setup,
    )


def _word(name: str) -> str:
    """A name that sbatch accepts."""
    made = "".join(c if c.isascii() and c.isalnum() else "-" for c in name).strip("-")
    return made[:40] or "study"


def _tell_study(given: argparse.Namespace, study: Study) -> int:
    parts = -(-study.rows // study.rows_per_part)
    first = study.row(0)
    document = {"name": study.name, "rows": study.rows, "parts": parts, "first_row": first}
    document["figures"] = [c.name for c in study.columns]
    said = f"{study.name}: {study.rows} rows in {parts} parts, design {study.design.kind}"
    listed = [
        [v.name, ", ".join(v.of[:3]), _shown(first[v.name]), v.unit(study.arm)]
        for v in study.variables[:MOST_SHOWN]
    ]
    wanted = [[c.name, c.unit, c.title] for c in study.columns[:MOST_SHOWN]]
    more = len(study.columns) - len(wanted)
    tables = [
        Report(["variable", "what it is", "in row 0", "unit"], listed, "Variables"),
        Report(["figure", "unit", "what it is"], wanted, "Figures", (), [f"and {more} more"] if more else ()),
    ]
    return finish(given, Report(before=[said], parts=tables), document)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else number(value)


def _tell_row(given: argparse.Namespace, study: Study, folder: Path) -> int:
    from forearm.studies.rows.evaluation import RowEvaluation
    from forearm.studies.rows.row_simulation import simulate_row

    values = study.row(given.row)
    with ProgressBar(f"row {given.row} of {study.name}"):
        figures = {
            name: float(x[0])
            for name, x in RowEvaluation(study).rows(given.row, given.row + 1).items()
            if name not in values
        }
        if given.html is not None:
            simulate_row(study, given.row).to_html(given.html)
    units = {column.name: column.unit for column in study.columns}
    tables = [
        Report(["variable", "value"], [[name, _shown(x)] for name, x in values.items()]),
        Report(["figure", "value", "unit"], [[name, number(x), units[name]] for name, x in figures.items()]),
    ]
    document = {"row": given.row, "variables": values, "figures": figures}
    finish(given, Report(before=[f"{study.name}, row {given.row}"], parts=tables), document)
    tell_written(() if given.json else (given.html,))
    return 0


def _document(results: StudyResults) -> dict[str, Any]:
    return {
        "name": results.name,
        "folder": str(results.path),
        "rows": results.rows,
        "done": results.done,
        "variables": [v.name for v in results.variables],
        "figures": results.summary(),
    }


RESULTS = (
    Option("--watch", "watch a running study until it is complete", reads=FLAG),
    Option("--report", "write a page for a browser: .html", endings=PAGES),
    Option(
        "--worst",
        "number of worst rows per figure in the report (default: 3)",
        reads=WholeField("", 0, 100),
        default=3,
    ),
    Option(
        "--simulations",
        f"number of simulations of worst rows in the report (default: {SIMULATIONS})",
        reads=WholeField("", 0, 100),
        default=SIMULATIONS,
    ),
    Option("--csv", "write all rows as a table: .csv", endings=(".csv",)),
    Option("--row", "recompute and show row K", "K", WholeField("", 0, MAX_ROWS)),
    Option("--html", "with --row: write a page that plays the simulation", endings=PAGES),
)
SCRIPT = (
    Option("--emit", "print a job script: slurm", reads=ChoiceField(("slurm",))),
    Option("--jobs", "number of jobs (default: 10)", reads=COUNT, default=10),
    Option("--cpus", "cores per job (default: 1)", reads=COUNT, default=1),
    Option("--time", "time limit per job, such as 02:00:00", "LIMIT"),
    Option("--memory", "memory per job, such as 4G", "SIZE"),
    Option("--partition", "partition for the jobs", "NAME"),
    Option("--setup", "shell line to run first; may be repeated", "LINE", default=[], count="append"),
)
WHERE = (
    Option("--engine", names_of(ALL, "threads"), reads=ChoiceField(ALL), default="threads"),
    Option("--workers", "number of workers (default: one per core)", reads=COUNT),
    Option("--scheduler", "address of a running Dask or Ray cluster (default: on this machine)", "ADDRESS"),
    Option("--part", "compute only part I of N, on a cluster without a scheduler", "I/N"),
    Option("--check", "describe the study and compute nothing", reads=FLAG),
)
COMMAND = Command(
    "forearm sweep study.toml -o results --report report.html\n"
    "forearm sweep results --row 2 --html row2.html\n"
    "forearm sweep study.toml -o results --emit slurm --jobs 40",
    (
        Option("study", "a study file (.toml), or a folder of results to continue", "STUDY"),
        Option("--output", "folder for results (default: NAME-results for NAME.toml)", "FOLDER", short="-o"),
        JSON,
        Group("where rows are computed", WHERE),
        Group("a script for a cluster", SCRIPT),
        Group("results", RESULTS),
    ),
    _run,
)
