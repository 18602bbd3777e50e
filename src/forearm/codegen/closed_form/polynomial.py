"""The normal form:
polynomials in numbered symbols whose terms have at most one wave, cos or sin of a sum of joint angles.

Products of waves become sums, 2 cos u cos v = cos(u + v) + cos(u - v). Waves of different angles are linearly
independent, so equal values have equal normal forms, unless they contain quotients or roots that do not
cancel; those are symbols, like inputs and parameters. Angles have integer coefficients: each variable is
counted in units of the greatest common divisor of its coefficients.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from forearm.codegen.closed_form.sums import MOST_TERMS, NOISE, NoClosedForm, Symbol
from forearm.codegen.program import Ref

MOST_STORED = 12 * MOST_TERMS  # terms of an intermediate normal form
MOST_WORK = 30_000  # products of terms for one output, a fraction of a second
CACHED = 1 << 16  # results that a function memoises

Angle = tuple[tuple[int, int], ...]
Wave = tuple[bool, Angle]  # whether it is a sine, and its angle
FLAT: Wave = (False, ())  # the cosine of zero: no wave
Powers = tuple[tuple[int, int], ...]
Monomial = tuple[Wave, Powers]
Polynomial = dict[Monomial, float]
ONE: Monomial = (FLAT, ())


class Ring:
    """Polynomials over symbols numbered in order of appearance, and the work spent on them."""

    def __init__(self, symbols: Iterable[Ref]) -> None:
        self.symbols: list[Symbol] = list(symbols)
        self.numbers: dict[Symbol, int] = {s: i for i, s in enumerate(self.symbols)}
        self.squares: dict[int, Polynomial] = {}  # of roots
        self.units: dict[Ref, Fraction] = {}  # of variables in angles
        self.work = 0

    def number(self, symbol: Symbol) -> int:
        """The number of a symbol, new if it does not exist."""
        if symbol not in self.numbers:
            self.numbers[symbol] = len(self.symbols)
            self.symbols.append(symbol)
        return self.numbers[symbol]

    def symbol(self, symbol: Symbol) -> Polynomial:
        """A symbol as a polynomial."""
        return {(FLAT, ((self.number(symbol), 1),)): 1.0}

    def plus(self, a: Polynomial, b: Polynomial, factor: float = 1.0) -> Polynomial:
        """a + factor b"""
        self._charge(len(b))
        made = dict(a)
        for key, c in b.items():
            add(made, key, factor * c)
        return _checked(made)

    def times(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """a b"""
        self._charge(len(a) * len(b))
        made: Polynomial = {}
        for (wave_a, powers_a), ca in a.items():
            for (wave_b, powers_b), cb in b.items():
                powers = combined(powers_a, powers_b)
                for wave, factor in _waves(wave_a, wave_b):
                    add(made, (wave, powers), ca * cb * factor)
        return _checked(self._without_squares(made) if self.squares else made)

    def divided(self, a: Polynomial, b: Polynomial) -> Polynomial | None:
        """a / b by long division, for polynomials without waves; None if there is a remainder."""
        if any(wave != FLAT or any(p < 0 for _, p in powers) for x in (a, b) for wave, powers in x):
            return None
        symbols = sorted({s for x in (a, b) for _, powers in x for s, _ in powers})

        def rank(key: Monomial) -> tuple[int, ...]:
            powers = dict(key[1])
            return tuple(powers.get(s, 0) for s in symbols)

        lead, made, rest = max(b, key=rank), dict[Monomial, float](), dict(a)
        lowest = NOISE * max((abs(c) for c in a.values()), default=0.0)
        while rest:
            first = max(rest, key=rank)
            powers = combined(first[1], lead[1], -1)
            if any(p < 0 for _, p in powers) or len(made) == MOST_TERMS:
                return None
            step = {(FLAT, powers): rest[first] / b[lead]}
            made.update(step)
            rest = self.plus(rest, self.times(step, b), -1.0)
            rest = {key: c for key, c in rest.items() if abs(c) > lowest and key != first}
        return made

    def _without_squares(self, a: Polynomial) -> Polynomial:
        """Replace squares of roots by their radicands."""
        made: Polynomial = {}
        for (wave, powers), c in a.items():
            square = next((s for s, p in powers if s in self.squares and p >= 2), None)
            value = {(wave, powers): c}
            if square is not None:
                value = self.times({(wave, combined(powers, ((square, 2),), -1)): c}, self.squares[square])
            made = self.plus(made, value)
        return made

    def _charge(self, work: int) -> None:
        self.work += work
        if self.work > MOST_WORK:
            raise NoClosedForm


def add(made: Polynomial, key: Monomial, c: float) -> None:
    """Add a term, in place."""
    value = made.get(key, 0.0) + c
    if value == 0.0:
        made.pop(key, None)
    else:
        made[key] = value


def _checked(a: Polynomial) -> Polynomial:
    if len(a) > MOST_STORED:
        raise NoClosedForm
    return a


@lru_cache(maxsize=CACHED)
def combined(
    a: tuple[tuple[Any, int], ...], b: tuple[tuple[Any, int], ...], sign: int = 1
) -> tuple[tuple[Any, int], ...]:
    """a + sign b, for the coefficients of angles and for the exponents of a product."""
    made = Counter(dict(a))
    for key, many in b:
        made[key] += sign * many
    return tuple(sorted((key, many) for key, many in made.items() if many))


@lru_cache(maxsize=CACHED)
def _waves(a: Wave, b: Wave) -> tuple[tuple[Wave, float], ...]:
    """The product of two waves as a sum of waves."""
    if a == FLAT or b == FLAT:
        return ((b if a == FLAT else a, 1.0),)
    (sine_a, u), (sine_b, v) = a, b
    if sine_b and not sine_a:
        return _waves(b, a)
    parts = ((combined(u, v), -0.5 if sine_b else 0.5), (combined(u, v, -1), 0.5))
    made = [signed(sine_a is not sine_b, angle, c) for angle, c in parts]
    return tuple((wave, c) for wave, c in made if c)


def signed(sine: bool, angle: Angle, c: float) -> tuple[Wave, float]:
    """c times cos or sin of an angle,
    with the first coefficient of the angle positive; the sine of zero is 0.
    """
    if not angle:
        return FLAT, 0.0 if sine else c
    if angle[0][1] > 0:
        return (sine, angle), c
    return (sine, tuple((s, -k) for s, k in angle)), -c if sine else c
