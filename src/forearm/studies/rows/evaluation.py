"""Evaluation of rows of a study, some thousand at a time, with equal columns for sweeps and optimisers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.errors import ForearmError, StepWarning, located
from forearm.kernels.traced_controller import TracedController
from forearm.simulation.many import long_steps_of_rows
from forearm.simulation.row_parameters import checked_rows
from forearm.spatial import Floats
from forearm.studies.reference_motion import ReferenceMotion
from forearm.studies.rows.row_figures import RowFigures
from forearm.studies.rows.row_numbers import Values
from forearm.studies.rows.row_setup import RowKind, RowSetup, law_of
from forearm.studies.study import Study
from forearm.studies.targets import CHOSEN

CHECKED = 50_000  # rows checked together


class RowEvaluation:
    """Computes the rows of a study; laws are traced once."""

    def __init__(self, study: Study, threads: int | None = 1) -> None:
        self.study, self.threads = study, threads
        self._laws: dict[RowKind, TracedController] = {}

    def rows(self, first: int, last: int) -> dict[str, NDArray[Any]]:
        """Variables and figures of rows first to last - 1, by column."""
        values = self.study.values(first, last)
        return {**values, **self.figures(values)}

    def figures(self, values: Values) -> dict[str, Floats]:
        """Figures at these values of the variables, (B,) each by column."""
        count = len(next(iter(values.values())))
        made = {column.name: np.full(count, np.nan) for column in self.study.columns}
        for places, setup in self._setups(values):
            figures = RowFigures(setup, self.threads)
            for column in self.study.columns:
                made[column.name][places] = figures.column(column)
        return made

    def setup_of(self, row: int) -> RowSetup:
        """What one row is computed with."""
        ((_, setup),) = self._setups(self.study.values(row, row + 1))
        return setup

    def check(self, first: int, last: int) -> None:
        """Refuse rows first to last - 1 with an unphysical arm, and warn (StepWarning) once if the step is
        too long for the drives of one.

        Args:
            first: the first row.
            last: one past the last row.
        """
        is_warned = False
        for start in range(first, last, CHECKED):
            for places, setup in self._setups(self.study.values(start, min(start + CHECKED, last))):
                numbers = setup.numbers.parameters
                try:
                    values = checked_rows(setup.arm, numbers, setup.count)
                except ForearmError:
                    for k, place in enumerate(places.tolist()):  # row number in the study
                        with located(f"study, row {start + place}"):
                            checked_rows(setup.arm, {name: x[k] for name, x in numbers.items()}, 1)
                    raise
                if not is_warned and (doubt := self._doubt(setup, values)):
                    is_warned, row = True, start + int(places[doubt[0]])
                    warnings.warn(f"study, row {row}: {doubt[1]}", StepWarning, stacklevel=3)

    def _doubt(self, setup: RowSetup, values: Mapping[str, Floats]) -> tuple[int, str] | None:
        run = self.study.run
        if not setup.is_simulated or not any(column.figure.is_simulated for column in self.study.columns):
            return None
        by_voltage = run.voltage is not None
        return long_steps_of_rows(setup.arm, run.method, run.step, setup.start()[0], by_voltage, values)

    def _setups(self, values: Values) -> Iterator[tuple[NDArray[np.intp], RowSetup]]:
        """Rows that share arm, motion and law: their indices and setups."""
        study = self.study
        count = len(next(iter(values.values())))
        usual = next(iter(study.arms)), next(iter(study.motions), ""), study.run.law or ""
        chosen: list[list[str]] = []
        for what, name in zip(CHOSEN, usual, strict=True):
            source = next((v.name for v in study.variables if what in v.of), None)
            chosen.append([name] * count if source is None else list(values[source]))
        places: dict[RowKind, list[int]] = {}
        for k, names in enumerate(zip(*chosen, strict=True)):
            places.setdefault(RowKind(*names), []).append(k)
        for kind, rows in places.items():
            here = np.array(rows, dtype=np.intp)
            some = {name: x[here] for name, x in values.items()}
            yield here, RowSetup(study, kind, some, self._law)

    def _law(self, kind: RowKind, motion: ReferenceMotion) -> TracedController:
        if kind not in self._laws:
            self._laws[kind] = law_of(self.study, kind, motion)
        return self._laws[kind]
