"""The subtasks of an arm on a graph of operations, so that threads can run a schedule of them.

Every operation of a subtask is a node of its own: a value that two subtasks compute is computed twice, as the
document's processors do. Sines, cosines and distances slid, which the document takes as given, belong to no
task; each thread computes those that it needs.
"""

from __future__ import annotations

from forearm.codegen.functions import FUNCTIONS, Traced
from forearm.codegen.program import Argument
from forearm.model import Scalar
from forearm.schedules.assembly import SubtaskProgram
from forearm.schedules.automatic import Division
from forearm.schedules.elimination import given_values
from forearm.schedules.links import joints_at
from forearm.schedules.terms import Operand, Operation
from forearm.symbols.graph import (
    ADD,
    CHOOSE,
    DIV,
    EXP,
    LOOKUP,
    MUL,
    NOTHING,
    SIGN,
    SQRT,
    SUB,
    Expr,
    Graph,
    unsigned,
)
from forearm.symbols.scalars import objects

STATE = ("q", "qd", "qdd")


def subtask_division(work: SubtaskProgram) -> Division:
    """The subtasks as tasks that threads can run; its graph of tasks is that of the program, so that
    schedules of one are schedules of the other.
    """
    graph, left = Graph(), work.remaining
    n = len(left.chain)
    q, qd, qdd = (graph.inputs(name, n) for name in STATE)
    values = dict(enumerate(given_values(left.chain, joints_at(left.chain, q, qd, qdd))))
    nodes = {}
    for task, operations in enumerate(work.operations):
        graph.section = work.graph.tasks[task].group
        before = len(graph)
        for k in operations:
            values[len(left.given) + k] = _made(graph, k, left.operations[k], values)
        nodes[task] = tuple(p for p in range(before, len(graph)) if graph.kinds[p] >= MUL)
    tau = objects([_value(graph, torque, values) for torque in left.torques])
    inputs = tuple(Argument(name, (n,), "") for name in STATE)
    (meaning,) = (text for _, text in FUNCTIONS["inverse_dynamics"].outputs.values())
    traced = Traced(graph, {"tau": tau}, inputs, (Argument("tau", (n,), meaning),))
    return Division(traced, work.graph, tuple(nodes[task] for task in range(len(work.graph))))


def _value(graph: Graph, operand: Operand, values: dict[int, Scalar]) -> Scalar:
    factor, at = operand
    if at == NOTHING:
        return factor
    return values[at] if factor > 0.0 else -values[at]


def _made(graph: Graph, k: int, operation: Operation, values: dict[int, Scalar]) -> Expr:
    """One operation as a node that no other operation shares."""
    operands = [_value(graph, operand, values) for operand in operation.operands]
    some = [x if isinstance(x, Expr) else graph.constant(float(x)) for x in operands]
    x, y, kind = some[0], some[-1], operation.kind
    if kind == CHOOSE:
        return Expr(graph, graph.choice(*(unsigned(value).node for value in some)), False)
    if kind == LOOKUP and operation.table is not None:
        return Expr(graph, graph.look_up(operation.table, unsigned(x).node), False)
    if kind == ADD:
        kind = ADD if x.negative is y.negative else SUB
        return Expr(graph, graph.operation(kind, x.node, y.node, ("subtasks", k)), x.negative)
    if kind in (MUL, DIV):
        node = graph.operation(kind, x.node, y.node, ("subtasks", k))
        return Expr(graph, node, x.negative is not y.negative)
    x = unsigned(x) if kind in (SQRT, EXP) else x
    node = graph.operation(kind, x.node, key=("subtasks", k))
    return Expr(graph, node, kind == SIGN and x.negative)
