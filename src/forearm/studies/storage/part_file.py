"""A part of the results as a Parquet file: written in memory, validated by its metadata, read by columns."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError, shorten
from forearm.logs.arrow import arrow_for
from forearm.studies.storage.manifest import ROW
from forearm.studies.storage.part_table import Columns

DIGEST_KEY = b"forearm.study"  # in the metadata of a part: the digest of its manifest


def part_bytes(first_row: int, columns: Columns, digest: str) -> bytes:
    """A part as Parquet bytes, identical for identical content; needs no disk.

    Args:
        first_row: The number of the first row; the column "row" counts from it.
        columns: One array per column, all of equal length: float64, int64, or text.
        digest: `ResultFolder.digest`, which ties the part to its study.
    """
    arrow = arrow_for("results")
    count = len(next(iter(columns.values()), ()))
    row = arrow.core.array(np.arange(first_row, first_row + count, dtype=np.int64))
    arrays = {ROW: row} | {name: _arrow_array(name, v, count) for name, v in columns.items()}
    table = arrow.core.table(arrays).replace_schema_metadata({DIGEST_KEY: digest.encode()})
    buffer = io.BytesIO()
    # A dictionary pays off for repeated words, not for computed values.
    words = [name for name, array in arrays.items() if array.type == arrow.core.string()]
    arrow.parquet.write_table(
        table,
        buffer,
        row_group_size=max(count, 1),
        compression="zstd",
        use_dictionary=words,
        write_page_checksum=True,
    )
    return buffer.getvalue()


def fault_in(
    source: Path | io.BytesIO, columns: Mapping[str, str], first: int, last: int, digest: str
) -> str | None:
    """Fault of a Parquet file as a part, from its metadata alone; None if valid.

    Args:
        source: The file, or its bytes.
        columns: The types of all columns by name, "row" first.
        first: The first row.
        last: One past the last row.
        digest: That of the manifest.
    """
    arrow = arrow_for(source.name if isinstance(source, Path) else "results")
    try:
        metadata = arrow.parquet.read_metadata(source)
        found = metadata.schema.to_arrow_schema()
        rows = _row_range(metadata)
    except (arrow.core.ArrowException, OSError, ValueError) as error:
        # A disk or memory error, not a fault of the content.
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno is not None):
            raise
        return f"not a readable Parquet file: {shorten(str(error), 200)}"
    types = {field.name: _kind(field.type) for field in found}
    if types != columns or found.names[0] != ROW:
        return f"expected the columns {shorten(columns, 200)}, got {shorten(types, 200)}"
    if metadata.num_rows != last - first or rows != (first, last - 1):
        return f"expected rows {first} to {last - 1}, got {metadata.num_rows} rows, {rows}"
    if (metadata.metadata or {}).get(DIGEST_KEY) != digest.encode():
        return "it belongs to another study"
    return None


def read_columns(path: Path, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Columns of a part, with page checksums verified; ValueError if damaged, OSError if unreadable.

    Args:
        path: The file.
        names: The columns.
    """
    arrow = arrow_for(path.name)
    try:
        with arrow.parquet.ParquetFile(path, page_checksum_verification=True, pre_buffer=False) as file:
            table = file.read(columns=list(dict.fromkeys(names)), use_threads=False)
    except arrow.core.ArrowException as error:
        raise ValueError(str(error)) from error
    return {name: table[name].to_numpy() for name in table.column_names}


def _arrow_array(name: str, values: NDArray[Any], count: int) -> Any:
    core, array = arrow_for("results").core, np.asarray(values)
    if array.shape != (count,) or array.dtype.kind not in "fiUOT":
        raise InputError(
            f"expected {count} values of float64, int64 or text, got {array.dtype} of shape {array.shape}.",
            "results",
            f"column {shorten(name)}",
        )
    is_text = array.dtype.kind in "UOT"
    return core.array(array.tolist(), core.string()) if is_text else core.array(np.ascontiguousarray(array))


def _kind(arrow_type: Any) -> str:
    """The manifest's name of an Arrow type."""
    return str(arrow_type).replace("double", "float64")


def _row_range(metadata: Any) -> tuple[int, int] | None:
    """The smallest and largest row, from the statistics of the column; None if missing."""
    statistics = [metadata.row_group(k).column(0).statistics for k in range(metadata.num_row_groups)]
    if not statistics or any(found is None or not found.has_min_max for found in statistics):
        return None
    return min(found.min for found in statistics), max(found.max for found in statistics)
