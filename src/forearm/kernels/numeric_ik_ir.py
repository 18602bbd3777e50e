"""Numeric inverse kinematics as LLVM IR: one lane per pose;
a lane proceeds to the next start, or the next pose, when a run ends.

`step` moves all lanes at once; `turn` manages one lane between runs, in scalar code. A lane's results do not
depend on its neighbours, so a pose has the same bits alone, in a batch and in any order.
"""

from __future__ import annotations

from forearm.arm.arm import Arm
from forearm.codegen.newton import TracedNewtonStep, traced_step
from forearm.kernels.ir import compute, intrinsics, result
from forearm.kernels.llvm import IRFunction, Operand, Value, joined
from forearm.kernels.numeric_ik_turn import (
    KEPT,
    ORDER,
    SETTINGS,
    LaneTurn,
    nearest_text,
    order_place,
    place_of,
)
from forearm.kernels.vectors import Body, Target


def reach_text(name: str, arm: Arm, position_only: bool, target: Target) -> str:
    """`void name(T, first, settings, out, i64 count)`, and what it calls: T (count, 12) poses, first (count
    or 1, n) start configurations, out (count, n + FIGURES).

    `settings` are the numbers of SETTINGS, the bounds (2, n) and the table (starts, BLOCK (COLUMNS + n)),
    concatenated, the same for all poses.
    """
    step = traced_step(arm, position_only)
    texts = [nearest_text(target), LaneTurn(arm.n, target.lanes).text(), _reach(arm, step, target)]
    return "\n\n".join([*texts, _rows(name, arm.n)])


def reach_module(name: str, arm: Arm, position_only: bool, target: Target) -> str:
    """The same, with LLVM's declarations."""
    return joined([*intrinsics(target), reach_text(name, arm, position_only, target)])


def _rows(name: str, n: int) -> str:
    """Build the order from the arguments and run it."""
    f = IRFunction(name, dict.fromkeys(("T", "first", "settings", "out"), "ptr") | {"count": "i64"})
    T, first, settings, out, count = f.arguments
    numbers = {k: f.entry("double", settings, i) for i, k in enumerate(SETTINGS)}
    whole = {k: f.cast("fptosi", numbers[k], "i64") for k in ("stride", "starts", "given")}
    bounds = f.at(settings, len(SETTINGS), "double")
    arrays = {"T": T, "first": first, "bounds": bounds, "table": f.at(bounds, 2 * n, "double"), "out": out}
    order = f.space("i64", len(ORDER), "order")
    told: dict[str, Operand] = {**numbers, **whole, **arrays, "count": count, "next": 0}
    for entry, value in told.items():
        f.store(value, order_place(f, entry))
    f.call("reach", order)
    f.ret()
    return f.text()


def _reach(arm: Arm, step: TracedNewtonStep, target: Target) -> str:
    n, L = arm.n, target.lanes
    size, pose = (2 * n + 12 + len(KEPT)) * L, place_of(n, L, "pose")
    f = IRFunction("reach", "ptr order", internal=True)
    body = Body(target, f=f)
    m = f.space("double", size, "m")
    bounds = f.load("ptr", order_place(f, "bounds"))
    square = f.load("double", order_place(f, "square"))
    for k in range(size):
        f.put(0.0, m, k, "double")
    for lane in range(L):
        f.put(-1, m, pose + lane, "double")
    with f.repeat(2**L - 1) as deal:
        (ended,) = deal.now  # one bit per lane
        with f.loop(0, L) as i, f.when(f.cast("trunc", ended >> i, "i1")):
            f.call("turn", m, "%order", i)
        poses = f.load(f"<{L} x i64>", f.at(m, pose, "double"), align=8)
        busy = poses >= 0
        f.go(deal.end, where=f.cast("bitcast", busy, f"i{L}").equals(0))
        stepping = f.label()
        f.begin(stepping)
        over = _step(body, step, bounds, square)
        mask = over & busy
        ended = f.cast("zext", f.cast("bitcast", mask, f"i{L}"), "i64")
        f.go(stepping, where=ended.equals(0))
        deal.again(ended)
    f.ret()
    return f.text()


def _step(body: Body, step: TracedNewtonStep, bounds: str, square: str) -> Value:
    """Move all lanes by a step; return the mask of those whose run has ended."""
    L, n = body.target.lanes, len(step.before.q)
    leaves = step.graph.leaves
    places = {f"q[{j}]": j * L for j in range(n)} | {f"dq[{j}]": (n + j) * L for j in range(n)}
    places |= {f"T[{k}]": (2 * n + k) * L for k in range(12)}
    places |= {name: place_of(n, L, name) for name in KEPT}
    values = {node: body.load("%m", places[name], L) for node, name in leaves.items() if name in places}
    given = {f"lower[{j}]": j for j in range(n)} | {f"upper[{j}]": n + j for j in range(n)}
    values |= {node: body.splat(bounds, given[name]) for node, name in leaves.items() if name in given}
    values |= {node: body.spread(square) for node, name in leaves.items() if name == "square"}
    after, condition = step.after.flat, list(step.condition)
    compute(body, step.graph, [*after, *condition], values)
    a, b = (result(body, e, values) for e in condition)
    for e, new in zip(step.before.flat, after, strict=True):
        body.store("%m", places[leaves[e.node]], result(body, new, values), L)
    return body.outside(a < b)
