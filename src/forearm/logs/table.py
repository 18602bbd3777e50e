"""Columns in memory written as a log: CSV or Parquet by the ending, atomically."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

import numpy as np

from forearm.logs.arrow import arrow_for
from forearm.logs.block import RowBlock
from forearm.logs.csvfile import header_line, text_of
from forearm.logs.parquet import ParquetWriter
from forearm.logs.stream import PARQUET
from forearm.reading.textfile import replacing
from forearm.spatial import Floats
from forearm.values import check_ending

ENDINGS = (".csv", *PARQUET)
BLOCK = 16_384  # rows written at a time


def write_table(path: str | os.PathLike[str], columns: Mapping[str, Floats]) -> None:
    """Write columns (T,) under their names; every value reads back bit-exactly."""
    kind = check_ending(path, ENDINGS, "a table of numbers")
    if kind in PARQUET:
        arrow_for(Path(path).name)
    with replacing(path) as stream:
        (_write_parquet if kind in PARQUET else _write_csv)(stream, columns, Path(path).name)


def _write_csv(stream: BinaryIO, columns: Mapping[str, Floats], _name: str) -> None:
    stream.write(header_line(list(columns), ",").encode())
    for rows in _blocks(columns):
        stream.write(text_of(rows, ",").encode())


def _write_parquet(stream: BinaryIO, columns: Mapping[str, Floats], name: str) -> None:
    core = arrow_for(name).core
    with closing(ParquetWriter(stream, core.schema([]), list(columns), name)) as writer:
        for rows in _blocks(columns):
            writer.write(RowBlock(len(rows), {}, core.table({})), rows)


def _blocks(columns: Mapping[str, Floats]) -> Iterator[Floats]:
    count = len(next(iter(columns.values())))
    for start in range(0, count, BLOCK):
        yield np.column_stack([column[start : start + BLOCK] for column in columns.values()])
