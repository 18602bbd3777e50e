"""A block of rows passed from one file to another, and the interface of writers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from forearm.logs.columns import Columns
from forearm.spatial import Floats


@dataclass(frozen=True)
class TextRows:
    """Rows as their original text, joined and split; `first` is the line number of the first row in its
    file.
    """

    data: bytes
    rows: list[str]
    first: int


@dataclass(frozen=True)
class RowBlock:
    """Some rows: quantities (B, n) in the file's units, and the original rows: lines or an Arrow batch."""

    count: int
    states: Mapping[str, Floats]
    came: TextRows | Any


class Writer(Protocol):
    """A log being written."""

    def write(self, block: RowBlock, results: Floats) -> None:
        """Write the original rows, followed by the results (B, n)."""

    def close(self) -> None:
        """Write the end of the file."""


def states_of(numbers: Floats, columns: Columns) -> dict[str, Floats]:
    """The quantities by name, from the values in all columns (B, columns); absent ones are zero."""
    n = len(columns.made)
    states = {x: np.ascontiguousarray(numbers[:, k * n : (k + 1) * n]) for k, x in enumerate(columns.places)}
    return states | {x: np.zeros((len(numbers), n)) for x in columns.absent}
