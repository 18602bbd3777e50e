"""From a request to PTX: traced, its launch configuration chosen, written as LLVM IR, translated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from forearm.codegen.functions import column_groups
from forearm.codegen.program import Argument
from forearm.kernels.compile_request import is_composed, is_long, traced_of, written
from forearm.kernels.compiled import CompileRequest, TracedRequest
from forearm.kernels.cuda.device_compiled import ENTRY
from forearm.kernels.cuda.ptx import assembly
from forearm.kernels.cuda.text import DEVICE_TARGETS, Launch, device_module, kernel_text, row_kernel_text
from forearm.kernels.ir import parameter_rows
from forearm.symbols.counts import Counts
from forearm.symbols.ordering import grouped_order, order

# By measurement on an H200, see docs/performance.md: threads per block for kernels that write vectors; and
# for those that write matrices, as many as fit into this much shared memory.
VECTORS = 64
MATRICES, SHARED = (128, 64, 32), 48 << 10
# operations: larger kernels spill in any order, and ordering them takes longer than LLVM
MOST_ORDERED = 20_000
CALLED = "rows"  # the function that a kernel calls for each row


def made(
    request: CompileRequest | TracedRequest, each: bool, fast: bool = False
) -> tuple[dict[str, Any], str]:
    """The metadata of a kernel, and its PTX."""
    target = replace(DEVICE_TARGETS[request.dtype], is_fast=fast)
    if isinstance(request, CompileRequest) and (is_long(request) or is_composed(request)):
        text, inputs, outputs, counts = written(CALLED, request, target, each)
        launch = Launch(VECTORS)
        arrays = {a.name: a.size for a in (*inputs, *outputs)}
        shared = () if each else ("parameters",)
        texts = [text, row_kernel_text(ENTRY, CALLED, arrays, target, launch.threads, shared)]
    else:
        traced, parameters = traced_of(request)
        offline = parameter_rows(len(parameters))
        counts = traced.graph.counts(traced.results)
        few = sum(vars(counts).values()) < MOST_ORDERED
        places = None
        if few and any(len(a.shape) > 1 for a in traced.outputs):
            places = grouped_order(traced.graph, column_groups(traced))
        elif few:
            places = order(traced.graph, traced.results)
        launch = launch_for(traced.outputs, target.size, places)
        texts = [kernel_text(ENTRY, traced, target, launch, parameters, each)]
        inputs, outputs = (*traced.inputs, *offline), traced.outputs
    return about(request, inputs, outputs, counts, launch, each), assembly(device_module(texts, target))


def launch_for(outputs: Sequence[Argument], size: int, places: Sequence[int] | None) -> Launch:
    """The launch configuration.
    Results go through shared memory, except vectors of float64, and matrices that do not fit there.
    """
    is_wide = any(len(a.shape) > 1 for a in outputs)
    for threads in MATRICES if is_wide else (VECTORS,):
        launch = Launch(threads, True, places)
        if (is_wide or size == 4) and launch.shared(outputs, size) <= SHARED:
            return launch
    return Launch(VECTORS, False, places)


def about(
    request: CompileRequest | TracedRequest,
    inputs: Sequence[Argument],
    outputs: Sequence[Argument],
    counts: Counts,
    launch: Launch,
    each: bool,
) -> dict[str, Any]:
    """The metadata of a kernel."""
    size = DEVICE_TARGETS[request.dtype].size
    return {
        "arm": "" if request.arm is None else request.arm.name,
        "functions": request.functions,
        "dtype": request.dtype,
        "part": "cuda each" if each else "cuda",
        "inputs": [(a.name, a.shape) for a in inputs],
        "outputs": [(a.name, a.shape) for a in outputs],
        "counts": vars(counts),
        "arguments": len(inputs) + len(outputs),
        "threads": launch.threads,
        "shared": launch.shared(outputs, size),
    }
