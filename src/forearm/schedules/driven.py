"""The drive of a joint as operations beyond the 43 subtasks: bearing friction from the reaction in the joint,
viscous and dry friction, transmission, rotor. Dhanaraj 3.3, 3.4, 4.5.
"""

from __future__ import annotations

import numpy as np

from forearm.drives.joint import Drive
from forearm.model import Scalar, turn_z
from forearm.schedules.formulas import ChainState, Values, vector
from forearm.schedules.terms import Book, Operand, SignedValue, operand_of
from forearm.symbols.graph import ADD, CONSTANT, INPUT, NOTHING, SUB, Expr, Graph
from forearm.symbols.scalars import objects, sign


def driven_torque(
    book: Book, drive: Drive, rigid: Scalar, values: Values, motion: ChainState, i: int
) -> Scalar:
    """Motor torque times gear ratio at joint i, rotor included, from the rigid arm's torque and the reaction
    in the joint; the operations are recorded under the book's current place.
    """
    joint, graph, inputs = motion.at(i)[1], Graph(), dict[int, Operand]()

    def taken(value: Scalar) -> Scalar:
        if not isinstance(value, SignedValue):
            return float(value)
        node = graph.input(f"x[{len(inputs)}]")
        inputs[node.node] = operand_of(value)
        return node

    rate = taken(joint.qd)
    reaction = None
    if drive.needs_reaction:
        # only in linear bearings friction depends on the directions of x and y about the joint
        is_linear = any(bearing.kind == "linear" for bearing in drive.bearings)
        turn = turn_z(motion.at(i)[0].roll) if is_linear else np.eye(3)
        f, n = (objects([taken(v) for v in vector(values, name, i)]) for name in ("f", "n"))
        reaction = turn @ f, turn @ n
    total = drive.torque(taken(rigid), reaction, rate, sign(rate)) + drive.rotor * taken(joint.qdd)
    return _recorded(book, graph, inputs, total)


def _recorded(book: Book, graph: Graph, inputs: dict[int, Operand], total: Scalar) -> Scalar:
    """The operations of an expression recorded in a book; its value there."""
    if not isinstance(total, Expr):
        return float(total)
    at = dict(inputs)
    for node in graph.needed([total]):
        kind, operands = graph.kinds[node], [at[operand] for operand in graph.operands(node)]
        if kind == CONSTANT:
            at[node] = (graph.values[node], NOTHING)
        elif kind == SUB and operands[0] == (0.0, NOTHING):
            at[node] = _negated(operands[1])
        elif kind == SUB:
            at[node] = operand_of(book.do(ADD, operands[0], _negated(operands[1])))
        elif kind != INPUT:
            at[node] = operand_of(book.do(kind, *operands, table=graph.tables.get(node)))
    factor, place = at[total.node]
    factor = -factor if total.negative else factor
    return factor if place == NOTHING else SignedValue(book, factor, place)


def _negated(operand: Operand) -> Operand:
    return -operand[0], operand[1]
