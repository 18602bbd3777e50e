"""A program as LLVM IR for a GPU: one thread per state, with the operations and bits of a CPU's lane.

Each thread loads its row of states directly. Results are stored directly, or staged through a block's shared
memory: then neighbouring threads write neighbouring addresses (coalesced).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from forearm.codegen.functions import Traced
from forearm.codegen.program import Argument
from forearm.kernels.cuda.pressure import Cell, kept_values
from forearm.kernels.ir import (
    absorbed_products,
    compute,
    copying,
    intrinsics,
    leaves_of,
    load_states,
    parameter_rows,
    result,
    unknown_of,
)
from forearm.kernels.llvm import IRFunction, Value, device_parts, joined
from forearm.kernels.transpose import load_columns
from forearm.kernels.vectors import Body, InMemory, Target
from forearm.symbols.graph import expressions

DEVICE_TARGETS = {
    dtype: Target(scalar, 1, True, is_gpu=True)
    for dtype, scalar in (("float64", "double"), ("float32", "float"))
}


AT_ONCE = 12  # numbers that a thread moves together
# Values that a thread has registers for, by measurement on an H200: others are kept in shared memory.
MOST_ALIVE = {"float": 240, "double": 100}


@dataclass(frozen=True)
class Launch:
    """The launch configuration of a function: threads per block, whether results go through shared memory,
    and the order of its operations.
    """

    threads: int = 128
    is_staged: bool = False
    order: Sequence[int] | None = None
    is_emulated: bool = False  # on a CPU, one block of one thread after the other

    def shared(self, outputs: Sequence[Argument], size: int) -> int:
        """Bytes of shared memory per block, for scalars of this size."""
        return size * self.threads * sum(map(pitch, outputs)) if self.is_staged else 0


def pitch(a: Argument) -> int:
    """Row pitch in shared memory, in scalars: an odd number, so that neighbours are in different banks."""
    return a.size | 1


def kernel_text(
    name: str,
    traced: Traced,
    target: Target,
    launch: Launch,
    parameters: Sequence[str] = (),
    each: bool = False,
) -> str:
    """`void name(inputs..., [parameters,] outputs..., i64 count)` as a kernel;
    arrays are those of `ir.function_text`.
    """
    return _Kernel(name, traced, target, launch, parameters, each).text()


def row_kernel_text(
    name: str,
    called: str,
    arrays: Mapping[str, int],
    target: Target,
    threads: int,
    shared: Sequence[str] = (),
) -> str:
    """The kernel in which each thread calls a function of the module, `called(arrays..., i64 count)`, for one
    row, with this row size in each array; arrays that are `shared` have the same row for all threads.
    """
    f = IRFunction(name, dict.fromkeys(arrays, "ptr") | {"count": "i64"}, on_device=True)
    *given, count = f.arguments
    row = f.block() * threads + f.thread()
    with f.unless(row >= count):
        places = [
            pointer if a in shared else f.at(pointer, row, target.scalar, size)
            for pointer, (a, size) in zip(given, arrays.items(), strict=True)
        ]
        f.call(called, *places, Value("1", "i64"))
    f.ret()
    return f.text()


def device_module(functions: list[str], target: Target) -> str:
    """Kernels, and what they call."""
    return joined([*device_parts(), *intrinsics(target), copying(target.scalar), *functions])


class _Kernel:
    """The text of one kernel: load rows, compute, store rows."""

    def __init__(
        self, name: str, traced: Traced, target: Target, launch: Launch, parameters: Sequence[str], each: bool
    ) -> None:
        self.traced, self.target, self.launch = traced, target, launch
        self.parameters, self.each = parameters, each
        offline = parameter_rows(len(parameters))
        self.rows = (*traced.inputs, *(offline if each else ()))  # arrays with one row per state
        arrays = dict.fromkeys((a.name for a in (*traced.inputs, *offline, *traced.outputs)), "ptr")
        self.f = IRFunction(name, arrays | {"count": "i64"}, on_device=not launch.is_emulated)
        self.body, self.count = Body(target, f=self.f), self.f.arguments[-1]
        self.threads = 1 if launch.is_emulated else launch.threads

    def text(self) -> str:
        """The complete text."""
        f = self.f
        turns: AbstractContextManager[Any]
        if self.launch.is_emulated:
            turns = f.loop(0, self.count)
            shared = f.space("i8", self.launch.shared(self.traced.outputs, self.target.size) or 1)
        else:
            turns = nullcontext(f.block())
        with turns as block:
            thread = f.op("add", 0, 0) if self.launch.is_emulated else f.thread()
            if self.launch.is_staged:
                self._staged(block, thread, shared if self.launch.is_emulated else f.shared_memory())
            else:
                self._straight(block * self.threads + thread)
        f.ret()
        return f.text()

    def _straight(self, state: Value) -> None:
        """Load and store rows directly."""
        f, traced = self.f, self.traced
        with f.unless(state >= self.count):
            for a in (*self.rows, *traced.outputs):
                f.at(f"%{a.name}", state, self.target.scalar, a.size, name=f"at.{a.name}")
            self._compute()

    def _staged(self, block: Value, thread: Value, shared: Value) -> None:
        """Stage results through shared memory, all arrays side by side."""
        f, scalar = self.f, self.target.scalar
        first = block * self.threads
        left = self.count - first
        rows = f.chosen(left < self.threads, left, self.threads)
        # Threads without a state recompute the last state, and their results are not read.
        last = rows - 1
        own = first + f.chosen(thread < last, thread, last)
        for a in self.rows:
            f.at(f"%{a.name}", own, scalar, a.size, name=f"at.{a.name}")
        starts, behind = {}, 0
        for a in self.traced.outputs:
            starts[a.name] = f.at(shared, behind, scalar)
            f.at(starts[a.name], thread, scalar, pitch(a), name=f"at.{a.name}")
            behind += pitch(a) * self.threads
        self._compute()
        self._barrier()
        for a in self.traced.outputs:
            self._copy(a, starts[a.name], f.at(f"%{a.name}", first, scalar, a.size), thread, rows)

    def _barrier(self) -> None:
        if not self.launch.is_emulated:
            self.f.barrier()

    def _copy(self, a: Argument, shared: Value, to: Value, thread: Value, rows: Value) -> None:
        """Copy the rows of a block from shared memory,
        with neighbouring threads writing neighbouring addresses.
        """
        f, scalar, size = self.f, self.target.scalar, self.target.size

        def move(*entries: Value) -> None:
            taken = []
            for entry in entries:
                place = entry
                if pitch(a) != a.size:
                    # one number of padding after each row
                    place = entry + f.op("udiv", entry, a.size)
                taken.append(f.load(scalar, f.at(shared, place, scalar), align=size))
            for value, entry in zip(taken, entries, strict=True):
                f.put(value, to, entry, scalar, align=size)

        total = rows * a.size
        full, end = rows.equals(self.threads), f.label()
        with f.unless(full):
            with f.unless(thread >= total), f.repeat(thread) as turn:
                (entry,) = turn.now
                move(entry)
                after = entry + self.threads
                turn.again(after, where=after < total)
            f.go(end)
        for k in range(0, a.size, AT_ONCE):
            move(*(thread + j * self.threads for j in range(k, min(k + AT_ONCE, a.size))))
        f.begin(end)

    def _compute(self) -> None:
        """Results are stored as soon as they are computed, in groups in the order of their operations."""
        body, graph, order = self.body, self.traced.graph, self.launch.order
        values, unknown = self._states()
        results = [
            (a.name, k, e)
            for a in self.traced.outputs
            for k, e in enumerate(self.traced.results[a.name].flat)
        ]
        if order is not None:
            places = {place: k for k, place in enumerate(order)}
            results.sort(key=lambda r: max((places.get(x.node, -1) for x in expressions([r[2]])), default=-1))
        groups = [results[k : k + AT_ONCE] for k in range(0, len(results), AT_ONCE)]
        cells: dict[int, Cell] = {}
        if self.launch.is_staged and order is not None:
            most = MOST_ALIVE[self.target.scalar]
            cells = kept_values(graph, groups, order, self.absorbed, most)

        def kept(place: int, value: Any) -> Any:
            if place not in cells:
                return value
            name, k = cells[place]
            self._store(name, k, body.ready(value))
            return InMemory(f"%at.{name}", k)

        for some in groups:
            compute(body, graph, [e for _, _, e in some], values, order, self.absorbed, kept)
            for name, k, e in some:
                self._store(name, k, result(body, e, values) + unknown)

    def _store(self, name: str, k: int, value: Value) -> None:
        """Store an entry of the thread's row."""
        place = self.f.at(f"%at.{name}", k, self.target.scalar)
        self.f.store(value, place, align=self.target.size)

    def _states(self) -> tuple[dict[int, Any], Value]:
        """The state's numbers, and everything that depends on open parameters alone:
        computed separately, as on a CPU.
        """
        body, graph = self.body, self.traced.graph
        values: dict[int, Any] = {}
        unknown = None
        if self.parameters:
            where = "%at.parameters" if self.each else "%parameters"
            columns = load_columns(body, where, len(self.parameters))
            values |= zip(leaves_of(graph, self.parameters), columns, strict=True)
            unknown = unknown_of(body, columns)
            compute(body, graph, graph.known_before(self.traced.results), values)
        states = load_states(body, self.traced)
        unknown = unknown_of(body, states.values(), unknown)
        values |= states
        needed = [place for place in graph.needed(self.traced.results) if place not in values]
        self.absorbed = absorbed_products(graph, self.traced.results, needed)
        return values, unknown
