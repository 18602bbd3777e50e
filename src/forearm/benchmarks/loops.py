"""Loops over joints compared with straight-line code,
around the number of joints from which kernels use the loop.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator

import numpy as np

from forearm.benchmarks.timing import BenchmarkRow, Work, beside, relative
from forearm.benchmarks.work import pointers_to
from forearm.files.builtin import load_builtin
from forearm.kernels.compile_request import LONG, loop, straight
from forearm.kernels.compiled import CompileRequest
from forearm.kernels.ir import module_text
from forearm.kernels.native import function_of, host, loaded, object_code

STATES = 2048
AROUND = (0.5, 1.0, 1.5)  # times the number of joints from which the loop is used


def rows(peers: bool) -> Iterator[BenchmarkRow]:
    """A state of a batch on one thread, and the compile time of each form; ratios above 1 favour the loop."""
    for function, switch in LONG.items():
        for n in (round(share * switch) for share in AROUND):
            looped, loop_made = _work("loop", function, n)
            written, straight_made = _work("straight-line", function, n)
            yield beside(f"{function}, {n} joints", looped, written)
            yield relative("  made in", loop_made, written.who, straight_made, None)


def _work(form: str, function: str, n: int) -> tuple[Work, float]:
    request = CompileRequest(load_builtin(f"chain{n}").rigid(), (function,), "float64")
    start = time.perf_counter()
    target = host("float64")
    text, inputs, (output,), _ = (loop if form == "loop" else straight)("f", request, target, False)
    memory = loaded(object_code(module_text([text], target)), ["f"])
    made = time.perf_counter() - start
    call = function_of(memory, "f", *[ctypes.c_void_p] * (len(inputs) + 1), ctypes.c_int64)
    given = list(np.random.default_rng(1).uniform(-1.0, 1.0, (len(inputs), STATES, n)))
    out = np.zeros((STATES, *output.shape))
    return Work(form, lambda: call(*pointers_to(*given, out), STATES), STATES, lambda: out), made
