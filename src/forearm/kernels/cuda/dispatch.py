"""One call of a function on a device:
arrays inspected in place, a launch on the caller's stream, results on the same device.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.kernels.arrays import as_states
from forearm.kernels.compiled import Slot
from forearm.kernels.cuda import transfers
from forearm.kernels.cuda.array_libraries import library_of
from forearm.kernels.cuda.device_arrays import (
    ArrayLibrary,
    DeviceArray,
    check_device,
    check_numbers,
    checked_out,
    is_across,
)
from forearm.kernels.cuda.device_parameters import device_values
from forearm.kernels.cuda.driver import driver
from forearm.kernels.cuda.short_call import OnDevice, at_once
from forearm.kernels.dispatch import Call, refuse

ZERO = np.zeros(())


def run(function: OnDevice, given: tuple[Any, ...], call: Call, index: int = 0) -> list[Any]:
    """The results, in the order of the function's outputs; `index` is the device used for host arrays."""
    if not call.own and call.parameters is None and call.threads is None:
        found = at_once(function, given, call.out)
        if found is not None:
            return found
    if call.threads is not None:
        raise InputError("a GPU distributes states over its own threads; leave it out.", "threads")
    if not call.own:
        refuse(call.parameters)
    libraries = [library_of(value) for value in given]
    if not any(libraries):
        check_on_host(call)
        return list(transfers.run(function, given, call, index))
    return _launched(function, given, call, libraries)


def _launched(
    function: OnDevice, given: tuple[Any, ...], call: Call, libraries: Sequence[ArrayLibrary | None]
) -> list[Any]:
    """The general path, which inspects every array."""
    dtype = np.dtype(function.dtype)
    slots = function.inputs[: len(given)]
    with ExitStack() as lent:
        k = next(k for k, library in enumerate(libraries) if library)
        first, lead = slots[k].name, seen_as(lent, slots[k].name, given[k], libraries[k], 0)
        stream = lead.library.stream(lead.device) if lead.stream is None else lead.stream
        states: list[Any] = []
        for j, (slot, value, library) in enumerate(zip(slots, given, libraries, strict=True)):
            if j == k:
                states.append(lead)
            elif library is None:
                states.append(_number(slot.name, value, first, lead))
            else:
                states.append(seen_as(lent, slot.name, value, library, stream))
            if library is not None:
                check_numbers(slot.name, states[-1], dtype)
                check_device(slot.name, states[-1], first, lead)
        shapes = _shapes(function.arm, slots, states)
        batch = shapes[0][:-1]
        inputs = [
            ready(lent, slot.name, value, shape, dtype.name, lead, stream)
            for slot, value, shape in zip(slots, states, shapes, strict=True)
        ]
        if call.own:
            made = device_values(call.parameters, call.own, batch, dtype, first, lead, stream)
            inputs.append(owned(lent, "parameters", made, stream))
        outs = [(*batch, *slot.shape) for slot in function.outputs]
        asked = results_beside(lent, call.out, outs, dtype, first, lead, stream)
        results = [
            owned(lent, "out", lead.library.empty(a.shape, dtype.name, lead.device, stream), stream)
            if any(is_across(a, b) for b in inputs)
            else a
            for a in asked
        ]
        used = [*inputs, *results, *asked]
        launch = function.launcher(lead.device, bool(call.own) and len(inputs[-1].shape) == 2)
        addresses = tuple(a.address for a in (*inputs, *results))
        with in_order(used, lead.device, stream):
            launch(stream, addresses, batch[0] if batch else 1)
            for to, source in zip(asked, results, strict=True):
                if source is not to:
                    to.library.assign(to, source, stream)
        if any(a.library.is_awaited for a in used):
            driver().device(lead.device).synchronize_stream(stream)
    return [a.value for a in asked]


def seen_as(lent: ExitStack, name: str, value: Any, library: ArrayLibrary | None, stream: int) -> DeviceArray:
    """Describe an array, until `lent` is closed."""
    assert library is not None
    array = library.seen(name, value, stream)
    if array.release is not None:
        lent.callback(array.release)
    return array


def owned(lent: ExitStack, name: str, value: Any, stream: int) -> DeviceArray:
    """Describe an array that a library allocated for us."""
    return seen_as(lent, name, value, library_of(value), stream)


def _number(name: str, value: Any, first: str, lead: DeviceArray) -> float:
    if np.ndim(value) == 0 and np.asarray(value).dtype.kind in "fiu":
        return float(value)
    raise InputError(
        f"{first} is on device {lead.device} ({lead.library.name}); expected {name} there "
        f"too, got {type(value).__name__} in host memory.",
        name,
    )


def _shapes(arm: Arm | None, slots: Sequence[Slot], states: Sequence[Any]) -> list[tuple[int, ...]]:
    """The shapes that arrays are broadcast to, checked like those of host arrays."""
    stand_ins = [np.broadcast_to(ZERO, s.shape) if isinstance(s, DeviceArray) else s for s in states]
    return [a.shape for a in as_states(arm, slots, stand_ins, None)]


def ready(
    lent: ExitStack,
    name: str,
    value: DeviceArray | float,
    shape: tuple[int, ...],
    dtype: str,
    lead: DeviceArray,
    stream: int,
) -> DeviceArray:
    """An array of the shape, row by row in memory."""
    if not isinstance(value, DeviceArray):
        return owned(lent, name, lead.library.filled(value, shape, dtype, lead.device, stream), stream)
    if value.is_contiguous and value.shape == shape:
        return value
    return owned(lent, name, value.library.plain(value, name, shape, stream), stream)


def results_beside(
    lent: ExitStack,
    out: Sequence[Any] | None,
    shapes: Sequence[tuple[int, ...]],
    dtype: np.dtype[Any],
    first: str,
    lead: DeviceArray,
    stream: int,
) -> list[DeviceArray]:
    """New arrays on the device of the first, or those given."""
    if out is None:
        made = [lead.library.empty(shape, dtype.name, lead.device, stream) for shape in shapes]
        return [owned(lent, "out", value, stream) for value in made]
    found = [library_of(value) for value in out]
    seen = [
        None if library is None else seen_as(lent, "out", value, library, stream)
        for value, library in zip(out, found, strict=True)
    ]
    return checked_out(out, shapes, dtype, first, lead, seen)


@contextmanager
def in_order(arrays: Sequence[DeviceArray], index: int, stream: int) -> Iterator[None]:
    """Order work on a stream after that of the streams its arrays are ready on, and theirs after it."""
    others = {a.stream for a in arrays if a.stream is not None} - {stream}
    for other in others:
        _wait(index, stream, other)
    yield
    for other in others:
        _wait(index, other, stream)


def _wait(index: int, later: int, earlier: int) -> None:
    device = driver().device(index)
    with device.current():  # which of the default streams is meant
        event = device.event(is_timed=False)
        event.record(earlier)
        device.api("a stream", "cuStreamWaitEvent", later, event.handle, 0)


def check_on_host(call: Call) -> None:
    """Raise if states are on the host, and other arrays on a device."""
    among = call.parameters.values() if isinstance(call.parameters, Mapping) else [call.parameters]
    for name, values in (("out", call.out or ()), ("parameters", among)):
        for value in values:
            library = library_of(value)
            if library is not None:
                raise InputError(
                    f"the states are in host memory; expected {name} there too, got a "
                    f"{library.name} array on a device.",
                    name,
                )
