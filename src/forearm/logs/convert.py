"""Conversion between logs: text to Parquet, Parquet to text."""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np

from forearm.errors import InputError, shorten
from forearm.logs.arrow import Arrow, arrow_for, table_of
from forearm.logs.block import RowBlock, TextRows
from forearm.logs.columns import Columns
from forearm.logs.csvfile import CsvReader, header_line
from forearm.logs.parquet import ParquetReader, ParquetWriter, joined, with_results
from forearm.spatial import Floats

EXACT = 2**53  # whole numbers up to here are exact in float64


class TextToParquet:
    """Text rows to Parquet. The first block determines the type of each carried column: numbers, or text.

    Whole numbers become float64, so that decimals may follow later, unless some are too
    large for that: int64.
    """

    def __init__(self, stream: BinaryIO, source: CsvReader, columns: Columns, name: str) -> None:
        self._arrow = arrow_for(name)
        self._stream, self._source, self._columns, self._name = stream, source, columns, name
        self._places = {
            source.header[place]: (x, i)
            for x, places in columns.places.items()
            for i, place in enumerate(places)
        }
        self._carried = [name for name in source.header if name not in self._places]
        self._types: dict[str, Any] = {}
        self._file: ParquetWriter | None = None

    def write(self, block: RowBlock, results: Floats) -> None:
        """Write the original rows, followed by the results (B, n)."""
        file = self._file or self._started(block.came)
        carried = self._table(block.came)
        columns = [
            carried[name] if name in self._types else self._number(name, block)
            for name in self._source.header
        ]
        batch = self._arrow.core.table(columns, names=list(self._source.header))
        file.write(RowBlock(block.count, block.states, batch), results)

    def close(self) -> None:
        """Write the footer with the row groups; a log without rows still has its columns."""
        (self._file or self._started(None)).close()

    def _number(self, name: str, block: RowBlock) -> Any:
        quantity, i = self._places[name]
        return self._arrow.core.array(np.ascontiguousarray(block.states[quantity][:, i]))

    def _started(self, lines: TextRows | None) -> ParquetWriter:
        """The file with its schema, which the first lines determine."""
        core = self._arrow.core
        table = self._table(lines) if lines is not None else {}
        self._types = {
            name: _kept(table[name], self._arrow) if table else core.string() for name in self._carried
        }
        schema = core.schema(
            [core.field(name, self._types.get(name, core.float64())) for name in self._source.header]
        )
        self._file = ParquetWriter(self._stream, schema, self._columns.made, self._name)
        return self._file

    def _table(self, lines: TextRows) -> Any:
        """The carried columns of the lines, unquoted."""
        if not self._carried:
            return {}
        try:
            table = table_of(
                lines.data, list(self._source.header), self._source.separator, self._types, self._carried
            )
        except self._arrow.core.ArrowInvalid as error:
            raise self._fault(lines, str(error)) from error
        if table.num_rows != len(lines.rows):
            raise self._fault(lines, "a line breaks in the middle")
        return table

    def _fault(self, lines: TextRows, why: str) -> InputError:
        """The first field that does not have the type of its column."""
        for k, row in enumerate(lines.rows):
            fields = dict(zip(self._source.header, self._source.fields(row, lines.first + k), strict=True))
            for name, kind in self._types.items():
                field = fields[name]
                if kind != self._arrow.core.string() and not self._takes(field, kind):
                    where = f"{self._source.name}, line {lines.first + k}, column {shorten(name)}"
                    what = "whole numbers" if kind == self._arrow.core.int64() else "numbers"
                    return InputError(
                        f"expected {what} as before, got {shorten(field)}. Write to a .csv "
                        "file to keep both.",
                        where,
                    )
        return InputError(f"cannot be converted to Parquet: {shorten(why, 200)}", self._source.name)

    def _takes(self, field: str, kind: Any) -> bool:
        try:
            table_of(f"{field}\n".encode(), ["x"], "\x1f", {"x": kind})
        except self._arrow.core.ArrowInvalid:
            return False
        return True


class ParquetToText:
    """Batches to CSV text, every float64 as the shortest text that reads back to the same bits."""

    def __init__(self, stream: BinaryIO, source: ParquetReader, columns: Columns, name: str) -> None:
        self._arrow = arrow_for(name)
        self._stream, self._name = stream, name
        self._schema = with_results(source.schema, columns.made, self._arrow)
        self._options = self._arrow.csv.WriteOptions(include_header=False)
        self._check(name)
        stream.write(header_line(self._schema.names, ",").encode())

    def write(self, block: RowBlock, results: Floats) -> None:
        """Write the original rows, followed by the results (B, n)."""
        table = joined(block.came, results, self._schema, self._arrow)
        try:
            self._arrow.csv.write_csv(table, self._stream, self._options)
        except self._arrow.core.ArrowException as error:
            raise InputError(f"cannot be written as CSV: {shorten(str(error), 200)}", self._name) from error

    def close(self) -> None:
        """No footer is needed."""

    def _check(self, name: str) -> None:
        types = self._arrow.core.types
        for field in self._schema:
            if types.is_nested(field.type):
                kind = shorten(str(field.type))
                raise InputError(
                    f"column {shorten(field.name)} holds {kind}, which CSV does not support; "
                    "write to .parquet.",
                    name,
                )


def _kept(column: Any, arrow: Arrow) -> Any:
    """The type of a column, from Arrow's type of its first block."""
    core = arrow.core
    if core.types.is_integer(column.type):
        largest = max((abs(value) for value in column.to_pylist() if value is not None), default=0)
        return core.int64() if largest > EXACT else core.float64()
    return core.float64() if core.types.is_floating(column.type) else core.string()
