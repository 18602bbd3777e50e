"""Text logs: one header row, then numbers separated by commas, semicolons or tabs."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import BinaryIO

import numpy as np

from forearm.errors import InputError, shorten
from forearm.logs import arrow
from forearm.logs.block import RowBlock, TextRows, states_of
from forearm.logs.columns import MAX_COLUMNS, Columns
from forearm.spatial import Floats
from forearm.values import number_in

SEPARATORS = (",", ";", "\t")
MAX_LINE = 1_000_000  # bytes
BLOCK = 2_000_000  # bytes read at a time
# Fields that mean a missing number, where allowed.
MISSING = ("", "nan", "NaN", "NAN", "NA", "N/A", "na", "null", "NULL", "None", "-nan", "inf", "-inf", "Inf")


class CsvReader:
    """A text log: its header is read immediately, its rows on demand."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self.name = name
        self._stream = stream
        self._read = 0
        self._size = _size(stream)
        line, self._line = self._top()
        self.separator = max(SEPARATORS, key=line.count)
        self.header = tuple(field.strip() for field in self.fields(line, self._line - 1))
        if any(number_in(field) is not None for field in self.header):
            raise InputError(
                "expected a header row such as t,q1,q2,...,qd1,qd2,... above the numbers, "
                f"got {shorten(line)}. A header after # is a comment: remove the #.",
                name,
                f"line {self._line - 1}",
            )

    def blocks(self, columns: Columns, whole: bool, missing: bool = False) -> Iterator[RowBlock]:
        """Blocks of at most BLOCK bytes plus one line; errors are reported with line and column.

        Rows are always whole lines; `whole` exists for compatibility with Parquet logs. Numbers may be
        `missing`: NaN.
        """
        for data in self._pieces():
            text = self._text(data)
            lines = TextRows(data, text.split("\n"), self._line)
            numbers = self._numbers(lines, columns.flat, '"' in text, missing)
            self._line += len(lines.rows)
            yield RowBlock(len(lines.rows), states_of(numbers, columns), lines)

    @property
    def line(self) -> int:
        """The number of the next line."""
        return self._line

    def fraction(self) -> float | None:
        """The fraction of the file that is read; None for a pipe."""
        return min(self._read / self._size, 1.0) if self._size else None

    def _top(self) -> tuple[str, int]:
        """The header line and the number of the next line; comments and blank lines above it are skipped."""
        number = 0
        while data := self._take(MAX_LINE + 1, line=True):
            number += 1
            if len(data) > MAX_LINE:
                raise self._too_long(number)
            self._line = number
            text = self._text(data).removeprefix("\ufeff" if number == 1 else "").strip("\r\n")
            if text.strip() and not text.lstrip().startswith("#"):
                return text, number + 1
        raise InputError("empty; expected a header row and rows of numbers.", self.name)

    def _pieces(self) -> Iterator[bytes]:
        """Whole lines, the last without its line end; blank lines at the end of the file are ignored."""
        rest = b""
        line = self._line
        while chunk := self._take(BLOCK):
            data = rest + chunk
            # Waiting for the next chunk: an incomplete line, or blank lines that may end the file.
            filled = len(data.rstrip(b"\r\n"))
            is_complete = filled > 0 and b"\n" in data[filled:]
            end = data.find(b"\n", filled) if is_complete else data.rfind(b"\n", 0, filled)
            rest = data[end + 1 :]
            if end >= 0:
                piece = _with_plain_ends(data[: end + 1])[:-1]
                line += piece.count(b"\n") + 1
                yield piece
            if len(rest) > MAX_LINE:
                raise self._too_long(line)
        if rest := rest.rstrip(b"\r\n"):
            yield _with_plain_ends(rest)

    def _take(self, size: int, line: bool = False) -> bytes:
        try:
            data = self._stream.readline(size) if line else self._stream.read(size)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}.", self.name) from error
        self._read += len(data)
        return data

    def _text(self, data: bytes) -> str:
        """UTF-8 without NUL, or the line where it is not."""
        try:
            place = data.find(b"\0")
            if place < 0:
                return data.decode("utf-8")
            what = "a NUL byte: not a text file, or UTF-16"
        except UnicodeDecodeError as error:
            place = error.start
            what = "not UTF-8 text"
        line = self._line + data.count(b"\n", 0, place)
        raise InputError(f"{what}. Save it as CSV in UTF-8.", self.name, f"line {line}")

    def _numbers(self, lines: TextRows, places: tuple[int, ...], is_quoted: bool, missing: bool) -> Floats:
        """The numbers in these columns of every line: all at once, and line by line only to find an error or
        missing values.
        """
        self._check_widths(lines, is_quoted)
        absent = MISSING if missing else ()
        numbers = (
            None if is_quoted else arrow.parsed(lines.data, len(self.header), self.separator, places, absent)
        )
        if numbers is None or not _is_good(numbers, lines, missing):
            try:
                numbers = _parsed(lines.rows, self.separator, places, is_quoted)
            except ValueError as error:
                if not missing:
                    raise self._fault(lines, places) from error
                numbers = self._numbers_there(lines, places)
        if not _is_good(numbers, lines, missing):
            raise self._fault(lines, places)
        return numbers

    def _numbers_there(self, lines: TextRows, places: Sequence[int]) -> Floats:
        """The numbers in these columns, field by field, NaN where missing."""
        numbers = np.full((len(lines.rows), len(places)), np.nan)
        for k, row in enumerate(lines.rows):
            fields = self.fields(row, lines.first + k)
            for j, place in enumerate(places):
                if (field := fields[place].strip()) not in MISSING:
                    found = number_in(field)
                    if found is None:
                        raise self._fault(lines, places, missing=True)
                    numbers[k, j] = found
        return numbers

    def _check_widths(self, lines: TextRows, is_quoted: bool) -> None:
        counts = list(map(str.count, lines.rows, repeat(self.separator)))
        if is_quoted:
            counts = [
                len(self.fields(row, lines.first + k)) - 1 if '"' in row else count
                for k, (row, count) in enumerate(zip(lines.rows, counts, strict=True))
            ]
        width = len(self.header)
        if counts.count(width - 1) != len(counts):
            k = next(k for k, count in enumerate(counts) if count != width - 1)
            row = lines.rows[k]
            got = "a blank line" if not row.strip() else f"{counts[k] + 1}: {shorten(row)}"
            raise InputError(
                f"expected {width} fields as in the header, got {got}.", self.name, f"line {lines.first + k}"
            )

    def _fault(self, lines: TextRows, places: Sequence[int], missing: bool = False) -> InputError:
        """The first field that is not a finite number, nor `missing` where allowed."""
        for k, row in enumerate(lines.rows):
            fields = self.fields(row, lines.first + k)
            for place in places:
                if not _is_finite(fields[place]) and not (missing and fields[place].strip() in MISSING):
                    where = f"{self.name}, line {lines.first + k}, column {shorten(self.header[place])}"
                    got = shorten(fields[place]) if fields[place].strip() else "an empty field"
                    hint = (
                        " Use a decimal point, not a comma."
                        if _is_finite(fields[place].replace(",", "."))
                        else ""
                    )
                    return InputError(f"expected a finite number, got {got}.{hint}", where)
        return InputError(
            f"{self.name}, lines {lines.first} to {lines.first + len(lines.rows) - 1}: "
            "cannot be read as numbers."
        )

    def fields(self, row: str, line: int) -> list[str]:
        """The unquoted fields of one line."""
        if '"' not in row:
            if row.count(self.separator) >= MAX_COLUMNS:
                raise InputError(f"more than {MAX_COLUMNS} columns.", self.name, f"line {line}")
            return row.split(self.separator)
        try:
            return next(csv.reader([row], delimiter=self.separator, strict=True))
        except csv.Error as error:
            raise InputError(
                f"unbalanced quotes: {error}; got {shorten(row)}.", self.name, f"line {line}"
            ) from None

    def _too_long(self, line: int) -> InputError:
        return InputError(
            f"longer than the {MAX_LINE} bytes allowed. Is this a CSV file?", self.name, f"line {line}"
        )


