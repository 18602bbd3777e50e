"""Gradients of rollouts on a GPU: one thread goes back through the run of one arm."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from forearm.errors import InputError
from forearm.kernels.arrays import Array
from forearm.kernels.batch_rollout import RolloutOwner, request_of
from forearm.kernels.cuda import device_rollout
from forearm.kernels.cuda.array_libraries import library_of
from forearm.kernels.cuda.device_arrays import DeviceArray
from forearm.kernels.cuda.device_rollout import LeadingArray, bits_of, loaded_rollout, parameter_rows
from forearm.kernels.cuda.dispatch import check_on_host, in_order
from forearm.kernels.cuda.driver import driver
from forearm.kernels.cuda.unknown_arrays import INTERFACE
from forearm.kernels.dispatch import Call
from forearm.kernels.rollout_arguments import RolloutPlan, batch_of, driven_batch, state_stride, strides_of
from forearm.kernels.rollout_gradient import (
    SCRATCH,
    GradientCall,
    RolloutGradient,
    check_batch,
    check_pairs,
    check_states,
    checked_driving,
    is_by_record,
    scratch_row,
    simulate_gradient,
    whole_numbers,
)
from forearm.kernels.rollout_request import ROLLOUT_GRADIENT
from forearm.kernels.traced_controller import TracedController

OUTPUTS = range(SCRATCH + 1, SCRATCH + 5)  # indices of the outputs among the arrays of the machine code


def gradient_on_device(
    owner: RolloutOwner,
    states: tuple[Any, Any],
    weights: tuple[Any, Any],
    plan: RolloutPlan,
    driving: Mapping[str, Any],
    call: Call,
    index: int,
) -> RolloutGradient:
    """Gradients as in `Kernel.simulate_gradient`, on the device of the states, or via copies for NumPy
    arrays; `index` is the device used for these.

    Each arm has its own gradients. Those of inputs and parameters shared by arms are summed over arms by the
    library of the states, in its own order: their last bits depend on the library.
    """
    if call.threads is not None:
        raise InputError("a GPU distributes arms over its own threads; leave it out.", "threads")
    what, controller = checked_driving(owner, plan, driving)
    check_pairs(states, weights)
    drive = driving[what]
    if controller is not None:
        drive = np.empty(0) if controller.reference is None else controller.reference
    if any(library_of(x) for x in (*states, *weights, drive)):
        return _beside(owner, states, weights, plan, (what, drive, controller), call)
    check_on_host(call)
    run = partial(_there_and_back, index=index)
    return simulate_gradient(owner, states, weights, plan, driving, call.parameters, run)


def _beside(
    owner: RolloutOwner,
    states: tuple[Any, Any],
    weights: tuple[Any, Any],
    plan: RolloutPlan,
    driven: tuple[str, Any, TracedController | None],
    call: Call,
) -> RolloutGradient:
    """For device arrays; the results are on the same device."""
    what, drive, controller = driven
    name = what if controller is None else "controller, reference"
    arm, n, dtype = owner.arm, owner.arm.n, np.dtype(owner.dtype)
    with ExitStack() as lent:
        near = LeadingArray(lent, "states, q", states[0], dtype, n)
        lead, stream = near.lead, near.stream
        q, qd = near.taken("states, q", states[0]), near.taken("states, qd", states[1])
        check_states(q.shape, qd.shape, arm, plan)
        weighted = [near.taken(f"weights, {k}", x) for k, x in zip(("q", "qd"), weights, strict=True)]
        by_record = is_by_record([w.shape for w in weighted], q.shape)
        u = near.taken(name, np.zeros(n) if drive is None else drive)
        start = (*q.shape[:-2], n)
        batch = batch_of(arm, {"q0": start, "qd0": start}, [(name, u.shape, 3), *parameter_rows(call)])
        batch = batch or driven_batch(u.shape, plan.steps)
        check_batch(batch, q.shape)
        count, width = batch[0] if batch else 1, n if controller is None else u.shape[-1]
        strides = strides_of(name, u.shape, width, batch, plan.steps)
        values = near.parameters(owner, call, batch, u)
        request = request_of(owner, plan.method, what, controller, width)

        def for_each(array: DeviceArray, is_shared: bool) -> DeviceArray:
            """Where each arm writes its gradient of an array; one row per arm if they share it."""
            return near.zeros((count, *array.shape) if is_shared and count != 1 else array.shape)

        of_drive = for_each(u, strides[0] == 0)
        of_values = for_each(values, bool(owner.parameters) and len(values.shape) == 1)
        left = [near.empty((*batch, n)), near.empty((*batch, n)), of_drive, of_values]
        inputs = [q, qd, u, values, *weighted]
        scratch = near.empty((count, scratch_row(plan, controller, n)))
        used = [*inputs, scratch, *left]
        arrays = used if controller is None else [*used, u]
        numbers = whole_numbers(plan, strides, state_stride(values.shape), by_record, controller)
        loaded = loaded_rollout(replace(request, function=ROLLOUT_GRADIENT), lead.device)
        with in_order(used, lead.device, stream):
            addresses = (*(a.address for a in arrays), *numbers, bits_of(plan.h, dtype))
            loaded.call(stream, addresses, count)
        if any(a.library.is_awaited for a in used):
            driver().device(lead.device).synchronize_stream(stream)
        q0, qd0, by_drive, by_values = (
            a.value if a.shape == shape else lead.library.summed(a, stream)
            for a, shape in zip(left, (left[0].shape, left[1].shape, u.shape, values.shape), strict=True)
        )
        return RolloutGradient(q0, qd0, by_drive, by_values if owner.parameters else None)


def _there_and_back(call: GradientCall, index: int) -> None:
    """For host arrays, in chunks of arms."""
    device, dtype = driver().device(index), np.dtype(call.request.dtype)
    loaded = loaded_rollout(call.request, index)
    piece = max(1, device_rollout.AT_ONCE // max(1, sum(call.rows) * dtype.itemsize))
    for start in range(0, call.count, piece):
        some = min(piece, call.count - start)
        parts = [_rows(array, row, start, some) for array, row in zip(call.arrays, call.rows, strict=True)]
        parts[SCRATCH] = np.empty(0, dtype)
        # Result arrays are sent too: entries that a controller does not write stay 0.
        sent = [INTERFACE.sent(part, index, 0) for part in parts]
        sent[SCRATCH] = INTERFACE.empty((some * call.rows[SCRATCH],), dtype.name, index, 0)
        places = [array.memory.address for array in sent]
        loaded.call(0, (*places, *call.numbers, bits_of(call.plan.h, dtype)), some)
        for k in OUTPUTS:
            device.copy_out(parts[k].ctypes.data, places[k], parts[k].nbytes)
        device.synchronize_stream(0)


def _rows(array: Array, row: int, start: int, count: int) -> Array:
    """Rows of some arms, contiguous in memory; all rows if arms share them."""
    return array.reshape(-1)[start * row :][: count * row] if row else array
