"""A step scanned over rows of arrays as machine code: its state is carried from row to row in registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forearm.codegen.functions import Traced
from forearm.kernels.ir import compute, intrinsics, result
from forearm.kernels.llvm import IRFunction, Value, joined
from forearm.kernels.scan import SCAN
from forearm.kernels.vectors import Body, Target
from forearm.symbols import Expr, Graph
from forearm.symbols.graph import expressions


def scan_text(traced: Traced, carry: Sequence[str], shared: Sequence[str], target: Target) -> str:
    """The module, for one lane: `void scan(arrays, count)`.

    `arrays` are integers: the addresses of the carried state, which is updated, and of the shared inputs;
    then the address of the first row and the stride in scalars, of each input with rows and of each output
    that is not carried. What depends on shared values only is computed once.
    """
    f = IRFunction(SCAN, "ptr arrays, i64 count")
    arrays, count = f.arguments
    body = Body(target, f=f)
    sizes = {a.name: a.size for a in traced.inputs}
    rows = [name for name in sizes if name not in (*carry, *shared)]
    outputs = [a.name for a in traced.outputs if a.name not in carry]
    leaves = {leaf: place for place, leaf in traced.graph.leaves.items()}
    once, moving = len(carry) + len(shared), len(rows) + len(outputs)

    def given(k: int, kind: str) -> Value:
        return f.load(kind, f.at(arrays, k, "i64"))

    def named(name: str, numbers: Sequence[Any]) -> dict[int, Any]:
        places = [leaves.get(f"{name}[{j}]") for j in range(len(numbers))]
        return {place: x for place, x in zip(places, numbers, strict=True) if place is not None}

    with f.unless(count <= 0):
        kept = {name: given(k, "ptr") for k, name in enumerate((*carry, *shared))}
        first = [given(once + 2 * k, "ptr") for k in range(moving)]
        between = [given(once + 2 * k + 1, "i64") for k in range(moving)]
        values: dict[int, Any] = {}
        for name in shared:
            values |= named(name, body.vectors(kept[name], sizes[name]))
        compute(body, traced.graph, _fixed(traced.graph, traced.results, values), values)
        starts = [x for name in carry for x in body.vectors(kept[name], sizes[name])]
        with f.inside(), f.repeat(count, *first, *starts) as turn:
            left, here, state = turn.now[0], turn.now[1 : 1 + moving], turn.now[1 + moving :]
            numbers = iter(state)
            for name in carry:
                values |= named(name, [next(numbers) for _ in range(sizes[name])])
            for name, row in zip(rows, here[: len(rows)], strict=True):
                values |= named(name, body.vectors(row, sizes[name]))
            compute(body, traced.graph, traced.results, values)
            made = {
                name: [result(body, e, values) for e in traced.results[name]] for name in (*carry, *outputs)
            }
            for name, row in zip(outputs, here[len(rows) :], strict=True):
                body.keep(row, list(made[name]))
            after = left - 1
            next_rows = [f.at(p, n, target.scalar) for p, n in zip(here, between, strict=True)]
            new_state = [x for name in carry for x in made[name]]
            turn.again(after, *next_rows, *new_state, where=after > 0)
        for name in carry:
            body.keep(kept[name], list(made[name]))
    f.ret()
    return joined([*intrinsics(target), f.text()])


def _fixed(graph: Graph, results: Any, shared: dict[int, Any]) -> list[Expr]:
    """Nodes that depend on these places only and are used by others that do not,
    or are results themselves.
    """
    still, used = set(shared), {e.node for e in expressions(results)}
    for place in graph.needed(results):
        operands = graph.operands(place)
        if any(x in still for x in operands) and all(x in still or x in graph.values for x in operands):
            still.add(place)
        else:
            used.update(operands)
    return [Expr(graph, place, False) for place in sorted(used & still)]
