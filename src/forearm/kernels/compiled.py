"""Functions as machine code, loaded from the cache or made when they are first needed."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

from forearm.arm.arm import Arm
from forearm.kernels import cache, direct
from forearm.kernels.elf import NotHere
from forearm.kernels.identity import surroundings, told
from forearm.kernels.native import loaded

if TYPE_CHECKING:
    from forearm.symbols.counts import Counts


@dataclass(frozen=True)
class Request:
    """What is to be compiled: functions of an arm as one, with these parameters left open."""

    arm: Arm
    functions: tuple[str, ...]
    dtype: str
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True)
class Slot:
    """An array that goes in or comes out, as one state has it."""

    name: str
    shape: tuple[int, ...]

    @cached_property
    def size(self) -> int:
        """The number of entries."""
        return prod(self.shape)


@dataclass(frozen=True, eq=False)
class Native:
    """A compiled function `call(arrays..., count)`; what it needs to stay in memory is kept with it.

    `entry` is the address of the function that Python calls directly, 0 if there is none, `table` that of what it reads.
    """

    call: Any
    address: int
    entry: int
    table: int
    memory: Any


class Compiled:
    """Functions of an arm as one: `batch` for blocks of states in the lanes of vectors, `single` for a state alone."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self._about: dict[str, Any] | None = None
        self._parts: dict[str, Native] = {}
        self._lock = threading.RLock()

    @property
    def inputs(self) -> tuple[Slot, ...]:
        """The arrays that go in; `parameters` last, where some were left open."""
        return self._told["inputs"]  # type: ignore[no-any-return]

    @property
    def outputs(self) -> tuple[Slot, ...]:
        """The arrays that come out."""
        return self._told["outputs"]  # type: ignore[no-any-return]

    @property
    def counts(self) -> Counts:
        """Operations of one evaluation."""
        from forearm.symbols.counts import Counts  # where used: a first call need not wait for the graph

        return Counts(**self._told["counts"])

    @property
    def operations(self) -> int:
        """About how much work a state is: the operations counted, at least 1."""
        return max(1, int(sum(self._told["counts"].values())))

    @property
    def single(self) -> Native:
        """For a state alone, and for Python to call."""
        return self.part("single")

    @property
    def batch(self) -> Native:
        """For many states; where parameters were left open, with one set of them for all."""
        return self.part("batch")

    @property
    def table(self) -> int:
        """The table of the function that Python calls directly, once there is one."""
        single = self._parts.get("single")
        return 0 if single is None else single.table

    @property
    def each(self) -> Native:
        """For many states, each with parameters of its own."""
        return self.part("each")

    @property
    def _told(self) -> dict[str, Any]:
        if self._about is None:
            self.part("single")
        assert self._about is not None
        return self._about

    def part(self, name: str) -> Native:
        """One of the forms, from memory, from the cache, or made now."""
        found = self._parts.get(name)
        if found is None:
            with self._lock:
                if name not in self._parts:
                    self._parts[name] = self._found(name)
                found = self._parts[name]
        return found

    def _found(self, part: str) -> Native:
        request = self.request
        with_entry = part == "single" and not request.parameters and direct.is_possible()
        key = cache.key_of(told(request), part, with_entry, surroundings())
        kept = cache.read(key)
        if kept is not None:
            with contextlib.suppress(KeyError, TypeError, ValueError, NotHere):  # not what was written: made again
                return self._placed(*kept, made_here=False)
        from forearm.kernels.making import made

        about, code = made(request, part, with_entry)
        cache.write(key, about, code)
        return self._placed(about, code, made_here=True)

    def _placed(self, about: dict[str, Any], code: bytes, made_here: bool) -> Native:
        """The code in memory, ready to be called."""
        known: dict[str, Any] = {
            "inputs": tuple(Slot(name, tuple(map(int, shape))) for name, shape in about["inputs"]),
            "outputs": tuple(Slot(name, tuple(map(int, shape))) for name, shape in about["outputs"]),
            "counts": {key: int(about["counts"][key]) for key in ("mul", "add", "div", "sqrt", "trig")},
        }
        name = about["name"]
        names = [name, *([f"{name}_direct", f"{name}_objects"] if about["entry"] else [])]
        memory = loaded(code, names, made_here)
        function, *direct_ones = (memory.addresses[n] for n in names)
        entry, table = direct_ones or (0, 0)
        kinds = [ctypes.c_void_p] * (len(known["inputs"]) + len(known["outputs"]))
        call = ctypes.CFUNCTYPE(None, *kinds, ctypes.c_int64)(function)
        if self._about is None:
            self._about = known
        return Native(call, function, entry, table, memory)
