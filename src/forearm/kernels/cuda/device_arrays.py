"""Device arrays read in place: what a kernel must know of an array of PyTorch, CuPy, JAX, Numba, or of any
object with `__cuda_array_interface__` or `__dlpack__`.

No array library is imported here: callers that pass its arrays have imported it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple, Protocol

from forearm.errors import InputError
from forearm.kernels.arrays import Array
from forearm.kernels.compiled import Shape
from forearm.kernels.cuda.driver import driver


class DeviceArray(NamedTuple):
    """An array as a kernel sees it: its address, shape and device, and the stream on which it is ready.

    `stream` is None if it is ready on all streams.
    """

    address: int
    shape: Shape
    dtype: str
    is_contiguous: bool
    is_writeable: bool
    device: int
    stream: int | None
    library: ArrayLibrary
    value: Any  # the object given; keeps the memory alive
    release: Any = None  # called when it is no longer used


class ArrayLibrary(Protocol):
    """A library that allocates device arrays, and can describe them."""

    @property
    def name(self) -> str:
        """Its name in messages."""

    @property
    def is_awaited(self) -> bool:
        """Whether work must have completed before the library may use its arrays again."""

    def seen(self, name: str, value: Any, stream: int) -> DeviceArray:
        """Describe an array; raises InputError, beginning with the name, if it is not a device array.
        `stream` is the stream of its use, where that matters.
        """

    def stream(self, device: int) -> int:
        """The caller's current stream on the device."""

    def addresses(
        self, values: Sequence[Any], shapes: Sequence[Shape], dtype: str
    ) -> tuple[int, Shape] | None:
        """The device and the addresses of arrays, if all can be used without conversion;
        None if one needs a closer look.
        """

    def empty(self, shape: Shape, dtype: str, device: int, stream: int) -> Any:
        """A new array, for use on the stream."""

    def filled(self, number: float, shape: Shape, dtype: str, device: int, stream: int) -> Any:
        """A new array filled with a number."""

    def plain(self, array: DeviceArray, name: str, shape: Shape, stream: int) -> Any:
        """Broadcast to the shape, row by row in memory."""

    def sent(self, values: Array, device: int, stream: int) -> Any:
        """A host array copied to the device."""

    def columns(self, values: Sequence[Any], shape: Shape, dtype: str, device: int, stream: int) -> Any:
        """Arrays and numbers side by side along the last axis of the shape."""

    def assign(self, to: DeviceArray, source: DeviceArray, stream: int) -> None:
        """Copy one array into another of the same shape."""

    def summed(self, array: DeviceArray, stream: int) -> Any:
        """The sum over the first axis of an array that is ready on the stream, in the library's own order."""


def check_place(name: str, array: DeviceArray) -> None:
    """Raise unless the whole array is memory of its device that this process's context may read.

    For arrays of which nothing but an address is known.
    """
    size = _bytes(array)
    if size == 0:
        return
    found = driver().pointer(array.address) if array.address else None
    if found is None:
        raise InputError(f"its address {array.address:#x} is not memory known to CUDA; was it freed?", name)
    if not found.is_on_device:
        raise InputError("expected device memory, got host memory.", name)
    if found.device != array.device:
        raise InputError(
            f"it claims to be on device {array.device}, but its memory is on {found.device}.", name
        )
    if found.context and found.context != driver().device(found.device).context:
        raise InputError(
            "its memory does not belong to the device's primary CUDA context and cannot be "
            "read from there; copy it.",
            name,
        )
    if not found.start <= array.address <= array.address + size <= found.start + found.size:
        raise InputError(
            f"it has {size:,} bytes, but only {found.start + found.size - array.address:,} "
            "are allocated; was its memory freed?",
            name,
        )


def _bytes(array: DeviceArray) -> int:
    bits = re.search(r"\d+", array.dtype)
    return prod(array.shape) * max(1, int(bits[0]) // 8 if bits else 1)


def is_row_by_row(shape: Sequence[int], strides: Sequence[int] | None, size: int = 1) -> bool:
    """Whether entries are contiguous in row-major order, strides in units of a size;
    axes of length one may have any stride.
    """
    if strides is None or 0 in shape:
        return True
    expected = size
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length != 1 and stride != expected:
            return False
        expected *= length
    return True


def is_across(one: DeviceArray, other: DeviceArray) -> bool:
    """Whether arrays overlap, unless they have the same address and shape."""
    if (one.address, one.shape) == (other.address, other.shape):
        return False
    return one.address < other.address + _bytes(other) and other.address < one.address + _bytes(one)
