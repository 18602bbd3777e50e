"""Elimination of operations with 0, 1 and -1 from an arm's subtasks. Dhanaraj 4.3.2.

The formulas run once over terms: a given quantity or the result of an operation, with a sign that costs
nothing. Products with 0 vanish, sums with 0 and products with 1 are renamings, constants are folded
beforehand; every operation that remains is recorded with its subtask.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

from forearm.drives.joint import Drive
from forearm.model import Scalar
from forearm.schedules.driven import driven_torque
from forearm.schedules.formulas import AXES, ChainState, start, torque
from forearm.schedules.further import FIRST_DRIVE
from forearm.schedules.links import JointState, SubtaskChain, along
from forearm.schedules.order import subtasks_of
from forearm.schedules.subtasks import Place
from forearm.schedules.terms import Book, Operand, Operation, operand_of
from forearm.values import frozen


@frozen
class Remaining:
    """The operations that remain of an arm's subtasks, in topological order, and the operands that are the
    torques.
    """

    chain: SubtaskChain
    given: tuple[str, ...]
    operations: tuple[Operation, ...]
    torques: tuple[Operand, ...]

    @cached_property
    def needed(self) -> frozenset[int]:
        """The operations that some torque depends on, as indices of `operations`."""
        found = set()
        waiting = [at for _, at in self.torques]
        while waiting:
            k = waiting.pop() - len(self.given)
            if k >= 0 and k not in found:
                found.add(k)
                waiting += self.operations[k].reads
        return frozenset(found)

    def by_place(self, all_made: bool) -> dict[Place, list[int]]:
        """The operations of every non-empty subtask; unless `all_made` without those that no torque depends
        on.
        """
        made: dict[Place, list[int]] = {}
        for k, operation in enumerate(self.operations):
            if all_made or k in self.needed:
                made.setdefault(operation.place, []).append(k)
        return made

    def left_out(self, all_made: bool = True) -> frozenset[Place]:
        """The subtasks that are empty."""
        return frozenset(set(subtasks_of(self.chain)) - set(self.by_place(all_made)))


def remaining(chain: SubtaskChain, drives: Sequence[Drive] = ()) -> Remaining:
    """Run the formulas over terms and record their operations, then those of the drives, one per joint, if
    any.
    """
    book = Book()
    motion = ChainState(chain, given_joints(chain, book))
    values = start(chain)
    for place, task in subtasks_of(chain).items():
        book.place = place
        made = task.compute(motion, values, place[0])
        values.update({(name, place[0]): value for name, value in made.items()})
    torques = [torque(chain, values, i) for i in range(1, len(chain) + 1)]
    for k, drive in enumerate(drives):
        book.place = (k + 1, FIRST_DRIVE)
        torques[k] = driven_torque(book, drive, torques[k], values, motion, k + 1)
    ends = tuple(operand_of(t) for t in torques)
    return Remaining(chain, tuple(book.given), tuple(book.operations), ends)


def given_joints(chain: SubtaskChain, book: Book) -> tuple[JointState, ...]:
    """The joints as terms; sines, cosines and displacements of prismatic joints are given, as in the
    document.
    """
    made = []
    for i, link in enumerate(chain.links, start=1):
        p: list[Scalar] = link.p.tolist()
        c: Scalar = 1.0
        s: Scalar = 0.0
        if link.revolute:
            c, s = book.take(f"c{i}"), book.take(f"s{i}")
        else:
            c, s = math.cos(link.angle), math.sin(link.angle)
            for k, _ in along(link):
                p[k] = book.take(f"p{i - 1}.{AXES[k]}")
        made.append(JointState(c, s, book.take(f"qd{i}"), book.take(f"qdd{i}"), (p[0], p[1], p[2])))
    return tuple(made)


def given_values(chain: SubtaskChain, joints: tuple[JointState, ...] | list[JointState]) -> list[Scalar]:
    """The values of the given quantities, in their order."""
    made = []
    for link, joint in zip(chain.links, joints, strict=True):
        made += [joint.c, joint.s] if link.revolute else [joint.p[k] for k, _ in along(link)]
        made += [joint.qd, joint.qdd]
    return made
