"""Forward dynamics where friction depends on the load: a loop of Newton's steps,
in which a lane goes on until it is solved.

Everything that does not depend on the accelerations is computed before the loop. A step that leaves more
than there was is halved. Lanes that are done keep what they have, so that a state has the same bits
whatever its neighbours need.
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
from forearm.dynamics.load_friction import CLOSE, flat
from forearm.kernels.ir import compute, load_states, result, unknown_of
from forearm.kernels.transpose import store_columns
from forearm.kernels.vectors import Body
from forearm.symbols import Expr, Graph, refined, substituted
from forearm.symbols.graph import expressions

MOST = 64  # steps
SHORTEST = 1.0 / 64.0  # of a step: if that is no better, rounding is all that is left
GIVEN_UP, GIVEN_UP_SINGLE = 1e-9, 1e-3  # of the torques: what is left must be less, or the answer is NaN
CLOSE_SINGLE = 1e-6  # of the torques: when a lane of single precision is done


@dataclass(frozen=True, eq=False)
class Iterated(Traced):
    """A step on the graph: the `solution` with drives taken as straight from the loads `felt` on.

    The other `results` are left, size and felt: what is left at accelerations `x`, its
    scale, and the loads there.
    """

    x: tuple[Expr, ...]
    felt: tuple[Expr, ...]


def traced_step(arm: Arm) -> Iterated:
    """One of Newton's steps for an arm."""
    tracing = Tracing(arm, {})
    inputs, outputs = arguments([FUNCTIONS["forward_dynamics"]], {"n": arm.n}, slides=True)
    return iterated(tracing, inputs, tuple(outputs.values()))


def iterated(
    tracing: Tracing,
    inputs: tuple[Argument, ...] = (),
    outputs: tuple[Argument, ...] = (),
    tau: list[Any] | None = None,
    ways: list[Any] | None = None,
    free: list[Any] | None = None,
) -> Iterated:
    """One of Newton's steps under torques and with friction in given directions,
    joints held where `free` is 0.
    """
    graph, arm = tracing.graph, tracing.arm
    x = [graph.input(f"at[{j}]") for j in range(arm.n)]
    loaded = tracing.under_load
    now, still = loaded.loads.at(np.array(x, dtype=object)), loaded.loads.at(np.zeros(arm.n))
    felt, symbols = [], []
    for k, (drive, (torque, reaction)) in enumerate(zip(drives_of(arm), now, strict=True)):
        if not drive.depends_on_load:
            felt.append(still[k])  # which straight drives may start from
            continue
        here = [graph.input(f"felt{k}[{i}]") for i in range(len(flat(torque, reaction)))]
        symbols += here
        both = (
            None
            if reaction is None
            else (np.array(here[1:4], dtype=object), np.array(here[4:], dtype=object))
        )
        felt.append((here[0], both))
    _, solution, _ = loaded.newton_at([0.0] * arm.n, tau, ways, free, felt)
    left, _, size = loaded.newton_at(x, tau, ways, free)
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
    body: Body,
    step: Iterated,
    states: dict[int, str],
    unknown: str,
    loads: str | None = None,
    close: float = CLOSE,
) -> list[str]:
    """The accelerations, NaN where states are not known or no solution was found;
    once in a function, as it has labels.

    Lanes begin with the loads at rest. With `loads`, a pointer, they begin with those there, with the loads
    at rest if that leads nowhere, and leave the loads that they end with. What is left is at most `close` of
    the torques that were added up.
    """
    t, n, graph = body.target, len(step.x), step.graph
    moving = _depends(graph, [e.node for e in (*step.x, *step.felt)])
    at_rest = substituted(graph, step.results["felt"], dict.fromkeys(step.x, 0.0))
    compute(body, graph, [*_still(graph, step.results, moving), *at_rest], states)
    rest = [result(body, e, states) for e in at_rest]
    _begin(body, n, rest, loads, unknown)
    x, felt = body.vectors("%x", n), body.vectors("%felt", len(rest))
    found = _tried(body, step, states, x, felt)
    _decide(body, found, (x, felt), None if loads is None else rest, close)
    if loads is not None:
        body.keep(loads, body.vectors("%felt", len(rest)))
    limit = body.op(
        "fmul", "%size.next", body.constant(GIVEN_UP if t.scalar == "double" else GIVEN_UP_SINGLE)
    )
    spoilt = body.chosen(body.compared("ugt", "%norm.next", limit), body.constant(float("nan")), unknown)
    return [body.op("fadd", value, spoilt) for value in body.vectors("%x", n)]


@dataclass(frozen=True)
class _Try:
    """Accelerations that were tried, the loads at them, the largest entry of what is left, and its scale."""

    x: list[str]
    felt: list[str]
    norm: str
    size: str


