"""One call of a function on a device:
arrays inspected in place, a launch on the caller's stream, results on the same device.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.kernels.arrays import DType, as_numbers, as_states
from forearm.kernels.compiled import Shape, Slot
from forearm.kernels.cuda import transfers
from forearm.kernels.cuda.array_libraries import library_of
from forearm.kernels.cuda.device_arrays import DeviceArray, is_across
from forearm.kernels.cuda.driver import Device, driver
from forearm.kernels.cuda.short_call import OnDevice, at_once
from forearm.kernels.cuda.unknown_arrays import INTERFACE
from forearm.kernels.dispatch import Call, Parameters, check_parameters, parameter_values, refuse
from forearm.values import check_choice

ZERO = np.zeros(())
# An arm's own values, by device: never freed, as captured graphs may read them.
_own: WeakKeyDictionary[Device, dict[tuple[str, tuple[float, ...]], Any]] = WeakKeyDictionary()


def run(function: OnDevice, given: tuple[Any, ...], call: Call, index: int = 0) -> list[Any]:
    """The results, in the order of the function's outputs; `index` is the device used for host arrays."""
    if not call.own and call.parameters is None and call.threads is None:
        found = at_once(function, given, call.out)
        if found is not None:
            return found
    refuse_threads(call)
    if not call.own:
        refuse(call.parameters)
    if not any(map(library_of, given)):
        check_on_host(call)
        return list(transfers.run(function, given, call, index))
    return _launched(function, given, call)


def refuse_threads(call: Call) -> None:
    """Raise if a number of threads is requested."""
    if call.threads is not None:
        raise InputError("a GPU distributes its work over its own threads; leave it out.", "threads")


def _launched(function: OnDevice, given: tuple[Any, ...], call: Call) -> list[Any]:
    """The general path, which inspects every array."""
    slots = function.inputs[: len(given)]
    with ExitStack() as lent:
        slot, value = next(pair for pair in zip(slots, given, strict=True) if library_of(pair[1]))
        lead = LeadingArray(lent, slot.name, value, np.dtype(function.dtype))
        states = [
            lead.number(slot.name, value) if library_of(value) is None else lead.checked(slot.name, value)
            for slot, value in zip(slots, given, strict=True)
        ]
        shapes = _shapes(function.arm, slots, states)
        batch = shapes[0][:-1]
        inputs = [
            lead.ready(slot.name, value, shape)
            for slot, value, shape in zip(slots, states, shapes, strict=True)
        ]
        if call.own:
            inputs.append(lead.parameters(call.parameters, call.own, batch))
        asked = lead.results(call.out, [(*batch, *slot.shape) for slot in function.outputs])
        results = [lead.empty(a.shape) if any(is_across(a, b) for b in inputs) else a for a in asked]
        launch = function.launcher(lead.device, bool(call.own) and len(inputs[-1].shape) == 2)
        addresses = tuple(a.address for a in (*inputs, *results))
        with lead.used([*inputs, *results, *asked]):
            launch(lead.stream, addresses, batch[0] if batch else 1)
            lead.assign(asked, results)
    return [a.value for a in asked]


