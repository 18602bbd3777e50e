"""Rollouts on a GPU: one thread simulates one arm from start to end."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from forearm.errors import InputError
from forearm.kernels.arrays import DType, apart, as_numbers, copied, results_for, shape_of
from forearm.kernels.batch_rollout import (
    Extras,
    Rollout,
    RolloutOwner,
    arrays_of,
    pair_of,
    request_of,
    rollout_with,
    sums_for,
)
from forearm.kernels.cuda.array_libraries import library_of
from forearm.kernels.cuda.device_arrays import DeviceArray, check_device, check_numbers, is_across
from forearm.kernels.cuda.device_compiled import ENTRY, LoadedKernel, kept_or_assembled
from forearm.kernels.cuda.device_parameters import device_values
from forearm.kernels.cuda.dispatch import check_on_host, in_order, owned, ready, results_beside, seen_as
from forearm.kernels.cuda.driver import driver
from forearm.kernels.cuda.unknown_arrays import INTERFACE
from forearm.kernels.dispatch import Call, refuse
from forearm.kernels.load_or_compile import About
from forearm.kernels.rollout_arguments import (
    RolloutPlan,
    Shape,
    batch_of,
    check_driving,
    driven_batch,
    state_stride,
    strides_of,
)
from forearm.kernels.rollout_request import ROLLOUT, RolloutRequest
from forearm.kernels.traced_controller import TracedController, as_controller

THREADS = 64  # threads per block, by measurement on an H200
AT_ONCE = 1 << 30  # bytes of host arrays that are sent to the device together
MOST_KEPT = 32  # rollouts that a process keeps


def simulate(
    owner: RolloutOwner,
    states: tuple[ArrayLike, ArrayLike],
    plan: RolloutPlan,
    driving: Mapping[str, Any],
    call: Call,
    index: int,
    extras: Extras = Extras(),  # noqa: B008
) -> Rollout:
    """Simulate as `Kernel.simulate` does; `index` is the device used for host arrays."""
    if call.threads is not None:
        raise InputError("a GPU distributes arms over its own threads; leave it out.", "threads")
    what = check_driving(driving)
    controller = as_controller(driving[what]) if what == "controller" else None
    drive = driving[what]
    if controller is not None:
        what = "controller, reference"
        drive = np.empty(0) if controller.reference is None else controller.reference
    run = _DeviceRun(owner, plan, what, controller, extras)
    out = pair_of(call.out)
    if any(library_of(x) for x in (*states, drive)):
        if extras.summaries or (controller is not None and controller.gains is not None):
            raise InputError(
                "summaries and gains are only supported with host arrays; pass NumPy arrays.", "simulate"
            )
        return run.beside(states, drive, replace(call, out=out))
    check_on_host(call)
    return run.there_and_back(states, drive, replace(call, out=out), index)


class _DeviceRun:
    """A requested rollout; `what` drives the arms."""

    def __init__(
        self,
        owner: RolloutOwner,
        plan: RolloutPlan,
        what: str,
        controller: TracedController | None,
        extras: Extras,
    ) -> None:
        self.owner, self.plan, self.what, self.controller = owner, plan, what, controller
        self.extras = extras
        self.dtype, self.n = np.dtype(owner.dtype), owner.arm.n

    def beside(self, states: tuple[Any, Any], drive: Any, call: Call) -> Rollout:
        """For device arrays; the results are on the same device."""
        owner, plan, n, dtype = self.owner, self.plan, self.n, self.dtype
        with ExitStack() as lent:
            near = LeadingArray(lent, "q0", states[0], dtype, n)
            lead, stream = near.lead, near.stream
            q0, qd0 = near.taken("q0", states[0]), near.taken("qd0", states[1])
            u = near.taken(self.what, np.zeros(n) if drive is None else drive)
            batch = batch_of(
                owner.arm,
                {"q0": q0.shape, "qd0": qd0.shape},
                [(self.what, u.shape, 3), *parameter_rows(call)],
            )
            batch = batch or driven_batch(u.shape, plan.steps)
            arrays = [q0, qd0, u, near.parameters(owner, call, batch, u)]
            shape = plan.result(batch, n)
            asked = results_beside(lent, call.out, [shape] * 2, dtype, "q0", lead, stream)
            # The record must not overlap inputs that are still to be read.
            shares = [
                any(is_across(a, b) for b in arrays) or (plan.record and a.address == u.address)
                for a in asked
            ]
            results = [
                near.empty(shape) if is_shared else a for a, is_shared in zip(asked, shares, strict=True)
            ]
            used = [*arrays, *results, *asked]
            strides = strides_of(self.what, u.shape, self._width(u.shape), batch, plan.steps)
            with in_order(used, lead.device, stream):
                self.launched(batch, arrays, strides, results, lead.device, stream)
                for to, source in zip(asked, results, strict=True):
                    if source is not to:
                        to.library.assign(to, source, stream)
            if any(a.library.is_awaited for a in used):
                driver().device(lead.device).synchronize_stream(stream)
        return Rollout(*(a.value for a in asked))

    def there_and_back(self, states: tuple[Any, Any], drive: Any, call: Call, index: int) -> Rollout:
        """For host arrays, in chunks of arms."""
        owner, plan, n, device = self.owner, self.plan, self.n, driver().device(index)
        given = arrays_of(owner, states, plan, (self.what, drive), self.controller, call.parameters)
        asked = results_for([plan.result(given.batch, n)] * 2, call.out, self.dtype)
        inputs = [given.q0, given.qd0, given.drive, given.parameters]
        count = given.batch[0] if given.batch else 1
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
            some = [a[part] if own else a for a, own in zip(inputs, by_arm, strict=True)]
            outs = [r[part] if given.batch else r for r in results]
            sent = [_seen(INTERFACE.sent(np.ascontiguousarray(a), index, 0)) for a in some]
            made = [_seen(INTERFACE.empty(r.shape, self.dtype.name, index, 0)) for r in outs]
            some_arms = (len(outs[0]),) if given.batch else ()
            self.launched(some_arms, sent, given.drive_strides, made, index, 0)
            for to, source in zip(outs, made, strict=True):
                device.copy_out(to.ctypes.data, source.address, to.nbytes)
            device.synchronize_stream(0)
        return rollout_with(copied(results[:2], asked), sums, plan, self.extras)

    def request(self, drive: Shape) -> RolloutRequest:
        """The compile request, for a drive array of this shape."""
        what = "controller" if self.controller is not None else self.what
        return request_of(
            self.owner, self.plan.method, what, self.controller, self._width(drive), self.extras
        )

    def launched(
        self,
        batch: Shape,
        arrays: Sequence[DeviceArray],
        drive_strides: tuple[int, int],
        results: Sequence[DeviceArray],
        index: int,
        stream: int,
    ) -> None:
        """Launch the kernel on device arrays; strides are those of the drive array."""
        plan, (q0, qd0, u, parameters) = self.plan, arrays
        row, step = drive_strides
        request = self.request(u.shape)
        drives, period = (u.address, parameters.address, 0), 1
        strides = row, step, state_stride(parameters.shape), 0, 0
        if self.controller is not None:
            drives, period = (0, parameters.address, u.address), self.controller.period
            strides = 0, 0, strides[2], row, step
        numbers = plan.steps, plan.record, period, state_stride(q0.shape), state_stride(qd0.shape), *strides
        left = [a.address for a in results]
        places = q0.address, qd0.address, *drives, *left, *[0] * (3 - len(left))
        loaded_rollout(request, index).call(
            stream, (*places, *numbers, bits_of(plan.h, self.dtype)), batch[0] if batch else 1
        )

    def _width(self, shape: Shape) -> int:
        """How many numbers drive an arm over a step."""
        return shape[-1] if self.controller is not None else self.n


class LeadingArray:
    """The first array of a call, which determines device and stream of all others, until `lent` is closed."""

    def __init__(self, lent: ExitStack, name: str, value: Any, dtype: DType, n: int) -> None:
        library = library_of(value)
        if library is None:
            raise InputError(
                f"expected a device array like the others, got {type(value).__name__} in host memory.", name
            )
        self.lent, self.name, self.dtype, self.n = lent, name, dtype, n
        self.lead = seen_as(lent, name, value, library, 0)
        self.stream = library.stream(self.lead.device) if self.lead.stream is None else self.lead.stream

    def taken(self, name: str, value: Any) -> DeviceArray:
        """An array in place, row by row in memory; a number is repeated for each joint."""
        library, lead = library_of(value), self.lead
        if library is None:
            host = as_numbers(name, value, self.dtype)
            host = np.full(self.n, host) if host.ndim == 0 else host
            return owned(self.lent, name, lead.library.sent(host, lead.device, self.stream), self.stream)
        array = seen_as(self.lent, name, value, library, self.stream)
        check_numbers(name, array, self.dtype)
        check_device(name, array, self.name, lead)
        return ready(self.lent, name, array, array.shape, self.dtype.name, lead, self.stream)

    def parameters(self, owner: RolloutOwner, call: Call, batch: Shape, nothing: DeviceArray) -> DeviceArray:
        """Values of the open parameters; without any, an address that is not read, that of `nothing`."""
        if not owner.parameters:
            refuse(call.parameters)
            return nothing._replace(shape=(0,))
        given, own = call.parameters, owner.parameters
        made = device_values(given, own, batch, self.dtype, self.name, self.lead, self.stream)
        return owned(self.lent, "parameters", made, self.stream)

    def empty(self, shape: Shape) -> DeviceArray:
        """A new array."""
        lead = self.lead
        made = lead.library.empty(shape, self.dtype.name, lead.device, self.stream)
        return owned(self.lent, "out", made, self.stream)

    def zeros(self, shape: Shape) -> DeviceArray:
        """A new array of zeros."""
        lead = self.lead
        made = lead.library.filled(0.0, shape, self.dtype.name, lead.device, self.stream)
        return owned(self.lent, "out", made, self.stream)


def bits_of(h: float, dtype: DType) -> int:
    """A float as the eight bytes passed to a launch."""
    (bits,) = struct.unpack("<Q", struct.pack("<f4x" if dtype.itemsize == 4 else "<d", h))
    return int(bits)


def parameter_rows(call: Call) -> list[tuple[str, Shape, int]]:
    """Allowed shapes of open parameters that may differ from arm to arm."""
    given = call.parameters
    if isinstance(given, Mapping):
        return [
            (f"parameters, {name}", shape_of(f"parameters, {name}", value), 1)
            for name, value in given.items()
        ]
    return [] if given is None else [("parameters", shape_of("parameters", given), 2)]


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
