"""Terms: scalars that know 0, 1 and -1, and record each operation that must be done at every state."""

from __future__ import annotations

from dataclasses import dataclass, field

from forearm.model import Scalar
from forearm.schedules.subtasks import Place
from forearm.symbols.evaluate import OPERATIONS
from forearm.symbols.graph import ADD, LOOKUP, MUL, NOTHING
from forearm.symbols.table import LookupTable
from forearm.values import frozen

Operand = tuple[float, int]  # a factor and the index of a value; a constant is a factor of NOTHING


@dataclass(frozen=True)
class Operation:
    """One operation on its operands, and the subtask that it belongs to.

    Attributes:
        kind: MUL or ADD in the 43 subtasks; those of drives have other kinds of `forearm.symbols.graph` too.
        operands: a factor and the index of a value each.
        place: link and number of the subtask.
        table: the table of a LOOKUP.
    """

    kind: int
    operands: tuple[Operand, ...]
    place: Place
    table: LookupTable | None = None

    @property
    def reads(self) -> tuple[int, ...]:
        """The indices of its operands without constants."""
        return tuple(at for _, at in self.operands if at != NOTHING)

    def of(self, *values: float) -> float:
        """Its result for these values of its operands."""
        if self.kind == LOOKUP and self.table is not None:
            return float(self.table.at(*values))
        return float(OPERATIONS[self.kind](*values))


@dataclass
class Book:
    """Given quantities and recorded operations; values are numbered across both, given ones first."""

    given: list[str] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    place: Place = (0, 0)

    def take(self, name: str) -> SignedValue:
        """A quantity that is known before any subtask."""
        self.given.append(name)
        return SignedValue(self, 1.0, len(self.given) - 1)

    def do(self, kind: int, *operands: Operand, table: LookupTable | None = None) -> SignedValue:
        """Record one more operation."""
        self.operations.append(Operation(kind, operands, self.place, table))
        return SignedValue(self, 1.0, len(self.given) + len(self.operations) - 1)


@frozen
class SignedValue:
    """A recorded value with a sign, as a scalar for the formulas."""

    book: Book
    sign: float
    at: int

    def __neg__(self) -> SignedValue:
        return SignedValue(self.book, -self.sign, self.at)

    def __add__(self, other: SignedValue | float) -> SignedValue:
        if isinstance(other, SignedValue):
            return self.book.do(ADD, (self.sign, self.at), (other.sign, other.at))
        return self if other == 0.0 else self.book.do(ADD, (self.sign, self.at), (other, NOTHING))

    def __sub__(self, other: SignedValue | float) -> SignedValue:
        return self + -other

    def __mul__(self, other: SignedValue | float) -> SignedValue | float:
        if isinstance(other, SignedValue):
            made = self.book.do(MUL, (1.0, self.at), (1.0, other.at))
            return made if self.sign == other.sign else -made
        if other == 0.0:
            return 0.0
        if abs(other) == 1.0:
            return self if other > 0.0 else -self
        return self.book.do(MUL, (self.sign, self.at), (other, NOTHING))

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: float) -> SignedValue:
        return -self + other


def operand_of(value: Scalar) -> Operand:
    """A term or a plain number as an operand."""
    return (value.sign, value.at) if isinstance(value, SignedValue) else (float(value), NOTHING)
