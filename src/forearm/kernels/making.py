"""From a request to object code: traced, written as LLVM's text, compiled."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from forearm.codegen.functions import FUNCTIONS, Traced, trace
from forearm.codegen.tracing import Tracing
from forearm.kernels.compiled import Request
from forearm.kernels.entry import entry_text
from forearm.kernels.ir import function_text, module_text
from forearm.kernels.native import host, object_code
from forearm.reduction.symbolic import chosen_parameters
from forearm.symbols.counts import Counts


def made(request: Request, part: str, with_entry: bool) -> tuple[dict[str, Any], bytes]:
    """What must be known about the code, and the object file. `part` is "single", "batch" or "each"."""
    traced, parameters = _traced(request)
    name = "_and_".join(request.functions)[:80]
    target = host(request.dtype, 1 if part == "single" else None)
    texts = [function_text(name, traced, target, parameters, each=part == "each")]
    entry = with_entry and len(traced.outputs) == 1
    if entry:
        texts.append(entry_text(name, traced, np.dtype(request.dtype)))
    inputs: list[tuple[str, tuple[int, ...]]] = [(a.name, a.shape) for a in traced.inputs]
    counts: Counts = traced.graph.counts(traced.results)
    about = {
        "name": name, "arm": request.arm.name, "functions": request.functions, "dtype": request.dtype, "part": part,
        "entry": entry, "inputs": inputs + ([("parameters", (len(parameters),))] if parameters else []),
        "outputs": [(a.name, a.shape) for a in traced.outputs], "counts": vars(counts),
    }  # fmt: skip
    return about, object_code(module_text(texts, target))


@lru_cache(maxsize=8)
def _traced(request: Request) -> tuple[Traced, tuple[str, ...]]:
    """The functions on the graph: once for all parts."""
    parameters = chosen_parameters(request.arm, request.parameters)
    return trace(Tracing(request.arm, parameters), [FUNCTIONS[name] for name in request.functions]), tuple(parameters)
