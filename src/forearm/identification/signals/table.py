"""The rows of a log as one table of numbers, chunk by chunk, from wherever it lies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from forearm.identification.samples import EffortKind
from forearm.spatial import Floats

T = TypeVar("T", bound=np.generic)
ROWS = 8192  # of an array at a time
KEPT = 6_000_000  # numbers, 48 MB: a log that has no more is held in memory


@dataclass(frozen=True, eq=False)
class LogTable:
    """A log whose quantities are chosen; a row is t and then quantity after quantity, joint by joint.

    Attributes:
        name: of the log.
        time: the column of times; None: rows are counted.
        position: "q" or "measured_q", the first of the quantities.
        effort: what was measured, the second.
        names: the columns of each quantity, in the order of a row.
        is_angle: which joints turn (n,).
        is_ours: whether its units are ours for sure: what a plan or a simulation left.
        place: what a row is called, by its number from 0 on: "line 12".
        chunks: reads the rows, from the first: (B, 1 + quantities x n), in SI units; NaN: missing.
    """

    name: str
    time: str | None
    position: str
    effort: EffortKind
    names: Mapping[str, tuple[str, ...]]
    is_angle: Floats
    is_ours: bool
    place: Callable[[int], str]
    chunks: Callable[[], Iterator[Floats]]

    @property
    def n(self) -> int:
        """The number of joints."""
        return len(self.is_angle)

    def at(self, quantity: str) -> slice:
        """Where a quantity stands in a row."""
        k = list(self.names).index(quantity)
        return slice(1 + k * self.n, 1 + (k + 1) * self.n)

    def has(self, *quantities: str) -> bool:
        """Whether all of these are there."""
        return all(x in self.names for x in quantities)

    @property
    def headings(self) -> tuple[str, ...]:
        """The columns' names, in the order of a row."""
        return (self.time or "t", *(name for group in self.names.values() for name in group))


def in_chunks(rows: NDArray[T]) -> Iterator[NDArray[T]]:
    """Rows that are in memory, chunk by chunk."""
    for start in range(0, len(rows), ROWS):
        yield rows[start : start + ROWS]


def stacked(t: Floats | None, blocks: Sequence[Floats]) -> Iterator[Floats]:
    """Arrays side by side, chunk by chunk; without times rows are counted."""
    count = len(blocks[0])
    for start in range(0, count, ROWS):
        part = slice(start, min(start + ROWS, count))
        first = np.arange(part.start, part.stop, dtype=np.float64) if t is None else t[part]
        yield np.column_stack([first, *(block[part] for block in blocks)])
