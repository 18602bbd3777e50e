"""The formula of `synchronise` as machine code, cached or compiled on demand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from forearm.kernels.traced_function import TracedFunction, compile_function
from forearm.spatial import Floats
from forearm.trajectories.synchronise import synchronised

if TYPE_CHECKING:
    from forearm.codegen.functions import Traced

MOST_JOINTS = 64  # more are planned by NumPy, as compilation would take seconds
STATES = ("q0", "qd0", "q1", "qd1")
LIMITS = ("acceleration", "velocity", "lower", "upper")


def planned(
    given: Sequence[Floats], asked: Floats | None = None, out: tuple[Floats, ...] | None = None
) -> tuple[Floats, ...]:
    """Status, duration, held velocities, phases and accelerations of one or many plans, as in `planner`, in
    new arrays or in `out`, from states and limits, and the requested duration, if any.
    """
    n = given[0].shape[-1]
    arrays = given if asked is None else (*given, asked)
    if n <= MOST_JOINTS:
        call = planner(n, asked is not None).call
        done: tuple[Floats, ...] = call(*arrays) if out is None else call(*arrays, out=out)
        return done
    shapes = ((1,), (1,), (n,), (n, 3), (n, 3))
    made = out or tuple(np.empty((*given[0].shape[:-1], *shape)) for shape in shapes)
    _by_numpy(arrays, made)
    return made


def _by_numpy(arrays: Sequence[Floats], out: tuple[Floats, ...]) -> None:
    """The formula on arrays with one entry per plan, or on numbers."""
    columns = [list(np.moveaxis(x, -1, 0)) for x in arrays]
    with np.errstate(over="ignore", invalid="ignore"):
        made = synchronised(columns[:4], columns[4:8], columns[8][0] if len(columns) > 8 else None)
    status, duration, held, phases, rates = out
    status[..., 0], duration[..., 0] = made.status, made.duration
    for k, velocity in enumerate(made.held):
        held[..., k] = velocity
        for phase in range(3):
            phases[..., k, phase] = made.phases[k][phase]
            rates[..., k, phase] = made.accelerations[k][phase]


@lru_cache(maxsize=32)
def planner(n: int, has_duration: bool) -> TracedFunction:
    """Compiled plan of n joints: from states q0, qd0, q1, qd1 and limits (n,) each, and a duration (1,) if
    `has_duration`, to status (1,), duration (1,), held (n,), phases and accelerations (n, 3). For many plans
    all have one row per plan.

    The status is a number of `PlanStatus`, NaN for non-finite input. Results equal the float computation bit
    for bit.
    """

    key = ("bang_bang", n, has_duration)
    return compile_function(lambda: traced_planner(n, has_duration), "bang_bang", key=key, contract=False)


def traced_planner(n: int, has_duration: bool) -> Traced:
    """The graph that `planner` compiles."""
    from forearm.codegen.functions import traced_formula

    def formula(*given: Any) -> dict[str, Any]:
        made = synchronised(given[:4], given[4:8], given[8][0] if has_duration else None)
        return made._asdict() | {"status": [made.status], "duration": [made.duration]}

    inputs = dict.fromkeys((*STATES, *LIMITS), n) | ({"asked": 1} if has_duration else {})
    return traced_formula(formula, inputs)
