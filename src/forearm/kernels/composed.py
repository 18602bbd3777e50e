"""Functions composed of calls to others instead of unrolled code: derivatives of long arms, and those of
forward dynamics where friction depends on the load.
"""

from __future__ import annotations

from forearm.codegen.functions import FUNCTIONS, arguments
from forearm.codegen.program import Argument
from forearm.kernels.ir import parameter_rows
from forearm.kernels.llvm import IRFunction
from forearm.kernels.vectors import Target

STATES = 64  # states whose accelerations are held at once


def matrices_of(function: str, n: int) -> tuple[tuple[Argument, ...], tuple[Argument, ...]]:
    """Inputs and outputs of a function of derivatives."""
    inputs, outputs = arguments([FUNCTIONS[function]], {"n": n}, slides=True)
    return inputs, tuple(outputs.values())


def forward_text(
    name: str, n: int, callees: tuple[str, str, str], target: Target, parameters: int = 0, each: bool = False
) -> str:
    """`void name(q, qd, tau, [parameters,] qdd_q, qdd_qd, M_inverse, i64 count)`, given the names of forward
    dynamics, of the derivatives of inverse dynamics and of `solve_ir.solve_text`.

    d qdd = -M^-1 d tau, with tau the inverse dynamics at the resulting acceleration.
    """
    accelerations, slopes, solve = callees
    inputs, outputs = matrices_of("forward_dynamics_derivatives", n)
    offline = parameter_rows(parameters)
    every = (*inputs, *offline, *outputs)
    f = IRFunction(name, dict.fromkeys((a.name for a in every), "ptr") | {"count": "i64"})
    count = f.arguments[-1]
    most = 1 if target.is_gpu else STATES
    qdd = f.space(target.scalar, most * n)
    with f.unless(count <= 0), f.repeat(0) as turn:
        (at,) = turn.now
        left = count - at
        some = f.chosen(left < most, left, most)
        rows = {
            a.name: f.at(f"%{a.name}", at, target.scalar, a.size)
            if a not in offline or each
            else f"%{a.name}"
            for a in every
        }
        q, qd, tau = (rows[a.name] for a in inputs)
        given, made = [rows[a.name] for a in offline], [rows[a.name] for a in outputs]
        f.call(accelerations, q, qd, tau, *given, qdd, some)
        f.call(slopes, q, qd, qdd, *given, *made, some)
        f.call(solve, *made, some)
        after = at + some
        turn.again(after, where=after < count)
    f.ret()
    return f.text()
