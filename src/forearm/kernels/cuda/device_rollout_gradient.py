"""Gradients of rollouts on a GPU: one thread goes back through the run of one arm."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from forearm.kernels.arrays import Array
from forearm.kernels.batch_rollout import RolloutOwner, request_of
from forearm.kernels.cuda import device_rollout
from forearm.kernels.cuda.array_libraries import library_of
from forearm.kernels.cuda.device_arrays import DeviceArray
from forearm.kernels.cuda.device_rollout import bits_of, device_inputs, loaded_rollout
from forearm.kernels.cuda.dispatch import LeadingArray, check_on_host, refuse_threads
from forearm.kernels.cuda.driver import driver
from forearm.kernels.cuda.unknown_arrays import INTERFACE
from forearm.kernels.dispatch import Call
from forearm.kernels.rollout_arguments import RolloutDriver, RolloutPlan
from forearm.kernels.rollout_gradient import (
    SCRATCH,
    GradientCall,
    RolloutGradient,
    check_batch,
    check_shapes,
    scratch_row,
    simulate_gradient,
    whole_numbers,
)
from forearm.kernels.rollout_request import ROLLOUT_GRADIENT

OUTPUTS = range(SCRATCH + 1, SCRATCH + 5)  # indices of the outputs among the arrays of the machine code


def gradient_on_device(
    owner: RolloutOwner,
    states: tuple[Any, Any],
    weights: tuple[Any, Any],
    plan: RolloutPlan,
    driven: RolloutDriver,
    call: Call,
    index: int,
) -> RolloutGradient:
    """Gradients as in `Kernel.simulate_gradient`, on the device of the states, or via copies for NumPy
    arrays; `index` is the device used for these.

    Each arm has its own gradients. Those of inputs and parameters shared by arms are summed over arms by the
    library of the states, in its own order: their last bits depend on the library.
    """
    refuse_threads(call)
    if any(library_of(x) for x in (*states, *weights, driven.value)):
        return _beside(owner, states, weights, plan, driven, call)
    check_on_host(call)
    run = partial(_there_and_back, index=index)
    return simulate_gradient(owner, states, weights, plan, driven, call.parameters, run)


def _beside(
    owner: RolloutOwner,
    states: tuple[Any, Any],
    weights: tuple[Any, Any],
    plan: RolloutPlan,
    driven: RolloutDriver,
    call: Call,
) -> RolloutGradient:
    """For device arrays; the results are on the same device."""
    n, dtype = owner.arm.n, np.dtype(owner.dtype)
    with ExitStack() as lent:
        near = LeadingArray(lent, "states, q", states[0], dtype)
        q, qd, *weighted = (
            near.taken(f"{what}, {name}", x, n)
            for what, pair in (("states", states), ("weights", weights))
            for name, x in zip(("q", "qd"), pair, strict=True)
        )
        by_record = check_shapes(owner.arm, plan, (q.shape, qd.shape), [w.shape for w in weighted])
        start = (*q.shape[:-2], n)
        given = device_inputs(near, owner, driven, plan, (q, qd), start, call.parameters)
        check_batch(given.batch, q.shape)
        batch, u, values, count = given.batch, given.drive, given.parameters, given.count
        request = request_of(owner, plan.method, driven, driven.width(u.shape, n))

        def for_each(array: DeviceArray, is_shared: bool) -> DeviceArray:
            """Where each arm writes its gradient of an array; one row per arm if they share it."""
            return near.filled(0.0, (count, *array.shape) if is_shared and count != 1 else array.shape)

        of_drive = for_each(u, given.drive_strides[0] == 0)
        of_values = for_each(values, bool(owner.parameters) and len(values.shape) == 1)
        left = [near.empty((*batch, n)), near.empty((*batch, n)), of_drive, of_values]
        scratch = near.empty((count, scratch_row(plan, driven, n)))
        used = [q, qd, u, values, *weighted, scratch, *left]
        arrays = used if driven.controller is None else [*used, u]
        numbers = whole_numbers(plan, driven, given, by_record)
        loaded = loaded_rollout(replace(request, function=ROLLOUT_GRADIENT), near.device)
        with near.used(used):
            addresses = (*(a.address for a in arrays), *numbers, bits_of(plan.step, dtype))
            loaded.call(near.stream, addresses, count)
        shapes = (left[0].shape, left[1].shape, u.shape, values.shape)
        q0, qd0, by_drive, by_values = (
            a.value if a.shape == shape else near.library.summed(a, near.stream)
            for a, shape in zip(left, shapes, strict=True)
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
        loaded.call(0, (*places, *call.numbers, bits_of(call.plan.step, dtype)), some)
        for k in OUTPUTS:
            device.copy_out(parts[k].ctypes.data, places[k], parts[k].nbytes)
        device.synchronize_stream(0)


def _rows(array: Array, row: int, start: int, count: int) -> Array:
    """Rows of some arms, contiguous in memory; all rows if arms share them."""
    return array.reshape(-1)[start * row :][: count * row] if row else array
