"""Rows of states to columns and back, in registers.

A block has as many rows as there are lanes. A square of w rows and w columns is transposed by log2(w) rounds
of shuffles of two vectors; the first round is done by loading halves of rows, the last by storing them. If an
array has fewer columns than lanes, several squares are placed side by side in a vector; the second half of a
row ends where the row ends and may overlap the first, so that nothing outside the row is touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from forearm.kernels.llvm import Value
from forearm.kernels.vectors import Body


def load_columns(body: Body, pointer: str, size: int) -> list[Value]:
    """Each column of a block of rows of this size as a vector, one lane per row."""
    columns: dict[int, Value] = {}
    for start, width, second in _squares(size, body.target.lanes):
        for place, column in zip(
            _places(start, width, second), load_square(body, pointer, size, start, width, second), strict=True
        ):
            columns[place] = column
    return [columns[k] for k in range(size)]


def store_columns(body: Body, pointer: str, columns: Sequence[Value], size: int) -> None:
    """Store vectors, one lane per row, as columns of a block of rows of this size."""
    for start, width, second in _squares(len(columns), body.target.lanes):
        chosen = [columns[place] for place in _places(start, width, second)]
        store_square(body, pointer, size, chosen, start, second)


def _squares(size: int, lanes: int) -> Iterator[tuple[int, int, int]]:
    """Columns that are transposed together: (first, width in lanes, start of the second half)."""
    start = 0
    while start < size:
        width = 1
        while width < min(lanes, size - start):
            width *= 2
        half = max(1, width // 2)
        yield start, width, min(start + half, size - half)
        start += width


def _places(start: int, width: int, second: int) -> list[int]:
    half = max(1, width // 2)
    return [*range(start, start + half), *range(second, second + width - half)]


def load_square(body: Body, pointer: str, size: int, start: int, width: int, second: int) -> list[Value]:
    """Columns from `start` on, `width` of them, the second half of them from `second` on."""
    lanes = body.target.lanes
    if width == 1:
        return [body.joined([body.load(pointer, row * size + start, 1) for row in range(lanes)], 1)]
    half = width // 2
    halves = {}
    for k in range(half):
        rows = [row for first in range(0, lanes, width) for row in (first + k, first + k + half)]
        for part, column in ((0, start), (half, second)):
            halves[k + part] = body.joined(
                [body.load(pointer, row * size + column, half) for row in rows], half
            )
    return _rounds(body, [halves[k] for k in range(width)], half)


def store_square(body: Body, pointer: str, size: int, columns: list[Value], start: int, second: int) -> None:
    """The inverse of `load_square`: store vectors as columns."""
    lanes, width = body.target.lanes, len(columns)
    if width == 1:
        for row in range(lanes):
            body.store(pointer, row * size + start, body.part(columns[0], lanes, row, 1), 1)
        return
    half = width // 2
    made = _rounds(body, columns, half)
    for k in range(half):
        for part, column in ((0, start), (half, second)):
            for first in range(0, lanes, half):
                body.store(
                    pointer, (first + k) * size + column, body.part(made[k + part], lanes, first, half), half
                )


def _rounds(body: Body, vectors: list[Value], half: int) -> list[Value]:
    """The rounds of a transposition in which entries move by less than half the width."""
    lanes, step = body.target.lanes, 1
    while step < half:
        made = list(vectors)
        for i in range(len(vectors)):
            if not i & step:
                a, b = vectors[i], vectors[i + step]
                low = [x if not x & step else lanes + x - step for x in range(lanes)]
                high = [x + step if not x & step else lanes + x for x in range(lanes)]
                made[i], made[i + step] = body.shuffled(a, b, lanes, low), body.shuffled(a, b, lanes, high)
        vectors, step = made, 2 * step
    return vectors
