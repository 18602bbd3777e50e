"""Kernels on a GPU:
evaluations per second, compared with copies of the same number of bytes and with the device's peak.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

import forearm as fa
from forearm.arm.arm import Arm
from forearm.benchmarks.device_peak import device_peak
from forearm.benchmarks.roofline import operations
from forearm.benchmarks.timing import fresh_medians
from forearm.kernels.batch_rollout_ir import rollout_arguments
from forearm.kernels.cuda.device_rollout import bits_of, loaded_rollout
from forearm.kernels.cuda.driver import Device, DeviceMemory, driver
from forearm.kernels.cuda.text import DEVICE_TARGETS
from forearm.kernels.kernel import Kernel

# Target shares of copy bandwidth with the largest batch, float32 and float64.
FUNCTIONS = {
    "inverse_dynamics": (0.90, 0.95),
    "forward_dynamics": (0.65, 0.68),
    "inertia_matrix": (0.85, 0.88),
    "inverse_dynamics_derivatives": (0.75, 0.60),
    "forward_dynamics_derivatives": (0.50, 0.35),
}
STATES = (4_096, 131_072, 1_048_576, 4_194_304)
CHAINS, MANY = ("chain24", "chain50"), (1_048_576,)  # long ones, by loops over joints
DTYPES = ("float32", "float64")
COMPARED = 2_001  # states whose bits are compared with a CPU's
REPEATS, SHORTEST = 9, 2e-3  # repetitions, minimum duration in s
# Arms, steps, and target steps per second of rollouts: of the Panda, and with motors and friction.
ARMS, STEPS = 1_048_576, 200
ROLLOUTS = {"panda": (6.8e9, 3.5e9), "puma560": (3.4e9, 1.75e9)}
FIRST = """\
import time
import numpy as np
import forearm as fa
start = time.perf_counter()
q = np.full((4, 7), 0.3)
fa.compile(fa.load("panda").rigid(), device="cuda").inverse_dynamics(q, q, q)
print(time.perf_counter() - start)
"""


@dataclass(frozen=True)
class DeviceRow:
    """One measurement on a GPU: batch size `states`, evaluations per second, their share of copy bandwidth
    and of peak arithmetic, whether the results have the CPU's bits, and the target share, rate or time.
    """

    name: str
    dtype: str
    states: int
    seconds: float
    rate: float | None = None
    copy_share: float | None = None
    peak_share: float | None = None
    same_bits: bool | None = None
    registers: int | None = None
    spilled: int | None = None  # bytes of local memory
    bar: float | None = None
    met: bool | None = None

    def document(self) -> dict[str, Any]:
        """Every field, for JSON."""
        return asdict(self)


def rows(index: int = 0) -> Iterator[DeviceRow]:
    """Everything, on one device."""
    device = driver().device(index)
    panda = fa.load("panda")
    for name in FUNCTIONS:
        for dtype in DTYPES:
            yield from _function(panda, name, dtype, device)
    for name in ("inverse_dynamics", "forward_dynamics"):
        yield from _function(panda, name, "float32", device, STATES[-1:], fast=True)
    for chain in CHAINS:
        for name in ("inverse_dynamics", "forward_dynamics"):
            for dtype in DTYPES:
                yield from _function(fa.load(chain), name, dtype, device, MANY)
    for name, bars in ROLLOUTS.items():
        for dtype, bar in zip(DTYPES, bars, strict=True):
            yield _rollout(name, dtype, bar, device)
    yield from _calls(panda, index)
    yield from _first()


def _function(
    arm: Arm, name: str, dtype: str, device: Device, counts: Sequence[int] = STATES, fast: bool = False
) -> Iterator[DeviceRow]:
    kernel = fa.compile(arm, dtype, device=f"cuda:{device.index}", fast=fast)
    function = kernel.compiled(name)
    loaded, size = function.loaded(device.index), np.dtype(dtype).itemsize
    slots = (*function.inputs, *function.outputs)
    memory = [device.allocated(max(counts) * slot.size * size) for slot in slots]
    rng = np.random.default_rng(1)
    for slot, place in zip(function.inputs, memory, strict=False):
        _filled(device, place, rng.uniform(-2.0, 2.0, (2**16, slot.size)).astype(dtype))
    addresses = tuple(place.address for place in memory)
    same = None if fast else has_same_bits(kernel, name)
    for states in counts:
        seconds = device_seconds(device, partial(loaded.call, 0, addresses, states))
        moved = states * size * sum(slot.size for slot in slots)
        copied = _copy_seconds(device, moved)
        share = copied / seconds
        bar = FUNCTIONS[name][DTYPES.index(dtype)] if states == max(STATES) else None  # the Panda's
        peak = states * operations(function.counts) / seconds / device_peak(device, dtype)
        yield DeviceRow(
            f"{name}, {arm.name}{', fast' if fast else ''}",
            dtype,
            states,
            seconds,
            states / seconds,
            share,
            peak,
            same,
            loaded.kernel.registers,
            loaded.kernel.local_bytes,
            bar,
            None if bar is None else share >= bar,
        )


def has_same_bits(kernel: Kernel, name: str) -> bool:
    """Whether results on the device equal those of this machine's processor, bit for bit, NaN for NaN."""
    rng = np.random.default_rng(2)
    slots = kernel.compiled(name).inputs
    states = [rng.uniform(-2.0, 2.0, (COMPARED, slot.size)).astype(kernel.dtype) for slot in slots]
    states[0][7, 0] = np.nan
    there, here = (k.fused([name])(*states) for k in (kernel, kernel.to("cpu")))
    whole = np.int64 if kernel.dtype == "float64" else np.int32
    return all(
        bool(((there[a].view(whole) == here[a].view(whole)) | (np.isnan(there[a]) & np.isnan(here[a]))).all())
        for a in here
    )