class CsvWriter:
    """Writes the original rows followed by the results: the input text is copied, never reformatted."""

    def __init__(self, stream: BinaryIO, header: Sequence[str], separator: str) -> None:
        self._stream = stream
        self._separator = separator
        self._stream.write(header_line(header, separator).encode())

    def write(self, block: RowBlock, results: Floats) -> None:
        """Write the original rows, followed by the results (B, n)."""
        parts = [self._separator] * (3 * block.count)
        parts[0::3] = block.came.rows
        parts[2::3] = text_of(results, self._separator).splitlines(keepends=True)
        self._stream.write("".join(parts).encode())

    def close(self) -> None:
        """No footer is needed."""


def header_line(header: Sequence[str], separator: str) -> str:
    """The column names, quoted if necessary."""
    special = {separator, '"', "\n", "\r"}
    quoted = [f'"{name.replace(chr(34), chr(34) * 2)}"' if special & set(name) else name for name in header]
    return separator.join(quoted) + "\n"


def text_of(numbers: Floats, separator: str) -> str:
    """Lines of numbers (B, m), each number by the shortest text that reads back to the same bits."""
    text = arrow.written(numbers, separator)
    if text is None:
        # a single call for the block
        text = repr(numbers.tolist())[2:-2].replace("], [", "\n").replace(", ", separator) + "\n"
    return text


def _is_good(numbers: Floats, lines: TextRows, missing: bool) -> bool:
    return len(numbers) == len(lines.rows) and (missing or bool(np.isfinite(numbers).all()))


def _parsed(rows: Sequence[str], separator: str, places: Sequence[int], is_quoted: bool) -> Floats:
    quote = '"' if is_quoted else None
    return np.loadtxt(rows, delimiter=separator, comments=None, usecols=places, ndmin=2, quotechar=quote)


def _is_finite(field: str) -> bool:
    """Whether the block parser accepts this single field."""
    try:
        return bool(field.strip()) and bool(np.isfinite(_parsed([field], "\x1f", [0], False)).all())
    except ValueError:
        return False


def _with_plain_ends(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n") if b"\r" in data else data


def _size(stream: BinaryIO) -> int | None:
    try:
        return os.fstat(stream.fileno()).st_size or None
    except (OSError, ValueError):
        return None
