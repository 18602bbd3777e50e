"""Functions with CasADi's calling convention as LLVM IR:
the evaluation, and the query functions that describe it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from forearm.codegen.differentiated import PARAMETERS
from forearm.frameworks.casadi_functions import CasadiFunction, Port
from forearm.kernels.ir import compute, intrinsics, leaves_of, result, unknown_of
from forearm.kernels.llvm import IRFunction, Operand, Value, constants, joined
from forearm.kernels.vectors import Body, Target

ZEROS = "zeros"  # value of an input that is not given
ZERO = Value("0", "i32")


def module_of(functions: Sequence[CasadiFunction], target: Target) -> str:
    """All functions, each for one state."""
    most = max(port.size for f in functions for port in f.inputs)
    parts = [*intrinsics(target), constants(ZEROS, target.scalar, [0.0] * most)]
    for f in functions:
        parts += [_evaluation(f, target), *_told(f)]
    return joined(parts)


def exported(functions: Sequence[CasadiFunction]) -> list[str]:
    """The names that CasADi looks for."""
    return [f"{f.name}{ending}" for f in functions for ending in ("", *ENDINGS)]


def _evaluation(function: CasadiFunction, target: Target) -> str:
    """`int f(const double **arg, double **res, casadi_int *iw, double *w, int mem)`: a null pointer in `arg`
    is an array of zeros, one in `res` an output that is not needed.
    """
    kinds = "ptr arg, ptr res, ptr iw, ptr w, i32 mem"
    f = IRFunction(function.name, kinds, "i32")
    body, traced = Body(target, f=f), function.traced
    values: dict[int, Any] = {}
    for k, port in enumerate(function.inputs):
        if port.of is None:
            continue
        given = f.entry("ptr", "%arg", k)
        there = f.chosen(given.equals(None), Value(f"@{ZEROS}", "ptr"), given)
        for at, place in enumerate(leaves_of(traced.graph, function.leaves(port))):
            values[place] = body.load(there, at, 1)
    unknown = unknown_of(body, values.values())
    listed = [function.entries(port) for port in function.outputs]
    compute(body, traced.graph, [value for entries in listed for _, _, value in entries], values)
    made = [[result(body, value, values) + unknown for _, _, value in entries] for entries in listed]
    for k, results in enumerate(made):
        to = f.entry("ptr", "%res", k)
        with f.unless(to.equals(None)):
            for at, value in enumerate(results):
                body.store(to, at, value, 1)
    f.ret(ZERO)
    return f.text()


def _told(function: CasadiFunction) -> list[str]:
    """The query functions: number of arrays, their names, their sparsity patterns, memory needed."""
    name, inputs, outputs = function.name, function.inputs, function.outputs
    dense = [pattern_of(port, None) for port in inputs]
    made = [
        _answer(f"{name}_n_in", "i64", len(inputs)),
        _answer(f"{name}_n_out", "i64", len(outputs)),
        *_rows(f"{name}_name_in", "i8", [[*port.name.encode("ascii"), 0] for port in inputs]),
        *_rows(f"{name}_name_out", "i8", [[*port.name.encode("ascii"), 0] for port in outputs]),
        *_rows(f"{name}_sparsity_in", "i64", dense),
        *_rows(f"{name}_sparsity_out", "i64", patterns_of(function)),
        _default(f"{name}_default_in", inputs),
        _work(f"{name}_work", (len(inputs), len(outputs), 0, 0)),
        _answer(f"{name}_incref", "void"),
        _answer(f"{name}_decref", "void"),
        _answer(f"{name}_checkout", "i32", ZERO),
        _answer(f"{name}_release", "void", given="i32"),
    ]
    return made


ENDINGS = (
    "_n_in", "_n_out", "_name_in", "_name_out", "_sparsity_in", "_sparsity_out", "_default_in", "_work",
    "_incref", "_decref", "_checkout", "_release",
)  # fmt: skip


def patterns_of(function: CasadiFunction) -> list[list[int]]:
    """Sparsity patterns of all outputs."""
    return [pattern_of(port, _places(function, port)) for port in function.outputs]


def _places(function: CasadiFunction, port: Port) -> list[tuple[int, int]] | None:
    """Row and column of each entry; None if dense."""
    places = [(i, j) for i, j, _ in function.entries(port)]
    return None if port.of is not None and len(places) == port.size else places


def pattern_of(port: Port, places: list[tuple[int, int]] | None) -> list[int]:
    """CasADi's format:
    number of rows and columns, then 1 if dense, else the column offsets, and the rows of the entries.
    """
    rows, columns = port.shape
    if port.of is None:
        places = []
    if places is None:
        return [rows, columns, 1]
    starts = [sum(1 for _, column in places if column < j) for j in range(columns + 1)]
    return [rows, columns, *starts, *(i for i, _ in places)]


def _answer(name: str, kind: str, *value: Operand, given: str | None = None) -> str:
    """A function that always returns the same number."""
    f = IRFunction(name, {"mem": given} if given else {}, kind)
    f.ret(*value)
    return f.text()


def _rows(name: str, kind: str, rows: Sequence[Sequence[int]]) -> list[str]:
    """A function from an index to a pointer to a row of numbers, null beyond the last."""
    starts = [sum(map(len, rows[:k])) for k in range(len(rows))]
    f = IRFunction(name, "i64 i", "ptr")
    (i,) = f.arguments
    none = f.label()
    f.go(none, unless=f.compared("ult", i, len(rows)))
    f.ret(f.at(f"@{name}.rows", f.entry("i64", f"@{name}.starts", i), kind))
    f.begin(none)
    f.ret(None)
    everything = [x for row in rows for x in row]
    return [constants(f"{name}.rows", kind, everything), constants(f"{name}.starts", "i64", starts), f.text()]


def _default(name: str, inputs: Sequence[Port]) -> str:
    """0 for inputs that are not given, but NaN for parameters: zeros would look like values."""
    f = IRFunction(name, "i64 i", "double")
    (i,) = f.arguments
    place = next((k for k, port in enumerate(inputs) if port.of == PARAMETERS), -1)
    f.ret(f.chosen(i.equals(place), math.nan, 0.0))
    return f.text()


def _work(name: str, sizes: Sequence[int]) -> str:
    """`int f_work(casadi_int *sz_arg, *sz_res, *sz_iw, *sz_w)`: the lengths of the arrays for `f`."""
    f = IRFunction(name, "ptr sz_arg, ptr sz_res, ptr sz_iw, ptr sz_w", "i32")
    for to, size in zip(f.arguments, sizes, strict=True):
        with f.unless(to.equals(None)):
            f.store(size, to)
    f.ret(ZERO)
    return f.text()
