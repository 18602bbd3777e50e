"""Functions as machine code, loaded from the cache or made when they are first needed."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import prod
from typing import TYPE_CHECKING, Any

from forearm.arm.arm import Arm
from forearm.kernels import fastcall
from forearm.kernels.cpu import HOST
from forearm.kernels.elf import Loaded
from forearm.kernels.load_or_compile import About, kept_or_made
from forearm.kernels.native import function_of

if TYPE_CHECKING:
    from forearm.codegen.functions import Traced
    from forearm.symbols.counts import Counts

LONGEST_TRACED = 10  # joints: derivatives of longer arms, written out, take too many seconds to compile


@dataclass(frozen=True)
class CompileRequest:
    """What is to be compiled: functions of an arm as one, with these parameters left open, and
    differentiated in these ways of `codegen.differentiated`, one after the other.
    """

    arm: Arm
    functions: tuple[str, ...]
    dtype: str
    parameters: tuple[str, ...] = ()
    cpu: str = HOST
    derived: tuple[str, ...] = ()

    @property
    def key(self) -> object:
        """All that decides what the code computes."""
        return self


@dataclass(frozen=True, eq=False)
class TracedRequest:
    """What is to be compiled: a function on the graph; its code is kept by what it is `made_of`."""

    functions: tuple[str]  # its name
    trace: Callable[[], Traced]
    made_of: object
    arm: Arm | None
    dtype: str
    cpu: str
    contract: bool = True  # a product that is added to something is rounded with the sum
    parameters: tuple[str, ...] = ()

    @property
    def key(self) -> object:
        """All that decides what the code computes."""
        return "traced", self.functions, self.made_of, self.dtype, self.cpu, self.contract


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
    """A compiled function `call(addresses..., count)`, and the address that it lies at.

    `entry` is the address of the function that Python calls directly, 0 if there is none,
    `table` that of what it reads. `stack` are the bytes that it keeps in arrays on the stack.
    """

    call: Any
    address: int
    entry: int = 0
    table: int = 0
    stack: int = 0


class Compiled:
    """Functions of an arm as one, in parts: "single" for a state alone, and for Python to call, "batch" for
    many states in the lanes of vectors, "each" for many with open parameters of their own.
    """

    def __init__(self, request: CompileRequest | TracedRequest) -> None:
        self.request = request
        self._about: dict[str, Any] | None = None
        self._parts: dict[str, Native] = {}

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
    def table(self) -> int:
        """The table of the function that Python calls directly, once there is one."""
        single = self._parts.get("single")
        return 0 if single is None else single.table

    @property
    def _told(self) -> dict[str, Any]:
        if self._about is None:
            self.part("single")
        assert self._about is not None
        return self._about

    def part(self, name: str) -> Native:
        """From memory, from the cache, or made now."""
        return self._parts.get(name) or self._found(name)

    def _found(self, part: str) -> Native:
        request, name = self.request, name_of(self.request)
        with_entry = part == "single" and not request.parameters and fastcall.is_possible()
        names = [name, *([f"{name}_direct", f"{name}_objects"] if with_entry else [])]

        def make() -> tuple[About, bytes]:
            from forearm.kernels.compile_request import made

            return made(request, part, with_entry)

        def place(about: About, memory: Loaded) -> Native:
            known: dict[str, Any] = {
                "inputs": tuple(Slot(name, tuple(map(int, shape))) for name, shape in about["inputs"]),
                "outputs": tuple(Slot(name, tuple(map(int, shape))) for name, shape in about["outputs"]),
                "counts": {key: int(about["counts"][key]) for key in ("mul", "add", "div", "sqrt", "trig")},
            }
            pointers = [ctypes.c_void_p] * (len(known["inputs"]) + len(known["outputs"]))
            call, stack = function_of(memory, name, *pointers, ctypes.c_int64), int(about["stack"])
            native = replace(Native(call, *(memory.addresses[n] for n in names)), stack=stack)
            if self._about is None:
                self._about = known
            # The first stays: another thread, or a signal handler, may have been faster, and calls it.
            return self._parts.setdefault(part, native)

        known = partial(self._parts.get, part)
        return kept_or_made((request.key, part, with_entry), names, make, place, known, request.cpu)


def name_of(request: CompileRequest | TracedRequest) -> str:
    """What the function is called in its object."""
    derived = request.derived if isinstance(request, CompileRequest) else ()
    return "_".join(["_and_".join(request.functions)[:80], *derived])
