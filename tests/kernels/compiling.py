"""LLVM's text compiled and called, beside the package's own way to it."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from forearm.codegen.functions import Traced
from forearm.codegen.program import Argument
from forearm.kernels.ir import function_text, module_text
from forearm.kernels.native import function_of, loaded, object_code
from forearm.kernels.vectors import Target
from forearm.symbols import Expr, Graph


def compiled(text: str, name: str, arrays: int, target: Target) -> Any:
    """The function of so many arrays and a count of rows."""
    memory = loaded(object_code(module_text([text], target)), [name])
    return function_of(memory, name, *[ctypes.c_void_p] * arrays, ctypes.c_int64)


def evaluated(graph: Graph, results: list[Expr], x: Any, target: Target) -> Any:
    """Results (B, k) on a graph with the inputs x[0], x[1], ..., at the rows of x, (B,) or (B, m)."""
    dtype = "float64" if target.scalar == "double" else "float32"
    given = np.ascontiguousarray(x, dtype=dtype).reshape(len(x), -1)
    made = np.empty((len(given), len(results)), dtype=dtype)
    arguments = (Argument("x", given.shape[1:], ""),), (Argument("y", made.shape[1:], ""),)
    traced = Traced(graph, {"y": np.array(results, dtype=object)}, *arguments)
    compiled(function_text("f", traced, target), "f", 2, target)(
        given.ctypes.data, made.ctypes.data, len(given)
    )
    return made


def errors_in_ulp(found: Any, truth: Any, least: float = 0.0) -> Any:
    """How far results are from a truth of more digits, in units in the last place: of numbers of at least
    some size.
    """
    size = np.maximum(np.abs(truth), least).astype(found.dtype)
    return np.abs(found - truth) / np.spacing(size).astype(np.longdouble)
