"""A log as rows of numbers, read chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from forearm.identification.samples import EffortKind
from forearm.spatial import Floats
from forearm.values import frozen

T = TypeVar("T", bound=np.generic)
ROWS = 8192  # rows of an array per chunk
KEPT = 6_000_000  # values, 48 MB: a shorter log is held in memory


@frozen
class LogTable:
    """A log with selected quantities; a row is t, then quantity by quantity, joint by joint.

    Attributes:
        name: of the log.
        time: the time column; None: rows are numbered.
        names: the columns of each quantity, in the order of a row: "q" or "measured_q", then the effort.
        is_angle: which joints are revolute (n,).
        is_ours: whether its units are certainly SI: a plan or simulation result.
        place: name of a row by its number from 0 on: "line 12".
        chunks: reads the rows, from the first: (B, 1 + quantities x n), in SI units; NaN: missing.
    """

    name: str
    time: str | None
    names: Mapping[str, tuple[str, ...]]
    is_angle: Floats
    is_ours: bool
    place: Callable[[int], str]
    chunks: Callable[[], Iterator[Floats]]

    @property
    def n(self) -> int:
        """The number of joints."""
        return len(self.is_angle)

    @property
    def position(self) -> str:
        """The positions: "q" or "measured_q"."""
        return next(iter(self.names))

    @property
    def effort(self) -> EffortKind:
        """The kind of effort."""
        return cast(EffortKind, list(self.names)[1])

    @property
    def has_current(self) -> bool:
        """Whether currents were measured beside voltages."""
        return self.effort == "voltage" and self.has("current")

    def at(self, quantity: str) -> slice:
        """Slice of a quantity in a row."""
        k = list(self.names).index(quantity)
        return slice(1 + k * self.n, 1 + (k + 1) * self.n)

    def places(self, *quantities: str) -> list[int]:
        """Indices of quantities in a row."""
        return [k for x in quantities for k in range(self.at(x).start, self.at(x).stop)]

    def has(self, *quantities: str) -> bool:
        """Whether all of these are present."""
        return all(x in self.names for x in quantities)

    @property
    def headings(self) -> tuple[str, ...]:
        """The columns' names, in the order of a row."""
        return (self.time or "t", *(name for group in self.names.values() for name in group))


def in_chunks(rows: NDArray[T]) -> Iterator[NDArray[T]]:
    """Rows that are in memory, chunk by chunk."""
    for start in range(0, len(rows), ROWS):
        yield rows[start : start + ROWS]
