"""A piecewise polynomial of one variable, with any number of breaks, evenly spaced or not.

The piece is found by binary search, so the cost of a look-up hardly grows with the table.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from forearm.errors import InputError


@dataclass(frozen=True)
class LookupTable:
    """Piece k, from breaks[k - 1] on, is c[0] + c[1] u + c[2] u^2 ... with u = x - breaks[k - 1].

    There is one more piece than breaks: the first lies before all of them and has u = x - breaks[0]. All have
    the same number of coefficients, at least two, so that every table propagates NaN.
    """

    breaks: tuple[float, ...]
    pieces: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        sizes = {len(piece) for piece in self.pieces}
        numbers = [*self.breaks, *(c for piece in self.pieces for c in piece)]
        if len(self.pieces) != len(self.breaks) + 1 or not self.breaks or len(sizes) != 1 or min(sizes) < 2:
            raise InputError(
                "expected at least one break, one piece more than breaks, and as many "
                f"coefficients, 2 or more, for each; got {len(self.breaks)} breaks and "
                f"{len(self.pieces)} pieces.",
                "table",
            )
        if not all(np.isfinite(numbers)) or any(a >= b for a, b in pairwise(self.breaks)):
            raise InputError("expected finite numbers and increasing breaks.", "table")

    @property
    def order(self) -> int:
        """The number of coefficients per piece."""
        return len(self.pieces[0])

    @property
    def numbers(self) -> tuple[float, ...]:
        """The table as one row:
        the breaks, then for each piece its origin of u and its coefficients from the highest power down.
        """
        starts = (self.breaks[0], *self.breaks)
        pieces = ((start, *piece[::-1]) for start, piece in zip(starts, self.pieces, strict=True))
        return (*self.breaks, *(c for piece in pieces for c in piece))

    def slope(self) -> LookupTable:
        """Its derivative; at a break that of the piece that begins there."""
        return self._slope

    @cached_property
    def _slope(self) -> LookupTable:
        pieces = [tuple(k * c for k, c in enumerate(piece))[1:] for piece in self.pieces]
        return LookupTable(self.breaks, tuple(piece if len(piece) > 1 else (*piece, 0.0) for piece in pieces))

    def at(self, x: Any) -> Any:
        """The value at x: a float, an array entry by entry, or any other scalar."""
        if isinstance(x, np.ndarray):
            place = np.searchsorted(self.breaks, x, side="right")
            u = x - np.array((self.breaks[0], *self.breaks))[place]
            value = 0.0
            for c in np.array(self.pieces).T[::-1]:
                value = value * u + c[place]
            return value
        k = bisect_right(self.breaks, x)
        u = x - self.breaks[max(k - 1, 0)]
        *rest, value = self.pieces[k]
        for c in reversed(rest):
            value = value * u + c
        return value


def straight(x: tuple[float, ...], y: tuple[float, ...]) -> LookupTable:
    """Linear interpolation through points, constant beyond them."""
    slopes = [(b - a) / (q - p) for (p, q), (a, b) in zip(pairwise(x), pairwise(y), strict=True)]
    return LookupTable(x, ((y[0], 0.0), *zip(y[:-1], slopes, strict=True), (y[-1], 0.0)))


def spline(x: tuple[float, ...], y: tuple[float, ...]) -> LookupTable:
    """The natural cubic spline through points, constant beyond them; linear for fewer than three."""
    if len(x) < 3:
        return straight(x, y)
    return LookupTable(x, ((y[0], 0.0, 0.0, 0.0), *natural_spline(x, y), (y[-1], 0.0, 0.0, 0.0)))


def natural_spline(x: tuple[float, ...], y: tuple[float, ...]) -> list[tuple[float, ...]]:
    """The pieces of the natural cubic spline through three or more points."""
    h = [b - a for a, b in pairwise(x)]
    slopes = [(b - a) / w for (a, b), w in zip(pairwise(y), h, strict=True)]
    m = _bends(h, slopes)
    return [
        (y[i], slopes[i] - h[i] * (2.0 * m[i] + m[i + 1]) / 6.0, m[i] / 2.0, (m[i + 1] - m[i]) / (6.0 * h[i]))
        for i in range(len(h))
    ]


def _bends(h: list[float], slopes: list[float]) -> list[float]:
    """Second derivatives at the points, zero at the ends: a tridiagonal system, eliminated from above."""
    diagonal = [2.0 * (a + b) for a, b in pairwise(h)]
    right = [6.0 * (b - a) for a, b in pairwise(slopes)]
    for i in range(1, len(diagonal)):
        factor = h[i] / diagonal[i - 1]
        diagonal[i] -= factor * h[i]
        right[i] -= factor * right[i - 1]
    m = [0.0] * (len(h) + 1)
    for i in reversed(range(len(diagonal))):
        m[i + 1] = (right[i] - h[i + 1] * m[i + 2]) / diagonal[i]
    return m
