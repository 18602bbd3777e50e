"""Parquet logs, read in batches of rows with Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from forearm.errors import InputError, shorten
from forearm.logs.arrow import Arrow, arrow_for
from forearm.logs.block import RowBlock, states_of
from forearm.logs.columns import MAX_COLUMNS, Columns
from forearm.spatial import Floats

BLOCK = 16_384  # rows
BLOCK_NUMBERS = 1_000_000  # wide files have fewer rows per block
BUFFER = 1 << 16  # bytes of a column per read: row groups may be large


class ParquetReader:
    """A Parquet log: its schema is read immediately, its rows on demand."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._arrow = arrow_for(self.name)
        # Errors of Arrow on damaged files; ValueError is for names that are not UTF-8.
        self._faults = (self._arrow.core.ArrowException, OSError, ValueError)
        self._done = 0
        try:
            self._file = self._arrow.parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False)
            self.schema = self._file.schema_arrow
            self._rows = self._file.metadata.num_rows
        except self._faults as error:
            raise self._unreadable(error) from error
        if len(self.schema) > MAX_COLUMNS:
            raise InputError(f"{len(self.schema)} columns, expected at most {MAX_COLUMNS}.", self.name)
        self.header = tuple(self.schema.names)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def blocks(self, columns: Columns, whole: bool, missing: bool = False) -> Iterator[RowBlock]:
        """Batches; errors are reported with row and column. Unless `whole`, only the needed columns are read.
        Numbers may be `missing`: NaN.
        """
        for place in columns.flat:
            self._check_type(place)
        names = None if whole else [self.header[place] for place in columns.flat]
        size = max(1, min(BLOCK, BLOCK_NUMBERS // len(self.header)))
        try:
            for batch in self._file.iter_batches(batch_size=size, columns=names, use_threads=False):
                if batch.num_rows:
                    numbers = self._numbers(batch, columns, missing)
                    self._done += batch.num_rows
                    yield RowBlock(batch.num_rows, states_of(numbers, columns), batch)
        except self._faults as error:
            raise self._unreadable(error) from error

    def fraction(self) -> float | None:
        """The fraction of rows that is read."""
        return self._done / self._rows if self._rows else None

    def _check_type(self, place: int) -> None:
        types = self._arrow.core.types
        kind = self.schema.field(place).type
        if not (types.is_floating(kind) or types.is_integer(kind)):
            raise InputError(
                f"expected numbers, got {shorten(str(kind))}.",
                self.name,
                f"column {shorten(self.header[place])}",
            )

    def _numbers(self, batch: Any, columns: Columns, missing: bool) -> Floats:
        numbers = np.empty((batch.num_rows, len(columns.flat)))
        for k, place in enumerate(columns.flat):
            column = batch.column(self.header[place])
            # null becomes NaN
            numbers[:, k] = column.cast("float64", safe=False).to_numpy(zero_copy_only=False)
        bad = np.argwhere(~np.isfinite(numbers))
        if len(bad) and not missing:
            row, k = (int(v) for v in bad[0])
            name = self.header[columns.flat[k]]
            value = batch.column(name)[row].as_py()
            got = "an empty field" if value is None else repr(value)
            where = f"{self.name}, row {self._done + row + 1}, column {shorten(name)}"
            raise InputError(f"expected a finite number, got {got}.", where)
        return numbers

    def _unreadable(self, error: Exception) -> InputError:
        return InputError(f"cannot be read as Parquet: {shorten(str(error), 200)}", self.name)


class ParquetWriter:
    """Writes the original batches followed by the results, each as a row group."""

    def __init__(self, stream: BinaryIO, schema: Any, made: Sequence[str], name: str) -> None:
        self._arrow: Arrow = arrow_for(name)
        self.schema = with_results(schema, made, self._arrow)
        # A dictionary of values pays off for repeated words, not for measured numbers.
        words = [field.name for field in self.schema if not self._arrow.core.types.is_primitive(field.type)]
        self._file = self._arrow.parquet.ParquetWriter(stream, self.schema, use_dictionary=words)

    def write(self, block: RowBlock, results: Floats) -> None:
        """Write the original rows, followed by the results (B, n)."""
        self._file.write_table(joined(block.came, results, self.schema, self._arrow))

    def close(self) -> None:
        """Write the footer with the row groups."""
        self._file.close()


def with_results(schema: Any, made: Sequence[str], arrow: Arrow) -> Any:
    """The schema with a column of float64 for every result."""
    for name in made:
        schema = schema.append(arrow.core.field(name, arrow.core.float64()))
    return schema


def joined(batch: Any, results: Floats, schema: Any, arrow: Arrow) -> Any:
    """A table of the batch's columns and the results."""
    columns = [arrow.core.array(np.ascontiguousarray(column)) for column in results.T]
    return arrow.core.Table.from_arrays([*batch.columns, *columns], schema=schema)