def _begin(body: Body, n: int, rest: list[str], loads: str | None, unknown: str) -> None:
    """The lanes before the first turn of the loop, and what turns hand on."""
    t = body.target
    body.space("%x", n * t.lanes)
    body.space("%felt", len(rest) * t.lanes)
    zero, one = body.constant(0.0), body.constant(1.0)
    body.keep("%x", [zero] * n)
    body.keep("%felt", rest if loads is None else body.vectors(loads, len(rest)))
    known = body.compared("oeq", unknown, zero)
    fresh = "<" + ", ".join([f"i1 {str(loads is None).lower()}"] * t.lanes) + ">"
    handed_on = (
        ("turn", "i32", "0"),
        ("active", t.mask, known),
        ("fresh", t.mask, fresh),
        ("norm", t.vector, _huge(body)),
        ("share", t.vector, one),
        ("size", t.vector, one),
    )
    body.lines += ["  br label %solve.before", "solve.before:", "  br label %solve", "solve:"]
    body.lines += [
        f"  %{name} = phi {kind} [ {first}, %solve.before ], [ %{name}.next, %solve ]"
        for name, kind, first in handed_on
    ]


def _tried(body: Body, step: Iterated, states: dict[int, str], x: list[str], felt: list[str]) -> _Try:
    """A share of the step from x."""
    graph, results = step.graph, step.results
    values = states | {e.node: v for e, v in zip(step.felt, felt, strict=True)}
    compute(body, graph, results["solution"], values)
    onwards = [
        body.op("fsub", result(body, e, values), at) for e, at in zip(results["solution"], x, strict=True)
    ]
    tried = [body.fma("%share", delta, at) for delta, at in zip(onwards, x, strict=True)]
    values = states | {e.node: v for e, v in zip(step.x, tried, strict=True)}
    compute(body, graph, [results[name] for name in ("left", "size", "felt")], values)
    new, left = ([result(body, e, values) for e in results[name]] for name in ("felt", "left"))
    size = result(body, results["size"], values)
    norm = body.constant(0.0)
    for value in left:
        entry = body.call("fabs", value)
        norm = body.chosen(body.compared("ugt", entry, norm), entry, norm)
    return _Try(tried, new, norm, size)


def _decide(
    body: Body, found: _Try, before: tuple[list[str], list[str]], rest: list[str] | None, close: float
) -> None:
    """Which lanes take what was tried, which are done, and the loop's end.

    With loads at `rest`, a lane that gets nowhere from the loads that it was given
    begins once more with these.
    """
    t = body.target
    one, huge = body.constant(1.0), _huge(body)
    nearly = body.op("fmul", found.size, body.constant(close if t.scalar == "double" else CLOSE_SINGLE))
    less, small = body.compared("olt", found.norm, "%norm"), body.compared("ole", found.norm, nearly)
    finite = body.compared("olt", found.norm, huge)  # infinity is no answer, though its scale is infinite too
    done = body.masked("and", small, finite)
    better = body.masked("or", less, done)
    take = body.masked("and", "%active", better)
    short = body.compared("olt", "%share", body.constant(SHORTEST))
    stuck = body.masked("and", short, body.outside(better))
    lost = body.masked("and", stuck, body.outside("%fresh"))
    over = body.masked("or", done, body.masked("and", stuck, "%fresh"))
    for name, now, old, first in (
        ("%x", found.x, before[0], [body.constant(0.0)] * len(found.x)),
        ("%felt", found.felt, before[1], rest),
    ):
        kept = [body.chosen(take, a, b) for a, b in zip(now, old, strict=True)]
        if rest is not None and first is not None:
            kept = [body.chosen(lost, a, b) for a, b in zip(first, kept, strict=True)]
        body.keep(name, kept)
    shorter = body.op("fmul", "%share", body.constant(0.5))
    reached = body.chosen(take, found.norm, "%norm")
    named = {
        "share": f"select {t.mask} {body.masked('or', take, lost)}, {t.vector} {one}, {t.vector} {shorter}",
        "norm": f"select {t.mask} {lost}, {t.vector} {huge}, {t.vector} {reached}",
        "size": f"select {t.mask} {take}, {t.vector} {found.size}, {t.vector} %size",
        "fresh": f"or {t.mask} %fresh, {lost}",
        "active": f"and {t.mask} %active, {body.outside(over)}",
        "turn": "add i32 %turn, 1",
    }
    body.lines += [f"  %{name}.next = {text}" for name, text in named.items()]
    body.lines += [
        f"  %bits = bitcast {t.mask} %active.next to i{t.lanes}",
        f"  %some = icmp ne i{t.lanes} %bits, 0",
        f"  %again = icmp slt i32 %turn.next, {MOST}",
        "  %go = and i1 %some, %again",
        "  br i1 %go, label %solve, label %solved",
        "solved:",
    ]


def _huge(body: Body) -> str:
    """More than anything that is left."""
    return body.constant(1e300 if body.target.scalar == "double" else 1e30)


def _depends(graph: Graph, leaves: list[int]) -> bytearray:
    """For each place whether it depends on any of these."""
    marks = bytearray(len(graph))
    for leaf in leaves:
        marks[leaf] = 1
    for place in range(len(graph)):
        if any(marks[operand] for operand in graph.operands(place)):
            marks[place] = 1
    return marks


def _still(graph: Graph, results: Any, moving: bytearray) -> list[Expr]:
    """What does not move and is used by what does, or is a result."""
    used = {e.node for e in expressions(results)}
    for place in graph.needed(results):
        if moving[place]:
            used.update(graph.operands(place))
    return [
        Expr(graph, place, False) for place in sorted(used) if not moving[place] and place not in graph.values
    ]
