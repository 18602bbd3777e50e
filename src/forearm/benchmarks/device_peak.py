"""A GPU's peak: independent fused multiply-adds in all of its threads."""

from __future__ import annotations

import statistics
from functools import lru_cache

from forearm.kernels.cuda.device_compiled import ENTRY, kept_or_assembled
from forearm.kernels.cuda.driver import Device
from forearm.kernels.load_or_compile import About

CHAINS, STEPS = 8, 4_096
THREADS, BLOCKS = 256, 32  # threads per block, and blocks per multiprocessor


@lru_cache(maxsize=8)
def device_peak(device: Device, dtype: str) -> float:
    """Floating-point operations per second, measured now; a fused multiply-add counts as two."""
    size = 8 if dtype == "float64" else 4
    _, kernel = kept_or_assembled(("peak", dtype), lambda: _made(dtype), device)
    threads = THREADS * BLOCKS * device.processors
    memory = device.allocated(threads * size)
    times = []
    for _ in range(7):
        start, end = device.event(), device.event()
        start.record(0)
        kernel.call(0, (memory.address,), threads)
        end.record(0)
        end.synchronize()
        times.append(start.elapsed(end))
    return 2.0 * CHAINS * STEPS * threads / statistics.median(times[2:])


def _made(dtype: str) -> tuple[About, str]:
    from forearm.kernels.cuda.ptx import assembly
    from forearm.kernels.cuda.text import DEVICE_TARGETS, device_module

    about = {"arm": "", "functions": ["peak"], "dtype": dtype, "part": "cuda", "arguments": 1}
    about |= {"threads": THREADS, "shared": 0}
    return about, assembly(device_module([peak_text(dtype)], DEVICE_TARGETS[dtype]))


def peak_text(dtype: str) -> str:
    """`peak(values, count)`: each thread has chains s = s a + b, and stores their sum."""
    from forearm.kernels.cuda.text import DEVICE_TARGETS
    from forearm.kernels.llvm import IRFunction
    from forearm.kernels.vectors import Body

    target = DEVICE_TARGETS[dtype]
    f = IRFunction(ENTRY, {"values": "ptr", "count": "i64"}, on_device=True)
    body = Body(target, f=f)
    place = f.op("add", f.op("mul", f.block(), THREADS), f.thread())
    there = f.at("%values", place, target.scalar)
    own = body.load(there, 0, 1)
    starts = [body.op("fadd", own, body.constant(0.1 * k)) for k in range(CHAINS)]
    a, b = body.constant(0.5), own

    with f.repeat(0, *starts) as turn:
        i, *now = turn.now
        made = [body.fma(s, a, b) for s in now]
        after = f.op("add", i, 1)
        turn.again(after, *made, where=f.compared("slt", after, STEPS))
    total = made[0]
    for s in made[1:]:
        total = body.op("fadd", total, s)
    f.store(total, there, align=target.size)
    f.ret()
    return f.text()
