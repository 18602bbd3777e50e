"""Device arrays known only by a protocol: `__cuda_array_interface__` or DLPack.

Their addresses are verified before use. Results for them are `DeviceResult`s, which other libraries read by
the same protocol.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from forearm.errors import InputError
from forearm.kernels.arrays import Array
from forearm.kernels.compiled import Shape
from forearm.kernels.cuda import dlpack
from forearm.kernels.cuda.device_arrays import ArrayLibrary, DeviceArray, check_place, is_row_by_row
from forearm.kernels.cuda.driver import driver


class DeviceResult:
    """A result on a device that is not an array of any library: `cupy.asarray` and `torch.as_tensor` wrap it
    without a copy, by `__cuda_array_interface__`; `copy_to_host` copies it to a NumPy array.
    """

    def __init__(self, shape: Shape, dtype: str, device: int, stream: int) -> None:
        self.shape, self.dtype, self.device, self.stream = shape, np.dtype(dtype), device, stream
        self.is_ready = False  # ready on every stream
        size = prod(shape) * self.dtype.itemsize
        self.memory = driver().device(device).allocated(size, None)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.memory.address, False),
            "strides": None,
            "version": 3,
            "stream": None if self.is_ready else self.stream or 1,
        }

    def copy_to_host(self) -> Array:
        """Copy to a new array, after waiting for the result."""
        made, device = np.empty(self.shape, self.dtype), driver().device(self.device)
        device.copy_out(made.ctypes.data, self.memory.address, made.nbytes, self.stream)
        device.synchronize_stream(self.stream)
        return made

    def __repr__(self) -> str:
        return f"<DeviceResult {self.shape} of {self.dtype} on device {self.device}>"


@dataclass(frozen=True)
class ProtocolArrays:
    """Arrays described by a protocol: `look` inspects one (library, name, value, stream), `make` allocates a
    new one (shape, dtype, device, stream).
    """

    name: str
    is_awaited: bool
    look: Callable[[ArrayLibrary, str, Any, int], DeviceArray]
    make: Callable[[Shape, str, int, int], Any]

    def seen(self, name: str, value: Any, stream: int) -> DeviceArray:
        """Describe an array."""
        return self.look(self, name, value, stream)

    def stream(self, device: int) -> int:
        """The default stream."""
        return 0

    def addresses(
        self, values: Sequence[Any], shapes: Sequence[Shape], dtype: str
    ) -> tuple[int, Shape] | None:
        """Unknown: each must be verified."""
        return None

    def empty(self, shape: Shape, dtype: str, device: int, stream: int) -> Any:
        """A new array."""
        return self.make(shape, dtype, device, stream)

    def filled(self, number: float, shape: Shape, dtype: str, device: int, stream: int) -> Any:
        """A new array filled with a number."""
        return self.sent(np.full(shape, number, dtype), device, stream)

    def plain(self, array: DeviceArray, name: str, shape: Shape, stream: int) -> Any:
        """Rows repeated; nothing else is supported."""
        if not array.is_contiguous:
            raise InputError("expected a C-contiguous array; copy it to one.", name)
        made = DeviceResult(shape, array.dtype, array.device, stream)
        device, to = driver().device(array.device), made.memory.address
        done = prod(array.shape) * made.dtype.itemsize
        size = prod(shape) * made.dtype.itemsize
        device.copy(to, array.address, min(done, size), stream)
        while 0 < done < size:  # twice as many each time
            device.copy(to + done, to, min(done, size - done), stream)
            done *= 2
        return made

    def sent(self, values: Array, device: int, stream: int) -> Any:
        """A host array copied to the device."""
        values = np.ascontiguousarray(values)
        made = DeviceResult(values.shape, values.dtype.name, device, stream)
        driver().device(device).copy_in(made.memory.address, values.ctypes.data, values.nbytes, stream)
        driver().device(device).synchronize_stream(stream)  # the values may be freed now
        return made

    def columns(self, values: Sequence[Any], shape: Shape, dtype: str, device: int, stream: int) -> Any:
        """Not supported: nothing here concatenates arrays."""
        raise InputError(
            f"arrays by name need PyTorch, CuPy or JAX; expected one array {shape} for all, or numbers.",
            "parameters",
        )

    def assign(self, to: DeviceArray, source: DeviceArray, stream: int) -> None:
        """Copy one array into another."""
        size = prod(to.shape) * np.dtype(to.dtype).itemsize
        driver().device(to.device).copy(to.address, source.address, size, stream)

    def summed(self, array: DeviceArray, stream: int) -> Any:
        """Sum over the first axis, by NumPy: nothing here sums on a device."""
        rows, device = np.empty(array.shape, array.dtype), driver().device(array.device)
        device.copy_out(rows.ctypes.data, array.address, rows.nbytes, stream)
        device.synchronize_stream(stream)
        total = np.ascontiguousarray(rows.sum(axis=0))
        made = self.make(total.shape, array.dtype, array.device, stream)
        place = _by_interface(self, "sum", made, stream).address
        device.copy_in(place, total.ctypes.data, total.nbytes, stream)
        device.synchronize_stream(stream)  # the values may be freed now
        return made


def _by_interface(library: ArrayLibrary, name: str, value: Any, stream: int) -> DeviceArray:
    """By `__cuda_array_interface__`, versions 2 and 3."""
    try:
        said = value.__cuda_array_interface__
        shape, (address, is_read_only) = tuple(map(int, said["shape"])), said["data"]
        dtype, strides = np.dtype(said["typestr"]), said.get("strides")
        version, mask = int(said.get("version", 0)), said.get("mask")
    except Exception as error:  # any error of the producer
        raise InputError(
            f"{type(value).__name__} has no usable __cuda_array_interface__ ({error!r}).", name
        ) from None
    if mask is not None:
        raise InputError("expected an array without a mask.", name)
    if dtype.isnative is False:
        raise InputError(f"expected numbers in this machine's byte order, got {dtype.str}.", name)
    own = said.get("stream", 1 if version < 3 else None)  # older versions are ready on the default stream
    if own == 0:
        raise InputError("__cuda_array_interface__ says stream 0, which version 3 forbids.", name)
    place = int(address or 0) if prod(shape) else 0
    found = driver().pointer(place) if place else None
    made = DeviceArray(
        place,
        shape,
        dtype.name,
        is_row_by_row(shape, strides, dtype.itemsize),
        not is_read_only,
        0 if found is None else found.device,
        0 if own == 1 else own,
        library,
        value,
    )
    check_place(name, made)
    return made


def _by_dlpack(library: ArrayLibrary, name: str, value: Any, stream: int) -> DeviceArray:
    """By DLPack; what was lent must be released."""
    got = dlpack.received(name, value, stream)
    try:
        made = DeviceArray(
            got.address,
            got.shape,
            got.dtype,
            is_row_by_row(got.shape, got.strides),
            got.is_writeable,
            got.device,
            None,
            library,
            value,
            got.release,
        )
        check_place(name, made)
    except BaseException:
        got.release()
        raise
    return made


def is_lent_on_device(value: Any) -> bool:
    """Whether an array with `__dlpack_device__` is on a CUDA device."""
    return int(value.__dlpack_device__()[0]) in (dlpack.CUDA, dlpack.CUDA_MANAGED)


def _by_numba(shape: Shape, dtype: str, device: int, stream: int) -> Any:
    cuda: Any = sys.modules["numba.cuda"]
    with cuda.gpus[device]:
        return cuda.device_array(shape, dtype)


INTERFACE = ProtocolArrays("__cuda_array_interface__", False, _by_interface, DeviceResult)
NUMBA = ProtocolArrays("Numba", False, _by_interface, _by_numba)
DLPACK = ProtocolArrays("DLPack", True, _by_dlpack, DeviceResult)
