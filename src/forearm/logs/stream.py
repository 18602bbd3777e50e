"""Entry points: open a log by its name, and write one atomically."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO, TypeAlias

from forearm.errors import InputError
from forearm.logs.block import Writer
from forearm.logs.columns import Columns
from forearm.logs.convert import ParquetToText, TextToParquet
from forearm.logs.csvfile import CsvReader, CsvWriter
from forearm.logs.parquet import ParquetReader, ParquetWriter
from forearm.reading.textfile import opened, replacing
from forearm.values import check_ending

Log: TypeAlias = CsvReader | ParquetReader
TEXT = (".csv", ".tsv", ".txt")
PARQUET = (".parquet", ".pq")
STANDARD = "-"  # standard input or output, as text


@contextmanager
def reading(path: str) -> Iterator[Log]:
    """A log by its path; `-` is text on standard input."""
    if path == STANDARD:
        yield CsvReader(sys.stdin.buffer, "standard input")
        return
    file = Path(path)
    is_text = _kind(file, TEXT) in TEXT
    with opened(file, pipes=is_text) as stream:
        if is_text:
            yield CsvReader(stream, file.name)
            return
        with closing(ParquetReader(file)) as log:
            yield log


@contextmanager
def writing(path: str, source: Log, columns: Columns) -> Iterator[Writer]:
    """A log with the rows of another followed by results; it appears once everything is written."""
    if path == STANDARD:
        with closing(_writer(sys.stdout.buffer, ".csv", source, columns, "standard output")) as writer:
            yield writer
        sys.stdout.buffer.flush()
        return
    kind = _kind(Path(path), TEXT[:1])
    with (
        replacing(path) as stream,
        closing(_writer(stream, kind, source, columns, Path(path).name)) as writer,
    ):
        yield writer


def check_apart(source: str, target: str) -> None:
    """Refuse to overwrite the log that is being read."""
    there = source != STANDARD and target != STANDARD and os.path.exists(source) and os.path.exists(target)
    if there and os.path.samefile(source, target):
        raise InputError(
            f"--to {target}: this is the file that --from reads; choose another name for the result."
        )


def _writer(stream: BinaryIO, kind: str, source: Log, columns: Columns, name: str) -> Writer:
    if isinstance(source, CsvReader):
        if kind in PARQUET:
            return TextToParquet(stream, source, columns, name)
        return CsvWriter(stream, [*source.header, *columns.made], source.separator)
    if kind in PARQUET:
        return ParquetWriter(stream, source.schema, columns.made, name)
    return ParquetToText(stream, source, columns, name)


def _kind(path: Path, text: tuple[str, ...]) -> str:
    return check_ending(path, (*text, *PARQUET), "a table of states (- is CSV on a pipe)")