class LeadingArray:
    """The first array of a call, which determines library, device and stream of all others, each described
    until `lent` is closed.
    """

    def __init__(self, lent: ExitStack, name: str, value: Any, dtype: DType) -> None:
        library = library_of(value)
        if library is None:
            raise InputError(
                f"expected a device array like the others, got {type(value).__name__} in host memory.", name
            )
        self.lent, self.name, self.dtype, self.library, self.stream = lent, name, dtype, library, 0
        self._value, self._first = value, self.seen(name, value)
        self.device, stream = self._first.device, self._first.stream
        self.stream = library.stream(self.device) if stream is None else stream

    def seen(self, name: str, value: Any) -> DeviceArray:
        """Describe a device array."""
        library = library_of(value)
        assert library is not None
        array = library.seen(name, value, self.stream)
        if array.release is not None:
            self.lent.callback(array.release)
        return array

    def checked(self, name: str, value: Any) -> DeviceArray:
        """The same for an argument. Raises if it has another dtype, as a kernel would misinterpret its bytes,
        or lies on another device.
        """
        array = self._first if value is self._value else self.seen(name, value)
        if array.dtype != self.dtype.name:
            kernel = f", or fa.compile(arm, dtype={array.dtype!r})" if array.dtype.startswith("float") else ""
            raise InputError(
                f"expected {self.dtype} on the device, got {array.dtype}; convert it{kernel}.", name
            )
        self.check_device(name, array)
        return array

    def check_device(self, name: str, array: DeviceArray) -> None:
        """Raise if an array lies on another device."""
        if array.device != self.device:
            raise InputError(
                f"{self.name} is on device {self.device}; expected {name} there too, got "
                f"{array.library.name}, device {array.device}.",
                name,
            )

    def number(self, name: str, value: Any) -> float:
        """A number in host memory; arrays there are refused."""
        if np.ndim(value) == 0 and np.asarray(value).dtype.kind in "fiu":
            return float(value)
        raise InputError(
            f"{self.name} is on device {self.device} ({self.library.name}); expected {name} there "
            f"too, got {type(value).__name__} in host memory.",
            name,
        )

    def taken(self, name: str, value: Any, n: int) -> DeviceArray:
        """An array of any kind, row by row in memory; a number is repeated for each of n joints."""
        if library_of(value) is None:
            host = as_numbers(name, value, self.dtype)
            return self._sent(name, np.full(n, host) if host.ndim == 0 else host)
        array = self.checked(name, value)
        return self.ready(name, array, array.shape)

    def ready(self, name: str, value: DeviceArray | float, shape: Shape) -> DeviceArray:
        """An array of the shape, row by row in memory."""
        if not isinstance(value, DeviceArray):
            return self.filled(value, shape)
        if value.is_contiguous and value.shape == shape:
            return value
        return self.seen(name, value.library.plain(value, name, shape, self.stream))

    def _sent(self, name: str, values: Any) -> DeviceArray:
        return self.seen(name, self.library.sent(values, self.device, self.stream))

    def empty(self, shape: Shape) -> DeviceArray:
        """A new array."""
        return self.seen("out", self.library.empty(shape, self.dtype.name, self.device, self.stream))

    def filled(self, number: float, shape: Shape) -> DeviceArray:
        """A new array filled with a number."""
        made = self.library.filled(number, shape, self.dtype.name, self.device, self.stream)
        return self.seen("out", made)

    def results(self, out: Sequence[Any] | None, shapes: Sequence[Shape]) -> list[DeviceArray]:
        """New arrays, or those given as `out` if they fit."""
        if out is None:
            return [self.empty(shape) for shape in shapes]
        made = []
        for shape, value in zip(shapes, out, strict=True):
            if library_of(value) is None:
                raise InputError(
                    f"{self.name} is on device {self.device} ({self.library.name}); expected an array "
                    f"there, got {type(value).__name__} in host memory.",
                    "out",
                )
            array = self.seen("out", value)
            fits = array.shape == shape and array.dtype == self.dtype.name and array.is_contiguous
            if not fits or not array.is_writeable:
                raise InputError(
                    f"expected a writeable C-contiguous array {shape} of {self.dtype}, got {array.shape} of "
                    f"{array.dtype}.",
                    "out",
                )
            self.check_device("out", array)
            made.append(array)
        return made

    def parameters(self, given: Parameters | None, own: Mapping[str, float], batch: Shape) -> DeviceArray:
        """Values of the open parameters: one row, (P,), or one per state, (B, P)."""
        name = "parameters"
        if given is None:
            return self.seen(name, self._own_values(own))
        if isinstance(given, Mapping):
            for key in given:
                check_choice(key, own, "parameters left open")
            if any(map(library_of, given.values())):
                return self.seen(name, self._columns({**own, **given}, batch))
        if isinstance(given, Mapping) or library_of(given) is None:
            return self._sent(name, parameter_values(given, own, batch, self.dtype))
        array = self.checked(name, given)
        check_parameters(array.shape, len(own), batch)
        return self.ready(name, array, array.shape)

    def _own_values(self, own: Mapping[str, float]) -> Any:
        """The arm's own values on the device, sent there once."""
        kept = _own.setdefault(driver().device(self.device), {})
        key = self.dtype.name, tuple(own.values())
        if key not in kept:
            made = INTERFACE.sent(np.array(key[1], self.dtype), self.device, 0)
            made.is_ready = True
            kept.setdefault(key, made)
        return kept[key]

    def _columns(self, values: Mapping[str, Any], batch: Shape) -> Any:
        """Arrays and numbers by name, side by side."""
        made: list[Any] = []
        for name, value in values.items():
            where, library = f"parameters, {name}", library_of(value)
            if library is None:
                host = parameter_values({name: value}, {name: 0.0}, batch, self.dtype)[..., 0]
                sent = self.library.sent(host, self.device, self.stream) if host.ndim else float(host)
                made.append(sent)
                continue
            if library is not self.library:
                raise InputError(
                    f"expected a number, or a {self.library.name} array like {self.name}, got one of "
                    f"{library.name}.",
                    where,
                )
            array = self.checked(where, value)
            if array.shape not in ((), batch):
                raise InputError(
                    f"expected one number, or one per state (shape {batch}), got {array.shape}.", where
                )
            made.append(array.value)
        shape = (*batch, len(values))
        return self.library.columns(made, shape, self.dtype.name, self.device, self.stream)

    @contextmanager
    def used(self, arrays: Sequence[DeviceArray]) -> Iterator[None]:
        """Order work on the stream after that of the streams its arrays are ready on, and theirs after it;
        wait for it where their library must.
        """
        others = {a.stream for a in arrays if a.stream is not None} - {self.stream}
        for other in others:
            self._wait(self.stream, other)
        yield
        for other in others:
            self._wait(other, self.stream)
        if any(a.library.is_awaited for a in arrays):
            driver().device(self.device).synchronize_stream(self.stream)

    def _wait(self, later: int, earlier: int) -> None:
        device = driver().device(self.device)
        with device.current():  # which of the default streams is meant
            event = device.event(is_timed=False)
            event.record(earlier)
            device.api("a stream", "cuStreamWaitEvent", later, event.handle, 0)

    def assign(self, asked: Sequence[DeviceArray], results: Sequence[DeviceArray]) -> None:
        """Copy results into the arrays that were given, where these are others."""
        for to, source in zip(asked, results, strict=True):
            if source is not to:
                to.library.assign(to, source, self.stream)


def _shapes(arm: Arm | None, slots: Sequence[Slot], states: Sequence[Any]) -> list[Shape]:
    """The shapes that arrays are broadcast to, checked like those of host arrays."""
    stand_ins = [np.broadcast_to(ZERO, s.shape) if isinstance(s, DeviceArray) else s for s in states]
    return [a.shape for a in as_states(arm, slots, stand_ins, None)]


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
