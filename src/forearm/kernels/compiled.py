"""Functions as machine code, loaded from the cache or compiled on first use."""

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

Shape = tuple[int, ...]
Names = tuple[str, ...]
LONGEST_TRACED = 10  # joints: unrolled derivatives of longer arms take too many seconds to compile


@dataclass(frozen=True)
class CompileRequest:
    """A request to compile: functions of an arm as one, with these parameters left open, differentiated by
    these modes of `codegen.differentiated` in turn.
    """

    arm: Arm
    functions: Names
    dtype: str
    parameters: Names = ()
    cpu: str = HOST
    derived: Names = ()

    @property
    def key(self) -> object:
        """Everything that determines what the code computes."""
        return self


@dataclass(frozen=True, eq=False)
class TracedRequest:
    """A request to compile a function on the graph; its code is cached by what it is `made_of`."""

    functions: tuple[str]  # its name
    trace: Callable[[], Traced]
    made_of: object
    arm: Arm | None
    dtype: str
    cpu: str
    contract: bool = True  # whether a product and the sum it is added to may be fused (FMA)
    in_one: bool = False  # whether "single", in vector lanes, serves as "batch" too
    parameters: Names = ()

    @property
    def key(self) -> object:
        """Everything that determines what the code computes."""
        return "traced", self.functions, self.made_of, self.dtype, self.cpu, self.contract, self.in_one


@dataclass(frozen=True)
class Slot:
    """An input or output array, with its shape for one state."""

    name: str
    shape: Shape

    @cached_property
    def size(self) -> int:
        """The number of entries."""
        return prod(self.shape)


@dataclass(frozen=True, eq=False)
class Native:
    """A compiled function `call(addresses..., count)`, and its address.

    `entry` is the address of the function that Python calls directly, 0 if there is none, `table` that of the
    table it reads. `stack` is the size of its arrays on the stack, in bytes.
    """

    call: Any
    address: int
    entry: int = 0
    table: int = 0
    stack: int = 0


class Compiled:
    """Functions of an arm compiled as one, in parts: "single" for one state and for direct calls from Python,
    "batch" for many states in vector lanes, "each" for a batch with individual open parameters.
    """

    def __init__(self, request: CompileRequest | TracedRequest) -> None:
        self.request = request
        self._about: dict[str, Any] | None = None
        self._parts: dict[str, Native] = {}

    @property
    def inputs(self) -> tuple[Slot, ...]:
        """The input arrays; `parameters` last, if some were left open."""
        return self._told["inputs"]  # type: ignore[no-any-return]

    @property
    def outputs(self) -> tuple[Slot, ...]:
        """The output arrays."""
        return self._told["outputs"]  # type: ignore[no-any-return]

    @property
    def counts(self) -> Counts:
        """Operations of one evaluation."""
        # imported where used: a first call need not wait for the graph
        from forearm.symbols.counts import Counts

        return Counts(**self._told["counts"])

    @property
    def operations(self) -> int:
        """Approximate work per state: the operation count, at least 1."""
        return max(1, int(sum(self._told["counts"].values())))

    @property
    def table(self) -> int:
        """The table of the function that Python calls directly, once it is loaded."""
        single = self._parts.get("single")
        return 0 if single is None else single.table

    @property
    def _told(self) -> dict[str, Any]:
        if self._about is None:
            self.part("single")
        assert self._about is not None
        return self._about

    def part(self, name: str) -> Native:
        """A part from memory, from the cache, or compiled now."""
        if isinstance(self.request, TracedRequest) and self.request.in_one:
            name = "single"
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
            # The first one wins: another thread, or a signal handler, may already have set it and call it.
            return self._parts.setdefault(part, native)

        known = partial(self._parts.get, part)
        return kept_or_made((request.key, part, with_entry), names, make, place, known, request.cpu)


def name_of(request: CompileRequest | TracedRequest) -> str:
    """The name of the function in its object."""
    derived = request.derived if isinstance(request, CompileRequest) else ()
    return "_".join(["_and_".join(request.functions)[:80], *derived])
