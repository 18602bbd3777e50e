"""Numeric inverse kinematics as LLVM's text: one lane per pose, which takes the next start, or the next
pose, when a run is over.

`step` moves all lanes at once; `turn` looks after one lane between runs, in scalars. What a lane computes
does not depend on its neighbours, so a pose has the same bits alone, in a batch and in any order.
"""

from __future__ import annotations

import math

from forearm.arm.arm import Arm
from forearm.kernels.ir import compute, intrinsics, result
from forearm.kernels.llvm import IRFunction, Value, joined
from forearm.kernels.numeric_ik_joints import is_periodic
from forearm.kernels.numeric_ik_step import NumericIKStep, traced_step
from forearm.kernels.numeric_ik_turn import KEPT, LaneTurn, nearest_text, order_place, place_of
from forearm.kernels.vectors import Body, Target

# The damping is a share of the squared error: so much of the one before after a step that helped, or
# did not, within bounds.
LESS, MORE = 0.5, 4.0
LEAST, MOST = 1e-4, 1e3
NEVER_SINGULAR = 1e-14  # damping at a solution, above the rounding of J J^T
LONGEST = 1.0  # rad or m in a step
SHORTER = 0.25  # of a step that did not help: what is tried next
SHORTEST = 1e-6  # of a step: if that does not help, rounding is all that is left
SLOW = 0.8  # of the squared error: a step that leaves more is slow


def reach_text(arm: Arm, position_only: bool, target: Target) -> str:
    """The module: `void reach(order)` with an order as `reach_turn` has it.

    T (count, 12) poses, first (count or 1, n) starts where given, bounds (2, n), table (starts, BLOCK
    (COLUMNS + n)), and out (count, n + FIGURES).
    """
    step = traced_step(arm, position_only)
    texts = [nearest_text(target), LaneTurn(arm.n, target.lanes).text(), _reach(arm, step, target)]
    return joined([*intrinsics(target), *texts])


def _reach(arm: Arm, step: NumericIKStep, target: Target) -> str:
    n, L = arm.n, target.lanes
    size, pose = (2 * n + 12 + len(KEPT)) * L, place_of(n, L, "pose")
    f = IRFunction("reach", {"order": "ptr"})
    body = Body(target, f=f)
    m = f.space("double", size, "m")
    bounds = f.load("ptr", order_place(f, "bounds"))
    square = f.load("double", order_place(f, "square"))
    for k in range(size):
        f.store(0.0, f.at(m, k, "double"))
    for lane in range(L):
        f.store(-1, f.at(m, pose + lane, "double"))
    with f.repeat(2**L - 1) as deal:
        (ended,) = deal.now  # a bit for each lane
        with f.loop(0, L) as i, f.when(f.cast("trunc", f.op("lshr", ended, i), "i1")):
            f.call("turn", m, "%order", i)
        poses = f.load(f"<{L} x i64>", f.at(m, pose, "double"), align=8)
        busy = f.compared("sge", poses, 0)
        f.go(deal.end, where=f.compared("eq", f.cast("bitcast", busy, f"i{L}"), 0))
        stepping = f.label()
        f.begin(stepping)
        over = _step(body, step, is_periodic(arm).tolist(), bounds, square)
        mask = Value(body.masked("and", over, busy), target.mask)
        ended = f.cast("zext", f.cast("bitcast", mask, f"i{L}"), "i64")
        f.go(stepping, where=f.compared("eq", ended, 0))
        deal.again(ended)
    f.ret()
    return f.text()


