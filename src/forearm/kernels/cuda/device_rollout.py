"""Rollouts on a GPU: one thread simulates one arm from start to end."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from forearm.errors import InputError
from forearm.kernels.arrays import DType, apart, copied, results_for
from forearm.kernels.batch_rollout import (
    Rollout,
    RolloutArrays,
    RolloutOwner,
    arrays_of,
    pair_of,
    parameter_shapes,
    request_of,
    rollout_with,
    sums_for,
    whole_numbers,
)
from forearm.kernels.compiled import Shape
from forearm.kernels.cuda.array_libraries import library_of
from forearm.kernels.cuda.device_arrays import DeviceArray, is_across
from forearm.kernels.cuda.device_compiled import ENTRY, LoadedKernel, kept_or_assembled
from forearm.kernels.cuda.dispatch import LeadingArray, check_on_host, refuse_threads
from forearm.kernels.cuda.driver import driver
from forearm.kernels.cuda.unknown_arrays import INTERFACE
from forearm.kernels.dispatch import Call, Parameters, refuse
from forearm.kernels.load_or_compile import About
from forearm.kernels.rollout_arguments import RolloutDriver, RolloutInputs, RolloutPlan, batch_of, strides_of
from forearm.kernels.rollout_request import ROLLOUT, RolloutRequest

THREADS = 64  # threads per block, by measurement on an H200
AT_ONCE = 1 << 30  # bytes of host arrays that are sent to the device together
MOST_KEPT = 32  # rollouts that a process keeps


def simulate(
    owner: RolloutOwner,
    states: tuple[ArrayLike, ArrayLike],
    plan: RolloutPlan,
    inputs: RolloutInputs,
    call: Call,
    index: int,
) -> Rollout:
    """Simulate as `Kernel.simulate` does; `index` is the device used for host arrays."""
    refuse_threads(call)
    run = _DeviceRun(owner, plan, inputs)
    call = replace(call, out=pair_of(call.out))
    if any(library_of(x) for x in (*states, run.driven.value)):
        if inputs.summaries or (inputs.controller is not None and inputs.controller.gains is not None):
            raise InputError(
                "summaries and gains are only supported with host arrays; pass NumPy arrays.", "simulate"
            )
        return run.beside(states, call)
    check_on_host(call)
    return run.there_and_back(states, call, index)


class _DeviceRun:
    """A requested rollout."""

    def __init__(self, owner: RolloutOwner, plan: RolloutPlan, inputs: RolloutInputs) -> None:
        self.owner, self.plan, self.inputs = owner, plan, inputs
        self.dtype, self.n = np.dtype(owner.dtype), owner.arm.n
        self.driven = inputs.driven

    def beside(self, states: tuple[Any, Any], call: Call) -> Rollout:
        """For device arrays; the results are on the same device."""
        n, plan = self.n, self.plan
        with ExitStack() as lent:
            near = LeadingArray(lent, "q0", states[0], self.dtype)
            start = near.taken("q0", states[0], n), near.taken("qd0", states[1], n)
            given = device_inputs(near, self.owner, self.driven, plan, start, None, call.parameters)
            shape, arrays = plan.result(given.batch, n), given.every
            asked = near.results(call.out, [shape] * 2)
            # The record must not overlap inputs that are still to be read.
            results = [
                near.empty(shape)
                if any(is_across(a, b) for b in arrays) or (plan.record and a.address == given.drive.address)
                else a
                for a in asked
            ]
            with near.used([*arrays, *results, *asked]):
                self.launched(given, results, near.device, near.stream)
                near.assign(asked, results)
        return Rollout(*(a.value for a in asked))

    def there_and_back(self, states: tuple[Any, Any], call: Call, index: int) -> Rollout:
        """For host arrays, in chunks of arms."""
        plan, device = self.plan, driver().device(index)
        given = arrays_of(self.owner, states, plan, self.driven, call.parameters)
        count, inputs = given.count, given.every
        asked = results_for([plan.result(given.batch, self.n)] * 2, call.out, self.dtype)
        sums = sums_for(self.request(given.drive.shape), count, self.dtype)
        results = [apart(array, inputs) for array in asked]
        if sums.size:
            results.append(sums if given.batch else sums[0])
        by_arm = [len(a) == count and a.ndim == axes for a, axes in zip(inputs, (2, 2, 3, 2), strict=True)]
        by_arm[2] = by_arm[2] or (given.drive.ndim == 2 and given.drive_strides[0] > 0)
        row = sum(a.nbytes for a, own in zip(inputs, by_arm, strict=True) if own) + 2 * results[0].nbytes
        piece = max(1, AT_ONCE * count // max(1, row))
        for start in range(0, count, piece):
            part = slice(start, start + piece)
            outs = [r[part] if given.batch else r for r in results]
            sent = [
                _seen(INTERFACE.sent(np.ascontiguousarray(a[part] if own else a), index, 0))
                for a, own in zip(inputs, by_arm, strict=True)
            ]
            made = [_seen(INTERFACE.empty(r.shape, self.dtype.name, index, 0)) for r in outs]
            some = (len(outs[0]),) if given.batch else ()
            q0, qd0, drive, parameters = sent
            there = RolloutArrays(some, q0, qd0, drive, given.drive_strides, parameters)
            self.launched(there, made, index, 0)
            for to, source in zip(outs, made, strict=True):
                device.copy_out(to.ctypes.data, source.address, to.nbytes)
            device.synchronize_stream(0)
        return rollout_with(copied(results[:2], asked), sums, plan, self.inputs)

    def request(self, drive: Shape) -> RolloutRequest:
        """The compile request, for a drive array of this shape."""
        width = self.driven.width(drive, self.n)
        return request_of(self.owner, self.plan.method, self.driven, width, self.inputs)

    def launched(self, given: RolloutArrays, results: Sequence[DeviceArray], index: int, stream: int) -> None:
        """Launch the kernel on device arrays."""
        request, u = self.request(given.drive.shape), given.drive.address
        drives = (u, given.parameters.address, 0)
        if self.driven.controller is not None:
            drives = drives[::-1]
        left = [a.address for a in results] + [0] * (3 - len(results))
        numbers = whole_numbers(self.plan, self.driven, given)
        places = given.q0.address, given.qd0.address, *drives, *left, *numbers
        loaded = loaded_rollout(request, index)
        loaded.call(stream, (*places, bits_of(self.plan.step, self.dtype)), given.count)


def device_inputs(
    near: LeadingArray,
    owner: RolloutOwner,
    driven: RolloutDriver,
    plan: RolloutPlan,
    states: tuple[DeviceArray, DeviceArray],
    start: Shape | None,
    parameters: Parameters | None,
) -> RolloutArrays:
    """The inputs of a rollout, checked, from states, whose shapes are `start` if given; without open
    parameters, an address that is not read stands in their place.
    """
    n, u = owner.arm.n, near.taken(driven.name, driven.value, owner.arm.n)
    shapes = {name: start or x.shape for name, x in zip(("q0", "qd0"), states, strict=True)}
    batch = batch_of(owner.arm, shapes, [(driven.name, u.shape, 3), *parameter_shapes(parameters)], plan)
    strides = strides_of(driven.name, u.shape, driven.width(u.shape, n), batch, plan.steps)
    if owner.parameters:
        values = near.parameters(parameters, owner.parameters, batch)
    else:
        refuse(parameters)
        values = u._replace(shape=(0,))
    return RolloutArrays(batch, *states, u, strides, values)


def bits_of(h: float, dtype: DType) -> int:
    """A float as the eight bytes passed to a launch."""
    (bits,) = struct.unpack("<Q", struct.pack("<f4x" if dtype.itemsize == 4 else "<d", h))
    return int(bits)


def _seen(value: Any) -> DeviceArray:
    return INTERFACE.seen("", value, 0)


@lru_cache(maxsize=MOST_KEPT)
def loaded_rollout(request: RolloutRequest, index: int) -> LoadedKernel:
    """The code of a request on a device, from memory, from the cache, or compiled now."""

    def make() -> tuple[About, str]:
        from forearm.kernels.batch_rollout_ir import rollout_arguments, rollout_kernel_text
        from forearm.kernels.cuda.ptx import assembly
        from forearm.kernels.cuda.text import DEVICE_TARGETS, device_module
        from forearm.kernels.rollout_gradient_ir import gradient_arguments, gradient_kernel_text

        target, program = DEVICE_TARGETS[request.dtype], request.program()
        if request.function == ROLLOUT:
            arguments, write = rollout_arguments(target), rollout_kernel_text
        else:
            arguments, write = gradient_arguments(program, target), gradient_kernel_text
        about = {
            "arm": request.arm.name,
            "functions": [request.function],
            "dtype": request.dtype,
            "part": "cuda",
            "arguments": len(arguments) - 1,
            "threads": THREADS,
            "shared": 0,
        }
        return about, assembly(device_module([write(ENTRY, program, target, THREADS)], target))

    return kept_or_assembled((request.key, "cuda"), make, driver().device(index))[1]
