"""The parts of a closed form: sums of terms, for readers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from forearm.codegen.program import Ref

MOST_TERMS = 120  # terms of one equation: longer ones are not readable as a closed form
# coefficients below this, relative to the largest of their output, are rounding errors and are dropped
NOISE = 1e-13
PARAMETER = "prepare.p"  # name of the parameters in a closed form


@dataclass(frozen=True)
class Trig:
    """The cosine or sine of a sum of variables, each with its coefficient."""

    sine: bool
    angle: tuple[tuple[Ref, Fraction], ...]


@dataclass(frozen=True)
class FunctionCall:
    """inverse, sqrt, sign, abs, exp, cos or sin of an expression that cannot be expanded."""

    name: str
    argument: Sum


Factor = Ref | Trig | FunctionCall
Factors = tuple[tuple[Factor, int], ...]  # each with its exponent
Symbol = Ref | FunctionCall


@dataclass(frozen=True)
class Term:
    """A coefficient times powers of factors times the sum in the bracket, if there is one."""

    coefficient: float
    factors: Factors = ()
    bracket: Sum = ()


Sum = tuple[Term, ...]


@dataclass(frozen=True)
class SymbolicClosedForm:
    """The entries of each output as sums; outputs that are too long are missing.

    In the angles of `Trig` a variable stands for itself plus its offset, if it has one; elsewhere for itself.
    Terms are collected by products of `rates`, which are all inputs but q.
    """

    outputs: dict[str, tuple[Sum, ...]]
    offsets: dict[Ref, float]
    rates: set[str]


class NoClosedForm(Exception):
    """The expansion has too many terms to be readable, or divides by zero."""
