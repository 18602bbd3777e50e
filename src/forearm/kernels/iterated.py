"""Forward dynamics where friction depends on the load: a loop of Newton's steps, in which a lane goes on until it is solved.

Everything that does not depend on the accelerations is computed before the loop. A step that leaves more than there was is
halved. Lanes that are done keep what they have, so that a state has the same bits whatever its neighbours need.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.codegen.functions import FUNCTIONS, Traced, arguments
from forearm.codegen.program import Argument
from forearm.codegen.tracing import Tracing
from forearm.drives.joint import drives_of
from forearm.dynamics.loaded import CLOSE, flat
from forearm.kernels.ir import compute, load_states, result, unknown_of
from forearm.kernels.rows import store_columns
from forearm.kernels.vectors import Body
from forearm.symbols import Expr, Graph, refined, substituted
from forearm.symbols.graph import NOTHING, expressions

MOST = 64  # steps
SHORTEST = 1.0 / 64.0  # of a step: if that is no better, rounding is all that is left
GIVEN_UP = 1e-9  # of the torques: what is left must be less, or the answer is NaN


@dataclass(frozen=True, eq=False)
class Iterated(Traced):
    """A step on the graph: the `solution` with drives taken as straight from the loads `felt` on.

    The other `results` are left, size and felt: what is left at accelerations `x`, its scale, and the loads there.
    """

    x: tuple[Expr, ...]
    felt: tuple[Expr, ...]


def traced_step(arm: Arm) -> Iterated:
    """One of Newton's steps for an arm."""
    tracing = Tracing(arm, {})
    inputs, outputs = arguments([FUNCTIONS["forward_dynamics"]], {"n": arm.n}, slides=True)
    return iterated(tracing, inputs, tuple(outputs.values()))


def iterated(
    tracing: Tracing, inputs: tuple[Argument, ...] = (), outputs: tuple[Argument, ...] = (), tau: list[Any] | None = None,
    ways: list[Any] | None = None, free: list[Any] | None = None,
) -> Iterated:  # fmt: skip
    """One of Newton's steps under torques and with friction in given directions, joints held where `free` is 0."""
    graph, arm = tracing.graph, tracing.arm
    x = [graph.input(f"at[{j}]") for j in range(arm.n)]
    now = tracing.loads.at(np.array(x, dtype=object))
    still = tracing.loads.at(np.zeros(arm.n))
    felt, symbols = [], []
    for k, (drive, (torque, reaction)) in enumerate(zip(drives_of(arm), now, strict=True)):
        if not drive.depends_on_load:
            felt.append(still[k])  # which straight drives may start from
            continue
        here = [graph.input(f"felt{k}[{i}]") for i in range(len(flat(torque, reaction)))]
        symbols += here
        both = None if reaction is None else (np.array(here[1:4], dtype=object), np.array(here[4:], dtype=object))
        felt.append((here[0], both))
    _, solution, _ = tracing.newton_at([0.0] * arm.n, tau, ways, free, felt)
    left, _, size = tracing.newton_at(x, tau, ways, free)
    loads = [flat(*load) for drive, load in zip(drives_of(arm), now, strict=True) if drive.depends_on_load]
    results: dict[str, Any] = {
        "solution": solution,
        "left": left,
        "size": size,
        "felt": [value for load in loads for value in load],
    }
    names = [graph.leaves[e.node] for e in (*x, *symbols)]
    graph, results = refined(graph, results)
    places = {leaf: place for place, leaf in graph.leaves.items()}
    again = tuple(Expr(graph, places[name], False) if name in places else graph.input(name) for name in names)
    return Iterated(graph, results, inputs, outputs, again[: len(x)], again[len(x) :])


def solve_block(body: Body, step: Iterated) -> None:
    """One block of states: loaded, solved, stored."""
    states = load_states(body, step)
    columns = solved(body, step, states, unknown_of(body, list(states.values())))
    store_columns(body, f"%at.{step.outputs[0].name}", columns)


