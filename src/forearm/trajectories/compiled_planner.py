"""Plans in machine code, from the cache or made now: the formula of `synchronise`, traced."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forearm.kernels.traced_function import TracedFunction, compile_function
from forearm.trajectories.synchronise import synchronised

if TYPE_CHECKING:
    from forearm.codegen.functions import Traced

Array = NDArray[np.float64]
MOST_JOINTS = 64  # more are computed by NumPy: code for them would take seconds to compile
STATES = ("q0", "qd0", "q1", "qd1")
LIMITS = ("acceleration", "velocity", "lower", "upper")


def planned(
    given: Sequence[Array], asked: Array | None = None, out: tuple[Array, ...] | None = None
) -> tuple[Array, ...]:
    """Status, duration, held, phases and accelerations of one plan or of many, as `planner` has them, in new
    arrays or in `out`, from states and limits, and the duration asked for, if any.
    """
    n = given[0].shape[-1]
    arrays = given if asked is None else (*given, asked)
    if n <= MOST_JOINTS:
        call = planner(n, asked is not None).call
        made: tuple[Array, ...] = call(*arrays) if out is None else call(*arrays, out=out)
        return made
    columns = [list(np.moveaxis(x, -1, 0)) for x in arrays]
    with np.errstate(over="ignore", invalid="ignore"):
        plan = synchronised(columns[:4], columns[4:8], None if asked is None else columns[8][0])
    tables = ([plan.status], [plan.duration], plan.held, plan.phases, plan.accelerations)
    rows = tuple(
        np.moveaxis(np.array(x, dtype=float), -1, 0) if given[0].ndim == 2 else np.array(x, dtype=float)
        for x in tables
    )
    for into, x in zip(out or (), rows, strict=out is not None):
        into[...] = x
    return rows if out is None else out


@lru_cache(maxsize=32)
def planner(n: int, has_duration: bool) -> TracedFunction:
    """The plan of n joints: states q0, qd0, q1, qd1 and limits (n,) each, and a duration (1,) where one is
    asked for, to status (1,), duration (1,), held (n,), phases and accelerations (n, 3). For many plans all
    have one row per plan.

    The status is a number of `PlanStatus`, NaN where a number is not finite. Bits are those of floats.
    """

    def traced() -> Traced:
        from forearm.codegen.functions import traced_formula

        def formula(*given: Any) -> dict[str, Any]:
            made = synchronised(given[:4], given[4:8], given[8][0] if has_duration else None)
            return made._asdict() | {"status": [made.status], "duration": [made.duration]}

        inputs = dict.fromkeys((*STATES, *LIMITS), n) | ({"asked": 1} if has_duration else {})
        return traced_formula(formula, inputs)

    return compile_function(traced, "bang_bang", key=("bang_bang", n, has_duration), contract=False)
