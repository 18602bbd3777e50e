"""From a request to object code: traced, written as LLVM's text, compiled."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from forearm.codegen.differentiated import DERIVED
from forearm.codegen.functions import FUNCTIONS, Traced, trace
from forearm.codegen.program import Argument
from forearm.codegen.tracing import Tracing
from forearm.kernels.compiled import CompileRequest, TracedRequest, name_of
from forearm.kernels.fastcall_ir import entry_text
from forearm.kernels.ir import function_text, module_text
from forearm.kernels.joint_loop import LOOPS, can_loop
from forearm.kernels.joint_loop_ir import loop_text
from forearm.kernels.llvm import stack_of
from forearm.kernels.native import host, object_code
from forearm.kernels.vectors import Target
from forearm.reduction.symbolic import chosen_parameters
from forearm.symbols.counts import Counts

# Joints from which on a loop over them is taken: `forearm bench --only loops` shows both forms around these.
LONG = {"inverse_dynamics": 40, "bias": 40, "gravity": 90, "forward_dynamics": 19, "inertia_matrix": 21}


def made(
    request: CompileRequest | TracedRequest, part: str, with_entry: bool
) -> tuple[dict[str, Any], bytes]:
    """What must be known about the code, and the object file. `part` is "single", "batch" or "each"."""
    name = name_of(request)
    target = host(request.dtype, 1 if part == "single" else None, request.cpu)
    if isinstance(request, CompileRequest) and is_long(request):
        text, inputs, outputs, counts = loop(name, request, target, False)
    else:
        text, inputs, outputs, counts = straight(name, request, target, part == "each")
    texts = [text, entry_text(name, inputs, outputs, np.dtype(request.dtype))] if with_entry else [text]
    about = {
        "arm": "" if request.arm is None else request.arm.name,
        "functions": request.functions,
        "dtype": request.dtype,
        "part": part,
        "inputs": [(a.name, a.shape) for a in inputs],
        "outputs": [(a.name, a.shape) for a in outputs],
        "counts": vars(counts),
        "stack": stack_of(text),
    }
    return about, object_code(module_text(texts, target), request.cpu)


def is_long(request: CompileRequest) -> bool:
    """Whether a loop over the joints pays, and there is one."""
    if len(request.functions) > 1 or request.parameters or request.derived:
        return False
    return request.arm.n >= LONG.get(request.functions[0], np.inf) and can_loop(request.arm)


Written = tuple[str, tuple[Argument, ...], tuple[Argument, ...], Counts]


def straight(name: str, request: CompileRequest | TracedRequest, target: Target, each: bool) -> Written:
    """Every operation written out."""
    traced, parameters = traced_of(request)
    inputs = traced.inputs + ((Argument("parameters", (len(parameters),), ""),) if parameters else ())
    counts: Counts = traced.graph.counts(traced.results)
    return function_text(name, traced, target, parameters, each), inputs, traced.outputs, counts


def loop(name: str, request: CompileRequest, target: Target, _: bool) -> Written:
    """A loop over the joints."""
    looped = LOOPS[request.functions[0]](request.arm)
    shape = (looped.n,) if looped.walk is None else (looped.n, looped.n)
    inputs = tuple(Argument(a, (looped.n,), "") for a in looped.inputs)
    return loop_text(name, looped, target), inputs, (Argument(looped.output, shape, ""),), looped.counts


@lru_cache(maxsize=8)
def traced_of(request: CompileRequest | TracedRequest) -> tuple[Traced, tuple[str, ...]]:
    """The functions on the graph: once for all parts."""
    if isinstance(request, TracedRequest):
        return request.trace(), ()
    parameters = chosen_parameters(request.arm, request.parameters)
    tracing = Tracing(request.arm, parameters, single=request.dtype == "float32")
    traced = trace(tracing, [FUNCTIONS[name] for name in request.functions])
    for way in request.derived:
        traced = DERIVED[way](traced, tuple(parameters))
    return traced, tuple(parameters)
