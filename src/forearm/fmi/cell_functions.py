"""Traced functions as LLVM IR that work in place on the values of one instance."""

from __future__ import annotations

import re
from collections.abc import Sequence

from forearm.codegen.functions import Traced
from forearm.fmi.layout import Layout
from forearm.kernels.ir import compute, result, unknown_of
from forearm.kernels.llvm import IRFunction
from forearm.kernels.vectors import Body, Target


def cell_function(
    name: str, traced: Traced, layout: Layout, parameters: Sequence[str], target: Target
) -> str:
    """`void name(double *cells)`: write the results to their cells, all NaN if an input is not finite."""
    f = IRFunction(name, "ptr cells", internal=True)
    body = Body(target, f=f)
    needed = [p for p in traced.graph.needed(traced.results) if p in traced.graph.leaves]
    places = {p: _place(traced.graph.leaves[p], layout, parameters) for p in needed}
    values = {p: body.load("%cells", at, 1) for p, at in places.items()}
    unknown = unknown_of(body, list(values.values()))
    compute(body, traced.graph, traced.results, values)
    made = {
        name: [result(body, e, values) + unknown for e in some.flat] for name, some in traced.results.items()
    }
    for array, some in made.items():
        for at, value in zip(layout.places(array), some, strict=True):
            body.store("%cells", at, value, 1)
    f.ret()
    return f.text()


def _place(leaf: str, layout: Layout, parameters: Sequence[str]) -> int:
    if leaf in parameters:
        return layout.starts["parameters"] + list(parameters).index(leaf)
    found = re.fullmatch(r"(\w+)\[(\d+)\]", leaf)
    assert found is not None
    return layout.starts[found[1]] + int(found[2])