def _step(body: Body, step: NumericIKStep, periodic: list[bool], limits: str, tolerance: str) -> str:
    """All lanes: the step tried, taken where it helps, and the next one;
    the mask of lanes whose run is over.
    """
    L, n = body.target.lanes, len(step.q)
    places = {name: place_of(n, L, name) for name in KEPT}
    kept = {
        name: body.load("%m", place, L) for name, place in places.items() if name not in ("pose", "tries")
    }
    x = [body.load("%m", j * L, L) for j in range(n)]
    dq = [body.load("%m", (n + j) * L, L) for j in range(n)]
    bounds = [(body.splat(limits, j), body.splat(limits, n + j)) for j in range(n)]
    tried = [_within(body, body.fma(kept["share"], dq[j], x[j]), *bounds[j], periodic[j]) for j in range(n)]
    values = {e.node: v for e, v in zip(step.q, tried, strict=True)}
    values |= {e.node: body.load("%m", (2 * n + k) * L, L) for k, e in enumerate(step.target)}
    compute(
        body,
        step.graph,
        [step.position, 0.0 if step.rotation is None else step.rotation, *step.slope],
        values,
    )
    position, rotation = (
        result(body, 0.0 if e is None else e, values) for e in (step.position, step.rotation)
    )
    cost, square = body.op("fadd", position, rotation), body.spread(tolerance)
    solved = body.masked(
        "and", body.compared("ole", position, square), body.compared("ole", rotation, square)
    )
    less = body.compared("olt", cost, kept["cost"])
    take = body.masked("or", less, solved)
    damping = _damping(body, take, kept["damping"])
    values[step.damping.node] = body.fma(damping, cost, body.constant(NEVER_SINGULAR))
    for j, (low, high) in enumerate(bounds):
        values[step.free[j].node] = _free(body, tried[j], result(body, step.slope[j], values), low, high)
    compute(body, step.graph, step.dq, values)
    new = _shortened(body, [result(body, e, values) for e in step.dq])
    for j in range(n):
        body.store("%m", j * L, body.chosen(take, tried[j], x[j]), L)
        body.store("%m", (n + j) * L, body.chosen(take, new[j], dq[j]), L)
    for name, value in (("cost", cost), ("position", position), ("rotation", rotation)):
        body.store("%m", places[name], body.chosen(take, value, kept[name]), L)
    body.store("%m", places["damping"], damping, L)
    return body.masked("or", solved, _stuck(body, kept, places, take, cost))


def _stuck(body: Body, kept: dict[str, str], places: dict[str, int], take: str, cost: str) -> str:
    """The mask of lanes that make no headway, or have made as many steps as they may;
    what is counted is kept.
    """
    share = body.chosen(take, body.constant(1.0), body.op("fmul", kept["share"], body.constant(SHORTER)))
    quick = body.compared("olt", cost, body.op("fmul", kept["cost"], body.constant(SLOW)))
    slow = body.chosen(quick, body.constant(0.0), body.op("fadd", kept["slow"], body.constant(1.0)))
    steps = body.op("fadd", kept["steps"], body.constant(1.0))
    for name, value in (("share", share), ("slow", slow), ("steps", steps)):
        body.store("%m", places[name], value, body.target.lanes)
    late = body.masked(
        "or", body.compared("oge", slow, kept["patience"]), body.compared("oge", steps, kept["most"])
    )
    return body.masked("or", late, body.compared("olt", share, body.constant(SHORTEST)))


def _within(body: Body, x: str, low: str, high: str, periodic: bool) -> str:
    """x between its bounds: a whole turn on where that is inside, the bound elsewhere."""
    for test, inside, bound, other, turn in (
        ("ogt", "oge", high, low, -math.tau),
        ("olt", "ole", low, high, math.tau),
    ):
        beyond, put = body.compared(test, x, bound), bound
        if periodic:
            turned = body.op("fadd", x, body.constant(turn))
            put = body.chosen(body.compared(inside, turned, other), turned, bound)
        x = body.chosen(beyond, put, x)
    return x


def _free(body: Body, x: str, slope: str, low: str, high: str) -> str:
    """0 where x is at a bound and would go beyond it, 1 elsewhere."""
    zero = body.constant(0.0)
    down = body.masked("and", body.compared("ole", x, low), body.compared("olt", slope, zero))
    up = body.masked("and", body.compared("oge", x, high), body.compared("ogt", slope, zero))
    return body.chosen(body.masked("or", down, up), zero, body.constant(1.0))


def _damping(body: Body, take: str, before: str) -> str:
    less, more = (body.op("fmul", before, body.constant(times)) for times in (LESS, MORE))
    less = body.chosen(body.compared("olt", less, body.constant(LEAST)), body.constant(LEAST), less)
    more = body.chosen(body.compared("ogt", more, body.constant(MOST)), body.constant(MOST), more)
    return body.chosen(take, less, more)


def _shortened(body: Body, dq: list[str]) -> list[str]:
    """The step, or as much of it as moves no joint by more than LONGEST."""
    largest = body.constant(LONGEST)
    for value in dq:
        size = body.call("fabs", value)
        largest = body.chosen(body.compared("ogt", size, largest), size, largest)
    part = body.op("fdiv", body.constant(LONGEST), largest)
    return [body.op("fmul", part, value) for value in dq]
