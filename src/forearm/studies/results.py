"""The results of a study: columns, single rows, their simulations, a table and a report."""

from __future__ import annotations

import csv
import io
import os
import shlex
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.progress import Progress
from forearm.reading.textfile import replacing, write_text
from forearm.simulation.result import Simulation
from forearm.studies.description import study_of
from forearm.studies.report.page import SIMULATIONS, report_page
from forearm.studies.report.source import ReportFigure, ReportVariable
from forearm.studies.report.summary import statistics
from forearm.studies.rows.row_simulation import arm_of_row, simulate_row
from forearm.studies.storage.memory_results import MemoryResults
from forearm.studies.storage.result_folder import ResultFolder
from forearm.studies.study import Study
from forearm.tables import Report, number
from forearm.values import check_whole

BLOCK = 50_000  # rows of a table written per block


class StudyResults:
    """Computed rows of a study, in memory or in a folder of Parquet files; created by `fa.sweep` or `read`.

    Columns of a folder are read on demand, so that millions of rows need little memory. Other programs can
    read the folder `parts` as one Parquet table.

    Args:
        folder: the results folder, or the results in memory.
        study: the study.
    """

    def __init__(self, folder: ResultFolder | MemoryResults, study: Study) -> None:
        self.folder, self.study = folder, study

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> StudyResults:
        """Open the results in a folder, even while others compute them."""
        folder = ResultFolder.at(path)
        return cls(folder, study_of(folder.manifest))

    @property
    def path(self) -> Path | None:
        """The folder; None: in memory."""
        return self.folder.path

    @property
    def name(self) -> str:
        """Name of the study."""
        return self.study.name

    @property
    def rows(self) -> int:
        """Number of rows of the study, computed or not."""
        return self.study.rows

    @property
    def done(self) -> int:
        """Number of computed rows."""
        return self.folder.rows_done

    @property
    def design(self) -> str:
        """Kind of the design."""
        return self.study.design.kind

    @cached_property
    def facts(self) -> list[tuple[str, str]]:
        """Properties of the study, in words."""
        study, run = self.study, self.study.run
        driving = "motion" if study.motions else "voltage" if run.voltage else "torque"
        facts = [("arm", ", ".join(study.arms)), ("design", self.design)]
        facts += [("seed", str(study.design.seed))] if self.design != "grid" else []
        facts += [("driven by", f"{run.law} along a motion" if run.law else driving)]
        facts += [("step", f"{run.step:g} s, {run.method}")]
        return (
            facts
            if self.path
            else [*facts, ("folder", "none: give fa.sweep one for commands that show a row")]
        )

    @cached_property
    def variables(self) -> list[ReportVariable]:
        """The variables."""
        return [
            ReportVariable(v.name, v.unit(self.study.arm), v.distribution.is_numeric)
            for v in self.study.variables
        ]

    @cached_property
    def figures(self) -> list[ReportFigure]:
        """The figures of merit, one per column."""
        return [
            ReportFigure(c.name, c.unit, c.title, "more" if c.figure.better == "more" else "less")
            for c in self.study.columns
        ]

    @property
    def command(self) -> str:
        """The command that continues these results; FOLDER stands for one that is still to be given."""
        return f"forearm sweep {shlex.quote(str(self.path)) if self.path else 'FOLDER'}"

    def column(self, name: str, /) -> NDArray[Any]:
        """A variable, a figure or the "row" numbers of all computed rows, in row order."""
        return self.folder.column(name)

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.column(name)

    def table(
        self, names: Sequence[str] | None = None, first: int = 0, last: int | None = None
    ) -> dict[str, NDArray[Any]]:
        """Columns of the computed rows in a range, by name.

        Args:
            names: the columns; None: all, "row" first.
            first: the first row.
            last: one past the last row; None: up to the end.
        """
        return self.folder.table(names, first, last)

    def row(self, number: int) -> dict[str, Any]:
        """Variables and figures of one row, by name."""
        check_whole(number, "row", 0, self.rows - 1)
        found = self.table(None, number, number + 1)
        if not len(found["row"]):
            raise InputError(f"not computed yet; run the study first: {self.command}.", f"row {number}")
        made = {name: column[0] for name, column in found.items() if name != "row"}
        return {name: x if isinstance(x, str) else float(x) for name, x in made.items()}

    def arm(self, number: int) -> Arm:
        """The arm of a row."""
        return arm_of_row(self.study, number)

    def simulation(self, number: int) -> Simulation:
        """The run of a row, simulated again as a full `Simulation`."""
        return simulate_row(self.study, number)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the computed rows as a table for other programs, one block at a time."""
        with replacing(path) as stream:
            text = io.TextIOWrapper(stream, "utf-8", newline="", write_through=True)
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(self.folder.columns)
            for first in range(0, self.rows, BLOCK):
                some = self.table(None, first, min(first + BLOCK, self.rows))
                writer.writerows(zip(*(x.tolist() for x in some.values()), strict=True))
            text.detach()

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        worst: int = 3,
        simulations: int = SIMULATIONS,
        progress: Progress | None = None,
    ) -> str:
        """An HTML report: statistics, distributions, Pareto front, sensitivities, worst rows with their
        simulations; returns its text.

        Args:
            path: .html file to write; None: not written.
            worst: rows to show as the worst of each figure.
            simulations: number of embedded simulations of these rows, the worst of each figure first; each
                takes a second or two.
            progress: function of (done, total, what) called from time to time.
        """
        is_run = any(c.figure.is_simulated for c in self.study.columns)
        play = self._simulation_page if is_run else None
        text = report_page(
            self, worst=worst, simulation_page=play, simulations=simulations, progress=progress
        )
        if path is not None:
            write_text(path, text)
        return text

    def _simulation_page(self, row: int) -> str | None:
        """The page that plays a row; None if it has no run."""
        from forearm.viewer.door import recording_page

        try:
            return recording_page(self.simulation(row), plays=True)
        except InputError:
            return None

    def summary(self) -> Mapping[str, Mapping[str, float]]:
        """Mean, standard deviation, extremes and quantiles of each figure over the rows that did not fail."""
        return {
            figure.name: statistics(np.asarray(self.column(figure.name), dtype=np.float64))
            for figure in self.figures
        }

    def describe(self) -> Report:
        """A table of the figures, as commands and notebooks show it."""
        header = ["figure", "unit", "mean", "std", "min", "5 %", "median", "95 %", "max", "failed"]
        rows = []
        for figure, found in zip(self.figures, self.summary().values(), strict=True):
            values = [number(x, 4) for key, x in found.items() if key != "failed"]
            rows.append([figure.name, figure.unit, *values, str(int(found["failed"]))])
        done = self.done
        said = f"{self.name}: {done} of {self.rows} rows computed, in {self.path or 'memory'}"
        return Report(header if done else (), rows if done else (), "", [said], self._failed())

    def _failed(self) -> list[str]:
        """A sentence about failed rows, if any."""
        bad = np.zeros(self.done, dtype=bool)
        for figure in self.figures:
            bad |= ~np.isfinite(np.asarray(self.column(figure.name), dtype=np.float64))
        if not bad.any():
            return []
        first = int(self.column("row")[int(np.argmax(bad))])
        return [
            f"{int(bad.sum())} rows have a NaN or infinite figure, first row {first}: diverged runs (reduce "
            "the step or the gains), or paths without a time-optimal motion."
        ]

    def __len__(self) -> int:
        return self.done

    def __repr__(self) -> str:
        place = str(self.path or "memory")
        return f"<StudyResults of {self.name!r}: {self.done} of {self.rows} rows in {place!r}>"

    def __str__(self) -> str:
        return str(self.describe())

    def _repr_html_(self) -> str:
        return self.describe().html()
