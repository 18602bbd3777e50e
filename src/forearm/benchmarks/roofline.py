"""The peak of one core: independent fused multiply-adds of full vectors."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np

from forearm.benchmarks.timing import median_time
from forearm.kernels.llvm import IRFunction, declared, joined
from forearm.kernels.native import function_of, host, loaded, object_code
from forearm.symbols import Counts

CHAINS = 12  # independent sums: more than two units times their latency; with a and b they fit 16 registers
STEPS = 1_000_000


def operations(counts: Counts) -> int:
    """Multiplications, additions, divisions and square roots, each as one; sines and cosines not counted."""
    return counts.mul + counts.add + counts.div + counts.sqrt


def peak_share(counts: Counts, seconds: float, dtype: str) -> float:
    """Counted operations over time relative to the peak of one core; sines, cosines, loads and stores take
    time but are not counted.
    """
    return operations(counts) / seconds / peak(dtype)


@cache
def vector_bytes() -> int:
    """Vector width of this machine, bytes."""
    return 8 * host("float64").lanes


@cache
def peak(dtype: str) -> float:
    """Floating-point operations per second of one core, measured now; a fused multiply-add counts as two."""
    target = host(dtype)
    lanes = target.lanes
    code = object_code(loop_text(target.scalar, 8 * target.size, lanes))
    loop = function_of(loaded(code, ["peak"]), "peak", ctypes.c_void_p, ctypes.c_int64)
    values = np.full((CHAINS + 2, lanes), 0.5, dtype=dtype)
    # a peak: the maximum
    seconds = min(median_time(lambda: loop(values.ctypes.data, STEPS), repeats=1) for _ in range(15))
    return 2.0 * lanes * CHAINS * STEPS / seconds


def loop_text(scalar: str, bits: int, lanes: int) -> str:
    """`peak(values, steps)` in LLVM IR: every step s_k = s_k a + b for all chains;
    a, b and the sums are in `values`.
    """
    vector, size = f"<{lanes} x {scalar}>", lanes * bits // 8
    multiply_add = f"llvm.fmuladd.v{lanes}f{bits}"
    f = IRFunction("peak", {"values": "ptr", "steps": "i64"})
    values, steps = f.arguments
    places = [f.at(values, k * size, "i8") for k in range(CHAINS + 2)]
    *sums, a, b = [f.load(vector, place, align=bits // 8) for place in places]
    with f.repeat(0, *sums) as turn:
        i, *now = turn.now
        made = [f.call(multiply_add, s, a, b, kind=vector) for s in now]
        after = f.op("add", i, 1)
        turn.again(after, *made, where=f.compared("slt", after, steps))
    for s, place in zip(made, places[:CHAINS], strict=True):
        f.store(s, place, align=bits // 8)
    f.ret()
    return joined([declared(multiply_add, vector, vector, vector, vector), f.text()])
