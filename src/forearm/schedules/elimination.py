"""What is left of the subtasks where numbers are 0, 1 or -1: found by computing with scalars that
know it. Dhanaraj 4.3.2.

The formulas run once over terms: a given quantity or the result of an operation, with a sign that costs
nothing. Products with 0 vanish, sums with 0 and products with 1 are renamings, constants are put together
beforehand; what must be done at every state is written down with the subtask that does it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from forearm.model import Scalar
from forearm.schedules.formulas import AXES, ChainState, start, torque
from forearm.schedules.links import JointState, SubtaskChain, along
from forearm.schedules.subtasks import SUBTASKS, Place, plain_order

Operand = tuple[float, int]  # a factor and where the value is; a constant is a factor on NOTHING
NOTHING = -1


@dataclass(frozen=True)
class Operation:
    """One product or sum of two operands, and the subtask that it belongs to."""

    product: bool
    left: Operand
    right: Operand
    place: Place

    @property
    def reads(self) -> tuple[int, ...]:
        """Where its operands are, constants left out."""
        return tuple(at for _, at in (self.left, self.right) if at != NOTHING)


@dataclass
class Book:
    """What is given and what was done so far; values are counted through both, given ones first."""

    given: list[str] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    place: Place = (0, 0)

    def take(self, name: str) -> SignedValue:
        """A quantity that is known before any subtask."""
        self.given.append(name)
        return SignedValue(self, 1.0, len(self.given) - 1)

    def do(self, product: bool, left: Operand, right: Operand) -> SignedValue:
        """One more operation."""
        self.operations.append(Operation(product, left, right, self.place))
        return SignedValue(self, 1.0, len(self.given) + len(self.operations) - 1)


@dataclass(frozen=True, eq=False)
class SignedValue:
    """A value with a sign, as a scalar that the formulas compute with."""

    book: Book
    sign: float
    at: int

    def __neg__(self) -> SignedValue:
        return SignedValue(self.book, -self.sign, self.at)

    def __add__(self, other: SignedValue | float) -> SignedValue:
        if isinstance(other, SignedValue):
            return self.book.do(False, (self.sign, self.at), (other.sign, other.at))
        return self if other == 0.0 else self.book.do(False, (self.sign, self.at), (other, NOTHING))

    def __sub__(self, other: SignedValue | float) -> SignedValue:
        return self + -other

    def __mul__(self, other: SignedValue | float) -> SignedValue | float:
        if isinstance(other, SignedValue):
            made = self.book.do(True, (1.0, self.at), (1.0, other.at))
            return made if self.sign == other.sign else -made
        if other == 0.0:
            return 0.0
        if abs(other) == 1.0:
            return self if other > 0.0 else -self
        return self.book.do(True, (self.sign, self.at), (other, NOTHING))

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: float) -> SignedValue:
        return -self + other


@dataclass(frozen=True, eq=False)
class Remaining:
    """The operations that an arm's subtasks are left with, in an order in which they can be done,
    and where the torques are.
    """

    chain: SubtaskChain
    given: tuple[str, ...]
    operations: tuple[Operation, ...]
    torques: tuple[Operand, ...]

    @cached_property
    def needed(self) -> frozenset[int]:
        """The operations that some torque depends on, as places in `operations`."""
        found: set[int] = set()
        waiting = [at for _, at in self.torques]
        while waiting:
            k = waiting.pop() - len(self.given)
            if k >= 0 and k not in found:
                found.add(k)
                waiting += self.operations[k].reads
        return frozenset(found)

    def by_place(self, all_made: bool) -> dict[Place, list[int]]:
        """The operations of every subtask that has any; unless `all_made` those that no torque
        depends on are left out.
        """
        made: dict[Place, list[int]] = {}
        for k, operation in enumerate(self.operations):
            if all_made or k in self.needed:
                made.setdefault(operation.place, []).append(k)
        return made

    def left_out(self, all_made: bool = True) -> frozenset[Place]:
        """The subtasks in which nothing is left to do."""
        everything = {(i, task.number) for i in range(1, len(self.chain) + 1) for task in SUBTASKS}
        return frozenset(everything - set(self.by_place(all_made)))


def remaining(chain: SubtaskChain) -> Remaining:
    """Run the formulas over terms and keep what they did."""
    book = Book()
    motion = ChainState(chain, given_joints(chain, book))
    values = start(chain)
    for i, number in plain_order(chain):
        book.place = (i, number)
        made = SUBTASKS[number - 1].compute(motion, values, i)
        values.update({(name, i): value for name, value in made.items()})
    torques = [torque(chain, values, i) for i in range(1, len(chain) + 1)]
    ends = tuple((t.sign, t.at) if isinstance(t, SignedValue) else (float(t), NOTHING) for t in torques)
    return Remaining(chain, tuple(book.given), tuple(book.operations), ends)


def given_joints(chain: SubtaskChain, book: Book) -> tuple[JointState, ...]:
    """The joints as terms; sines, cosines and the way that a joint has slid are given,
    as to the document's subtasks.
    """
    made = []
    for i, link in enumerate(chain.links, start=1):
        p: list[Scalar] = link.p.tolist()
        c: Scalar = 1.0
        s: Scalar = 0.0
        if link.revolute:
            c, s = book.take(f"c{i}"), book.take(f"s{i}")
        else:
            k = along(link)[0]
            p[k] = book.take(f"p{i - 1}.{AXES[k]}")
        made.append(JointState(c, s, book.take(f"qd{i}"), book.take(f"qdd{i}"), (p[0], p[1], p[2])))
    return tuple(made)


def given_values(chain: SubtaskChain, joints: tuple[JointState, ...] | list[JointState]) -> list[Scalar]:
    """The numbers of the given quantities, in their order."""
    made: list[Scalar] = []
    for link, joint in zip(chain.links, joints, strict=True):
        made += [joint.c, joint.s] if link.revolute else [joint.p[along(link)[0]]]
        made += [joint.qd, joint.qdd]
    return made
