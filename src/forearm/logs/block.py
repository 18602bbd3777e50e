"""A block of rows on its way from one file to another, and what reads and writes blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from forearm.logs.columns import Columns

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Lines:
    """Rows as the text they came as, in one piece and apart; `first` is the number of the first line in its file."""

    data: bytes
    rows: list[str]
    first: int


@dataclass(frozen=True)
class Block:
    """Some rows: the quantities (B, n) as numbers of the file, and whole rows as they came: lines or an Arrow batch."""

    count: int
    states: Mapping[str, Array]
    came: Lines | Any


class Reader(Protocol):
    """A log that is open for reading."""

    name: str
    header: tuple[str, ...]

    def blocks(self, columns: Columns, whole: bool) -> Iterator[Block]:
        """Block after block; the columns that are not needed come along where `whole` is asked for."""

    def fraction(self) -> float | None:
        """How much of the file is read, from 0 to 1; None where nobody knows."""


class Writer(Protocol):
    """A log that is being written."""

    def write(self, block: Block, results: Array) -> None:
        """The rows as they came, and the results (B, n) behind them."""

    def close(self) -> None:
        """Write what belongs at the end."""


def states_of(numbers: Array, columns: Columns) -> dict[str, Array]:
    """The quantities by name from the numbers of all places (B, places); absent ones are zero."""
    n = len(columns.made)
    states = {x: np.ascontiguousarray(numbers[:, k * n : (k + 1) * n]) for k, x in enumerate(columns.places)}
    return states | {x: np.zeros((len(numbers), n)) for x in columns.absent}
