"""Designs: points of the unit cube, one per row of a study.

A row is computed from its number: any block of rows can be requested by itself, has the same bits as in any
other block, and costs only the memory that it fills.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError
from forearm.spatial import Floats
from forearm.values import check_whole

Words = NDArray[np.uint64]
Whole = NDArray[np.int64]

DESIGNS = ("grid", "random", "latin-hypercube", "sobol", "sobol-indices")
MAX_ROWS = 2**32
MAX_SEED = 2**64 - 1
SOBOL_DIMENSIONS = 256  # dimensions in direction_numbers.txt

BITS = 52  # of a point's coordinate; half a bit more still fits a float
WORDS = 4  # values of Philox per counter
ROUNDS = 8  # rounds of the Feistel network
# Least number of bits of half an index: networks of fewer bits have too few permutations.
MIN_HALF = 3
# Margin at both ends of a stratum, far above the rounding of MAX_ROWS strata.
MARGIN = 2.0**-18
# Purposes of random streams; no two share a key.
ROWS_STREAM, JITTER_STREAM, PERMUTATION_STREAM, SHIFT_STREAM = range(4)


@dataclass(frozen=True)
class Design:
    """Points strictly inside the unit cube, one per row of a study.

    Attributes:
        kind: one of DESIGNS.
        rows: number of points; for a grid the product of the levels, for sobol-indices a multiple of
            dimensions + 2.
        dimensions: number of coordinates.
        seed: random seed; None: the Sobol' sequence without a random shift.
        levels: for a grid, one count per dimension; the last dimension is the fastest.
    """

    kind: str
    rows: int
    dimensions: int
    seed: int | None
    levels: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        # Sobol' indices take two points of the sequence for each base sample.
        most = {"sobol": SOBOL_DIMENSIONS, "sobol-indices": SOBOL_DIMENSIONS // 2}.get(self.kind, math.inf)
        if self.dimensions > most:
            raise InputError(
                f"{self.kind} expects at most {most}, got {self.dimensions}; use random or latin-hypercube, "
                "or vary fewer parameters.",
                "design",
                "dimensions",
            )
        size = self.dimensions + 2
        if self.kind == "sobol-indices" and self.rows % size:
            fewer = self.rows // size * size
            near = f"{fewer} or {fewer + size}" if fewer else f"{size}"
            raise InputError(
                f"sobol-indices of {self.dimensions} dimensions expects a multiple of {size}, "
                f"got {self.rows}; use {near}.",
                "design",
                "rows",
            )

    def points(self, first: int, last: int) -> Floats:
        """Points of rows first to last - 1, (last - first, dimensions), strictly between 0 and 1.

        Args:
            first: the first row.
            last: one past the last row.
        """
        _check_rows(self, first, last)
        return _POINTS[self.kind](self, first, last)

    def level_indices(self, first: int, last: int) -> Whole:
        """Grid levels of rows first to last - 1 in each dimension, (last - first, dimensions).

        Args:
            first: the first row.
            last: one past the last row.
        """
        _check_rows(self, first, last)
        strides = np.array([math.prod(self.levels[k + 1 :]) for k in range(self.dimensions)], dtype=np.int64)
        return np.arange(first, last)[:, None] // strides % np.array(self.levels, dtype=np.int64)


def _check_rows(design: Design, first: int, last: int) -> None:
    check_whole(first, "design, first row", 0, design.rows)
    check_whole(last, "design, last row", first, design.rows)


def _grid(design: Design, first: int, last: int) -> Floats:
    return (design.level_indices(first, last) + 0.5) / np.array(design.levels, dtype=np.float64)


def _latin_hypercube(design: Design, first: int, last: int) -> Floats:
    """One row per stratum of each dimension, anywhere in it except for a margin against rounding."""
    keys = _stream(design, PERMUTATION_STREAM).random_raw(ROUNDS * design.dimensions)
    strata = _permuted(first, last, design.rows, keys.reshape(ROUNDS, design.dimensions))
    jitter = MARGIN + (1.0 - 2.0 * MARGIN) * _uniform(design, JITTER_STREAM, first, last)
    return (strata + jitter) / design.rows


def _sobol_indices(design: Design, first: int, last: int) -> Floats:
    """Saltelli's scheme: per base sample the rows A, B and A with one column from B, for each column."""
    d = design.dimensions
    base, part = np.divmod(np.arange(first, last), d + 2)
    start = first // (d + 2)
    both = _sobol_points(design, start, -(-last // (d + 2)), 2 * d)[base - start]
    A, B = both[:, :d], both[:, d:]
    from_B = (part[:, None] == 1) | (part[:, None] == np.arange(2, d + 2))
    points: Floats = np.where(from_B, B, A)
    return points


_POINTS: dict[str, Callable[[Design, int, int], Floats]] = {
    "grid": _grid,
    "random": lambda design, first, last: _uniform(design, ROWS_STREAM, first, last),
    "latin-hypercube": _latin_hypercube,
    "sobol": lambda design, first, last: _sobol_points(design, first, last, design.dimensions),
    "sobol-indices": _sobol_indices,
}


def _stream(design: Design, stream: int, counter: int = 0) -> np.random.Philox:
    """Philox at a counter value, with its own key for each seed and purpose."""
    # The stream comes first: it must not coincide with the seed's upper word.
    key = np.random.SeedSequence([stream, design.seed or 0]).generate_state(2, np.uint64)
    return np.random.Philox(key=key, counter=counter)


def _uniform(design: Design, stream: int, first: int, last: int) -> Floats:
    """Random numbers of rows, (last - first, dimensions): each row uses whole counter values."""
    per_row = -(-design.dimensions // WORDS)
    words = _stream(design, stream, first * per_row).random_raw((last - first) * per_row * WORDS)
    return _as_floats(
        words.reshape(last - first, per_row * WORDS)[:, : design.dimensions] >> np.uint64(64 - BITS)
    )


def _as_floats(words: Words) -> Floats:
    """The middles of 2^BITS equal parts of (0, 1), which are exact in floats."""
    return (words.astype(np.float64) + 0.5) * 2.0**-BITS


def _permuted(first: int, last: int, count: int, keys: Words) -> Floats:
    """Images of first ... last - 1 under random permutations of 0 ... count - 1, one per column of keys.

    A Feistel network permutes indices with as many bits as count; indices mapped outside are mapped again
    until they are inside, which permutes those inside among themselves.
    """
    half = np.uint64(max(MIN_HALF, -(-(count - 1).bit_length() // 2)))
    columns = keys.shape[1]
    indices = np.repeat(np.arange(first, last, dtype=np.uint64), columns)
    column = np.tile(np.arange(columns), last - first)
    todo = np.arange(len(indices))
    while len(todo):
        indices[todo] = _feistel(indices[todo], keys, column[todo], half)
        todo = todo[indices[todo] >= np.uint64(count)]
    return indices.reshape(last - first, columns).astype(np.float64)


def _feistel(indices: Words, keys: Words, column: Whole, half: np.uint64) -> Words:
    mask = (np.uint64(1) << half) - np.uint64(1)
    left, right = indices >> half, indices & mask
    for key in keys:
        left, right = right, left ^ (_mixed(right + key[column]) & mask)
    return left << half | right


def _mixed(words: Words) -> Words:
    """The mixing function of splitmix64: every output bit depends on all input bits."""
    words = (words ^ words >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ words >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return words ^ words >> np.uint64(31)


def _sobol_points(design: Design, first: int, last: int, dimensions: int) -> Floats:
    """Points of the Sobol' sequence in Gray code order, with a random digital shift by seed."""
    index = np.arange(first, last, dtype=np.uint64)
    gray = index ^ index >> np.uint64(1)
    words = np.zeros((last - first, dimensions), dtype=np.uint64)
    if design.seed is not None:
        words[:] = _stream(design, SHIFT_STREAM).random_raw(dimensions) >> np.uint64(64 - BITS)
    for bit in range(max(last - 1, 0).bit_length()):
        has_bit = gray >> np.uint64(bit) & np.uint64(1)
        words ^= has_bit[:, None] * _direction_words(dimensions)[bit]
    return _as_floats(words)


@lru_cache(maxsize=8)
def _direction_words(dimensions: int) -> Words:
    """Direction numbers as fractions of BITS bits, (bits of an index, dimensions)."""
    text = files("forearm.studies.sampling").joinpath("direction_numbers.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    numbers = [[int(word) for word in line.split()] for line in lines[: dimensions - 1]]
    count = MAX_ROWS.bit_length()
    first = [1 << (BITS - 1 - k) for k in range(count)]
    columns = [first, *(_directions(s, a, m, count) for s, a, *m in numbers)]
    words = np.array(columns, dtype=np.uint64).T.copy()
    words.flags.writeable = False
    return words


def _directions(s: int, a: int, m: list[int], count: int) -> list[int]:
    """The first direction numbers of one dimension, by the recurrence of its primitive polynomial.

    v_k = v_{k-s} xor v_{k-s} / 2^s xor the v_{k-i} of those bits of a that are 1; v_k = m_k / 2^k at first.

    Args:
        s: degree of the polynomial.
        a: its inner coefficients, that of x^{s-1} as the highest bit.
        m: the first s odd numbers.
        count: how many to compute.
    """
    v = [m_k << (BITS - 1 - k) for k, m_k in enumerate(m)]
    for k in range(s, count):
        made = v[k - s] ^ v[k - s] >> s
        for i in range(1, s):
            if a >> (s - 1 - i) & 1:
                made ^= v[k - i]
        v.append(made)
    return v[:count]
