"""A block of rows on its way from one file to another, and what writes blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from forearm.logs.columns import Columns
from forearm.spatial import Floats


@dataclass(frozen=True)
class TextRows:
    """Rows as the text they came as, in one piece and apart;
    `first` is the number of the first line in its file.
    """

    data: bytes
    rows: list[str]
    first: int


@dataclass(frozen=True)
class RowBlock:
    """Some rows: the quantities (B, n) as numbers of the file, and whole rows as they came:
    lines or an Arrow batch.
    """

    count: int
    states: Mapping[str, Floats]
    came: TextRows | Any


class Writer(Protocol):
    """A log that is being written."""

    def write(self, block: RowBlock, results: Floats) -> None:
        """The rows as they came, and the results (B, n) behind them."""

    def close(self) -> None:
        """Write what belongs at the end."""


def states_of(numbers: Floats, columns: Columns) -> dict[str, Floats]:
    """The quantities by name from the numbers of all places (B, places); absent ones are zero."""
    n = len(columns.made)
    states = {x: np.ascontiguousarray(numbers[:, k * n : (k + 1) * n]) for k, x in enumerate(columns.places)}
    return states | {x: np.zeros((len(numbers), n)) for x in columns.absent}
