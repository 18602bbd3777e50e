"""The parts of a study in memory, for a sweep without a folder; used as `ResultFolder` is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from forearm.studies.storage.manifest import ROW, plain
from forearm.studies.storage.part_file import Columns
from forearm.studies.storage.part_table import numbers_of, rows_of, table_of
from forearm.values import check_whole


class MemoryResults:
    """Computed parts, by number."""

    path = None
    place = "study in memory"
    part_type = dict  # of what `commit` takes

    def __init__(self, manifest: Mapping[str, Any]) -> None:
        self.manifest = plain(manifest)
        self.rows: int = self.manifest["rows"]
        self.rows_per_part: int = self.manifest["rows_per_part"]
        self.columns: dict[str, str] = {ROW: "int64", **self.manifest["columns"]}
        self.parts = -(-self.rows // self.rows_per_part)
        self._parts: dict[int, Columns] = {}

    def rows_of(self, part: int) -> tuple[int, int]:
        """The first row of a part, and one past its last."""
        return rows_of(self, part)

    def missing(self, wanted: Sequence[int] | None = None) -> list[int]:
        """The parts still to be computed, among those wanted (default: all)."""
        parts = range(self.parts) if wanted is None else wanted
        return [k for k in parts if not self.has(check_whole(k, "study, part", 0, self.parts - 1))]

    def has(self, part: int) -> bool:
        """Whether a part was computed."""
        return part in self._parts

    def commit(self, part: int, columns: Columns) -> None:
        """Keep the columns of a part."""
        self._parts[part] = {ROW: numbers_of(self, part), **columns}

    @property
    def rows_done(self) -> int:
        """Number of rows in computed parts."""
        return sum(last - first for first, last in map(self.rows_of, self._parts))

    def column(self, name: str) -> NDArray[Any]:
        """A column of all computed rows, in row order: float64, int64, or text as objects."""
        return self.table([name])[name]

    def table(
        self, names: Sequence[str] | None = None, first: int = 0, last: int | None = None
    ) -> dict[str, NDArray[Any]]:
        """Columns of the computed rows in a range; include "row" to know which these are."""
        return table_of(
            self, lambda part, chosen: {n: self._parts[part][n] for n in chosen}, names, first, last
        )

    def on_failure(self) -> str:
        """What to do about failed parts, for messages."""
        return "Fix the cause; with a folder (folder=), parts that are complete are kept."
