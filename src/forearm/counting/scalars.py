"""Scalars that remember what was done with them, so that running a formulation counts its operations.

Every operation is recorded with its operands. What is counted afterwards are the operations that given
results need: what the code computes and nobody uses costs nothing.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from forearm.symbols.counts import Counts

INPUT, MUL, ADD, DIV, TRIG = range(5)
NOTHING = -1  # the place of a value known beforehand, and the operand that an operation does not have


class Tally:
    """The record of a run: kind and operands of each operation, in the order in which they were done."""

    def __init__(self) -> None:
        self.kinds = bytearray()
        self.left = array("q")
        self.right = array("q")
        self._turns: dict[tuple[int, int, float], tuple[Counted, Counted]] = {}

    def parameter(self, value: float) -> Counted:
        """A symbol whose value is known beforehand: what is computed from such values alone is free."""
        return Counted(self, float(value), NOTHING)

    def variable(self, value: float) -> Counted:
        """A value that comes new with each evaluation."""
        return self.record(INPUT, float(value), NOTHING, NOTHING)

    def record(self, kind: int, value: float, left: int, right: int) -> Counted:
        """One operation; `left` and `right` are the places of its operands."""
        self.kinds.append(kind)
        self.left.append(left)
        self.right.append(right)
        return Counted(self, value, len(self.kinds) - 1)

    def turn(self, angle: Counted) -> tuple[Counted, Counted]:
        """Cosine and sine of an angle, each computed once."""
        key = (angle.place, angle.sign, angle.value)
        if key not in self._turns:
            pair = [
                self.record(TRIG, f(angle.value), angle.place, NOTHING)
                if angle.place >= 0
                else self.parameter(f(angle.value))
                for f in (math.cos, math.sin)
            ]
            self._turns[key] = (pair[0], pair[1])
        return self._turns[key]

    def needed(self, results: Any) -> bytearray:
        """For every operation whether the results need it."""
        marks = bytearray(len(self.kinds) + 1)  # one more, for the operands that are nothing
        for x in leaves(results):
            if isinstance(x, Counted):
                marks[x.place] = 1
        for place in range(len(self.kinds) - 1, -1, -1):  # operands come before what is made of them
            if marks[place]:
                marks[self.left[place]] = marks[self.right[place]] = 1
        return marks[:-1]

    def claim(self, results: Any, taken: bytearray) -> list[int]:
        """The operations that the results need and that are not taken yet; they are then."""
        open_ends = [x.place for x in leaves(results) if isinstance(x, Counted) and x.place >= 0]
        found = []
        while open_ends:
            place = open_ends.pop()
            if taken[place]:
                continue
            taken[place] = 1
            found.append(place)
            open_ends += [p for p in (self.left[place], self.right[place]) if p >= 0 and not taken[p]]
        return found

    def counts(self, results: Any = None) -> Counts:
        """What the results need; without results, everything that was done."""
        if results is None:
            return self.counts_of(range(len(self.kinds)))
        marks = self.needed(results)
        return self.counts_of(i for i, mark in enumerate(marks) if mark)

    def counts_of(self, places: Iterable[int]) -> Counts:
        """The operations at these places."""
        number = [0] * 5
        for place in places:
            number[self.kinds[place]] += 1
        return Counts(mul=number[MUL], add=number[ADD], div=number[DIV], trig=number[TRIG])


class Counted:
    """A number that has its operations recorded.

    Plain floats beside it are known beforehand; the exact 0, 1 and -1 among them fold away, and so does
    x - x. A change of sign is free: -x has the place of x, and the other `sign`. What a value happens
    to be decides nothing.
    """

    __slots__ = ("place", "sign", "tally", "value")

    def __init__(self, tally: Tally, value: float, place: int, sign: int = 1) -> None:
        self.tally, self.value, self.place, self.sign = tally, value, place, sign

    @property
    def online(self) -> bool:
        """Whether it must be computed at each evaluation."""
        return self.place >= 0

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Counted):
            return self._operation(MUL, self.value * other.value, other.place)
        if not isinstance(other, float | int):
            return NotImplemented
        if other == 0:
            return 0.0
        if other in (1, -1):
            return self if other == 1 else -self
        return self._operation(MUL, self.value * other, NOTHING)

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Counted):
            if self.online and self.place == other.place and self.sign == -other.sign:
                return 0.0
            return self._operation(ADD, self.value + other.value, other.place)
        if not isinstance(other, float | int):
            return NotImplemented
        return self if other == 0 else self._operation(ADD, self.value + other, NOTHING)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + -other if isinstance(other, Counted | float | int) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Counted):
            return self._operation(DIV, self.value / other.value, other.place)
        if not isinstance(other, float | int):
            return NotImplemented
        if other in (1, -1):
            return self if other == 1 else -self
        return self._operation(DIV, self.value / other, NOTHING)

    def __rtruediv__(self, other: Any) -> Any:
        if not isinstance(other, float | int):
            return NotImplemented
        return 0.0 if other == 0 else self._operation(DIV, other / self.value, NOTHING)

    def __neg__(self) -> Counted:
        return Counted(self.tally, -self.value, self.place, -self.sign)

    def __float__(self) -> float:
        return float(self.value)

    def __le__(self, other: Any) -> bool:
        return self.value <= float(other)

    def __repr__(self) -> str:
        return f"Counted({self.value!r}, {'online' if self.online else 'offline'})"

    def cos(self) -> Counted:
        """The cosine; at most one is counted for an angle."""
        return self.tally.turn(self)[0]

    def sin(self) -> Counted:
        """The sine; at most one is counted for an angle."""
        return self.tally.turn(self)[1]

    def _operation(self, kind: int, value: float, other: int) -> Any:
        if self.place < 0 and other < 0:
            return Counted(self.tally, value, NOTHING)
        return self.tally.record(kind, value, self.place, other)


def leaves(results: Any) -> Iterator[Any]:
    """The scalars of nested lists and tuples, and of arrays in them."""
    if isinstance(results, np.ndarray):
        yield from results.flat
    elif isinstance(results, list | tuple):
        for result in results:
            yield from leaves(result)
    else:
        yield results
