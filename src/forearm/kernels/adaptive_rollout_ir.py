"""A simulation with error-controlled steps as LLVM IR: repeat attempts until one of them ends the segment."""

from __future__ import annotations

from typing import Any

from forearm.codegen.adaptive_step import traced_attempt
from forearm.codegen.simulation_step import TracedPlant
from forearm.dynamics.adaptive_step import EmbeddedPair
from forearm.dynamics.driven_arm import BOUNDS, DRIVE, RECORD, STATE
from forearm.kernels.ir import compute, module_text, result
from forearm.kernels.llvm import IRFunction
from forearm.kernels.vectors import Body, InMemory, Target


def adaptive_rollout_text(plant: TracedPlant, pair: EmbeddedPair, target: Target) -> str:
    """The module, for one simulation at a time:

    `void adaptive_rollout(state, rows, most)`: `state` holds the values of STATE, BOUNDS and DRIVE in that
    order, of which STATE is updated in place, then the number of accepted steps and of attempts; `rows`
    receives one RECORD per accepted step and one for the last attempt. The function returns after `most`
    attempts, or after the attempt that ends the segment.
    """
    traced = traced_attempt(plant, pair)
    f = IRFunction("adaptive_rollout", "ptr state, ptr rows, i64 most")
    state, rows, most = f.arguments
    body = Body(target, f=f)
    leaves = {leaf: place for place, leaf in traced.graph.leaves.items()}
    sizes = {a.name: a.size for a in (*traced.inputs, *traced.outputs)}
    starts: dict[str, int] = {}
    for name in (*STATE, *BOUNDS, *DRIVE):
        starts[name] = sum(sizes[before] for before in starts)
    width = sum(sizes[name] for name in RECORD)
    with f.repeat(0, 0) as turn:
        taken, tried = turn.now
        values: dict[int, Any] = {
            leaves[f"{name}[{j}]"]: InMemory(state, start + j)
            for name, start in starts.items()
            for j in range(sizes[name])
        }
        compute(body, traced.graph, traced.results, values)
        made = {name: [result(body, e, values) for e in some] for name, some in traced.results.items()}
        for name in STATE:
            body.keep(body.at(state, starts[name]), made[name])
        body.keep(f.at(rows, taken, target.scalar, width), [x for name in RECORD for x in made[name]])
        is_taken, is_over = (f.lane(made[name][0], 0) for name in ("is_taken", "is_over"))
        more_taken = taken + f.cast("fptosi", is_taken, "i64")
        more_tried = tried + 1
        more = (more_tried < most) & (is_over < 0.5)
        turn.again(more_taken, more_tried, where=more)
    behind = sum(sizes[name] for name in starts)
    for k, count in enumerate((more_taken, more_tried)):
        f.put(f.cast("sitofp", count, target.scalar), state, behind + k, target.scalar)
    f.ret()
    return module_text([f.text()], target)
