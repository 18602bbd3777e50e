"""Arrays where they are: what a kernel must know of an array of PyTorch, CuPy, JAX, Numba, or of anything
with `__cuda_array_interface__` or `__dlpack__`.

No library of arrays is imported here: whoever gives its array has done that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple, Protocol

from forearm.errors import InputError
from forearm.kernels.arrays import Array, DType
from forearm.kernels.cuda.driver import driver


class DeviceArray(NamedTuple):
    """An array as a kernel sees it: where, of what shape, on which device, ready on which stream.

    `stream` is None where it is ready on all of them.
    """

    address: int
    shape: tuple[int, ...]
    dtype: str
    is_contiguous: bool
    is_writeable: bool
    device: int
    stream: int | None
    library: ArrayLibrary
    value: Any  # what was given; holds the memory
    release: Any = None  # to be called when it is no longer used


class ArrayLibrary(Protocol):
    """Who makes arrays on a device, and knows about those of its own."""

    @property
    def name(self) -> str:
        """In messages."""

    @property
    def is_awaited(self) -> bool:
        """Whether work must be done before the library may have its arrays back."""

    def seen(self, name: str, value: Any, stream: int) -> DeviceArray:
        """What an array is; InputError, which begins with the name, if it is none on a device. `stream` is
        the one that it will be used on, where that matters.
        """

    def stream(self, device: int) -> int:
        """The caller's current stream on the device."""

    def addresses(
        self, values: Sequence[Any], shapes: Sequence[tuple[int, ...]], dtype: str
    ) -> tuple[int, tuple[int, ...]] | None:
        """The device and where arrays lie, if all are ready as they are; None where one must be looked at
        closely.
        """

    def empty(self, shape: tuple[int, ...], dtype: str, device: int, stream: int) -> Any:
        """A new array, for use on the stream."""

    def filled(self, number: float, shape: tuple[int, ...], dtype: str, device: int, stream: int) -> Any:
        """A new array of the same number everywhere."""

    def plain(self, array: DeviceArray, name: str, shape: tuple[int, ...], stream: int) -> Any:
        """Broadcast to the shape, row by row in memory."""

    def sent(self, values: Array, device: int, stream: int) -> Any:
        """An array of the host's on the device."""

    def columns(
        self, values: Sequence[Any], shape: tuple[int, ...], dtype: str, device: int, stream: int
    ) -> Any:
        """Arrays and numbers side by side, as the last axis of the shape."""

    def assign(self, to: DeviceArray, source: DeviceArray, stream: int) -> None:
        """Copy one array into another of the same shape."""

    def summed(self, array: DeviceArray, stream: int) -> Any:
        """The sum over the first axis of an array that is ready on the stream, in the library's own order."""


def where(array: DeviceArray) -> str:
    """In messages: who made an array, and where it lies."""
    return f"{array.library.name}, device {array.device}"


def check_numbers(name: str, array: DeviceArray, dtype: DType) -> None:
    """Raise if an array has another dtype: a kernel would take its bytes for other numbers."""
    if array.dtype != dtype.name:
        compile = f", or fa.compile(arm, dtype={array.dtype!r})" if array.dtype.startswith("float") else ""
        raise InputError(
            f"{name}: expected {dtype.name} on the device, got {array.dtype}; convert it{compile}."
        )


def check_device(name: str, array: DeviceArray, first: str, lead: DeviceArray) -> None:
    """Raise if two arrays lie on different devices."""
    if array.device != lead.device:
        raise InputError(
            f"{name}: {first} lies on device {lead.device}, expected {name} there too, got {where(array)}."
        )


def check_place(name: str, array: DeviceArray) -> None:
    """Raise unless all of an array is memory of its device that this process's context may read.

    For arrays of whom nothing is known but an address.
    """
    size = _bytes(array)
    if size == 0:
        return
    found = driver().pointer(array.address) if array.address else None
    if found is None:
        raise InputError(
            f"{name}: nothing of CUDA's lies at its address {array.address:#x}; was its memory freed?"
        )
    if not found.is_on_device:
        raise InputError(f"{name}: it lies in memory of the host, expected memory of a device.")
    if found.device != array.device:
        raise InputError(
            f"{name}: it says that it lies on device {array.device}, but it lies on {found.device}."
        )
    if found.context and found.context != driver().device(found.device).context:
        raise InputError(
            f"{name}: its memory belongs to another context of CUDA than the device's primary one, and "
            "cannot be read from there; copy it."
        )
    if not found.start <= array.address <= array.address + size <= found.start + found.size:
        raise InputError(
            f"{name}: it has {size:,} bytes, but only {found.start + found.size - array.address:,} are "
            "allocated there; was its memory freed?"
        )


def _bytes(array: DeviceArray) -> int:
    bits = re.search(r"\d+", array.dtype)
    return prod(array.shape) * max(1, int(bits[0]) // 8 if bits else 1)


def is_row_by_row(shape: Sequence[int], strides: Sequence[int] | None, size: int = 1) -> bool:
    """Whether entries lie one after the other, strides in units of a size; axes of one entry may have any."""
    if strides is None or 0 in shape:
        return True
    expected = size
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length != 1 and stride != expected:
            return False
        expected *= length
    return True


def is_across(one: DeviceArray, other: DeviceArray) -> bool:
    """Whether arrays share memory, unless they are at the same place and of the same shape."""
    if (one.address, one.shape) == (other.address, other.shape):
        return False
    return one.address < other.address + _bytes(other) and other.address < one.address + _bytes(one)


def checked_out(
    given: Sequence[Any],
    shapes: Sequence[tuple[int, ...]],
    dtype: DType,
    first: str,
    lead: DeviceArray,
    found: Sequence[DeviceArray | None],
) -> list[DeviceArray]:
    """Arrays given as `out`, if they fit; None among those found is an array of the host's."""
    made = []
    for shape, array, value in zip(shapes, found, given, strict=True):
        if array is None:
            raise InputError(
                f"out: {first} lies on device {lead.device} ({lead.library.name}), expected an array there, "
                f"got {type(value).__name__} in the host's memory."
            )
        fits = array.shape == shape and array.dtype == dtype.name and array.is_contiguous
        if not fits or not array.is_writeable:
            got = f"{array.shape} of {array.dtype}"
            raise InputError(f"out: expected a writeable C-contiguous array {shape} of {dtype}, got {got}.")
        check_device("out", array, first, lead)
        made.append(array)
    return made
