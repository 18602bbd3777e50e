"""The parts of a study and columns over all of them: what a store in memory and one in a folder share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError, not_among
from forearm.studies.storage.manifest import ROW
from forearm.values import check_whole

Columns = Mapping[str, NDArray[Any]]


class PartStore(ABC):
    """Rows in parts of equal length, some of them there."""

    path: Path | None = None
    place = "study in memory"  # for messages

    def __init__(self, manifest: dict[str, Any]) -> None:
        self.manifest = manifest
        self.rows: int = manifest["rows"]
        self.rows_per_part: int = manifest["rows_per_part"]
        self.columns: dict[str, str] = {ROW: "int64", **manifest["columns"]}  # types by name
        self.parts = -(-self.rows // self.rows_per_part)

    @abstractmethod
    def has(self, part: int) -> bool:
        """Whether a part is there and valid."""

    @abstractmethod
    def read(self, part: int, names: Sequence[str]) -> Columns:
        """Columns of a part."""

    def rows_of(self, part: int) -> tuple[int, int]:
        """The first row of a part, and one past its last."""
        first = part * self.rows_per_part
        return first, min(first + self.rows_per_part, self.rows)

    def missing(self, wanted: Sequence[int] | None = None) -> list[int]:
        """The parts still to be computed, among those wanted (default: all)."""
        parts = range(self.parts) if wanted is None else wanted
        return [k for k in parts if not self.has(check_whole(k, f"{self.place}, part", 0, self.parts - 1))]

    def parts_done(self) -> list[int]:
        """The existing valid parts."""
        return [part for part in range(self.parts) if self.has(part)]

    @property
    def rows_done(self) -> int:
        """Number of rows in computed parts."""
        return sum(last - first for first, last in map(self.rows_of, self.parts_done()))

    def column(self, name: str) -> NDArray[Any]:
        """A column of all computed rows, in row order: float64, int64, or text as objects."""
        return self.table([name])[name]

    def table(
        self, names: Sequence[str] | None = None, first: int = 0, last: int | None = None
    ) -> dict[str, NDArray[Any]]:
        """Columns of the computed rows in a range; include "row" to know which these are.

        Args:
            names: The columns (default: all, "row" first).
            first: The first row.
            last: One past the last row (default: up to the end).
        """
        chosen = list(self.columns) if names is None else list(names)
        for name in chosen:
            if name not in self.columns:
                raise InputError(not_among(name, self.columns), self.place, "column")
        low = check_whole(first, "first", 0, self.rows)
        high = self.rows if last is None else check_whole(last, "last", low, self.rows)
        pieces = []  # of each part there: the start and end inside it
        for part in range(low // self.rows_per_part, -(-high // self.rows_per_part)):
            begin, end = self.rows_of(part)
            if self.has(part) and max(low, begin) < min(high, end):
                pieces.append((part, slice(max(low, begin) - begin, min(high, end) - begin)))
        count = sum(rows.stop - rows.start for _, rows in pieces)
        kinds = {name: self.columns[name] for name in chosen}
        table = {name: np.empty(count, object if kind == "string" else kind) for name, kind in kinds.items()}
        at = 0
        for part, rows in pieces:
            for name, values in self.read(part, chosen).items():
                table[name][at : at + rows.stop - rows.start] = values[rows]
            at += rows.stop - rows.start
        return table
