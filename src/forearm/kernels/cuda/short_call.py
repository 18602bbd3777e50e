"""The short way of a call: arrays of one library that need no more than their addresses."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from forearm.arm.arm import Arm
from forearm.kernels.compiled import Slot
from forearm.kernels.cuda.array_libraries import library_of
from forearm.kernels.cuda.device_arrays import ArrayLibrary
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


class _ShortCall:
    """What is known of a function: not the function itself, which is its key."""

    def __init__(self, function: OnDevice) -> None:
        self.dtype = function.dtype
        self.itemsize = np.dtype(function.dtype).itemsize
        self.inputs, self.outputs = [s.size for s in function.inputs], [s.shape for s in function.outputs]
        self.launchers: dict[int, Launcher] = {}
        self.shapes: dict[Shape, tuple[list[Shape], list[Shape]]] = {}

    def shapes_for(self, batch: Shape) -> tuple[list[Shape], list[Shape]]:
        """Of what goes in and comes out."""
        found = self.shapes.get(batch)
        if found is None:
            if len(self.shapes) > 64:  # a program that never asks for the same number twice
                self.shapes.clear()
            found = [(*batch, n) for n in self.inputs], [(*batch, *shape) for shape in self.outputs]
            self.shapes[batch] = found
        return found

    def is_apart(self, addresses: Sequence[int], shapes: Sequence[Shape]) -> bool:
        """Whether no output shares memory with an input, unless it has its place and shape."""
        sizes = [self.itemsize * prod(shape) for shape in shapes]
        count = len(self.inputs)
        for k in range(count, len(shapes)):
            start, end = addresses[k], addresses[k] + sizes[k]
            for j in range(count):
                other = addresses[j]
                if start < other + sizes[j] and other < end and (start != other or shapes[j] != shapes[k]):
                    return False
        return True


_known: WeakKeyDictionary[OnDevice, _ShortCall] = WeakKeyDictionary()


def at_once(function: OnDevice, given: tuple[Any, ...], out: Sequence[Any] | None) -> list[Any] | None:
    """The results where all arrays are ready as they are; None: look at them."""
    library = library_of(given[0])
    if library is None:
        return None
    known = _known.get(function)
    if known is None:
        known = _known[function] = _ShortCall(function)
    shape = tuple(given[0].shape)
    if len(shape) not in (1, 2) or len(given) != len(known.inputs) or 0 in shape:
        return None
    ins, outs = known.shapes_for(shape[:-1])
    if out is None:
        return _beside(function, known, library, given, ins, outs)
    shapes = ins + outs
    if len(out) != len(outs):
        return None
    found = library.addresses((*given, *out), shapes, known.dtype)
    if found is None or not known.is_apart(found[1], shapes):
        return None
    device, addresses = found
    launch = known.launchers.get(device)
    if launch is None:
        launch = known.launchers[device] = function.launcher(device)
    launch(library.stream(device), addresses, shape[0] if len(shape) == 2 else 1)
    return list(out)


def _beside(
    function: OnDevice,
    known: _ShortCall,
    library: ArrayLibrary,
    given: tuple[Any, ...],
    ins: list[Shape],
    outs: list[Shape],
) -> list[Any] | None:
    """With new arrays for the results."""
    found = library.addresses(given, ins, known.dtype)
    if found is None:
        return None
    device, addresses = found
    stream = library.stream(device)
    made = [library.empty(shape, known.dtype, device, stream) for shape in outs]
    places = library.addresses(made, outs, known.dtype)
    if places is None:
        return None
    launch = known.launchers.get(device)
    if launch is None:
        launch = known.launchers[device] = function.launcher(device)
    launch(stream, addresses + places[1], ins[0][0] if len(ins[0]) == 2 else 1)
    return made
