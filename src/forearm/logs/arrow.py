"""Arrow, an optional library (extra `parquet`): required for Parquet, and makes text logs several times
faster.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from forearm.errors import InputError
from forearm.spatial import Floats


class Arrow(NamedTuple):
    """The pyarrow modules used."""

    core: Any
    csv: Any
    parquet: Any


@cache
def arrow() -> Arrow | None:
    """The library, or None if not installed; imported on first use."""
    try:
        import pyarrow
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError:
        return None
    return Arrow(pyarrow, pyarrow.csv, pyarrow.parquet)


def arrow_for(name: str) -> Arrow:
    """The library, required for a file of this name."""
    found = arrow()
    if found is None:
        raise InputError(
            "Parquet files need pyarrow, which is not installed: pip install 'forearm[parquet]'.", name
        )
    return found


def table_of(
    data: bytes,
    names: list[str],
    separator: str,
    types: dict[str, Any],
    only: list[str] | None = None,
    missing: Sequence[str] = ("",),
) -> Any:
    """Text lines as an Arrow table, null where a field is `missing`; raises ArrowInvalid if a field does not
    have the type of its column.
    """
    csv = arrow_for("text").csv
    return csv.read_csv(
        io.BytesIO(data),
        csv.ReadOptions(column_names=names, block_size=len(data) + 1),
        csv.ParseOptions(delimiter=separator, ignore_empty_lines=False),
        csv.ConvertOptions(
            column_types=types, include_columns=only, null_values=list(missing), strings_can_be_null=False
        ),
    )


def parsed(
    data: bytes, width: int, separator: str, places: tuple[int, ...], missing: Sequence[str] = ()
) -> Floats | None:
    """The numbers in these columns of every line, NaN where a field is `missing`; None if Arrow is not
    available or rejects a field.
    """
    found = arrow()
    if found is None:
        return None
    names = [str(k) for k in range(width)]
    only = [names[k] for k in places]
    try:
        types = {name: found.core.float64() for name in only}
        table = table_of(data, names, separator, types, only, missing or ("",))
    except found.core.ArrowInvalid:
        return None
    if not missing and any(column.null_count for column in table.columns):
        return None
    numbers = np.empty((table.num_rows, len(places)))
    for k, column in enumerate(table.columns):
        numbers[:, k] = column.to_numpy()
    return numbers


def written(numbers: Floats, separator: str) -> str | None:
    """Lines of numbers, each the shortest text that reads back to the same bits; None if Arrow is not
    available.
    """
    found = arrow()
    if found is None:
        return None
    table = found.core.table({str(k): np.ascontiguousarray(column) for k, column in enumerate(numbers.T)})
    buffer = io.BytesIO()
    found.csv.write_csv(table, buffer, found.csv.WriteOptions(include_header=False, delimiter=separator))
    return buffer.getvalue().decode()
