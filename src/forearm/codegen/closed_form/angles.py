"""Angles: sums of inputs and parameters with constant coefficients, and the joints' offsets in them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from forearm.codegen.program import Ref, Statements, Tree
from forearm.portable import cos_sin as exact_cos_sin
from forearm.portable import total

QUARTER = 0.5 * math.pi
SAME_ANGLE = 1e-14  # tolerance for multiples of a quarter turn, and for sums of joint offsets


@dataclass(frozen=True)
class Affine:
    """Coefficients times variables plus a constant."""

    coefficients: dict[Ref, Fraction]
    offset: float

    def beyond(self, offsets: dict[Ref, float]) -> float:
        """The constant minus the offsets of the variables."""
        known = total(float(c) * offsets.get(v, 0.0) for v, c in self.coefficients.items())
        return self.offset - float(known)


NOTHING = Affine({}, 0.0)


def affine_values(statements: Statements) -> dict[Ref, Affine | None]:
    """Each statement as a sum of inputs and parameters; None if it is not one."""
    known: dict[Ref, Affine | None] = {}
    for statement in statements:
        known[statement.target] = affine(statement.value, known)
    return known


def affine(tree: Tree, known: dict[Ref, Affine | None]) -> Affine | None:
    """A tree as a sum of variables, if it is one; `known` are the preceding statements."""
    if isinstance(tree, float | int):
        return Affine({}, float(tree))
    if isinstance(tree, Ref):
        return known[tree] if tree in known else Affine({tree: Fraction(1)}, 0.0)
    if tree.operator in ("choose", "lookup"):
        return None
    parts = [affine(operand, known) for operand in tree.operands]
    x, y = parts[0], parts[-1]
    if x is None or y is None:
        return None
    if tree.operator == "neg":
        return _plus(NOTHING, x, Fraction(-1))
    if tree.operator in ("+", "-"):
        return _plus(x, y, Fraction(1 if tree.operator == "+" else -1))
    if tree.operator == "*" and not (x.coefficients and y.coefficients):
        x, y = (x, y) if x.coefficients else (y, x)
        return _plus(NOTHING, x, Fraction(y.offset))
    if tree.operator == "/" and not y.coefficients and y.offset != 0.0:
        return _plus(NOTHING, x, 1 / Fraction(y.offset))
    return None


def _plus(x: Affine, y: Affine, factor: Fraction) -> Affine:
    """x + factor y"""
    coefficients = dict(x.coefficients)
    for variable, c in y.coefficients.items():
        coefficients[variable] = coefficients.get(variable, Fraction(0)) + factor * c
    return Affine({v: c for v, c in coefficients.items() if c}, x.offset + float(factor) * y.offset)


def cos_sin(angle: float) -> tuple[float, float]:
    """Cosine and sine, exact for multiples of a quarter turn."""
    quarters = _quarters(angle)
    if quarters is None:
        return exact_cos_sin(angle)
    return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarters % 4]


def offsets_in(angles: list[Affine]) -> dict[Ref, float]:
    """An offset for each variable whose angle always contains one;
    quarter turns need none, they swap cos and sin.
    """
    known: dict[Ref, float] = {}
    while True:
        for a in angles:
            open_ones = [v for v in a.coefficients if v not in known]
            if len(open_ones) == 1:
                offset = a.beyond(known) / float(a.coefficients[open_ones[0]])
                known[open_ones[0]] = (
                    0.0 if _quarters(offset) is not None else math.remainder(offset, QUARTER)
                )
                break
        else:
            return {v: offset for v, offset in known.items() if offset}


def units_in(angles: list[Affine]) -> dict[Ref, Fraction]:
    """The greatest common divisor of each variable's coefficients."""
    units: dict[Ref, Fraction] = {}
    for angle in angles:
        for v, c in angle.coefficients.items():
            u = units.get(v, abs(c))
            bottom = u.denominator * c.denominator
            units[v] = Fraction(math.gcd(u.numerator * c.denominator, c.numerator * u.denominator), bottom)
    return units


def _quarters(angle: float) -> int | None:
    whole = round(angle / QUARTER)
    return whole if abs(angle - whole * QUARTER) <= SAME_ANGLE * max(1.0, abs(angle)) else None
