"""Explicit fixed-step Runge-Kutta methods by name: rows c, a and b of their tableaus."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

Number = Fraction | float
Row = tuple[Number, ...]


@dataclass(frozen=True)
class ExplicitMethod:
    """An explicit Runge-Kutta method, defined by its tableau."""

    c: tuple[float, ...]
    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]


def _row(text: str) -> Row:
    return tuple(Fraction(x) for x in text.split())


# Dhanaraj D.4, subroutine RUNGE: Gill's method, here without the register Q that saved memory.
# Its A are 1 -+ sqrt(1/2).
_G = sqrt(0.5)
TABLEAUS: dict[str, tuple[Row, tuple[Row, ...], Row]] = {
    # Swartz p. 12: c1, c2, c3 are the stages of the position, k1, k2, k3 those of the velocity. The printed
    # c3 subtracts h c1 from a velocity, which is of order 1; it must subtract h k1, as the line for k3 does.
    "rk3": (_row("0 1/2 1"), ((), _row("1/2"), _row("-1 2")), _row("1/6 4/6 1/6")),
    "rk4": (_row("0 1/2 1/2 1"), ((), _row("1/2"), _row("0 1/2"), _row("0 0 1")), _row("1/6 1/3 1/3 1/6")),
    "gill": (
        (0.0, 0.5, 0.5, 1.0),
        ((), (0.5,), (_G - 0.5, 1 - _G), (0.0, -_G, 1 + _G)),
        (1 / 6, (1 - _G) / 3, (1 + _G) / 3, 1 / 6),
    ),
}


def explicit_method(name: str) -> ExplicitMethod:
    """The method with a name in TABLEAUS."""
    c, a, b = TABLEAUS[name]
    return ExplicitMethod(_floats(c), tuple(_floats(row) for row in a), _floats(b))


def _floats(row: Row) -> tuple[float, ...]:
    return tuple(float(x) for x in row)
