"""The short way of a call: arrays of one library that need no more than their addresses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from math import prod
from typing import Any, NamedTuple, Protocol

import numpy as np

from forearm.arm.arm import Arm
from forearm.kernels.compiled import Slot
from forearm.kernels.cuda.array_libraries import library_of
from forearm.kernels.cuda.driver import Launcher

Shape = tuple[int, ...]


class OnDevice(Protocol):
    """A function compiled for devices; `parameters` are its last input, where some were left open."""

    @property
    def arm(self) -> Arm | None:
        """Of which arm."""

    @property
    def dtype(self) -> str:
        """Of all its arrays."""

    @property
    def inputs(self) -> tuple[Slot, ...]:
        """What goes in."""

    @property
    def outputs(self) -> tuple[Slot, ...]:
        """What comes out."""

    def launcher(self, index: int, each: bool = False) -> Launcher:
        """What launches it on a device; `each` with parameters of its own for each state."""


class Shapes(NamedTuple):
    """Of a batch: what goes in, what comes out, all of them, and how many bytes each array has."""

    inputs: tuple[Shape, ...]
    outputs: tuple[Shape, ...]
    all: tuple[Shape, ...]
    sizes: tuple[int, ...]


class ShortCall:
    """The short way to a function on devices."""

    def __init__(self, function: OnDevice) -> None:
        self.function, self.dtype = function, function.dtype
        self.itemsize = np.dtype(function.dtype).itemsize
        self.sizes, self.outputs = [s.size for s in function.inputs], [s.shape for s in function.outputs]
        self.count = len(self.sizes)
        self.launchers: dict[int, Launcher] = {}
        self.shapes: dict[Shape, Shapes] = {}

    def shapes_for(self, batch: Shape) -> Shapes:
        """Of arrays with so many states."""
        found = self.shapes.get(batch)
        if found is None:
            if len(self.shapes) > 64:  # a program that never asks for the same number twice
                self.shapes.clear()
            ins = tuple((*batch, n) for n in self.sizes)
            outs = tuple((*batch, *shape) for shape in self.outputs)
            sizes = tuple(self.itemsize * prod(shape) for shape in ins + outs)
            found = self.shapes[batch] = Shapes(ins, outs, ins + outs, sizes)
        return found

    def is_apart(self, addresses: Sequence[int], shapes: Shapes) -> bool:
        """Whether no output shares memory with an input, unless it has its place and shape."""
        sizes, count = shapes.sizes, self.count
        for k in range(count, len(sizes)):
            start = addresses[k]
            end = start + sizes[k]
            for j in range(count):
                other = addresses[j]
                if (
                    start < other + sizes[j]
                    and other < end
                    and (start != other or shapes.all[j] != shapes.all[k])
                ):
                    return False
        return True

    def __call__(self, given: tuple[Any, ...], out: Sequence[Any] | None) -> Sequence[Any] | None:
        """The results where all arrays are ready as they are; None: look at them."""
        library = library_of(given[0]) if given else None
        if library is None or len(given) != self.count:
            return None
        shape = tuple(given[0].shape)
        if len(shape) not in (1, 2) or 0 in shape:
            return None
        shapes = self.shapes_for(shape[:-1])
        if out is None:
            found = library.addresses(given, shapes.inputs, self.dtype)
            if found is None:
                return None
            device, addresses = found
            stream = library.stream(device)
            made = [library.empty(each, self.dtype, device, stream) for each in shapes.outputs]
            places = library.addresses(made, shapes.outputs, self.dtype)
            if places is None:
                return None
            addresses += places[1]
        else:
            if len(out) != len(shapes.outputs):
                return None
            found = library.addresses((*given, *out), shapes.all, self.dtype)
            if found is None or not self.is_apart(found[1], shapes):
                return None
            (device, addresses), made = found, list(out)
            stream = library.stream(device)
        launch = self.launchers.get(device)
        if launch is None:
            launch = self.launchers[device] = self.function.launcher(device)
        launch(stream, addresses, shape[0] if len(shape) == 2 else 1)
        return made


def at_once(function: OnDevice, given: tuple[Any, ...], out: Sequence[Any] | None) -> list[Any] | None:
    """The results where all arrays are ready as they are; None: look at them."""
    if not given or library_of(given[0]) is None:
        return None
    made = short_call(function)(given, out)
    return None if made is None else list(made)


def short_call(function: OnDevice) -> Callable[[tuple[Any, ...], Sequence[Any] | None], Sequence[Any] | None]:
    """The short way to a function, kept with it."""
    found = getattr(function, "short_call", None)
    if found is None:
        found = ShortCall(function)
        function.short_call = found  # type: ignore[attr-defined]
    return found


def direct_method(function: OnDevice, ordinary: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a kernel for which arrays that need no more than their addresses go the short way."""
    call, is_one = short_call(function), len(function.outputs) == 1

    @wraps(ordinary)
    def method(*given: Any, **options: Any) -> Any:
        if not options:
            made = call(given, None)
        elif is_one and len(options) == 1 and "out" in options:
            made = call(given, (options["out"],))
        else:
            made = None
        if made is None:
            return ordinary(*given, **options)
        return made[0] if is_one else tuple(made)

    return method
