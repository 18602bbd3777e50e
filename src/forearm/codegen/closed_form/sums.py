"""What a closed form is made of: sums of terms, for people to read."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from forearm.codegen.program import Ref

MOST_TERMS = 120  # of one equation: beyond, nobody reads it as a closed form
# coefficients below this, relative to the largest of their output, are rounding and are dropped
NOISE = 1e-13
PARAMETER = "prepare.p"  # what the parameters are called in a closed form


@dataclass(frozen=True)
class Trig:
    """The cosine or sine of a sum of variables, each with its coefficient."""

    sine: bool
    angle: tuple[tuple[Ref, Fraction], ...]


@dataclass(frozen=True)
class FunctionCall:
    """inverse, sqrt, sign, abs, exp, cos or sin of something that does not multiply out."""

    name: str
    argument: Sum


Factor = Ref | Trig | FunctionCall
Factors = tuple[tuple[Factor, int], ...]  # each with its power
Symbol = Ref | FunctionCall


@dataclass(frozen=True)
class Term:
    """coefficient times powers of factors times the sum in the bracket, if there is one."""

    coefficient: float
    factors: Factors = ()
    bracket: Sum = ()


Sum = tuple[Term, ...]


@dataclass(frozen=True)
class SymbolicClosedForm:
    """The entries of each output as sums; outputs that are too long are not there.

    In the angles of `Trig` a variable stands for itself plus its offset, if it has one; elsewhere for itself.
    Terms are collected by products of `rates`, which are all inputs but q.
    """

    outputs: dict[str, tuple[Sum, ...]]
    offsets: dict[Ref, float]
    rates: set[str]


class NoClosedForm(Exception):
    """Multiplying out takes more terms than anybody would read, or ends in a division by zero."""
