"""Search space of an optimisation: variables of a study as coordinates, continuous from 0 to 1 or indices of
choices.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError, shorten
from forearm.spatial import Floats
from forearm.studies.sampling.distributions import Choice, LogUniform
from forearm.studies.study import Study
from forearm.studies.variable import Variable
from forearm.values import check_choice, check_number

SAME = 1e-9  # relative tolerance for matching a start value to a choice


@dataclass(frozen=True)
class Coordinate:
    """One variable of the search space.

    Args:
        name: of the variable.
        choices: its values in index order; empty: continuous within bounds.
        low, high: bounds, of the logarithm where `is_log`.
        is_log: whether the coordinate is the logarithm of the value.
    """

    name: str
    choices: tuple[Any, ...] = ()
    low: float = 0.0
    high: float = 1.0
    is_log: bool = False

    @property
    def last(self) -> float:
        """Upper end of the coordinate, which starts at 0."""
        return float(len(self.choices) - 1) if self.choices else 1.0

    def values(self, x: Floats) -> NDArray[Any]:
        """Values of the variable at coordinates (B,)."""
        if self.choices:
            kind = object if isinstance(self.choices[0], str) else np.float64
            return np.array(self.choices, dtype=kind)[np.rint(x).astype(np.intp)]
        at = self.low + (self.high - self.low) * x
        return np.clip(np.exp(at) if self.is_log else at, *self._ends)

    @property
    def _ends(self) -> tuple[float, float]:
        return (math.exp(self.low), math.exp(self.high)) if self.is_log else (self.low, self.high)

    def place(self, value: object) -> float:
        """The coordinate of a value."""
        where = f"optimise, start, {self.name}"
        if self.choices:
            for k, choice in enumerate(self.choices):
                if value == choice or (
                    not isinstance(choice, str)
                    and not isinstance(value, str)
                    and math.isclose(check_number(value, where), choice, rel_tol=SAME)
                ):
                    return float(k)
            raise InputError(
                f"expected one of {', '.join(map(str, self.choices))}, got {shorten(value)}.", where
            )
        low, high = self._ends
        number = check_number(value, where, minimum=low - SAME * abs(low), maximum=high + SAME * abs(high))
        at = math.log(number) if self.is_log else number
        return min(max((at - self.low) / (self.high - self.low), 0.0), 1.0)


class Space:
    """The coordinates of all variables of a study, in order.

    Args:
        study: the study; only bounds and values of its distributions matter.
    """

    def __init__(self, study: Study) -> None:
        self.coordinates = tuple(_coordinate(variable) for variable in study.variables)

    @property
    def is_choice(self) -> NDArray[np.bool_]:
        """Mask of coordinates that index choices (d,)."""
        return np.array([bool(c.choices) for c in self.coordinates])

    @property
    def last(self) -> Floats:
        """Upper ends of the coordinates (d,)."""
        return np.array([c.last for c in self.coordinates])

    @property
    def combinations(self) -> float:
        """Number of combinations of choices; infinite with a continuous variable."""
        return math.prod(len(c.choices) if c.choices else math.inf for c in self.coordinates)

    def values(self, points: Floats) -> dict[str, NDArray[Any]]:
        """Values of the variables by name, (B,) each, at points (B, d)."""
        return {c.name: c.values(points[:, k]) for k, c in enumerate(self.coordinates)}

    def all_choices(self, first: int, last: int) -> Floats:
        """Combinations first to last - 1 of pure choices, the last variable fastest."""
        counts = [len(c.choices) for c in self.coordinates]
        return np.stack(np.unravel_index(np.arange(first, last), counts), axis=1).astype(np.float64)

    def point(self, values: Mapping[str, object]) -> Floats:
        """The point (d,) of values by name."""
        names = [c.name for c in self.coordinates]
        for name in values:
            check_choice(name, names, "optimise, start")
        for name in names:
            if name not in values:
                raise InputError(f"expected all variables, {name} is missing.", "optimise", "start")
        return np.array([c.place(values[c.name]) for c in self.coordinates])


def _coordinate(variable: Variable) -> Coordinate:
    distribution = variable.distribution
    if isinstance(distribution, Choice):
        weights = distribution.weights or (1.0,) * len(distribution.values)
        values = [x for x, weight in zip(distribution.values, weights, strict=True) if weight > 0.0]
        kept: list[Any] = [*dict.fromkeys(values)]
        if distribution.is_numeric:
            kept.sort()  # so that similar choices are neighbours
        return Coordinate(variable.name, tuple(kept))
    low, high = distribution.bounds or (-math.inf, math.inf)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise InputError(
            f"expected a bounded distribution, but {type(distribution).__name__} ranges from "
            f"{low:g} to {high:g}; use Uniform(low, high), LogUniform(low, high) or values to "
            "choose from.",
            "optimise",
            variable.name,
        )
    if isinstance(distribution, LogUniform):
        return Coordinate(variable.name, (), math.log(low), math.log(high), True)
    return Coordinate(variable.name, (), low, high)
