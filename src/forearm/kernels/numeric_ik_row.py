"""Numeric inverse kinematics of one pose as LLVM IR, from its start to its errors:
the work of one GPU thread.
"""

from __future__ import annotations

import math

from forearm.arm.arm import Arm
from forearm.kernels.llvm import IRFunction, Value
from forearm.kernels.numeric_ik_ir import reach_text
from forearm.kernels.numeric_ik_turn import FIGURES, SETTINGS
from forearm.kernels.vectors import Body, Target
from forearm.kinematics.limits import is_periodic


def pose_text(name: str, arm: Arm, position_only: bool, is_given: bool, target: Target) -> str:
    """`void name(T, [start,] settings, q, error, steps, starts, solved, i64 count)` for one pose, regardless
    of the count, and what it calls: T (16), start (n) if `is_given`, q (n), error (2), and one number each
    for the rest; `solved` is 1 or 0.

    The start is first moved inside the limits, bit for bit as `numeric_ik_joints.put_inside` does.
    """
    arrays = ["T", *(["start"] if is_given else []), "settings", "q", "error", "steps", "starts", "solved"]
    f = IRFunction(name, dict.fromkeys(arrays, "ptr") | {"count": "i64"})
    body, n = Body(target, f=f), arm.n
    first, row = f.space("double", n, "first"), f.space("double", n + FIGURES, "row")
    if is_given:
        _put_inside(body, arm)
    nan = body.constant(math.nan)
    for k in range(n + FIGURES):
        body.store(row, k, nan, 1)
    f.call(f"{name}_rows", "%T", first, "%settings", row, Value("1", "i64"))
    unknown = body.constant(0.0)
    for k in range(12):
        unknown = body.fma(body.load("%T", k, 1), 0.0, unknown)
    for k in range(n):
        body.store("%q", k, body.load(row, k, 1) + unknown, 1)
    squares = [body.load(row, n + k, 1) + unknown for k in range(2)]
    errors = [body.call("sqrt", square) for square in squares]
    body.store("%error", 0, errors[0], 1)
    body.store("%error", 1, nan if position_only else errors[1], 1)
    most = body.load("%settings", SETTINGS.index("square"), 1)
    solved = (squares[0] <= most) & (squares[1] <= most)
    flag = body.chosen(solved, body.constant(1.0), body.constant(0.0))
    for k, to in enumerate(("%steps", "%starts")):
        body.store(to, 0, body.load(row, n + 2 + k, 1), 1)
    body.store("%solved", 0, flag, 1)
    f.ret()
    return "\n\n".join([reach_text(f"{name}_rows", arm, position_only, target), f.text()])


def _put_inside(body: Body, arm: Arm) -> None:
    """Move the start by full turns where that leads inside the limits, else clamp it."""
    n, tau = arm.n, body.constant(math.tau)
    for j, periodic in enumerate(is_periodic(arm)):
        q = body.load("%start", j, 1)
        lower, upper = (body.load("%settings", len(SETTINGS) + k, 1) for k in (j, n + j))
        above, below = q > upper, q < lower
        if periodic:
            turns = [body.op("fdiv", a - b, tau) for a, b in ((q, upper), (lower, q))]
            away = [tau * _ceiling(body, x) for x in turns]
            down, up = q - away[0], q + away[1]
            leads = above & (down >= lower)
            q_up = body.chosen(below & (up <= upper), up, q)
            q = body.chosen(leads, down, q_up)
        q = body.chosen(q < lower, lower, q)
        body.store("%first", j, body.chosen(q > upper, upper, q), 1)


def _ceiling(body: Body, x: Value) -> Value:
    """Round up to an integer."""
    near = body.rounded(x)
    return body.chosen(near < x, near + 1.0, near)
