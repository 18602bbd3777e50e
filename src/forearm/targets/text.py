"""LLVM IR of the functions of an object file:
one state, C's calling convention, no external calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forearm.codegen.functions import Traced
from forearm.kernels.ir import compute, intrinsics, leaves_of, result, traced_block, unknown_of
from forearm.kernels.llvm import IRFunction, joined, without_system
from forearm.kernels.vectors import Body, InMemory, Target


def object_text(name: str, traced: Traced, target: Target, parameters: Sequence[str]) -> tuple[str, int]:
    """`void name(inputs..., [k,] outputs...)` and, where parameters are open, `void name_prepare(p, k)`, each
    argument a pointer; and the number of entries of k.
    """
    functions: list[str] = []
    known: dict[int, Any] = {}
    unknown, count = None, 0
    f = IRFunction(name, {f"at.{a}": "ptr" for a in _arguments(traced, bool(parameters))})
    body = Body(target, f=f)
    if parameters:
        kept = [e.node for e in traced.graph.known_before(traced.results)]
        functions.append(_prepare(f"{name}_prepare", traced, target, parameters, kept))
        known = _offline(traced, kept)
        count = len(kept) + 1
        unknown = body.load("%at.k", len(kept), 1)
    traced_block(body, traced, known, unknown)
    f.ret()
    return without_system(joined([*intrinsics(target), *functions, f.text()])), count


def _arguments(traced: Traced, has_parameters: bool) -> list[str]:
    """Names in C's order: inputs, k, outputs."""
    kept = ["k"] if has_parameters else []
    return [*(a.name for a in traced.inputs), *kept, *(a.name for a in traced.outputs)]


def _prepare(
    name: str, traced: Traced, target: Target, parameters: Sequence[str], kept: Sequence[int]
) -> str:
    """What depends only on parameters, as entries of k;
    the last is 0, or NaN if a parameter is not finite.
    """
    f = IRFunction(name, {"at.p": "ptr", "at.k": "ptr"})
    body = Body(target, f=f)
    given = body.vectors("%at.p", len(parameters))
    values: dict[int, Any] = dict(zip(leaves_of(traced.graph, parameters), given, strict=True))
    unknown = unknown_of(body, given)
    before = traced.graph.known_before(traced.results)
    compute(body, traced.graph, before, values)
    assert [e.node for e in before] == list(kept)
    body.keep("%at.k", [*(result(body, e, values) for e in before), unknown])
    f.ret()
    return f.text()


def _offline(traced: Traced, kept: Sequence[int]) -> dict[int, Any]:
    """Values known before any state: entries of k, and "" for those that only these are computed from."""
    graph = traced.graph
    made = (p for p in graph.needed(traced.results) if graph.offline[p] and p not in graph.values)
    return dict.fromkeys(made, "") | {place: InMemory("%at.k", k) for k, place in enumerate(kept)}
