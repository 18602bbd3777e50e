"""A program: straight-line, named statements, built from an expression graph by `program_writer` and written
by each language in its own syntax.

Values that do not depend on the state (`parameters` that stay symbols, and what is computed from them alone)
are computed by the program's `prepare` part and passed to the evaluation as the array `k`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from forearm.symbols import Counts
from forearm.symbols.table import LookupTable

# Roles of a statement: defines a constant, or initialises a variable; begins a loop with its value as the
# maximum count; continues only while its value, a < b, holds; updates a variable; ends the loop; fills a new
# array with its operands; fills one by a routine from the array that is its operand.
VALUE, VARIABLE, REPEAT, WHILE, NEXT, END = "value", "variable", "repeat", "while", "next", "end"
ARRAY, CALL = "array", "call"


@dataclass(frozen=True)
class Argument:
    """An input or output array: its name, shape and meaning, with unit and frame."""

    name: str
    shape: tuple[int, ...]
    meaning: str

    @property
    def size(self) -> int:
        """The number of entries."""
        return int(np.prod(self.shape))


Arguments = tuple[Argument, ...]
Statements = tuple["Statement", ...]


@dataclass(frozen=True)
class Ref:
    """A value by name: an entry of an argument (flat index, row by row), or a statement's own value."""

    name: str
    index: int | None = None


@dataclass(frozen=True)
class Op:
    """An operation: * + - / < atan2 with two operands, neg sqrt cos sin sign abs exp rint with one; choose
    with four, a, b, x, y, is x where a < b, else y; lookup evaluates its table at its operand.
    """

    operator: str
    operands: tuple[Tree, ...]
    table: LookupTable | None = None


Tree = float | Ref | Op


@dataclass(frozen=True)
class Statement:
    """target = value; a target with an index is an entry of an output (or of k), one without is a new
    constant, unless its role differs.

    `section` is the part that it belongs to, such as "link 3, outwards"; `routine` is the one that a CALL
    invokes.
    """

    target: Ref
    value: Tree
    section: str
    role: str = VALUE
    routine: Routine | None = None

    @property
    def size(self) -> int:
        """Number of entries of the new array of an ARRAY or a CALL."""
        if self.routine is not None:
            return self.routine.made.size
        return len(self.value.operands) if isinstance(self.value, Op) else 0


@dataclass(frozen=True)
class Routine:
    """A subroutine of a program, called several times: it computes the array `made` from the array `taken`,
    and from k if it `needs_kept`.
    """

    name: str
    title: str
    taken: Argument
    made: Argument
    statements: Statements
    needs_kept: bool


def grouped(statements: Iterable[Statement]) -> list[list[Statement]]:
    """Statements one by one, but a loop and its variables as one group."""
    groups: list[list[Statement]] = []
    depth, is_open = 0, False
    for statement in statements:
        if is_open:
            groups[-1].append(statement)
        else:
            groups.append([statement])
        depth += (statement.role == REPEAT) - (statement.role == END)
        is_open = depth > 0 or statement.role == VARIABLE
    return groups


@dataclass(frozen=True)
class Program:
    """Everything that a language needs.
    `parameters`, `kept` and `prepare` are empty if all parameters are numbers.
    """

    name: str
    about: tuple[str, ...]  # lines for the head of the file: arm, source, frames
    inputs: Arguments
    outputs: Arguments
    statements: Statements
    counts: Counts
    parameters: tuple[str, ...] = ()
    defaults: tuple[float, ...] = ()  # the arm's own values of the parameters
    prepare: Statements = ()
    kept: int = 0
    single: bool = False  # in single precision, where a language has both
    routines: tuple[Routine, ...] = ()  # each before those that call it

    @property
    def every_statement(self) -> Statements:
        """Those of routines, of `prepare` and of the evaluation."""
        inside = (s for routine in self.routines for s in routine.statements)
        return (*inside, *self.prepare, *self.statements)

    @property
    def scalar(self) -> str:
        """The scalar type's name in C."""
        return "float" if self.single else "double"
