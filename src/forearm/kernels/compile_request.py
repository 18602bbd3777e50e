"""From a request to object code: traced, written as LLVM IR, compiled."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.codegen.differentiated import DERIVED
from forearm.codegen.functions import FUNCTIONS, Traced, trace
from forearm.codegen.program import Argument
from forearm.codegen.tracing import Tracing
from forearm.drives.joint import depends_on_load
from forearm.kernels.compiled import LONGEST_TRACED, CompileRequest, Names, TracedRequest, name_of
from forearm.kernels.composed import forward_text, matrices_of
from forearm.kernels.fastcall_ir import entry_text
from forearm.kernels.ir import function_text, module_text, parameter_rows
from forearm.kernels.joint_loop import LOOPS, can_loop
from forearm.kernels.joint_loop_ir import loop_text
from forearm.kernels.llvm import stack_of
from forearm.kernels.long_derivatives import slopes_of, slopes_text
from forearm.kernels.native import host, object_code
from forearm.kernels.solve_ir import counts_of_solving, solve_text
from forearm.kernels.vectors import Target
from forearm.reduction.symbolic import chosen_parameters
from forearm.symbols.counts import Counts

# Number of joints from which a loop over them is used: `forearm bench --only loops` times both forms around
# it.
LONG = {"inverse_dynamics": 40, "bias": 40, "gravity": 90, "forward_dynamics": 19, "inertia_matrix": 21}

# Joints up to which derivatives of forward dynamics are one function, where those of inverse dynamics are
# traced: it compiles in 3 s, and is faster than calls.
LONGEST_FORWARD = 13

LONGEST_ACCELERATIONS = 10_000  # operations of forward dynamics that their derivatives call in one piece

SLOPES = ("inverse_dynamics_derivatives", "forward_dynamics_derivatives")


def made(
    request: CompileRequest | TracedRequest, part: str, with_entry: bool
) -> tuple[dict[str, Any], bytes]:
    """The metadata and the object file. `part` is "single", "batch" or "each"."""
    name = name_of(request)
    # A long arm's derivatives are computed column by column, so those of a single state fill the lanes too.
    wide = has_long_slopes(request) if isinstance(request, CompileRequest) else request.in_one
    is_alone = part == "single" and not wide
    target = host(request.dtype, 1 if is_alone else None, request.cpu)
    if isinstance(request, TracedRequest) and not request.contract:
        target = replace(target, fused=False)
    text, inputs, outputs, counts = written(name, request, target, part == "each")
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


def written(name: str, request: CompileRequest | TracedRequest, target: Target, each: bool) -> Written:
    """The IR of a function for a target, in the most suitable form; its inputs, outputs and operation count.
    With `each`, every state has its own row of open parameters.
    """
    if isinstance(request, CompileRequest):
        if is_composed(request):
            return composed(name, request, target, each)
        if is_long(request):
            return loop(name, request, target, False)
    return straight(name, request, target, each)


def is_composed(request: CompileRequest) -> bool:
    """Whether a function is composed of calls to others:
    derivatives, where unrolled code takes too long to compile.
    """
    if len(request.functions) > 1 or request.derived or request.functions[0] not in SLOPES:
        return False
    is_forward = request.functions[0] == SLOPES[1]
    in_steps = request.arm.n > LONGEST_FORWARD or depends_on_load(request.arm)
    return has_long_slopes(request) or (is_forward and in_steps)


def has_long_slopes(request: CompileRequest) -> bool:
    """Whether derivatives come from evaluations of inverse dynamics; those of mimicking joints and open
    parameters are always traced.
    """
    is_one = len(request.functions) == 1 and request.functions[0] in SLOPES and not request.derived
    return is_one and request.arm.n > LONGEST_TRACED and not request.parameters and can_loop(request.arm)


def is_long(request: CompileRequest) -> bool:
    """Whether a loop over the joints pays off and is possible."""
    if len(request.functions) > 1 or request.parameters or request.derived:
        return False
    return request.arm.n >= LONG.get(request.functions[0], np.inf) and can_loop(request.arm)


# IR, inputs, outputs, operations.
Written = tuple[str, tuple[Argument, ...], tuple[Argument, ...], Counts]


def straight(name: str, request: CompileRequest | TracedRequest, target: Target, each: bool) -> Written:
    """Unrolled code: every operation written out."""
    traced, parameters = traced_of(request)
    inputs = traced.inputs + parameter_rows(len(parameters))
    counts: Counts = traced.graph.counts(traced.results)
    return function_text(name, traced, target, parameters, each), inputs, traced.outputs, counts


def loop(name: str, request: CompileRequest, target: Target, _: bool) -> Written:
    """A loop over the joints."""
    looped = LOOPS[request.functions[0]](request.arm)
    shape = (looped.n,) if looped.walk is None else (looped.n, looped.n)
    inputs = tuple(Argument(a, (looped.n,), "") for a in looped.inputs)
    return loop_text(name, looped, target), inputs, (Argument(looped.output, shape, ""),), looped.counts


def composed(name: str, request: CompileRequest, target: Target, each: bool) -> Written:
    """Calls to functions that precede it in the module."""
    n = request.arm.n

    def part(what: str, function: str, arm: Arm = request.arm, target: Target = target) -> Written:
        return written(f"{name}_{what}", replace(request, arm=arm, functions=(function,)), target, each)

    function = request.functions[0]
    inputs, outputs = matrices_of(function, n)
    if function == SLOPES[0]:
        slopes = slopes_of(request.arm)
        torques, inertia = (
            part("torques", "inverse_dynamics", request.arm.rigid()),
            part("inertia", "inertia_matrix"),
        )
        text = slopes_text(name, f"{name}_torques", f"{name}_inertia", slopes, target)
        counts = sum([torques[3]] * slopes.evaluations, inertia[3])
        return "\n\n".join([torques[0], inertia[0], text]), inputs, outputs, counts
    shorter = replace(target, longest=LONGEST_ACCELERATIONS)
    parts = [part("accelerations", "forward_dynamics", target=shorter), part("slopes", SLOPES[0])]
    solve = solve_text(f"{name}_solve", n, 2, target)
    callees = (f"{name}_accelerations", f"{name}_slopes", f"{name}_solve")
    parameters = parts[0][1][3:]  # after q, qd, tau
    size = parameters[0].size if parameters else 0
    text = forward_text(name, n, callees, target, size, each)
    counts = parts[0][3] + parts[1][3] + counts_of_solving(n, 2)
    return "\n\n".join([*(p[0] for p in parts), solve, text]), (*inputs, *parameters), outputs, counts


@lru_cache(maxsize=8)
def traced_of(request: CompileRequest | TracedRequest) -> tuple[Traced, Names]:
    """The functions on the graph, traced once for all parts."""
    if isinstance(request, TracedRequest):
        return request.trace(), ()
    parameters = chosen_parameters(request.arm, request.parameters)
    tracing = Tracing(request.arm, parameters, single=request.dtype == "float32")
    traced = trace(tracing, [FUNCTIONS[name] for name in request.functions])
    for way in request.derived:
        traced = DERIVED[way](traced, tuple(parameters))
    return traced, tuple(parameters)
