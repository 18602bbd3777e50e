"""The objective of an optimisation: the minimum or maximum of a figure, with other figures within bounds."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from forearm.errors import InputError, NameNotFound, shorten, suggest
from forearm.spatial import Floats
from forearm.studies.figures import Column
from forearm.studies.study import Study
from forearm.values import check_number, number_in

Bounds = tuple[float | None, float | None]
MISSING = 1e30  # violation of a row whose constrained figures are NaN
COMPARISON = re.compile(
    r"((?P<left>[^<>=]*)(?P<before>[<>])=?)?(?P<figure>[^<>=]*)(?P<sign>[<>])=?(?P<right>[^<>=]*)"
)


@dataclass(frozen=True)
class Constraint:
    """Bounds of a results column, infinite if absent."""

    column: str
    low: float
    high: float

    @property
    def size(self) -> float:
        """Scale of the violation, so that constraints in different units can be added."""
        return max((abs(x) for x in (self.low, self.high) if math.isfinite(x)), default=0.0) or 1.0

    def missed(self, x: Any) -> Any:
        """Violation of the bounds, in the column's unit; 0 within."""
        return np.maximum(np.maximum(self.low - x, x - self.high), 0.0)


@dataclass(frozen=True)
class Goal:
    """A column to minimise or maximise, and constraints.

    Args:
        column: of the study's results.
        sign: 1 to minimise, -1 to maximise.
        constraints: of columns of the results.
    """

    column: str
    sign: float
    constraints: tuple[Constraint, ...]

    @property
    def verb(self) -> str:
        """minimise or maximise, as a verb."""
        return "minimise" if self.sign > 0.0 else "maximise"

    def costs(self, figures: Mapping[str, Floats]) -> Floats:
        """The cost to be minimised, (B,); infinite for NaN."""
        cost = self.sign * np.asarray(figures[self.column], dtype=np.float64)
        return np.where(np.isfinite(cost), cost, math.inf)

    def missed(self, figures: Mapping[str, Floats]) -> Floats:
        """Total violation of all constraints per row, (B,), each relative to its bounds; 0: feasible."""
        total = np.zeros(len(figures[self.column]))
        for constraint in self.constraints:
            total = total + constraint.missed(figures[constraint.column]) / constraint.size
        is_number = np.isfinite(total) & np.isfinite(figures[self.column])
        return np.where(is_number, np.minimum(total, MISSING), MISSING)


def goal_of(study: Study, minimise: str | None, maximise: str | None, subject_to: Mapping[str, Any]) -> Goal:
    """The goal named by a caller, checked against the columns of a study."""
    if (minimise is None) == (maximise is None):
        got = "neither" if minimise is None else "both"
        raise InputError(
            f"expected one of minimise and maximise, got {got}; for several objectives use "
            "the Pareto front of fa.sweep.",
            "optimise",
        )
    verb, named = ("minimise", minimise) if minimise is not None else ("maximise", maximise)
    columns = _columns(study, named, f"optimise, {verb}")
    if len(columns) > 1:
        raise InputError(
            f"{named} has one value per joint; name one of {', '.join(column.name for column in columns)}.",
            "optimise",
            verb,
        )
    constraints = []
    for name, bounds in subject_to.items():
        where = f"optimise, subject_to, {shorten(name)}"
        low, high = _bounds(bounds, where)
        constraints += [Constraint(column.name, low, high) for column in _columns(study, name, where)]
    return Goal(columns[0].name, 1.0 if verb == "minimise" else -1.0, tuple(constraints))


def _columns(study: Study, name: object, where: str) -> list[Column]:
    """The column of that name, or all columns of a per-joint figure."""
    found = [column for column in study.columns if name in (column.name, column.figure.name)]
    if not found:
        known = [column.name for column in study.columns]
        raise NameNotFound(
            f"the study has no figure {shorten(name)}; {suggest(str(name), known)} Add others "
            "to its figures.",
            where,
        )
    return found


def _bounds(given: object, where: str) -> tuple[float, float]:
    if not isinstance(given, list | tuple) or len(given) != 2 or all(x is None for x in given):
        raise InputError(f"expected (low, high), None for no bound, got {shorten(given)}.", where)
    low = -math.inf if given[0] is None else check_number(given[0], f"{where}, low")
    high = math.inf if given[1] is None else check_number(given[1], f"{where}, high")
    if not low < high:
        raise InputError(f"expected low below high, got {low:g} and {high:g}.", where)
    return low, high


def constraint_of(text: str) -> tuple[str, float | None, float | None]:
    """Figure, low and high of a text such as "voltage_margin>=0.05" or "10<=peak_voltage.joint1<=40"."""
    found = COMPARISON.fullmatch(text)
    left, right = (number_in(((found and found[name]) or "").strip()) for name in ("left", "right"))
    figure = found["figure"].strip() if found else ""
    is_two = found is not None and found["left"] is not None
    if (
        found is None
        or right is None
        or not figure
        or number_in(figure) is not None
        or (is_two and (left is None or found["before"] != found["sign"]))
    ):
        raise InputError(
            "expected a text such as 'voltage_margin>=0.05' or '0.05<=voltage_margin<=0.5', "
            f"got {shorten(text)}.",
            "constraint",
        )
    return (figure, left, right) if found["sign"] == "<" else (figure, right, left)


def constraints_of(texts: Iterable[str]) -> dict[str, Bounds]:
    """Constraint texts as `subject_to` expects them; two texts may give the two bounds of one figure."""
    made: dict[str, Bounds] = {}
    for text in texts:
        figure, *bounds = constraint_of(text)
        before = made.get(figure, (None, None))
        for name, old, new in zip(("lower", "upper"), before, bounds, strict=True):
            if old is not None and new is not None:
                raise InputError(f"expected one {name} bound, got {old:g} and {new:g}.", "constraint", figure)
        low, high = (old if new is None else new for old, new in zip(before, bounds, strict=True))
        made[figure] = (low, high)
    return made
