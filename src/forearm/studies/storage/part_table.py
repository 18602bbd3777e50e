"""Columns over all parts of a study, wherever the parts are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError, not_among
from forearm.values import check_whole

Table = dict[str, NDArray[Any]]


class PartStore(Protocol):
    """Rows in parts of equal length, some of them there."""

    place: str  # for messages
    rows: int
    rows_per_part: int
    columns: dict[str, str]  # types by name, "row" first

    def has(self, part: int) -> bool:
        """Whether a part is there and valid."""


def rows_of(store: PartStore, part: int) -> tuple[int, int]:
    """The first row of a part, and one past its last."""
    first = part * store.rows_per_part
    return first, min(first + store.rows_per_part, store.rows)


def numbers_of(store: PartStore, part: int) -> NDArray[np.int64]:
    """The row numbers of a part."""
    return np.arange(*rows_of(store, part), dtype=np.int64)


def table_of(
    store: PartStore,
    read: Callable[[int, Sequence[str]], Table],
    names: Sequence[str] | None,
    first: int,
    last: int | None,
) -> Table:
    """Columns of the rows in a range that are there; `read` returns those of a part."""
    chosen = list(store.columns) if names is None else list(names)
    for name in chosen:
        if name not in store.columns:
            raise InputError(f"{not_among(name, store.columns)}", store.place, "column")
    low = check_whole(first, "first", 0, store.rows)
    high = store.rows if last is None else check_whole(last, "last", low, store.rows)
    pieces = list(_pieces(store, low, high))
    count = sum(end - start for _, start, end in pieces)
    kinds = {name: store.columns[name] for name in chosen}
    result = {name: np.empty(count, object if kind == "string" else kind) for name, kind in kinds.items()}
    at = 0
    for part, start, end in pieces:
        for name, values in read(part, chosen).items():
            result[name][at : at + end - start] = values[start:end]
        at += end - start
    return result


def _pieces(store: PartStore, first: int, last: int) -> Iterator[tuple[int, int, int]]:
    """The parts of a range of rows that are there, each with the start and end inside it."""
    for part in range(first // store.rows_per_part, -(-last // store.rows_per_part)):
        low, high = rows_of(store, part)
        if store.has(part) and max(first, low) < min(last, high):
            yield part, max(first, low) - low, min(last, high) - low
