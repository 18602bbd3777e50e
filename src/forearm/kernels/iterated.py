"""Forward dynamics where friction depends on the load: a loop of Newton's steps, in which a lane goes on until it is solved.

Everything that does not depend on the accelerations is computed before the loop. A step that leaves more than there was is
halved. Lanes that are done keep what they have, so that a state has the same bits whatever its neighbours need.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forearm.arm.arm import Arm
from forearm.codegen.functions import FUNCTIONS, Traced, arguments
from forearm.codegen.tracing import Tracing
from forearm.dynamics.loaded import CLOSE
from forearm.kernels.ir import compute, load_states, result, unknown_of
from forearm.kernels.rows import store_columns
from forearm.kernels.vectors import Body
from forearm.symbols import Expr, Graph
from forearm.symbols.graph import NOTHING, expressions

MOST = 64  # steps
SHORTEST = 1.0 / 64.0  # of a step: if that is no better, rounding is all that is left
GIVEN_UP = 1e-9  # of the torques: what is left must be less, or the answer is NaN


@dataclass(frozen=True, eq=False)
class Iterated(Traced):
    """A step on the graph: `results` are left, delta and size at the accelerations that stand in `candidate`."""

    candidate: tuple[Expr, ...]


def traced_step(arm: Arm) -> Iterated:
    """One of Newton's steps for an arm."""
    tracing = Tracing(arm, {})
    candidate = tuple(tracing.graph.input(f"candidate[{j}]") for j in range(arm.n))
    left, delta, size = tracing.newton_at(list(candidate))
    inputs, outputs = arguments([FUNCTIONS["forward_dynamics"]], {"n": arm.n}, slides=True)
    results: dict[str, Any] = {"left": left, "delta": delta, "size": size}
    return Iterated(tracing.graph, results, inputs, tuple(outputs.values()), candidate)


def solve_block(body: Body, step: Iterated) -> None:
    """One block of states: loaded, solved, stored."""
    states = load_states(body, step)
    columns = solved(body, step, states, unknown_of(body, list(states.values())))
    store_columns(body, f"%at.{step.outputs[0].name}", columns)


