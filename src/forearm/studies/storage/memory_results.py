"""The parts of a study in memory, for a sweep without a folder; used as `ResultFolder` is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from forearm.studies.storage.manifest import ROW, plain
from forearm.studies.storage.part_table import Columns, PartStore


class MemoryResults(PartStore):
    """Computed parts, by number."""

    part_type = dict  # of what `commit` takes

    def __init__(self, manifest: Mapping[str, Any]) -> None:
        super().__init__(plain(manifest))
        self._parts: dict[int, Columns] = {}

    def has(self, part: int) -> bool:
        """Whether a part was computed."""
        return part in self._parts

    def read(self, part: int, names: Sequence[str]) -> Columns:
        """Columns of a part."""
        return {name: self._parts[part][name] for name in names}

    def commit(self, part: int, columns: Columns) -> None:
        """Keep the columns of a part."""
        self._parts[part] = {ROW: np.arange(*self.rows_of(part), dtype=np.int64), **columns}

    def on_failure(self) -> str:
        """What to do about failed parts, for messages."""
        return "Fix the cause; with a folder (folder=), parts that are complete are kept."
