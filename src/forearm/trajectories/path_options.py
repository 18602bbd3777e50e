"""Limits of a motion along a path and options of the fastest one, each declared once: `fa.time_optimal`,
requests and their files, and `forearm plan` take them from here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from forearm.errors import InputError, shorten
from forearm.reading.fields import Field, ListField, NumberField, OneOrMany, TableField, WholeField
from forearm.records import declared, number, record
from forearm.spatial import Floats
from forearm.trajectories.paths.splines import CONTINUITIES
from forearm.values import as_floats

POINTS = 1000  # intervals of the grid
MOST_POINTS = 100_000
Limit = ArrayLike | Callable[[Floats], ArrayLike] | tuple[ArrayLike, ArrayLike] | None
ABOVE_0 = NumberField(above=0.0, infinite=True)


@dataclass(frozen=True)
class LimitField:
    """A limit along a path: a number, one per joint if there are many, a function of s, or a pair (places,
    values), linearly interpolated; in files a list of tables for that.
    """

    doc: str
    unit: str
    many: bool = True

    @property
    def _place(self) -> TableField:
        s = NumberField("place along the path, by the distances between waypoints, rad (m)", minimum=0.0)
        value = OneOrMany(ABOVE_0) if self.many else ABOVE_0
        return TableField({"s": s, "value": value}, ("s", "value"))

    def read(self, value: Any, place: str) -> Any:
        """The function, or numbers and pairs as tuples."""
        if callable(value):
            return value
        if isinstance(value, list) and any(isinstance(entry, dict) for entry in value):
            entries = ListField(self._place).read(value, place)
            value = tuple([entry[key] for entry in entries] for key in ("s", "value"))
        if is_along(value):
            return self._along(value[0], value[1], place)
        values = as_floats(value, place)
        if values.ndim > self.many:
            raise InputError(
                f"expected one number{' or one per joint' * self.many}, a function of s, or a pair "
                f"(places, values), got {shorten(value)}.",
                place,
            )
        if not (values > 0.0).all():
            raise InputError(f"must be above 0, got {float(values[~(values > 0.0)].flat[0])!r}.", place)
        return tuple(values.tolist()) if values.ndim else float(values)

    @staticmethod
    def _along(places: ArrayLike, values: ArrayLike, place: str) -> Any:
        s, rows = as_floats(places, place), as_floats(values, place)
        rows = rows[:, None] if rows.ndim == 1 else rows
        if rows.ndim != 2 or len(s) != len(rows) or len(s) < 2 or not (np.diff(s) > 0.0).all():
            raise InputError(
                "expected at least two places with increasing s, and a value or a row of values for each.",
                place,
            )
        wrong = np.argwhere(~(rows > 0.0))
        if wrong.size:
            k, j = wrong[0]
            raise InputError(
                f"limits must be above 0, got {float(rows[k, j])!r} at s = {s[k]:.6g}, entry {j + 1}.", place
            )
        return tuple(s.tolist()), tuple(map(tuple, rows.tolist()))

    def schema(self) -> dict[str, Any]:
        """A number, a list of them, or places with values."""
        one = NumberField(above=0.0)
        kinds: list[Field] = [one, ListField(one)] if self.many else [one]
        along = ListField(self._place).schema() | {"minItems": 2}
        return {
            "oneOf": [*(kind.schema() for kind in kinds), along],
            "description": f"{self.doc}, {self.unit}",
        }


def is_along(value: object) -> bool:
    """Whether a limit is a pair (places, values) along a path."""
    return isinstance(value, tuple) and len(value) == 2 and np.ndim(value[0]) == 1


def limit(doc: str, unit: str, many: bool = True) -> Any:
    """A declared limit."""
    return declared(LimitField(doc, unit, many), default=None)


@record
class PathLimits:
    """Limits of the joints, and of the hand's origin, along a path.

    Each is a number, one per joint, a function of s (m,) that returns (m, n), or a pair (places, values),
    linearly interpolated; infinity removes the arm's own limit.
    """

    acceleration: Limit = limit(
        "largest |qdd| (default: unlimited along a path, otherwise what the drives allow)", "rad/s^2 (m/s^2)"
    )
    velocity: Limit = limit("largest |qd| (default: the arm's)", "rad/s (m/s)")
    torque: Limit = limit(
        "largest |tau|, motor torque times gear ratio (default: the arm's max_effort)", "N m (N)"
    )
    current: Limit = limit("largest motor current (default: the motors')", "A")
    voltage: Limit = limit("largest motor voltage (default: the motors')", "V")
    jerk: Limit = limit("largest |qddd| (default: unlimited, accelerations jump)", "rad/s^3 (m/s^3)")
    path_jerk: float | None = number(
        "largest d3s/dt3 (default: unlimited)",
        "of the path parameter / s^3",
        default=None,
        above=0.0,
        infinite=True,
    )
    hand_speed: Limit = limit("largest speed of the hand (default: unlimited)", "m/s", False)
    hand_acceleration: Limit = limit("largest acceleration of the hand (default: unlimited)", "m/s^2", False)


@record
class PathOptions:
    """Options of a time-optimal motion."""

    continuity: int = declared(
        WholeField(
            "continuous derivatives of the spline through waypoints; 0: straight lines, stopping at corners",
            0,
            4,
            CONTINUITIES,
        ),
        default=2,
    )
    tolerance: float | None = number(
        "largest distance from the straight lines between waypoints (default: unlimited)",
        "rad (m)",
        default=None,
        above=0.0,
    )
    duration: float | None = number(
        "duration of the motion (default: the shortest)", "s", default=None, above=0.0
    )
    points: int = declared(
        WholeField("approximate number of intervals of the path", 10, MOST_POINTS), default=POINTS
    )
    start_speed: float = number("ds/dt at the start; 0: at rest", default=0.0, minimum=0.0)
    end_speed: float = number("ds/dt at the end; 0: at rest", default=0.0, minimum=0.0)
    payload: tuple[float, float] | None = declared(
        ListField(
            NumberField(minimum=0.0),
            2,
            "(least, largest) mass in the hand, kg: limits hold for every mass in between",
        ),
        default=None,
    )
    payload_com: tuple[float, float, float] = declared(
        ListField(NumberField(), 3, "centre of mass of the payload in the hand frame, m"),
        default=(0.0, 0.0, 0.0),
    )

    def __post_init__(self) -> None:
        if self.payload is not None and self.payload[0] > self.payload[1]:
            raise InputError(
                f"expected the least mass before the largest, got {self.payload}.", "pathoptions", "payload"
            )