def _rollout(name: str, dtype: str, bar: float, device: Device) -> DeviceRow:
    """Fourth-order steps; the PUMA is driven by voltages, and friction can hold its joints."""
    from forearm.kernels.rollout_request import RolloutRequest

    arm, size = fa.load(name), np.dtype(dtype).itemsize
    is_driven = name == "puma560"
    n = arm.n
    request = RolloutRequest(arm, dtype, (), fa.compile(arm).cpu, "rk4", is_driven)
    loaded = loaded_rollout(request, device.index)
    memory = [device.allocated(ARMS * n * size) for _ in range(5)]
    rng = np.random.default_rng(3)
    for place, most in zip(memory, (0.5, 0.5, 3.0), strict=False):
        _filled(device, place, rng.uniform(-most, most, (2**14, n)).astype(dtype))
    arguments = rollout_call([place.address for place in memory], n, np.dtype(dtype))
    seconds = device_seconds(device, lambda: loaded.call(0, arguments, ARMS), repeats=3)
    rate = ARMS * STEPS / seconds
    kind = "rollout, motors and friction" if is_driven else "rollout"
    kernel = loaded.kernel
    return DeviceRow(
        f"{kind}, {name}",
        dtype,
        ARMS,
        seconds,
        rate,
        registers=kernel.registers,
        spilled=kernel.local_bytes,
        bar=bar,
        met=rate >= bar,
    )


def _calls(arm: Arm, index: int) -> Iterator[DeviceRow]:
    """The cost of a call in Python, 256 states, compared with the library's own addition."""
    try:
        import torch
    except ImportError:
        return
    kernel = fa.compile(arm, device=f"cuda:{index}")
    q, qd, qdd = (torch.rand(256, arm.n, device=f"cuda:{index}", dtype=torch.float64) for _ in range(3))
    out = torch.empty_like(q)
    own = _call_seconds(lambda: kernel.inverse_dynamics(q, qd, qdd, out=out), torch.cuda.synchronize)
    inside = _call_seconds(lambda: kernel.torch.inverse_dynamics(q, qd, qdd, out=out), torch.cuda.synchronize)
    theirs = _call_seconds(lambda: torch.add(q, qd, out=out), torch.cuda.synchronize)
    for name, seconds in (("k.torch.inverse_dynamics(out=)", inside), ("k.inverse_dynamics(out=)", own)):
        yield DeviceRow(name, "float64", 256, seconds, bar=1.3 * theirs, met=seconds <= 1.3 * theirs)
    yield DeviceRow("torch.add(out=)", "float64", 256, theirs)


def _call_seconds(call: Callable[[], object], wait: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(500):
            call()
        times.append((time.perf_counter() - start) / 500)
        wait()
    return statistics.median(times)


def _first() -> Iterator[DeviceRow]:
    """Fresh processes: time to the first torques, without and with cached code."""
    words = (("first torques, nothing kept", 2.0), ("first torques, code kept", 0.5))
    for (what, bar), seconds in zip(words, fresh_medians(FIRST, 1), strict=True):
        yield DeviceRow(what, "float64", 4, seconds, bar=bar, met=seconds <= bar)


def rollout_call(places: Sequence[int], n: int, dtype: np.dtype[Any]) -> list[int]:
    """The arguments of a rollout's kernel but the number of arms: torques held, the end alone recorded.

    Args:
        places: addresses of q0, qd0, u, and of q and qd at the end.
        n: number of joints.
        dtype: of all arrays.
    """
    names = ("q0", "qd0", "u", "out_q", "out_qd")
    given = dict(zip(names, places, strict=True)) | dict.fromkeys(("q0_row", "qd0_row", "u_row"), n)
    given |= {"steps": STEPS, "period": 1, "h": bits_of(1e-3, dtype)}
    return [given.get(name, 0) for name in rollout_arguments(DEVICE_TARGETS[dtype.name]) if name != "count"]


def device_seconds(device: Device, launch: Callable[[], None], repeats: int = REPEATS) -> float:
    """The median time of a launch on the default stream, by device events: several short ones together."""

    def taken(count: int) -> float:
        start, end = device.event(), device.event()
        start.record(0)
        for _ in range(count):
            launch()
        end.record(0)
        end.synchronize()
        return start.elapsed(end) / count

    taken(1)
    count = int(min(100, max(1, SHORTEST / taken(1))))
    return statistics.median(taken(count) for _ in range(repeats))


def _copy_seconds(device: Device, moved: int) -> float:
    """The time of a copy that reads and writes as many bytes in total."""
    half = moved // 2
    made = [device.allocated(half) for _ in range(2)]
    return device_seconds(device, lambda: device.copy(made[0].address, made[1].address, half))


def _filled(device: Device, place: DeviceMemory, block: np.ndarray[Any, Any]) -> None:
    """Memory filled with repeated rows of a block."""
    for start in range(0, place.size, block.nbytes):
        device.copy_in(place.address + start, block.ctypes.data, min(block.nbytes, place.size - start))
    device.synchronize()
