"""Result of an optimisation: values, figures, constraints, and the resulting arm."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.studies.optimisation.goal import Goal
from forearm.studies.rows.row_numbers import row_numbers
from forearm.studies.rows.row_setup import arm_at
from forearm.studies.study import Study
from forearm.tables import Report, number


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best design found.

    Attributes:
        study: the study.
        goal: objective and constraints.
        values: variables by name, numbers and texts.
        figures: all figures of the study at the optimum, by column.
        missed: violation of each constraint, in the figure's unit; 0: met.
        evaluations: number of computed rows.
        history: (evaluations, best value so far) at each improvement, feasible rows only.
        message: summary of the search.
    """

    study: Study
    goal: Goal
    values: Mapping[str, float | str]
    figures: Mapping[str, float]
    missed: Mapping[str, float]
    evaluations: int
    history: tuple[tuple[int, float], ...]
    message: str

    @property
    def value(self) -> float:
        """The optimised figure's value."""
        return self.figures[self.goal.column]

    @property
    def feasible(self) -> bool:
        """Whether the optimised figure is finite and every constraint is met."""
        return math.isfinite(self.value) and not any(self.missed.values())

    @cached_property
    def arm(self) -> Arm:
        """The arm with these values: links, gears, payload, and catalogue motors with their limits."""
        chosen = next((v.name for v in self.study.variables if "arm" in v.of), None)
        arm = self.study.arms[str(self.values[chosen])] if chosen else self.study.arm
        row = {
            name: np.array([x], dtype=object if isinstance(x, str) else np.float64)
            for name, x in self.values.items()
        }
        return arm_at(self.study, arm, row_numbers(self.study, arm, row), 0)

    def report(self) -> Report:
        """Chosen values, their figures, and a summary of the search."""
        goal = self.goal
        state = "feasible" if self.feasible else "not feasible: the nearest found"
        best = f"{goal.column} = {number(self.value)} {self._units[goal.column]}".rstrip()
        before = (f"{self.study.name}: {goal.verb} {best}, {state}",)
        chosen = [
            [name, x if isinstance(x, str) else number(x), self._range(name)]
            for name, x in self.values.items()
        ]
        bounds = {c.column: c for c in goal.constraints}
        rows = []
        for name, x in self.figures.items():
            limit, missed = bounds.get(name), self.missed.get(name)
            wanted = "" if limit is None else _wanted(limit.low, limit.high)
            if limit is None and name == goal.column:
                wanted = "least" if goal.sign > 0.0 else "most"
            rows.append([name, number(x), self._units[name], wanted, number(missed, 3) if missed else ""])
        return Report(
            ["variable", "value", "from"],
            chosen,
            before=before,
            parts=[
                Report(["figure", "value", "unit", "wanted", "violated by"], rows),
                Report(after=[f"{self.message}. {self.evaluations} rows computed."]),
            ],
        )

    @property
    def _units(self) -> dict[str, str]:
        return {column.name: column.unit for column in self.study.columns}

    def _range(self, name: str) -> str:
        distribution = next(v.distribution for v in self.study.variables if v.name == name)
        values = getattr(distribution, "values", None)
        if values is not None:
            return f"{len(values)} choices"
        low, high = distribution.bounds or (math.nan, math.nan)
        return f"{number(low)} to {number(high)}"

    def table(self) -> str:
        """The report as text."""
        return self.report().text()

    def to_json(self) -> dict[str, Any]:
        """Everything as plain lists, texts and values; None for non-finite values."""
        limits = {
            c.column: {"low": _plain(c.low), "high": _plain(c.high), "missed": _plain(self.missed[c.column])}
            for c in self.goal.constraints
        }
        return {
            "study": self.study.name,
            self.goal.verb: self.goal.column,
            "value": _plain(self.value),
            "feasible": self.feasible,
            "values": dict(self.values),
            "figures": {name: _plain(x) for name, x in self.figures.items()},
            "subject_to": limits,
            "evaluations": self.evaluations,
            "history": [list(entry) for entry in self.history],
            "message": self.message,
        }

    def __repr__(self) -> str:
        kind = "" if self.feasible else ", not feasible"
        return f"<Optimum of {self.study.name!r}: {self.goal.column} = {self.value:.6g}{kind}>"

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        return self.report().html()


def _wanted(low: float, high: float) -> str:
    if math.isinf(low):
        return f"<= {number(high)}"
    return f">= {number(low)}" if math.isinf(high) else f"{number(low)} to {number(high)}"


def _plain(x: float) -> float | None:
    return float(x) if math.isfinite(x) else None