def solved(body: Body, step: Iterated, states: dict[int, str], unknown: str) -> list[str]:
    """The accelerations, NaN where states are not known or no solution was found; once in a function, as it has labels."""
    t, n, graph = body.target, len(step.candidate), step.graph
    moving = _depends(graph, [e.node for e in step.candidate])
    compute(body, graph, _still(graph, step.results, moving), states)
    flags = f"<{t.lanes} x i1>"
    for name, size in (("x", n), ("delta", n)):
        body.lines.append(f"  %{name} = alloca [{size * t.lanes} x {t.scalar}], align 64")
        for k in range(n):
            body.store(f"%{name}", k * t.lanes, body.constant(0.0), t.lanes)
    known = body.emit(f"fcmp oeq {t.vector} {unknown}, {body.constant(0.0)}")
    body.lines += ["  br label %solve.before", "solve.before:", "  br label %solve", "solve:"]
    one, huge = body.constant(1.0), body.constant(_largest(t.scalar))
    body.lines += [
        "  %turn = phi i32 [ 0, %solve.before ], [ %turn.next, %solve ]",
        f"  %active = phi {flags} [ {known}, %solve.before ], [ %active.next, %solve ]",
        f"  %norm = phi {t.vector} [ {huge}, %solve.before ], [ %norm.next, %solve ]",
        f"  %share = phi {t.vector} [ {one}, %solve.before ], [ %share.next, %solve ]",
        f"  %size = phi {t.vector} [ {one}, %solve.before ], [ %size.next, %solve ]",
    ]  # fmt: skip
    old = [(body.load("%x", k * t.lanes, t.lanes), body.load("%delta", k * t.lanes, t.lanes)) for k in range(n)]
    tried = [body.fma("%share", delta, x) for x, delta in old]
    values = dict(states) | {e.node: c for e, c in zip(step.candidate, tried, strict=True)}
    compute(body, graph, step.results, values)
    left, delta = ([result(body, e, values) for e in step.results[name]] for name in ("left", "delta"))
    scale = result(body, step.results["size"], values)
    norm, largest = body.constant(0.0), body.constant(0.0)
    for value in left:
        norm = body.fma(value, value, norm)
        largest = _greater(body, body.call("fabs", value), largest)
    less = body.emit(f"fcmp olt {t.vector} {norm}, %norm")
    done = body.emit(f"fcmp ole {t.vector} {largest}, {body.op('fmul', scale, body.constant(_close(t.scalar)))}")
    better = body.emit(f"or {flags} {less}, {done}")
    take = body.emit(f"and {flags} %active, {better}")
    short = body.emit(f"fcmp olt {t.vector} %share, {body.constant(SHORTEST)}")
    stuck = body.emit(f"and {flags} {short}, {body.emit(f'xor {flags} {better}, {_all(t.lanes)}')}")
    over = body.emit(f"or {flags} {done}, {stuck}")
    for k in range(n):
        for name, new, before in (("x", tried[k], old[k][0]), ("delta", delta[k], old[k][1])):
            body.store(f"%{name}", k * t.lanes, _chosen(body, take, new, before), t.lanes)
    shorter = body.op("fmul", "%share", body.constant(0.5))
    body.lines += [
        f"  %share.next = select {flags} {take}, {t.vector} {one}, {t.vector} {shorter}",
        f"  %norm.next = select {flags} {take}, {t.vector} {norm}, {t.vector} %norm",
        f"  %size.next = select {flags} {take}, {t.vector} {scale}, {t.vector} %size",
        f"  %undone = xor {flags} {over}, {_all(t.lanes)}", f"  %active.next = and {flags} %active, %undone",
        "  %turn.next = add i32 %turn, 1", f"  %bits = bitcast {flags} %active.next to i{t.lanes}",
        f"  %some = icmp ne i{t.lanes} %bits, 0", f"  %again = icmp slt i32 %turn.next, {MOST}",
        "  %go = and i1 %some, %again", "  br i1 %go, label %solve, label %solved", "solved:",
    ]  # fmt: skip
    limit = body.op("fmul", "%size.next", body.constant(GIVEN_UP if t.scalar == "double" else 1e-3))
    lost = body.emit(f"fcmp ugt {t.vector} %norm.next, {body.op('fmul', limit, limit)}")
    nothing = body.constant(float("nan"))
    spoilt = body.emit(f"select {flags} {lost}, {t.vector} {nothing}, {t.vector} {unknown}")
    return [body.op("fadd", body.load("%x", k * t.lanes, t.lanes), spoilt) for k in range(n)]


def _depends(graph: Graph, leaves: list[int]) -> bytearray:
    """For each place whether it depends on any of these."""
    marks = bytearray(len(graph))
    for leaf in leaves:
        marks[leaf] = 1
    for place in range(len(graph)):
        a, b = graph.left[place], graph.right[place]
        if (a >= 0 and marks[a]) or (b >= 0 and marks[b]):
            marks[place] = 1
    return marks


def _still(graph: Graph, results: Any, moving: bytearray) -> list[Expr]:
    """What does not move and is used by what does, or is a result."""
    used = {e.node for e in expressions(results)}
    for place in graph.needed(results):
        if moving[place]:
            used |= {graph.left[place], graph.right[place]} - {NOTHING}
    return [Expr(graph, place, False) for place in sorted(used) if not moving[place] and place not in graph.values]


def _greater(body: Body, a: str, b: str) -> str:
    return _chosen(body, body.emit(f"fcmp ugt {body.target.vector} {a}, {b}"), a, b)


def _chosen(body: Body, mask: str, a: str, b: str) -> str:
    v = body.target.vector
    return body.emit(f"select <{body.target.lanes} x i1> {mask}, {v} {a}, {v} {b}")


def _all(lanes: int) -> str:
    return "<" + ", ".join(["i1 true"] * lanes) + ">"


def _largest(scalar: str) -> float:
    return 1e300 if scalar == "double" else 1e30


def _close(scalar: str) -> float:
    return CLOSE if scalar == "double" else 1e-6
