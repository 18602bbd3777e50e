"""Polynomials in n through exact counts, fitted by finite differences and confirmed at further n."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

CONFIRMED_BY = 2  # further n that have to agree with the fit
LATEST_START = 6
HIGHEST_DEGREE = 6


@dataclass(frozen=True)
class Polynomial:
    """c0 + c1 n + c2 n^2 + ... for n >= `start`."""

    coefficients: tuple[Fraction, ...]
    start: int

    @property
    def degree(self) -> int:
        """The order in n."""
        return len(self.coefficients) - 1

    def __call__(self, n: int) -> int:
        """The value at n, an integer."""
        value = sum(c * n**k for k, c in enumerate(self.coefficients))
        assert Fraction(value).denominator == 1
        return int(value)

    def __str__(self) -> str:
        text = ""
        for k in range(self.degree, -1, -1):
            c = self.coefficients[k]
            if c == 0 and self.degree:
                continue
            power = "" if k == 0 else "n" if k == 1 else f"n^{k}"
            size = (
                ""
                if abs(c) == 1 and k
                else str(abs(c))
                if abs(c).denominator == 1 or not k
                else f"({abs(c)})"
            )
            sign = ("-" if c < 0 else "") if not text else (" - " if c < 0 else " + ")
            text += f"{sign}{size}{power}"
        return text


def fit(value_at: Callable[[int], int]) -> Polynomial:
    """The polynomial that the values follow, valid from the smallest possible n on.

    It is fitted to degree + 1 values and confirmed at CONFIRMED_BY further ones.
    """
    known = {}

    def values(first: int, many: int) -> list[int]:
        for n in range(first, first + many):
            if n not in known:
                known[n] = value_at(n)
        return [known[n] for n in range(first, first + many)]

    for last in range(1 + CONFIRMED_BY, LATEST_START + HIGHEST_DEGREE + CONFIRMED_BY + 1):
        for first in range(1, last - CONFIRMED_BY + 1):
            row = [Fraction(v) for v in values(first, last - first + 1)]
            heads = []
            while len(row) > CONFIRMED_BY:
                heads.append(row[0])
                row = [b - a for a, b in pairwise(row)]
            if not any(row):
                return _from_differences(heads, first)
    raise ValueError(f"no polynomial up to degree {HIGHEST_DEGREE} from n = {LATEST_START} on or before")


def _from_differences(heads: list[Fraction], first: int) -> Polynomial:
    """Expand Newton's form, the sum of heads[k] (n - first choose k)."""
    total = [Fraction(0)]
    product = [Fraction(1)]
    for k, head in enumerate(heads):
        total = _added(total, [head * c for c in product])
        # times (n - first - k) / (k + 1)
        shifted = [Fraction(0), *product]
        product = [c / (k + 1) for c in _added(shifted, [-(first + k) * c for c in product])]
    while len(total) > 1 and total[-1] == 0:
        total.pop()
    return Polynomial(tuple(total), first)


def _added(a: list[Fraction], b: list[Fraction]) -> list[Fraction]:
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    return [c + (shorter[k] if k < len(shorter) else 0) for k, c in enumerate(longer)]
