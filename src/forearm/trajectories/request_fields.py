"""Field types used in request files only: joint limits, limits along a path, open velocities."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from forearm.errors import InputError, shorten
from forearm.reading.fields import Field, FlagField, ListField, NumberField, TableField
from forearm.reading.fields import WholeField as WholeField

OPEN = "open"


@dataclass(frozen=True)
class OneOrMany:
    """One value for all joints, or a list with one per joint."""

    item: Field
    doc: str = ""

    def read(self, value: Any, place: str) -> Any:
        """A number, or a tuple of them."""
        return (
            ListField(self.item).read(value, place)
            if isinstance(value, list)
            else self.item.read(value, place)
        )

    def schema(self) -> dict[str, Any]:
        """A number or a list."""
        return {"oneOf": [self.item.schema(), ListField(self.item).schema()], "description": self.doc}


@dataclass(frozen=True)
class LimitOrFlag:
    """true or false, or a limit above 0: one for all joints, or a list with one per joint."""

    doc: str = ""

    @property
    def _limit(self) -> OneOrMany:
        return OneOrMany(NumberField(above=0.0, infinite=True))

    def read(self, value: Any, place: str) -> Any:
        """A flag, a number, or a tuple of numbers."""
        return value if isinstance(value, bool) else self._limit.read(value, place)

    def schema(self) -> dict[str, Any]:
        """Any of the three."""
        return {"oneOf": [FlagField().schema(), *self._limit.schema()["oneOf"]], "description": self.doc}


@dataclass(frozen=True)
class LimitAlongPath:
    """A limit: one value, a list with one per joint if it is per joint, or a list of places along the path
    with such values, linearly interpolated.
    """

    doc: str = ""
    many: bool = True

    @property
    def _value(self) -> Field:
        item = NumberField(above=0.0, infinite=True)
        return OneOrMany(item) if self.many else item

    @property
    def _place(self) -> TableField:
        s = NumberField("place along the path, by the distances between waypoints, rad (m)", minimum=0.0)
        return TableField({"s": s, "value": self._value}, ("s", "value"))

    def read(self, value: Any, place: str) -> Any:
        """A number, a tuple of them, or a pair (places, values)."""
        if not isinstance(value, list) or not any(isinstance(entry, dict) for entry in value):
            return self._value.read(value, place)
        entries = ListField(self._place).read(value, place)
        places, values = (tuple(entry[key] for entry in entries) for key in ("s", "value"))
        if len(places) < 2 or any(a >= b for a, b in pairwise(places)):
            raise InputError("expected at least two places with increasing s.", place)
        if len({np.shape(v) for v in values}) > 1:
            raise InputError(
                f"expected the same number of values at each place, got {shorten(value)}.", place
            )
        return places, values

    def schema(self) -> dict[str, Any]:
        """Any of the three."""
        kinds: list[Field] = [
            NumberField(above=0.0),
            *([ListField(NumberField(above=0.0))] if self.many else []),
        ]
        return {
            "oneOf": [*(kind.schema() for kind in kinds), ListField(self._place).schema() | {"minItems": 2}],
            "description": self.doc,
        }


@dataclass(frozen=True)
class FlagOrTable:
    """true or false, or a table that implies true and holds options."""

    table: TableField

    def read(self, value: Any, place: str) -> Any:
        """A flag, or the table."""
        return (self.table if isinstance(value, dict) else FlagField()).read(value, place)

    def schema(self) -> dict[str, Any]:
        """A flag or a table."""
        return {"oneOf": [FlagField().schema(), self.table.schema()], "description": self.table.doc}


@dataclass(frozen=True)
class NumberOrOpen:
    """A number, or the word "open" for a velocity that the planner chooses: NaN."""

    def read(self, value: Any, place: str) -> float:
        """The number."""
        return math.nan if value == OPEN else NumberField().read(value, place)

    def schema(self) -> dict[str, Any]:
        """A number or the word."""
        return {"oneOf": [NumberField().schema(), {"const": OPEN}]}
