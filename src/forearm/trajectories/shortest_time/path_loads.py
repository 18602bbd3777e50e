"""Joint loads of the rigid arm along a path: linear in u = d2s/dt2 and x = (ds/dt)^2.

With q' and q'' along the path qd = q' sqrt(x) and qdd = q' u + q'' x, so that torques and reactions are by_u
u + by_x x + at_rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.drives.joint import needs_reactions
from forearm.kernels.traced_function import TracedFunction, compile_function
from forearm.model import Scalar, Vector
from forearm.symbols.scalars import maximum, root

if TYPE_CHECKING:
    from forearm.codegen.functions import Traced

LOADS = ("by_u", "by_x", "at_rest")
HAND = ("hand_1", "hand_2")
STANDING = 1e-30  # squared slopes below this are those of a joint or hand at rest


def load_width(arm: Arm) -> int:
    """Numbers per joint load: its torque, and six of the reaction if bearings need it."""
    return 7 if needs_reactions(arm) else 1


def hand_curvature(first: Sequence[Scalar], second: Sequence[Scalar]) -> tuple[Scalar, Scalar, Scalar]:
    """A = p'.p', B = p'.p'' and p''.p'' - B^2 / A, from p' and p''."""
    A, B, C = (
        sum(a * b for a, b in zip(*pair, strict=True))
        for pair in ((first, first), (first, second), (second, second))
    )
    A = A + STANDING
    return A, B, maximum(C - B * B / A, 0.0)


@lru_cache(maxsize=16)
def path_place(arm: Arm, hand: bool) -> TracedFunction:
    """(q, q', q'', direction, 1 / velocity (n,), 1 / hand speed and 1 / hand acceleration (2,)) -> `place`:
    q', q'', direction, LOADS, each joint's torque (and reaction), and with `hand` HAND, the derivatives p'
    and p'' of the hand's origin; `pace`: 1 over the largest ds/dt by velocities and by the curvature of the
    hand's path.
    """
    return compile_function(lambda: _traced(arm, hand), "path_place", key=("path place", arm, hand), arm=arm)


def _traced(arm: Arm, hand: bool) -> Traced:
    from forearm.codegen.functions import Traced
    from forearm.codegen.program import Argument
    from forearm.codegen.tracing import Tracing
    from forearm.symbols import derivative, refined

    tracing, n = Tracing(arm, {}), arm.n
    graph = tracing.graph
    dq, ddq, direction, slowness = (
        [graph.input(f"{name}[{i}]") for i in range(n)] for name in ("dq", "ddq", "direction", "slowness")
    )
    hand_slowness = [graph.input(f"hand_slowness[{k}]") for k in range(2)]
    rest = [0.0] * n
    place = [
        *dq,
        *ddq,
        *direction,
        *_loads(tracing, rest, dq, False),
        *_loads(tracing, dq, ddq, False),
        *_loads(tracing, rest, rest, True),
    ]
    pace: Scalar = 0.0
    for d, w in zip(dq, slowness, strict=True):
        pace = maximum(pace, abs(d) * w)
    if hand:
        first = list(tracing.hand_jacobian()[:3] @ np.array(dq, dtype=object))
        along = dict(zip([*tracing.q, *dq], [*dq, *ddq], strict=True))
        second = derivative(graph, first, along)
        place += [*first, *second]
        A, _, c_square = hand_curvature(first, second)
        pace = maximum(pace, root(A) * hand_slowness[0])
        pace = maximum(pace, root(root(c_square) * hand_slowness[1]))
    graph, (made, fastest) = refined(graph, [np.array(place, dtype=object), np.array([pace], dtype=object)])
    sizes = {"q": n, "dq": n, "ddq": n, "direction": n, "slowness": n, "hand_slowness": 2}
    return Traced(
        graph,
        {"place": made, "pace": fastest},
        tuple(Argument(name, (size,), "") for name, size in sizes.items()),
        (Argument("place", (len(place),), ""), Argument("pace", (1,), "")),
    )


def _loads(tracing: Any, qd: Vector, qdd: Vector, falls: bool) -> list[Scalar]:
    """Torque of each joint, and its reaction where needed; with or without gravity."""
    from forearm.dynamics.energy import without_gravity
    from forearm.dynamics.load_friction import reactions_of
    from forearm.reduction import recursion

    rates, accelerations = tracing.rates(qd), tracing.rates(qdd)
    if not needs_reactions(tracing.arm):
        chain = tracing.chain if falls else replace(tracing.chain, g=np.zeros(3))
        return recursion.inverse(chain, tracing.rates(tracing.q), rates, accelerations, tracing.note)
    model = tracing.whole_model if falls else without_gravity(tracing.whole_model)
    torques, reactions = reactions_of(model, tracing.model.coordinates(tracing.q), rates, accelerations)
    return [x for t, (f, m) in zip(torques, reactions, strict=True) for x in (t, *f, *m)]