def solved(
    body: Body, step: Iterated, states: dict[int, str], unknown: str, loads: str | None = None, close: float = CLOSE
) -> list[str]:  # fmt: skip
    """The accelerations, NaN where states are not known or no solution was found; once in a function, as it has labels.

    Lanes begin with the loads at rest. With `loads`, a pointer, they begin with those there, with the loads at rest if that
    leads nowhere, and leave the loads that they end with. What is left is at most `close` of the torques that were added up.
    """
    t, n, graph = body.target, len(step.x), step.graph
    moving = _depends(graph, [e.node for e in (*step.x, *step.felt)])
    at_rest = substituted(graph, step.results["felt"], dict.fromkeys(step.x, 0.0))
    compute(body, graph, [*_still(graph, step.results, moving), *at_rest], states)
    flags, everyone = f"<{t.lanes} x i1>", _all(t.lanes)
    one, zero, huge = (body.constant(value) for value in (1.0, 0.0, _largest(t.scalar)))
    rest = [result(body, e, states) for e in at_rest]
    for name, size in (("x", n), ("felt", len(rest))):
        body.lines.append(f"  %{name} = alloca [{size * t.lanes} x {t.scalar}], align 64")
    for k in range(n):
        body.store("%x", k * t.lanes, zero, t.lanes)
    for k, load in enumerate(rest):
        body.store("%felt", k * t.lanes, load if loads is None else body.load(loads, k * t.lanes, t.lanes), t.lanes)
    known = body.emit(f"fcmp oeq {t.vector} {unknown}, {zero}")
    body.lines += ["  br label %solve.before", "solve.before:", "  br label %solve", "solve:"]
    body.lines += [
        "  %turn = phi i32 [ 0, %solve.before ], [ %turn.next, %solve ]",
        f"  %active = phi {flags} [ {known}, %solve.before ], [ %active.next, %solve ]",
        f"  %fresh = phi {flags} [ {everyone if loads is None else _none(t.lanes)}, %solve.before ], [ %fresh.next, %solve ]",
        f"  %norm = phi {t.vector} [ {huge}, %solve.before ], [ %norm.next, %solve ]",
        f"  %share = phi {t.vector} [ {one}, %solve.before ], [ %share.next, %solve ]",
        f"  %size = phi {t.vector} [ {one}, %solve.before ], [ %size.next, %solve ]",
    ]  # fmt: skip
    x = [body.load("%x", k * t.lanes, t.lanes) for k in range(n)]
    felt = [body.load("%felt", k * t.lanes, t.lanes) for k in range(len(rest))]
    values = states | {e.node: v for e, v in zip(step.felt, felt, strict=True)}
    compute(body, graph, step.results["solution"], values)
    onwards = [body.op("fsub", result(body, e, values), at) for e, at in zip(step.results["solution"], x, strict=True)]
    tried = [body.fma("%share", delta, at) for delta, at in zip(onwards, x, strict=True)]
    values = states | {e.node: v for e, v in zip(step.x, tried, strict=True)}
    compute(body, graph, [step.results[name] for name in ("left", "size", "felt")], values)
    new, left = ([result(body, e, values) for e in step.results[name]] for name in ("felt", "left"))
    scale = result(body, step.results["size"], values)
    norm = zero  # the largest
    for value in left:
        norm = _greater(body, body.call("fabs", value), norm)
    less = body.emit(f"fcmp olt {t.vector} {norm}, %norm")
    small = body.emit(f"fcmp ole {t.vector} {norm}, {body.op('fmul', scale, body.constant(_close(t.scalar, close)))}")
    finite = body.emit(f"fcmp olt {t.vector} {norm}, {huge}")  # infinity is no answer, though its scale is infinite too
    done = body.emit(f"and {flags} {small}, {finite}")
    better = body.emit(f"or {flags} {less}, {done}")
    take = body.emit(f"and {flags} %active, {better}")
    short = body.emit(f"fcmp olt {t.vector} %share, {body.constant(SHORTEST)}")
    stuck = body.emit(f"and {flags} {short}, {body.emit(f'xor {flags} {better}, {everyone}')}")
    lost = body.emit(f"and {flags} {stuck}, {body.emit(f'xor {flags} %fresh, {everyone}')}")  # and begins again at rest
    over = body.emit(f"or {flags} {done}, {body.emit(f'and {flags} {stuck}, %fresh')}")
    for name, now, before, first in (("x", tried, x, [zero] * n), ("felt", new, felt, rest)):
        for k, (a, b, c) in enumerate(zip(now, before, first, strict=True)):
            kept = body.chosen(take, a, b)
            body.store(f"%{name}", k * t.lanes, kept if loads is None else body.chosen(lost, c, kept), t.lanes)
    shorter = body.op("fmul", "%share", body.constant(0.5))
    whole = body.emit(f"or {flags} {take}, {lost}")
    body.lines += [
        f"  %share.next = select {flags} {whole}, {t.vector} {one}, {t.vector} {shorter}",
        f"  %reached = select {flags} {take}, {t.vector} {norm}, {t.vector} %norm",
        f"  %norm.next = select {flags} {lost}, {t.vector} {huge}, {t.vector} %reached",
        f"  %size.next = select {flags} {take}, {t.vector} {scale}, {t.vector} %size",
        f"  %fresh.next = or {flags} %fresh, {lost}",
        f"  %undone = xor {flags} {over}, {everyone}", f"  %active.next = and {flags} %active, %undone",
        "  %turn.next = add i32 %turn, 1", f"  %bits = bitcast {flags} %active.next to i{t.lanes}",
        f"  %some = icmp ne i{t.lanes} %bits, 0", f"  %again = icmp slt i32 %turn.next, {MOST}",
        "  %go = and i1 %some, %again", "  br i1 %go, label %solve, label %solved", "solved:",
    ]  # fmt: skip
    if loads is not None:
        for k in range(len(rest)):
            body.store(loads, k * t.lanes, body.load("%felt", k * t.lanes, t.lanes), t.lanes)
    limit = body.op("fmul", "%size.next", body.constant(GIVEN_UP if t.scalar == "double" else 1e-3))
    missed = body.emit(f"fcmp ugt {t.vector} %norm.next, {limit}")
    spoilt = body.chosen(missed, body.constant(float("nan")), unknown)
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
    return body.chosen(body.emit(f"fcmp ugt {body.target.vector} {a}, {b}"), a, b)


def _all(lanes: int) -> str:
    return "<" + ", ".join(["i1 true"] * lanes) + ">"


def _none(lanes: int) -> str:
    return "<" + ", ".join(["i1 false"] * lanes) + ">"


def _largest(scalar: str) -> float:
    return 1e300 if scalar == "double" else 1e30


def _close(scalar: str, close: float) -> float:
    return close if scalar == "double" else 1e-6
