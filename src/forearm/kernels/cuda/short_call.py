"""The fast path of a call: arrays of one library of which only the addresses are needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from math import prod
from typing import Any, NamedTuple, Protocol
from weakref import ref

import numpy as np

from forearm.arm.arm import Arm
from forearm.kernels.compiled import Shape, Slot
from forearm.kernels.cuda.array_libraries import library_of
from forearm.kernels.cuda.driver import Launcher

MOST_PLANS = 64  # plans that are kept; a program that never repeats a batch size needs none


class OnDevice(Protocol):
    """A function compiled for devices; `parameters` are its last input, if some were left open.

    It must allow attributes to be set: `short_call` is stored on it.
    """

    @property
    def arm(self) -> Arm | None:
        """The arm."""

    @property
    def dtype(self) -> str:
        """The dtype of all its arrays."""

    @property
    def inputs(self) -> tuple[Slot, ...]:
        """The input arrays."""

    @property
    def outputs(self) -> tuple[Slot, ...]:
        """The output arrays."""

    def launcher(self, index: int, each: bool = False) -> Launcher:
        """The launcher on a device; with `each`, every state has its own parameters."""


class _Plan(NamedTuple):
    """The memory layout for a batch shape: bytes of each array, and the index of the first output."""

    states: int
    inputs: list[Shape]
    outputs: list[Shape]
    shapes: list[Shape]  # of all arrays
    sizes: list[int]

    def is_apart(self, addresses: Sequence[int]) -> bool:
        """Whether no output overlaps an input, unless it has the same address and shape."""
        first, shapes, sizes = len(self.inputs), self.shapes, self.sizes
        for k in range(first, len(sizes)):
            start = addresses[k]
            end = start + sizes[k]
            for other, size, shape in zip(addresses, sizes, self.inputs, strict=False):
                if other < end and start < other + size and (start != other or shape != shapes[k]):
                    return False
        return True


class _LastCall:
    """The tensors of a call, while they are alive:
    if the next call has the same ones, only what can change in place is checked.
    """

    def __init__(
        self,
        known: ShortCall,
        library: Any,
        values: tuple[Any, ...],
        device: int,
        launch: Launcher,
        states: int,
    ) -> None:
        self.library, self.device, self.launch, self.states = library, device, launch, states
        self.ids = [*map(id, values)]
        self.addresses, self.rest = library.unchanged(values)

        def forget(_: object) -> None:
            if known.last is self:
                known.last = None

        self.alive = [ref(value, forget) for value in values]  # a later tensor may reuse an id

    def again(self, values: tuple[Any, ...]) -> bool:
        """Repeat the launch; False if anything of the tensors was changed in place."""
        addresses, rest = self.library.unchanged(values)
        if addresses != self.addresses or rest != self.rest:
            return False
        self.launch(self.library.stream(self.device), addresses, self.states)
        return True


class ShortCall:
    """What is known of a function from earlier calls: a plan for each shape, a launcher for each device."""

    def __init__(self, function: OnDevice) -> None:
        self.dtype = function.dtype
        self.slots = function.inputs, function.outputs
        self.launchers: dict[int, Launcher] = {}
        self.plans: dict[Shape, _Plan | None] = {}
        self.last: _LastCall | None = None
        self.before: list[int] = []  # the arrays of the previous call

    def plan(self, shape: Shape) -> _Plan | None:
        """The plan for states in an array of this shape; None if it is invalid."""
        try:
            return self.plans[shape]
        except KeyError:
            pass
        if len(self.plans) > MOST_PLANS:
            self.plans.clear()
        made = None
        if len(shape) in (1, 2) and 0 not in shape:
            batch = tuple(shape[:-1])
            inputs, outputs = ([(*batch, *slot.shape) for slot in slots] for slots in self.slots)
            size = np.dtype(self.dtype).itemsize
            shapes = inputs + outputs
            sizes = [size * prod(s) for s in shapes]
            # Scalars take the slow path: PyTorch calls one contiguous that is still to be negated (lazy
            # negation).
            if min(sizes[: len(inputs)]) > size:
                made = _Plan(batch[0] if batch else 1, inputs, outputs, shapes, sizes)
        self.plans[tuple(shape)] = made
        return made

    def launcher(self, function: OnDevice, device: int) -> Launcher:
        """The launcher of a device, created on first use."""
        return self.launchers.setdefault(device, function.launcher(device))


def at_once(function: OnDevice, given: tuple[Any, ...], out: Sequence[Any] | None) -> list[Any] | None:
    """The results if all arrays can be used without conversion; None: inspect them."""
    try:
        known: ShortCall = function.short_call  # type: ignore[attr-defined]
    except AttributeError:
        known = function.short_call = ShortCall(function)  # type: ignore[attr-defined]
    last = known.last
    if last is not None and out is not None:
        values = (*given, *out)
        if [*map(id, values)] == last.ids and last.again(values):
            return list(out)
    first = given[0]
    library = library_of(first)
    if library is None:
        return None
    try:
        plan = known.plan(first.shape)
    except (AttributeError, TypeError):  # of an object that is not an array
        return None
    if plan is None or len(given) != len(plan.inputs):
        return None
    is_given = out is not None
    if out is None:
        found = library.addresses(given, plan.inputs, known.dtype)
        if found is None:
            return None
        device, addresses = found
        stream = library.stream(device)
        out = [library.empty(shape, known.dtype, device, stream) for shape in plan.outputs]
        places = library.addresses(out, plan.outputs, known.dtype)
        if places is None:
            return None
        addresses += places[1]
    else:
        if len(out) != len(plan.outputs):
            return None
        found = library.addresses((*given, *out), plan.shapes, known.dtype)
        if found is None or not plan.is_apart(found[1]):
            return None
        device, addresses = found
        stream = library.stream(device)
    launch = known.launchers.get(device) or known.launcher(function, device)
    if is_given and hasattr(library, "unchanged"):
        ids = [*map(id, given), *map(id, out)]
        if ids == known.before:  # the second call with the same tensors
            known.last = _LastCall(known, library, (*given, *out), device, launch, plan.states)
        known.before = ids
    launch(stream, addresses, plan.states)
    return list(out)


def direct_method(function: OnDevice, ordinary: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a kernel that uses the fast path for arrays of which only the addresses are needed."""
    is_one = len(function.outputs) == 1

    @wraps(ordinary)
    def method(*given: Any, **options: Any) -> Any:
        out = options.get("out")
        if not given or len(options) > (out is not None):
            return ordinary(*given, **options)
        outs = None if out is None else (out,) if is_one else out
        made = at_once(function, given, outs) if outs is None or isinstance(outs, tuple) else None
        if made is None:
            return ordinary(*given, **options)
        return made[0] if is_one else tuple(made)

    @wraps(ordinary)
    def repeated(*given: Any, **options: Any) -> Any:
        """The same, with the tensors of the previous call recognised by identity."""
        last = function.short_call.last  # type: ignore[attr-defined]
        if last is not None and len(options) == 1 and "out" in options:
            values = (*given, options["out"])
            if [*map(id, values)] == last.ids and last.again(values):
                return options["out"]
        return method(*given, **options)

    if not hasattr(function, "short_call"):
        function.short_call = ShortCall(function)  # type: ignore[attr-defined]
    return repeated if is_one else method
