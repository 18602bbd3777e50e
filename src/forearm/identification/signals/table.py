"""The rows of a log as one table, chunk by chunk, from any source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from forearm.identification.samples import EffortKind
from forearm.spatial import Floats

T = TypeVar("T", bound=np.generic)
ROWS = 8192  # rows of an array per chunk
KEPT = 6_000_000  # values, 48 MB: a shorter log is held in memory


@dataclass(frozen=True, eq=False)
class LogTable:
    """A log with selected quantities; a row is t, then quantity by quantity, joint by joint.

    Attributes:
        name: of the log.
        time: the time column; None: rows are numbered.
        position: "q" or "measured_q", the first of the quantities.
        effort: the kind of effort, the second.
        names: the columns of each quantity, in the order of a row.
        is_angle: which joints are revolute (n,).
        is_ours: whether its units are certainly SI: a plan or simulation result.
        place: name of a row by its number from 0 on: "line 12".
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
        """Slice of a quantity in a row."""
        k = list(self.names).index(quantity)
        return slice(1 + k * self.n, 1 + (k + 1) * self.n)

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


def stacked(t: Floats | None, blocks: Sequence[Floats]) -> Iterator[Floats]:
    """Arrays joined column-wise, chunk by chunk; without times rows are numbered."""
    count = len(blocks[0])
    for start in range(0, count, ROWS):
        part = slice(start, min(start + ROWS, count))
        first = np.arange(part.start, part.stop, dtype=np.float64) if t is None else t[part]
        yield np.column_stack([first, *(block[part] for block in blocks)])
