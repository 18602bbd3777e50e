"""A simulation as machine code: fixed steps of an explicit Runge-Kutta method, a lane a
simulation, no Python inside.

`core` gives accelerations, `stage` the same from loads that are nearly known, `require` what drives must give
in some direction, `rest` velocities once joints stand; `rollout_loop` goes through the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from forearm.codegen.functions import Traced
from forearm.codegen.program import Argument
from forearm.codegen.tracing import Tracing
from forearm.drives.joint import depends_on_load, drives_of
from forearm.dynamics.load_friction import CLOSE, held
from forearm.kernels.ir import compute, function_text, module_text, result
from forearm.kernels.rollout_loop import RolloutLoop
from forearm.kernels.rollout_plan import RolloutPlan, inputs, torques
from forearm.kernels.transpose import load_columns, store_columns
from forearm.kernels.vectors import Body, Target
from forearm.model import Scalar
from forearm.symbols import refined

# of the torques: what a stage may leave of the equation, less than the method leaves of the motion
ROUGH = 1e-10


def rollout_text(plan: RolloutPlan, target: Target) -> str:
    """The module: `core`, `stage`, `require` and `rest` on lanes, `accelerate` on rows, and `rollout`.

    `void rollout(q, qd, way, free, felt, u, out_q, out_qd, count, steps, every, u_state, u_step, h,
    slope)`: count simulations, states (count, n) in and out, inputs at u + state u_state + step u_step, and a
    record (count, steps / every + 1, n) for each output; `slope` is 0 where inputs are held and 1 where they
    go straight to the next.
    `void accelerate(q, qd, u, way, free, out, count)`.
    """
    traced = _traced(plan)
    names = ("q", "qd", "u", "way", "free")
    texts = [
        _lane_function("core", traced, names, plan.arm.n, target),
        _row_function(traced, names, plan.arm.n, target),
    ]
    if plan.loads:
        texts.append(_lane_function("stage", _traced(plan, warm=True), names, plan.arm.n, target))
    if any(plan.dry):
        texts.append(_lane_function("require", _traced_need(plan), names, plan.arm.n, target))
        texts.append(_lane_function("rest", _traced_rest(plan), names, plan.arm.n, target))
    return module_text([*texts, RolloutLoop(plan, target).text()], target)


def _traced(plan: RolloutPlan, warm: bool = False) -> Traced:
    """Accelerations from (q, qd, u, way, free); `warm` begins with loads that are nearly known, and gives
    those that it ends with.
    """
    tracing, n, dry = Tracing(plan.arm, {}), plan.arm.n, plan.dry
    u = inputs(tracing, "u")
    way, free = (inputs(tracing, name) if any(dry) else None for name in ("way", "free"))
    tau = torques(tracing, plan, u)
    joints = None if way is None else _at_joints(plan, way)
    loose = [free[j] if free is not None and dry[j] else 1.0 for j in range(n)]
    if not depends_on_load(plan.arm):
        results = {"out": np.array(tracing.held_forward(tau, joints, loose), dtype=object)}
        return Traced(*refined(tracing.graph, results), (), ())
    felt = [tracing.graph.input(f"loads[{k}]") for k in range(plan.loads)] if warm else None
    found = tracing.under_load.found(tau, joints, loose, felt, ROUGH if warm else CLOSE)
    results = {"out": np.array(tracing.under_load.spoilt(found), dtype=object)}
    results |= {"loads": np.array(found.felt, dtype=object)} if warm else {}
    return Traced(*refined(tracing.graph, results), (), ())


def _traced_need(plan: RolloutPlan) -> Traced:
    """What the drives must give at accelerations that stand in the place of u,
    with friction in the directions `way`.
    """
    tracing = Tracing(plan.arm, {})
    way, x = inputs(tracing, "way"), inputs(tracing, "u")
    joints = _at_joints(plan, way)
    results = {"out": np.array(tracing.inverse(tracing.qd, x, joints), dtype=object)}
    return Traced(*refined(tracing.graph, results), (), ())


def _traced_rest(plan: RolloutPlan) -> Traced:
    """Velocities once impulses at the joints that stand (free is 0) have brought these to
    rest, and moved the others.
    """
    tracing, dry = Tracing(plan.arm, {}), plan.dry
    free = [a if is_dry else 1.0 for a, is_dry in zip(inputs(tracing, "free"), dry, strict=True)]
    M, qd = tracing.inertia_matrix(), tracing.qd
    lost = [(1.0 - a) * v for a, v in zip(free, qd, strict=True)]
    pushed = [a * sum((M[i, j] * lost[j] for j in np.flatnonzero(dry)), 0.0) for i, a in enumerate(free)]
    change = tracing.solved_backwards(held(M, free), np.array(pushed, dtype=object))
    results = {"out": np.array([a * v + c for a, v, c in zip(free, qd, change, strict=True)], dtype=object)}
    return Traced(tracing.graph, results, (), ())  # seldom asked: not worth refining


def _at_joints(plan: RolloutPlan, way: list[Scalar]) -> list[Scalar]:
    """Directions of the freedoms as the joints have them."""
    return [way[d.freedom] * (1.0 if d.multiplier > 0.0 else -1.0) for d in drives_of(plan.arm)]


def _lane_function(name: str, traced: Traced, names: Sequence[str], n: int, target: Target) -> str:
    """A function whose arrays have one lane per simulation already; what loads come out go where they
    came from.
    """
    body, L = Body(target), target.lanes
    loads = len(traced.results.get("loads", ()))
    made = _columns(body, traced, names, n, lambda a, j: body.load(f"%{a}", j * L, L), loads)
    body.keep("%out", made[:n])
    body.keep("%loads", made[n:])
    pointers = [*(f"%{a}" for a in names), *(["%loads"] if loads else []), "%out"]
    arguments = ", ".join(f"ptr nocapture {p}" for p in pointers)
    return "\n".join(
        [
            f"define void @{name}({arguments}) nounwind {{",
            "entry:",
            *body.spaces,
            *body.lines,
            "  ret void",
            "}",
        ]
    )


def _row_function(traced: Traced, names: Sequence[str], n: int, target: Target) -> str:
    """The same function of rows of states."""
    arrays = replace(
        traced, inputs=tuple(Argument(a, (n,), "") for a in names), outputs=(Argument("out", (n,), ""),)
    )

    def block(body: Body) -> None:
        made = {a: load_columns(body, f"%at.{a}", n) for a in names}
        store_columns(body, "%at.out", _columns(body, traced, names, n, lambda a, j: made[a][j]))

    return function_text("accelerate", arrays, target, write_block=block)


def _columns(
    body: Body, traced: Traced, names: Sequence[str], n: int, given: Callable[[str, int], str], loads: int = 0
) -> list[str]:
    """The results of a block, from its inputs by name and joint;
    those that nothing needs are not asked for.
    """
    needed = set(traced.graph.needed(traced.results))
    places = {leaf: place for place, leaf in traced.graph.leaves.items() if place in needed}
    wanted = [(a, j) for a in names for j in range(n)] + [("loads", k) for k in range(loads)]
    states = {places[f"{a}[{j}]"]: given(a, j) for a, j in wanted if f"{a}[{j}]" in places}
    compute(body, traced.graph, traced.results, states)
    return [result(body, e, states) for table in traced.results.values() for e in table]
